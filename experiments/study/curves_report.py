"""Reports of learning curves: Markdown tables, and a plot of F1 against training sentences."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hyperspan.errors import require
from hyperspan.files import Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Result = dict[str, Any]
NAMES = {"hyperspan": "hyperspan", "hyperspan-warm": "hyperspan, warm start", "spancat": "spaCy's spancat"}
"""The systems of all sizes and corpora; others are variants."""
CORPORA = {"genia": "GENIA", "litbank": "LitBank", "gum": "GUM"}
# Okabe and Ito's palette, safe for colour-blind readers.
COLOURS = {"hyperspan": "#0072b2", "hyperspan-warm": "#009e73", "spancat": "#e69f00"}


def chosen(results: Sequence[Result], **values: Any) -> list[Result]:
    """The results that have these values."""
    return [result for result in results if all(result[name] == value for name, value in values.items())]


def f1_of(results: Sequence[Result]) -> str:
    """The mean over seeds in percent, with the standard deviation.

    >>> f1_of([{"f1": 0.5}, {"f1": 0.52}]), f1_of([{"f1": 0.5}]), f1_of([])
    ('51.0 ± 1.4', '50.0', '–')
    """
    if not results:
        return "–"
    scores = [100 * result["f1"] for result in results]
    deviation = f" ± {statistics.stdev(scores):.1f}" if len(scores) > 1 else ""
    return f"{statistics.mean(scores):.1f}{deviation}"


def seconds_of(results: Sequence[Result]) -> str:
    """The mean training seconds, in wall-clock and processor time.

    >>> seconds_of([{"seconds": 70.2, "cpu_seconds": 68.9}]), seconds_of([])
    ('70 / 69', '–')
    """
    if not results:
        return "–"
    return " / ".join(
        f"{statistics.mean(result[key] for result in results):,.0f}" for key in ("seconds", "cpu_seconds")
    )


def table(figures: dict[str, Any]) -> Iterator[str]:
    """Markdown: a table for each corpus, dev F1 and training seconds (wall clock / processor), and one for the
    variants."""
    results = figures["runs"]
    for corpus, title in CORPORA.items():
        of_corpus = [result for result in chosen(results, corpus=corpus) if result["system"] in NAMES]
        if of_corpus:
            yield from ("", f"| {title}, sentences | {' | s | '.join(NAMES.values())} | s |", "|---:" * 7 + "|")
        for size in sorted({result["sentences"] for result in of_corpus}):
            groups = [chosen(of_corpus, sentences=size, system=system) for system in NAMES]
            cells = [cell for group in groups for cell in (f1_of(group), seconds_of(group))]
            yield f"| {size:,} | {' | '.join(cells)} |"
    variants = sorted({(r["corpus"], r["sentences"], r["system"]) for r in results if r["system"] not in NAMES})
    if variants:
        yield from ("", "| variant | corpus | sentences | F1 | s |", "|---|---|---:|---:|---:|")
    for corpus, size, system in variants:
        group = chosen(results, corpus=corpus, sentences=size, system=system)
        yield f"| {system} | {CORPORA[corpus]} | {size:,} | {f1_of(group)} | {seconds_of(group)} |"


def draw(results: Sequence[Result], target: Path) -> None:
    """A PNG with a panel for each corpus: a line through the means of each system, a point for each seed."""
    require("matplotlib", "drawing learning curves", "plots")
    from matplotlib.figure import Figure

    corpora = [corpus for corpus in CORPORA if chosen(results, corpus=corpus)]
    figure = Figure(figsize=(1 + 3.6 * len(corpora), 4), dpi=150, layout="constrained")
    panels = figure.subplots(1, max(len(corpora), 1), sharey=True, squeeze=False)[0]
    for panel, corpus in zip(panels, corpora, strict=False):
        _draw_corpus(panel, chosen(results, corpus=corpus))
        panel.set_title(CORPORA[corpus])
    panels[0].set_ylabel("F1 on dev, %")
    panels[0].legend(frameon=False, fontsize=9, loc="lower right")
    with Target(str(target), force=True).open_binary() as stream:
        figure.savefig(stream, format="png")


def _draw_corpus(panel: Axes, results: Sequence[Result]) -> None:
    """F1 of each system against sentences, which are on a logarithmic scale."""
    for system, name in NAMES.items():
        of_system = chosen(results, system=system)
        points = [(result["sentences"], 100 * result["f1"]) for result in of_system]
        sizes = sorted({size for size, _ in points})
        means = [statistics.mean(f1 for each, f1 in points if each == size) for size in sizes]
        panel.plot(sizes, means, color=COLOURS[system], label=name)
        panel.plot([size for size, _ in points], [f1 for _, f1 in points], "o", color=COLOURS[system], markersize=4)
    sizes = sorted({result["sentences"] for result in results})
    panel.set_xscale("log")
    panel.set_xticks(sizes, [f"{size:,}" for size in sizes])
    panel.set_xticks([], minor=True)
    panel.set_xlabel("training sentences")
    panel.grid(color="#dddddd", linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
