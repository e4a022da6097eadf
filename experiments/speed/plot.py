"""Draws words a second from what measurements printed.

The files are what ``python -m experiments.speed decode --json`` printed, with ``--spancat`` for the bar of spaCy, and
on another machine with ``--device cuda`` for that of the GPU.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from experiments.cli import Output, run_command
from hyperspan.errors import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes

REPORTED = {"6": 389, "n": 194}
"""Words a second of the code published with the paper, as reported for two CPU cores; not measured by these
benchmarks."""
OURS, OTHERS, GREY = "#0072B2", "#E69F00", "#767676"
"""Blue and orange that people who see few colours tell apart (Okabe and Ito)."""
TITLES = {"6": "mentions of up to 6 words (c = 6)", "n": "mentions of any length (c = n)"}


@dataclass
class Bar:
    name: str
    words_per_second: float
    colour: str
    share: float | None = None
    """Of the ceiling, where that is known."""
    reported: bool = False

    @property
    def label(self) -> str:
        speed = f"{self.words_per_second:,.0f}"
        return f"{speed} (reported)" if self.reported else speed


def bars_of(width: str, files: Sequence[dict[str, Any]]) -> list[Bar]:
    """What is known for one maximal width, from the file for CPUs and, where there is one, that for GPUs."""
    bars = [Bar("published code", REPORTED[width], GREY, reported=True)]
    for figures in files:
        entry = next(entry for entry in figures["widths"] if entry["c"] == width)
        if "raw_text" not in entry:  # of a GPU
            bars.append(Bar("hyperspan, GPU", entry["words_per_second"], OURS, entry["fraction_of_ceiling"]))
            continue
        if "spancat" in entry and width == "6":  # it looks at no wider spans
            bars.append(Bar("spaCy's spancat", entry["spancat"]["words_per_second"], OTHERS))
        parts = {"PyTorch alone": entry["pytorch_alone"], "float32": entry, "bfloat16": entry.get("bfloat16")}
        bars += [
            Bar(f"hyperspan, {name}", part["words_per_second"], OURS, part["fraction_of_ceiling"])
            for name, part in parts.items()
            if part
        ]
    return bars


def draw(axes: Axes, width: str, bars: Sequence[Bar], limit: float) -> None:
    """One panel: the bars from top to bottom, on a log scale."""
    for place, bar in enumerate(bars):
        drawn = axes.barh(place, bar.words_per_second, height=0.66, color="white" if bar.reported else bar.colour)
        if bar.reported:
            drawn[0].set(hatch="////", edgecolor=bar.colour)
        axes.annotate(bar.label, (bar.words_per_second, place), (5, 0), textcoords="offset points", va="center")
        if bar.share is not None:
            inside = {"color": "white", "ha": "right", "va": "center", "fontsize": 9}
            text = f"{bar.share:.2f} of the ceiling"
            axes.annotate(text, (bar.words_per_second, place), (-6, 0), textcoords="offset points", **inside)
    axes.set_yticks(range(len(bars)), [bar.name for bar in bars])
    axes.invert_yaxis()
    axes.set(xscale="log", xlim=(100, limit), title=TITLES[width])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)


def plot(files: Sequence[dict[str, Any]], output: Path) -> None:
    """A picture with a panel for each maximal width."""
    require("plots", "drawing speeds", "matplotlib")
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine
    from matplotlib.ticker import FuncFormatter, NullFormatter

    panels = {width: bars_of(width, files) for width in REPORTED}
    limit = 8 * max(bar.words_per_second for bars in panels.values() for bar in bars)
    with rc_context({"svg.hashsalt": "hyperspan", "font.size": 10.5}):  # the same file for the same figures
        rows = [len(bars) for bars in panels.values()]
        figure = Figure(
            figsize=(8.4, 0.44 * sum(rows) + 1.7), layout=ConstrainedLayoutEngine(rect=(0, 0.035, 1, 0.965))
        )
        axes = figure.subplots(len(rows), 1, sharex=True, height_ratios=rows)
        for each, (width, bars) in zip(axes, panels.items(), strict=True):
            draw(each, width, bars, limit)
            each.title.set(fontsize=11, fontweight="bold")
        axes[-1].set_xlabel("words a second, logarithmic")
        axes[-1].xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes[-1].xaxis.set_minor_formatter(NullFormatter())
        figure.text(0.005, 0.003, "; ".join(figures["machine"] for figures in files), fontsize=8, color=GREY)
        output.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(output, dpi=150, metadata={"Date": None} if output.suffix == ".svg" else None)


def draw_files(
    files: Annotated[list[Path], typer.Argument(help="What python -m experiments.speed decode --json printed.")],
    output: Output = Path("docs/images/speed.svg"),
) -> None:
    """Draw words a second from what measurements printed.

    Example: python -m experiments.speed.plot decode.json gpu.json -o speed.svg
    """
    plot([json.loads(file.read_text(encoding="utf-8")) for file in files], output)


if __name__ == "__main__":
    run_command(draw_files, "experiments.speed.plot")
