"""A learning curve as a table."""

from __future__ import annotations

from statistics import fmean, stdev

from hyperspan.evaluation.tables import NO_VALUE, Section
from hyperspan.training.curve.runs import LearningCurve
from hyperspan.training.display import duration

BAR = 20
"""The length of the bar of an F1 of 100."""


def curve_section(curve: LearningCurve) -> Section:
    """A row per size with means over its runs, the spread of F1 and the fitted F1; and a row for twice the data."""
    header = ("sentences", "mentions", "runs", "F1", "±", "fitted", "time a run", "")
    fitted = curve.forecast.fitted
    rows: list[tuple[str, ...]] = []
    for size in curve.sizes:
        runs = curve.of_size(size)
        f1 = fmean(run.f1 for run in runs)
        deviation = f"{100 * stdev(run.f1 for run in runs):.1f}" if len(runs) > 1 else NO_VALUE
        expected = NO_VALUE if fitted is None else f"{100 * fitted.law.f1([size])[0]:.1f}"
        mentions = f"{fmean(run.mentions for run in runs):,.0f}"
        time = duration(fmean(run.seconds for run in runs))
        bar = f"{'█' * round(BAR * f1):░<{BAR}}"
        rows.append((f"{size:,}", mentions, f"{len(runs)}", f"{100 * f1:.1f}", deviation, expected, time, bar))
    if fitted is not None:
        bar = f"{'▒' * round(BAR * fitted.f1):░<{BAR}}"
        rows.append((f"{fitted.size:,}", "", "", "", "", f"{100 * fitted.f1:.1f}", "", bar))
    return Section("F1 on dev by the size of the training corpus", header, rows)
