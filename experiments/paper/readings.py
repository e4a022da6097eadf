"""How the figures of the paper's c=6 could be read: the same runs with other mentions counted, next to other runs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from experiments.paper.rows import BETAS, LIMITS, PAPER, PAPER_VARIANTS
from experiments.result import Result
from experiments.rows import Row
from experiments.summaries import Results
from hyperspan.evaluation.scores import Score
from hyperspan.evaluation.tables import NO_VALUE, Section

NARROW = ("1", "2", "3", "4-6")
"""The groups of widths up to six words, in reports."""


@dataclass(frozen=True)
class ByLimit:
    """Mentions of at most six words, and wider ones."""

    narrow: Score
    wide: Score

    @classmethod
    def of(cls, result: Result) -> ByLimit:
        groups = result.report["by_width"]
        scores = {
            name: Score(*(group[what] for what in ("correct", "predicted", "gold"))) for name, group in groups.items()
        }
        parts = [[score for name, score in scores.items() if (name in NARROW) == narrow] for narrow in (True, False)]
        return cls(*(sum(part, Score()) for part in parts))

    @property
    def all(self) -> Score:
        return self.narrow + self.wide

    @property
    def cut(self) -> Score:
        """Without the wide predictions; wide gold mentions count as missed."""
        return self.narrow + Score(gold=self.wide.gold)


Reading = Callable[[ByLimit], Score]
_COUNTED: tuple[tuple[str, str, Reading], ...] = (
    ("6", "all gold mentions counted", lambda found: found.all),
    ("6", "gold mentions of more than six words not counted", lambda found: found.narrow),
    ("n", "c=n, wide predictions left out after decoding", lambda found: found.cut),
)
"""Readings of the runs of the four rows: the limit of the row, what is done, and the score that counts."""


def readings_sections(results: Results, data: str) -> list[Section]:
    """Recall by width, and each reading of c=6 next to the printed figures."""
    found = {name: [ByLimit.of(result) for result in runs] for name, runs in results.items()}
    return [section for section in (_recall_by_width(found), _readings(found, data)) if section.rows]


def _recall_by_width(found: dict[str, list[ByLimit]]) -> Section:
    rows = [
        [row.title, *(_mean(found[row.name], reading, measure) for reading, measure in _WIDTH_CELLS)]
        for row in PAPER
        if row.name in found
    ]
    header = ("", "R ≤ 6 words", "P", "R > 6 words", "P", "gold > 6 words")
    return Section("Mentions of at most six words, and wider ones", header, rows)


_WIDTH_CELLS: tuple[tuple[Reading, str], ...] = (
    (lambda found: found.narrow, "recall"),
    (lambda found: found.narrow, "precision"),
    (lambda found: found.wide, "recall"),
    (lambda found: found.wide, "precision"),
    (lambda found: Score(correct=found.wide.gold, gold=found.all.gold), "recall"),
)


def _readings(found: dict[str, list[ByLimit]], data: str) -> Section:
    lines = []
    for limited, free in ((PAPER[0], PAPER[2]), (PAPER[1], PAPER[3])):
        printed = limited.paper[data]
        of_paper = [NO_VALUE if value is None else f"{value:.1f}" for value in printed]
        block: list[list[str]] = []
        for limit, title, reading in _COUNTED:
            block += _line("", title, found.get((limited if limit == "6" else free).name), reading, printed[2])
        for row in LIMITS:
            if row.base in (limited, free):
                block += _line("", row.title, found.get(row.name), lambda found: found.all, printed[2])
        for row in PAPER_VARIANTS:
            if row.base == limited and data in row.paper:
                for limit, title, reading in _COUNTED:
                    if limit == "6":
                        block += _line(row.title, title, found.get(row.name), reading, row.paper[data][2])
        if block:
            lines += [[limited.title, "the paper", *of_paper, NO_VALUE, NO_VALUE], *block]
    note = "F1 −: F1 minus the paper's; of what the paper's c=6 may mean, each line tries one reading"
    return Section("Readings of c=6", ("", "reading", "P", "R", "F1", "F1 −", "seeds"), lines, note)


def _line(name: str, title: str, found: Sequence[ByLimit] | None, reading: Reading, paper: float) -> list[list[str]]:
    if not found:
        return []
    scores = [_mean(found, reading, measure) for measure in ("precision", "recall", "f1")]
    return [[name, title, *scores, f"{float(scores[-1]) - paper:+.1f}", str(len(found))]]


def _mean(found: Sequence[ByLimit], reading: Reading, measure: str) -> str:
    scores = [reading(one) for one in found]
    if measure == "precision" and not any(score.predicted for score in scores):
        return NO_VALUE
    return f"{100 * statistics.fmean(getattr(score, measure) for score in scores):.2f}"


def beta_sections(results: Results) -> list[Section]:
    """Dev F1 by β, from which β was chosen."""
    betas = sorted({_beta(row) for row in BETAS})
    rows = []
    for row in PAPER:
        cells = [_dev_f1(results.get(f"{row.name}-beta-{beta:g}")) for beta in betas]
        if set(cells) != {NO_VALUE}:
            rows.append([row.title, *cells])
    header = ("", *(f"β = {beta:g}" for beta in betas))
    note = "mean dev F1 (number of seeds); the best of β from 1 to 3 is in the configuration"
    return [Section("The paper's own settings: β", header, rows, note)] if rows else []


def _beta(row: Row) -> float:
    return float(row.name.rpartition("-")[2])


def _dev_f1(runs: Sequence[Result] | None) -> str:
    scores = [run.dev_f1 for run in runs or () if run.dev_f1 is not None]
    return f"{100 * statistics.fmean(scores):.2f} ({len(scores)})" if scores else NO_VALUE
