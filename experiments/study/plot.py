"""A plot of learning curves: F1 on dev against training sentences."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.result import Result
from experiments.summaries import Results
from hyperspan.errors import InputError, require
from hyperspan.files import Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLES = {"genia": "GENIA", "litbank": "LitBank", "gum": "GUM"}
NAMES = {"hyperspan": "hyperspan", "hyperspan-warm": "hyperspan, warm start", "spancat": "spaCy's spancat"}
"""The systems of all sizes; others are variants."""
# Okabe and Ito's palette, safe for colour-blind readers.
COLOURS = {"hyperspan": "#0072b2", "hyperspan-warm": "#009e73", "spancat": "#e69f00"}
Points = dict[int, list[float]]
"""By the number of sentences: F1 of each seed, in percent."""


def points_of(results: Results, system: str) -> Points:
    """The points of a system, whose rows are named SYSTEM-SENTENCES."""
    found: Mapping[int, Sequence[Result]] = {
        int(name.rpartition("-")[2]): runs
        for name, runs in results.items()
        if name.rpartition("-")[0] == system and name.rpartition("-")[2].isdecimal()
    }
    return {size: [100 * run.f1 for run in found[size]] for size in sorted(found)}


def draw_curves(found: Mapping[str, Results], target: Path) -> None:
    """A PNG with a panel for each corpus: a line through the means of each system, a point for each seed."""
    require("plots", "drawing learning curves", "matplotlib")
    from matplotlib.figure import Figure

    corpora = [corpus for corpus in TITLES if any(points_of(found.get(corpus, {}), system) for system in NAMES)]
    if not corpora:
        raise InputError("there is no learning curve to draw; --plot draws finished rows of the study curves")
    figure = Figure(figsize=(1 + 3.6 * len(corpora), 4), dpi=150, layout="constrained")
    panels = figure.subplots(1, len(corpora), sharey=True, squeeze=False)[0]
    for panel, corpus in zip(panels, corpora, strict=True):
        _draw_corpus(panel, found[corpus])
        panel.set_title(TITLES[corpus])
    panels[0].set_ylabel("F1 on dev, %")
    panels[0].legend(frameon=False, fontsize=9, loc="lower right")
    with Target(str(target), force=True).open_binary() as stream:
        figure.savefig(stream, format="png")


def _draw_corpus(panel: Axes, results: Results) -> None:
    """F1 of each system against sentences, which are on a logarithmic scale."""
    curves = {system: points_of(results, system) for system in NAMES}
    for system, points in curves.items():
        means = [statistics.mean(scores) for scores in points.values()]
        panel.plot([*points], means, color=COLOURS[system], label=NAMES[system])
        seeds = [(size, f1) for size, scores in points.items() for f1 in scores]
        panel.plot([size for size, _ in seeds], [f1 for _, f1 in seeds], "o", color=COLOURS[system], markersize=4)
    sizes = sorted({size for points in curves.values() for size in points})
    panel.set_xscale("log")
    panel.set_xticks(sizes, [f"{size:,}" for size in sizes])
    panel.set_xticks([], minor=True)
    panel.set_xlabel("training sentences")
    panel.grid(color="#dddddd", linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
