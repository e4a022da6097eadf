"""Plots: F1 by the size of the corpus, and how well probabilities are calibrated."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hyperspan.errors import require_plots
from hyperspan.files import Target
from hyperspan.training.forecast import LEVEL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from hyperspan.evaluation import Calibration
    from hyperspan.training.curve import LearningCurve

# Okabe and Ito's palette, safe for colour-blind readers.
_RUNS, _CURVE, _DOUBLED = "#e69f00", "#0072b2", "#009e73"


def draw_curve(curve: LearningCurve, *targets: Path) -> None:
    """Draw a PNG or SVG, by file name: the F1 of each run, the mean of each size, and the fitted curve with its
    interval."""
    figure = _figure("drawing the curve", 8, 5)
    panel = figure.subplots()
    _draw_law(panel, curve)
    panel.plot(
        [run.size for run in curve.runs],
        [100 * run.f1 for run in curve.runs],
        "o",
        color=_RUNS,
        alpha=0.8,
        markersize=5,
        label="a run",
    )
    means = [100 * float(np.mean([run.f1 for run in curve.of_size(size)])) for size in curve.sizes]
    panel.plot(curve.sizes, means, "D", color=_CURVE, markersize=6, label="mean of a size")
    _draw_axes(panel, curve)
    for target in targets:
        _save(figure, Target(str(target), force=True), target.suffix.removeprefix("."))


def _figure(purpose: str, width: float, height: float) -> Figure:
    """An empty figure; an error names the purpose if the library for it is missing."""
    require_plots(purpose)
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def _save(figure: Figure, target: Target, kind: str = "png") -> None:
    """Write a figure, without the day and without random names, so that the same values give the same file."""
    from matplotlib import rc_context

    with target.open_binary() as stream, rc_context({"svg.hashsalt": "hyperspan"}):
        figure.savefig(stream, format=kind, metadata={"Date": None} if kind == "svg" else None)


def _keep_only_lines(panel: Axes) -> None:
    """Remove what distracts from the lines of a panel."""
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="y", color="#dddddd", linewidth=0.8)


def _draw_law(panel: Axes, curve: LearningCurve) -> None:
    """Draw the fitted curve up to twice the largest size, dashed beyond the runs."""
    fitted = curve.forecast.fitted
    if fitted is None:
        return
    largest = curve.sizes[-1]
    grid = np.geomspace(curve.sizes[0], fitted.size, 200)
    low, high = fitted.band(grid)
    panel.fill_between(
        grid, 100 * low, 100 * high, color=_CURVE, alpha=0.15, linewidth=0, label=f"{LEVEL:.0%} interval"
    )
    for part, style in ((grid <= largest, "-"), (grid >= largest, "--")):
        label = "fitted curve" if style == "-" else None
        panel.plot(grid[part], 100 * fitted.law.f1(grid[part]), style, color=_CURVE, linewidth=2, label=label)
    if curve.forecast.verdict == "gain":
        panel.plot([fitted.size], [100 * fitted.f1], "o", color=_DOUBLED, markersize=8, label="twice the data")
        panel.annotate(
            f"{100 * fitted.f1:.1f}",
            (fitted.size, 100 * fitted.f1),
            (0, 9),
            textcoords="offset points",
            ha="center",
            color=_DOUBLED,
        )


def _draw_axes(panel: Axes, curve: LearningCurve) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

    panel.set_xscale("log")
    fitted = curve.forecast.fitted
    panel.xaxis.set_major_locator(FixedLocator([*curve.sizes, *([fitted.size] if fitted else [])]))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    panel.tick_params(axis="x", rotation=30 if len(curve.sizes) > 8 else 0)
    panel.set_xlabel("sentences (logarithmic)")
    panel.set_ylabel("F1 on dev, %")
    panel.set_title(curve.forecast.sentence, loc="left", fontsize=9, wrap=True)
    _keep_only_lines(panel)
    panel.set_axisbelow(True)
    panel.legend(loc="lower right", frameon=False, fontsize=9)


def draw_calibration(calibrations: Mapping[str, Calibration], target: Target) -> None:
    """Draw reliability diagrams as PNG, with the number of mentions in each bin below."""
    figure = _figure("drawing calibration", 5, 6)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    above.plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=1, label="perfect")
    for shift, (name, found) in enumerate(calibrations.items()):
        filled = [part for part in found.bins if part.count]
        line = [part.probability for part in filled], [part.correct for part in filled]
        above.plot(*line, marker="o", label=f"{name}: ECE {found.ece:.3f}, Brier {found.brier:.3f}")
        width = (found.bins[0].high - found.bins[0].low) / (len(calibrations) + 0.5)
        lefts = [part.low + (shift + 0.25) * width for part in found.bins]
        below.bar(lefts, [max(part.count, 0.5) for part in found.bins], width, align="edge")
    above.set(xlim=(0, 1), ylim=(0, 1), ylabel="share that is right")
    above.legend(loc="upper left", frameon=False)
    below.set(xlabel="probability of a mention", ylabel="mentions", yscale="log")
    below.set_ylim(bottom=0.5)
    _save(figure, target)
