"""The tables of studies: means over seeds, with the folds of a corpus together, and paired tests."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from experiments.result import Result
from experiments.rows import FOLDS, Row
from experiments.study.studies import SECONDS, Study
from experiments.summaries import Results
from hyperspan.evaluation.counts import Score
from hyperspan.evaluation.intervals import Counts, differences
from hyperspan.evaluation.tables import NO_VALUE, Section

Found = Mapping[str, Results]
"""By corpus and row: the finished seeds."""
Measured = dict[str, Counts]
"""By part of the report: the counts of each sentence."""


def family(corpus: str) -> str:
    """The corpus that a fold belongs to."""
    return corpus.partition("-")[0] if corpus in FOLDS else corpus


def sections(study: Study, found: Found) -> list[Section]:
    """A table for each corpus and part, with a line for each row that has a finished seed."""
    families = dict.fromkeys(map(family, found))
    tables = []
    for name in families:
        by_seed = {row: _by_seed(row, name, found) for row in study.rows}
        for part in ("test", "dev"):
            lines = [_line(row, seeds, part, study) for row, seeds in by_seed.items() if _has(seeds, part)]
            if not lines:
                continue
            tables.append(Section(f"{name}, {part}", ("", *(title for title, *_ in study.columns), "seeds"), lines))
    note = f"in percent; mean and standard deviation over seeds{f'; {study.note}' if study.note else ''}"
    return [*tables[:-1], *(Section(last.title, last.header, last.rows, note) for last in tables[-1:])]


def _by_seed(row: Row, name: str, found: Found) -> dict[int, list[Result]]:
    """The runs of a row by seed, on the corpora of a family."""
    seeds: dict[int, list[Result]] = defaultdict(list)
    for corpus, results in found.items():
        for result in results.get(row.name, ()) if family(corpus) == name and corpus in row.data else ():
            seeds[result.seed].append(result)
    return seeds


def _has(seeds: Mapping[int, Sequence[Result]], part: str) -> bool:
    """Whether runs were scored on a part."""
    return any((run.test if part == "test" else run.dev) is not None for runs in seeds.values() for run in runs)


def _line(row: Row, seeds: Mapping[int, Sequence[Result]], part: str, study: Study) -> list[str]:
    cells = []
    for _, group, measure in study.columns:
        if measure == SECONDS:
            cells.append(_seconds([run for runs in seeds.values() for run in runs]))
            continue
        scores = [pooled(runs, part, group) for runs in seeds.values()]
        cells.append(mean([getattr(score, measure) for score in scores if score is not None]))
    return [row.title, *cells, str(len(seeds))]


def _seconds(runs: Sequence[Result]) -> str:
    """The mean training time, by the wall clock and of the processor."""
    cpu = [run.cpu_seconds for run in runs if run.cpu_seconds is not None]
    shown = [statistics.mean(run.seconds for run in runs), *([statistics.mean(cpu)] if cpu else [])]
    return " / ".join(f"{value:,.0f}" for value in shown)


def pooled(runs: Iterable[Result], part: str, group: str) -> Score | None:
    """The score of several runs together; None if one of them lacks it."""
    reports = [run.test if part == "test" else run.dev for run in runs]
    groups = [None if report is None else report.get(group) for report in reports]
    if None in groups:
        return None
    return sum((Score(one["correct"], one["predicted"], one["gold"]) for one in groups if one), Score())


def mean(values: Sequence[float]) -> str:
    """The mean and standard deviation of fractions, in percent.

    >>> mean([0.5, 0.52]), mean([0.5]), mean([])
    ('51.00 ± 1.41', '50.00', '–')
    """
    if not values:
        return NO_VALUE
    spread = f" ± {100 * statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{100 * statistics.mean(values):.2f}{spread}"


def comparison_sections(study: Study, found: Found, against: Row) -> list[Section]:
    """How much a row differs from the others in F1 on test, by paired tests over sentences.

    The counts of a sentence are summed over the seeds that both have, so that a sentence is drawn or exchanged with all
    its seeds.
    """
    header = ("", "F1 of", "difference", "95%", "p")
    tables = []
    for name in dict.fromkeys(map(family, found)):
        ours = _by_seed(against, name, found)
        lines = [
            line
            for row in study.rows
            if row != against
            for line in _difference_lines(row.title, ours, _by_seed(row, name, found))
        ]
        tables += [Section(f"{name}, test: {against.title} minus the others", header, lines)] if lines else []
    return tables


def _difference_lines(
    title: str, ours: Mapping[int, Sequence[Result]], others: Mapping[int, Sequence[Result]]
) -> list[list[str]]:
    seeds = sorted(ours.keys() & others.keys())
    if not seeds or any(run.counts is None for side in (ours, others) for seed in seeds for run in side[seed]):
        return []
    one, other = (_counts([side[seed] for seed in seeds]) for side in (others, ours))
    lines = []
    for group in one.keys() & other.keys():
        f1 = differences(one[group], other[group])["f1"]
        low, high = (100 * bound for bound in f1.interval)
        cells = (f"{100 * f1.difference:+.2f}", f"{low:+.2f} to {high:+.2f}", f"{f1.p_randomization:.4f}")
        lines.append([title, group.replace("_", " "), *cells])
    return sorted(lines, key=lambda line: ("micro", "discontinuous", "with discontinuous").index(line[1]))


def _counts(runs: Sequence[Sequence[Result]]) -> Measured:
    """By part of the report: the counts of each sentence of all folds, summed over seeds."""
    parts: dict[str, list[Counts]] = defaultdict(list)
    for fold in zip(*runs, strict=True):
        every = np.sum([run.known_counts for run in fold], axis=0)
        parts["micro"].append(every)
        if all(run.discontinuous is not None for run in fold):
            some = np.sum([run.discontinuous for run in fold if run.discontinuous is not None], axis=0)
            parts["discontinuous"].append(some)
            parts["with_discontinuous"].append(every * (some[:, 2:] > 0))
    return {group: np.concatenate(counts) for group, counts in parts.items() if len(counts) == len(parts["micro"])}
