"""The reports of ``python -m experiments.study discontinuous``: F1 over seeds, significance tests, speed."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.study.discontinuous_runs import ROWS, DiscontinuousRun, read_found, read_splits
from experiments.study.discontinuous_scores import MEASURED, measured_counts
from hyperspan.evaluation.alignment import align
from hyperspan.evaluation.scores import Score
from hyperspan.evaluation.significance import Counts, differences

Figures = dict[str, Any]


def family(corpus: str) -> str:
    """The corpus that a fold belongs to."""
    return corpus.partition("-")[0]


def table(figures: Figures) -> Iterator[str]:
    """Markdown tables, or commands if requested."""
    if "commands" in figures:
        yield from figures["commands"]
    elif "speeds" in figures:
        yield from speed_table(figures["speeds"])
    else:
        yield from score_table(figures["runs"])
        if figures.get("comparisons"):
            yield ""
            yield from comparison_table(figures["comparisons"])


def score_table(runs: Sequence[Figures]) -> Iterator[str]:
    """Mean and standard deviation of F1 over seeds, in percent; the folds of a seed are pooled."""
    pooled: dict[tuple[str, str, str], dict[int, list[Figures]]] = defaultdict(lambda: defaultdict(list))
    for one in runs:
        for split in ("dev", "test"):
            pooled[family(one["corpus"]), split, one["row"]][one["seed"]].append(one[split])
    yield "| corpus | split | row | seeds | F1, all | F1, discontinuous | P | R | F1, sentences that have one |"
    yield "|---|---|---|---:|---:|---:|---:|---:|---:|"
    for (corpus, split, row), seeds in sorted(pooled.items(), key=lambda i: (*i[0][:2], ROWS.index(i[0][2]))):
        found = [{name: _added(one[name] for one in folds) for name in MEASURED} for folds in seeds.values()]
        every, some, with_some = ([one[name] for one in found] for name in MEASURED)
        columns = [_mean([one.f1 for one in values]) for values in (every, some)]
        columns += [_mean([one.precision for one in some]), _mean([one.recall for one in some])]
        columns += [_mean([one.f1 for one in with_some])]
        yield f"| {corpus} | {split} | {row} | {len(seeds)} | {' | '.join(columns)} |"


def _added(scores: Iterator[Figures]) -> Score:
    return sum((Score(one["correct"], one["predicted"], one["gold"]) for one in scores), Score())


def _mean(values: Sequence[float]) -> str:
    spread = f" ± {100 * statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{100 * statistics.mean(values):.2f}{spread}"


def comparisons(
    runs: Sequence[DiscontinuousRun], output: Path, data: Path, row: str, documents: int = 0
) -> list[Figures]:
    """Test whether a row differs significantly from each other one.

    The counts of a sentence are summed over seeds, so that a sentence is drawn or exchanged with all its seeds.
    """
    found: list[Figures] = []
    for corpus in dict.fromkeys(family(run.corpus) for run in runs):
        ours = [run for run in runs if family(run.corpus) == corpus]
        counts = _counts(ours, output, data, documents)
        for (split, measured, other), theirs in counts.items():
            if other != row and (split, measured, row) in counts:
                f1 = differences(theirs, counts[split, measured, row])["f1"]
                about = {"corpus": corpus, "split": split, "measured": measured, "row": row, "other": other}
                found.append({**about, "difference": f1.difference, "interval": f1.interval, "p": f1.p_randomization})
    return found


def _counts(
    runs: Sequence[DiscontinuousRun], output: Path, data: Path, documents: int
) -> dict[tuple[str, str, str], Counts]:
    """By split, measure and row: the counts of each sentence of all folds, summed over the seeds that all rows have."""
    rows = sorted({run.row for run in runs}, key=ROWS.index)
    corpora = sorted({run.corpus for run in runs})
    seeds = [s for s in sorted({run.seed for run in runs}) if all(_run(c, r, s) in runs for c in corpora for r in rows)]
    parts: dict[tuple[str, str, str], list[Counts]] = defaultdict(list)
    for corpus in corpora if seeds else ():
        splits = read_splits(data, corpus, documents)
        systems = [(row, seed) for row in rows for seed in seeds]
        read = [read_found(output, _run(corpus, row, seed), splits) for row, seed in systems]
        for split in ("dev", "test"):
            aligned = align(splits[split], *(one[split] for one in read))
            sums: dict[tuple[str, str], Counts] = {}
            for (row, _), side in zip(systems, aligned.systems, strict=True):
                for name, counts in measured_counts(aligned.gold, side).items():
                    sums[name, row] = sums[name, row] + counts if (name, row) in sums else counts
            for (name, row), counts in sums.items():
                parts[split, name, row].append(counts)
    return {key: np.concatenate(counts) for key, counts in parts.items()}


def _run(corpus: str, row: str, seed: int) -> DiscontinuousRun:
    return DiscontinuousRun(corpus, row, seed)


def comparison_table(compared: Sequence[Figures]) -> Iterator[str]:
    """Differences in F1, in points, with their intervals and two-sided p by approximate randomisation."""
    yield "| corpus | split | F1 of | row | beside | difference | 95% | p |"
    yield "|---|---|---|---|---|---:|---:|---:|"
    for one in compared:
        low, high = (100 * bound for bound in one["interval"])
        names = " | ".join(one[key] for key in ("corpus", "split", "measured", "row", "other"))
        yield f"| {names} | {100 * one['difference']:+.2f} | {low:+.2f} to {high:+.2f} | {one['p']:.4f} |"


def speed_table(speeds: Sequence[Figures]) -> Iterator[str]:
    """Words per second, absolute and relative to the first row."""
    yield "| row | training, words/s | share | decoding, words/s | share |"
    yield "|---|---:|---:|---:|---:|"
    for one in speeds:
        columns = [
            f"{one[part]['words_per_second']:,.0f} | {one[part]['share']:.2f}" for part in ("training", "decoding")
        ]
        yield f"| {one['row']} | {' | '.join(columns)} |"
