"""Summarise the finished seeds of a row: means, bootstrap intervals, and a paired test against another row."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.result import Result
from experiments.rows import Row
from hyperspan.errors import InputError
from hyperspan.evaluation.intervals import Counts, Difference, confidence, differences

Results = Mapping[str, Sequence[Result]]
"""The finished seeds of rows, by their names."""
ROUNDS = 10_000


@dataclass(frozen=True)
class RowSummary:
    """The finished seeds of a row together; scores are fractions."""

    row: Row
    seeds: list[int]
    precision: float
    recall: float
    f1: float
    """Precision, recall and F1 are means over the seeds."""
    deviation: float | None
    """The standard deviation of F1 between seeds; None for a single seed."""
    interval: tuple[float, float]
    """The 95% bootstrap interval of F1 over sentences, with the predictions of all seeds pooled."""
    dev_f1: float | None
    overlapping: dict[str, float]
    non_overlapping: dict[str, float]
    words_per_second: float
    device: str
    parameters: int
    seconds: float
    difference: Difference | None = None
    """F1 of the row that all are compared with, minus this one's."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        own = {**vars(self), "row": self.row.name, "title": self.row.title, "group": self.row.group}
        return own | {"difference": vars(self.difference) if self.difference else None}


def summarize(row: Row, results: Sequence[Result], against: Sequence[Result] = ()) -> RowSummary:
    """Summarise the seeds of one row, compared with the seeds of another row."""
    if any(not np.array_equal(result.known_counts[:, 2], results[0].known_counts[:, 2]) for result in results):
        raise InputError(
            f"the seeds of {row.name} were not scored on the same sentences; name those that were with --seeds, or train the "
            "others again with --force, on the same data"
        )

    def mean(part: str, measure: str) -> float:
        return statistics.fmean(result.report[part][measure] for result in results)

    def scores(part: str) -> dict[str, float]:
        return {measure: mean(part, measure) for measure in ("precision", "recall", "f1")}

    dev = [result.dev_f1 for result in results if result.dev_f1 is not None]
    f1 = [result.f1 for result in results]
    return RowSummary(
        row=row,
        seeds=[result.seed for result in results],
        **scores("micro"),
        deviation=statistics.stdev(f1) if len(f1) > 1 else None,
        interval=confidence(_pooled(results)).f1,
        dev_f1=statistics.fmean(dev) if dev else None,
        overlapping=scores("overlapping"),
        non_overlapping=scores("non_overlapping"),
        words_per_second=statistics.fmean(result.report["words_per_second"] for result in results),
        device=", ".join(sorted({result.machine for result in results})),
        parameters=results[0].parameters,
        seconds=statistics.fmean(result.seconds for result in results),
        difference=compared(results, against) if against and against[0].row != row.name else None,
    )


def _pooled(results: Sequence[Result]) -> Counts:
    """(sentences, 3): the counts of each sentence, summed over seeds."""
    return np.sum([result.known_counts for result in results], axis=0)


def compared(ours: Sequence[Result], others: Sequence[Result]) -> Difference:
    """F1 of the others minus ours, over the common seeds, or over equally many of each."""
    shared = {result.seed for result in ours} & {result.seed for result in others}
    few = min(len(ours), len(others))
    pair = [[r for r in side if r.seed in shared] if shared else side[:few] for side in (ours, others)]
    one, other = pair[0][0], pair[1][0]
    if not np.array_equal(one.known_counts[:, 2], other.known_counts[:, 2]):
        raise InputError(
            f"{one.row} and {other.row} were not scored on the same sentences ({len(one.known_counts):,} and {len(other.known_counts):,}, "
            "or other mentions in them); train one of them again with --force, on the same data"
        )
    return differences(_pooled(pair[0]), _pooled(pair[1]), rounds=ROUNDS)["f1"]


def summaries(rows: Iterable[Row], results: Results, against: str | None) -> list[RowSummary]:
    """A summary of each row that has a finished seed, compared with the row `against`, or with the base of an
    ablation."""
    finished = [row for row in rows if row.name in results]
    return [
        summarize(row, results[row.name], results.get(against or (row.base.name if row.base else ""), ()))
        for row in finished
    ]
