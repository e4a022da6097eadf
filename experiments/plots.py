"""Plots of the main table: F1 of each row with its interval next to the paper's, and F1 against speed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.paper.rows import GROUPS
from experiments.summaries import RowSummary
from hyperspan.errors import require
from hyperspan.files import Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, safe for colour-blind readers.
COLOURS = dict(
    zip(
        GROUPS,
        ("#e69f00", "#0072b2", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#999999", "#f0e442", "#666666", "#000000"),
        strict=True,
    )
)

BESIDE = [
    *((across, up, side) for up in (0, 8, -8, 14, -14, 20, -20) for across, side in ((7, "left"), (-7, "right"))),
    (0, 10, "center"),
]
"""Candidate label positions: the offset from the point, to the right and up, and the alignment."""


def draw_scores(found: Sequence[RowSummary], data: str, target: Path) -> None:
    """Draw a PNG with the F1 of each row as a point with its 95% interval, and the paper's F1 as an open point."""
    figure = _figure(8, 1.4 + 0.32 * len(found))
    panel = figure.subplots()
    for height, summary in enumerate(reversed(found)):
        colour = COLOURS[summary.row.group]
        low, high = summary.interval
        panel.plot([100 * low, 100 * high], [height, height], color=colour, linewidth=2)
        panel.plot([100 * summary.f1], [height], "o", color=colour, markersize=6)
        paper = summary.row.paper.get(data)
        if paper:
            panel.plot([paper[2]], [height], "D", markerfacecolor="white", markeredgecolor="#444444", markersize=6)
    panel.set_yticks(range(len(found)), [summary.row.label for summary in reversed(found)])
    panel.set_xlabel(f"F1 on {data} test, %: ours with 95% interval, ◇ the paper's")
    panel.set_ylim(-0.7, len(found) - 0.3)
    _legend(panel, found)
    _save(figure, panel, target)


def draw_speed(found: Sequence[RowSummary], data: str, target: Path) -> None:
    """Draw a PNG with the F1 of each row against its decoding speed in words per second."""
    figure = _figure(9, 6.5)
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    panel = figure.subplots()
    places = {summary.row.label: (summary.words_per_second, 100 * summary.f1) for summary in found}
    for summary, place in zip(found, places.values(), strict=True):
        panel.plot(*place, "o", color=COLOURS[summary.row.group], markersize=7)
    panel.set_xscale("log")
    panel.margins(x=0.2, y=0.1)
    panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.xaxis.set_minor_locator(NullLocator())
    panel.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    devices = ", ".join(sorted({summary.device for summary in found}))
    panel.set_xlabel(f"words a second on {devices} (logarithmic)")
    panel.set_ylabel(f"F1 on {data} test, %")
    _legend(panel, found)
    _write_labels(figure, panel, places)
    _save(figure, panel, target)


def _write_labels(figure: Figure, panel: Axes, places: Mapping[str, tuple[float, float]]) -> None:
    """Write each label next to its point without covering others, if possible."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.transforms import Bbox

    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()  # to compute the positions of points
    points = [panel.transData.transform(place) for place in places.values()]
    taken = [Bbox([[x - 7, y - 7], [x + 7, y + 7]]) for x, y in points]
    for label, place in places.items():
        for across, up, side in BESIDE:
            text = panel.annotate(
                label, place, (across, up), textcoords="offset points", ha=side, va="center", fontsize=8
            )
            text.set_in_layout(False)
            box = text.get_window_extent(renderer)
            if not any(box.overlaps(other) for other in taken) or (across, up, side) == BESIDE[-1]:
                taken.append(box)
                break
            text.remove()


def _figure(width: float, height: float) -> Figure:
    require("plots", "drawing the table", "matplotlib")
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=150, layout="constrained")


def _legend(panel: Axes, found: Sequence[RowSummary]) -> None:
    groups = [group for group in GROUPS if any(summary.row.group == group for summary in found)]
    for group in groups:
        panel.plot([], [], "o", color=COLOURS[group], label=GROUPS[group])
    panel.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False, borderaxespad=0, fontsize=9)


def _save(figure: Figure, panel: Axes, target: Path) -> None:
    panel.spines[["top", "right"]].set_visible(False)
    panel.grid(axis="both", color="#dddddd", linewidth=0.8)
    panel.set_axisbelow(True)
    with Target(str(target), force=True).open_binary() as stream:
        figure.savefig(stream, format="png")
