"""Reports of simulated labelling: Markdown tables of F1 by words and of the words saved; and a plot."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.study.curves_report import CORPORA, chosen
from hyperspan.errors import require
from hyperspan.files import Target

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Round = dict[str, Any]
BASELINE = "random"
# Okabe and Ito's palette, safe for colour-blind readers.
COLOURS = ("#000000", "#999999", "#0072b2", "#009e73", "#e69f00", "#cc79a7", "#d55e00", "#56b4e9", "#f0e442")


def words_to_reach(points: Sequence[tuple[float, float]], f1: float) -> float | None:
    """The words at which a curve of (words, F1) first reaches an F1, by linear interpolation; None if it never does.

    >>> words_to_reach([(100, 0.4), (200, 0.6)], 0.5), words_to_reach([(100, 0.4)], 0.5)
    (150.0, None)
    """
    if points and points[0][1] >= f1:
        return points[0][0]
    for (words, low), (more_words, high) in pairwise(points):
        if high >= f1:  # and low is below it
            return words + (more_words - words) * (f1 - low) / (high - low)
    return None


def savings(rounds: Sequence[Round], split: str) -> dict[str, list[float | None]]:
    """For each order and seed, the share of words saved to reach the average final F1 of random order.

    A negative share means more words are needed; None if it never reaches that F1.
    """
    ends = [curve[-1] for curve in curves(rounds, BASELINE, split).values()]
    if not ends:
        return {}
    goal, words = statistics.mean(f1 for _, f1 in ends), statistics.mean(words for words, _ in ends)
    found: dict[str, list[float | None]] = {}
    for order in orders_in(rounds):
        reached = [words_to_reach(curve, goal) for curve in curves(rounds, order, split).values()]
        found[order] = [None if each is None else 1 - each / words for each in reached]
    return found


def curves(rounds: Sequence[Round], order: str, split: str) -> dict[int, list[tuple[float, float]]]:
    """The points (words, F1) of an order by seed."""
    found: dict[int, list[tuple[float, float]]] = {}
    for one in sorted(chosen(rounds, by=order), key=lambda one: one["round"]):
        found.setdefault(one["seed"], []).append((one["words"], one["f1"][split]))
    return found


def mean_curve(rounds: Sequence[Round], order: str, split: str) -> list[tuple[float, float]]:
    """The mean words and F1 of each round that all seeds have finished."""
    both = zip(*curves(rounds, order, split).values(), strict=False)
    return [(statistics.mean(w for w, _ in each), statistics.mean(f1 for _, f1 in each)) for each in both]


def orders_in(rounds: Sequence[Round]) -> list[str]:
    """The orders that have rounds, random order first."""
    names = dict.fromkeys(one["by"] for one in rounds)
    return sorted(names, key=lambda name: name != BASELINE)


def table(figures: dict[str, Any]) -> Iterator[str]:
    """Markdown: for each corpus and split, F1 of each order by words, and the words saved."""
    for corpus, title in CORPORA.items():
        rounds = chosen(figures["rounds"], corpus=corpus)
        for split in ("dev", "test") if rounds else ():
            yield from _table_of(rounds, f"{title}, F1 on {split}", split)


def _table_of(rounds: Sequence[Round], title: str, split: str) -> Iterator[str]:
    base = mean_curve(rounds, BASELINE, split) or mean_curve(rounds, orders_in(rounds)[0], split)
    saved, goal = savings(rounds, split), base[-1][1]
    header = " | ".join(f"{words:,.0f}" for words, _ in base)
    yield from ("", f"| {title} by words | {header} | seeds | words saved to {100 * goal:.1f} | by the mean curve |")
    yield "|---" + "|---:" * (len(base) + 3) + "|"
    for order in orders_in(rounds):
        curve = mean_curve(rounds, order, split)
        cells = [f"{100 * f1:.1f}" for _, f1 in curve] + [""] * (len(base) - len(curve))
        reached = words_to_reach(curve, goal)
        mean = f"{1 - reached / base[-1][0]:.0%}" if reached is not None else "not reached"
        seeds = len(curves(rounds, order, split))
        yield f"| {order} | {' | '.join(cells)} | {seeds} | {saved_of(saved.get(order, []))} | {mean} |"


def saved_of(shares: Sequence[float | None]) -> str:
    """The mean and standard deviation over seeds; and how many did not reach the target.

    >>> saved_of([0.25, 0.35]), saved_of([0.3, None]), saved_of([])
    ('30% ± 7', '30% (1 of 2 not)', '–')
    """
    reached = [100 * share for share in shares if share is not None]
    if not reached:
        return "–"
    spread = f" ± {statistics.stdev(reached):.0f}" if len(reached) > 1 else ""
    missing = f" ({len(shares) - len(reached)} of {len(shares)} not)" if len(reached) < len(shares) else ""
    return f"{statistics.mean(reached):.0f}%{spread}{missing}"


def draw(rounds: Sequence[Round], target: Path) -> None:
    """A PNG or SVG with a panel for each corpus: a line through the means of each order, F1 on dev."""
    require("matplotlib", "drawing the curves", "plots")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    corpora = [corpus for corpus in CORPORA if chosen(rounds, corpus=corpus)]
    figure = Figure(figsize=(1 + 4.6 * len(corpora), 4.5), dpi=150, layout="constrained")
    panels = figure.subplots(1, max(len(corpora), 1), squeeze=False)[0]
    for panel, corpus in zip(panels, corpora, strict=False):
        _draw_corpus(panel, chosen(rounds, corpus=corpus))
        panel.set_title(CORPORA[corpus])
    panels[0].set_ylabel("F1 on dev, %")
    panels[0].legend(frameon=False, fontsize=8, loc="lower right")
    kind = target.suffix.removeprefix(".") or "png"
    with Target(str(target), force=True).open_binary() as stream, rc_context({"svg.hashsalt": "hyperspan"}):
        figure.savefig(stream, format=kind, metadata={"Date": None} if kind == "svg" else None)


def _draw_corpus(panel: Axes, rounds: Sequence[Round]) -> None:
    for order, colour in zip(orders_in(rounds), COLOURS, strict=False):
        curve = mean_curve(rounds, order, "dev")
        panel.plot([w for w, _ in curve], [100 * f1 for _, f1 in curve], "o-", color=colour, markersize=3, label=order)
    base = mean_curve(rounds, BASELINE, "dev")
    if base:
        panel.axhline(100 * base[-1][1], color="#000000", linewidth=0.6, linestyle=":")
    panel.set_xlabel("words labelled")
    panel.xaxis.set_major_formatter("{x:,.0f}")
    panel.grid(color="#dddddd", linewidth=0.8)
    panel.set_axisbelow(True)
    panel.spines[["top", "right"]].set_visible(False)
