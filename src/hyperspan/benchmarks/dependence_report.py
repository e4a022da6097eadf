"""The reports of ``hyperspan benchmark dependence``: measures over seeds, pairs of mentions, significance tests,
speed."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hyperspan.benchmarks.dependence_runs import DependenceRun, read_rows
from hyperspan.benchmarks.discontinuous_report import speed_table
from hyperspan.benchmarks.set_measures import RANKS
from hyperspan.evaluation.significance import differences

SYSTEMS = {
    "segmental": ("segmental", "alone"),
    "together": ("together", "alone"),
    "both": ("both", "alone"),
    "coupled": ("segmental", "coupled"),
    "together, coupled": ("together", "coupled"),
    "both, coupled": ("both", "coupled"),
    "reversed": ("reversed", "alone"),
    "reversed, coupled": ("reversed", "coupled"),
}
"""The systems: a row, and how it is measured."""
SHOWN_PAIRS = ("span", "end_same", "end_other", "start_same", "nested_same", "crossing_same", "crossing_other")
ROUNDS = 10_000
Figures = dict[str, Any]


def table(figures: Figures) -> Iterator[str]:
    """Markdown tables, or commands if requested."""
    if "commands" in figures:
        yield from figures["commands"]
    elif "speeds" in figures:
        yield from speed_table(figures["speeds"])
    else:
        yield from measure_table(figures["runs"])
        yield ""
        yield from pair_table(figures["runs"])
        yield ""
        yield from approximation_table(figures["runs"])
        if figures.get("comparisons"):
            yield ""
            yield from comparison_table(figures["comparisons"])


def _systems(runs: Sequence[Figures]) -> dict[tuple[str, str, str], list[Figures]]:
    """By corpus, split and system: the figures of all seeds."""
    found: dict[tuple[str, str, str], list[Figures]] = defaultdict(list)
    for corpus in sorted({one["corpus"] for one in runs}):
        for split in ("dev", "test"):
            for system, (row, how) in SYSTEMS.items():
                found[corpus, split, system] = [
                    one[split][how]
                    for one in runs
                    if (one["corpus"], one["row"]) == (corpus, row) and how in one[split]
                ]
    return {key: seeds for key, seeds in found.items() if seeds}


def measure_table(runs: Sequence[Figures]) -> Iterator[str]:
    """Means over seeds."""
    among = " | ".join(f"among {rank}" for rank in RANKS)
    yield (
        f"| corpus | split | system | seeds | bits | fewer | F1 | F1, overlapping | inner recall | {among} | P(best) | best right | ECE |"
    )
    yield "|---|---|---|" + "---:|" * (9 + len(RANKS))
    systems = _systems(runs)
    for (corpus, split, system), seeds in systems.items():
        first = [one["bits"] for one in systems.get((corpus, split, "segmental"), seeds)]
        fewer = 1 - statistics.mean(one["bits"] for one in seeds) / statistics.mean(first)
        columns = [_mean([one["bits"] for one in seeds], 1, 3), f"{100 * fewer:.1f}%"]
        columns += [_mean([one[name] for one in seeds]) for name in ("f1", "f1_overlapping", "inner_recall")]
        columns += [_mean([one["gold_among"][str(rank)] for one in seeds]) for rank in RANKS]
        columns += [_mean([one[name] for one in seeds]) for name in ("best_expected", "best_right", "best_ece")]
        yield f"| {corpus} | {split} | {system} | {len(seeds)} | {' | '.join(columns)} |"


def _mean(values: Sequence[float], factor: float = 100, digits: int = 2) -> str:
    spread = f" ± {factor * statistics.stdev(values):.{digits}f}" if len(values) > 1 else ""
    return f"{factor * statistics.mean(values):.{digits}f}{spread}"


def pair_table(runs: Sequence[Figures]) -> Iterator[str]:
    """Pairs of somewhat probable mentions, summed over seeds: both and neither present, expected and in gold."""
    yield "| corpus | split | system | pair | pairs | both expected | both | neither expected | neither |"
    yield "|---|---|---|---|---:|---:|---:|---:|---:|"
    for (corpus, split, system), seeds in _systems(runs).items():
        for family in SHOWN_PAIRS:
            some = [one["pairs"][family] for one in seeds if family in one["pairs"]]
            sums = {name: sum(one[name] for one in some) for name in some[0]} if some else {}
            if sums:
                columns = [
                    f"{sums[name]:,.0f}" for name in ("pairs", "both_expected", "both", "neither_expected", "neither")
                ]
                yield f"| {corpus} | {split} | {system} | {family} | {' | '.join(columns)} |"


def approximation_table(runs: Sequence[Figures]) -> Iterator[str]:
    """Mean field and re-ranking compared with the exact sums, on dev, for segmental rows; means over seeds."""
    yield "| corpus | components | mean field: gap in bits a sentence | worst component | both: exact | both: mean field | gold beyond 20 patterns |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for corpus in sorted({one["corpus"] for one in runs}):
        found = [
            one["dev"]["approximations"]
            for one in runs
            if one["corpus"] == corpus and one["row"] == "segmental" and "approximations" in one["dev"]
        ]
        if found:
            names = ("components", "mean_field_gap_bits", "mean_field_worst_bits", "both_exact", "both_mean_field")
            columns = [f"{statistics.mean(one[name] for one in found):,.3g}" for name in names]
            columns.append(f"{statistics.mean(one['gold_patterns_beyond_the_best']['20'] for one in found):.1f}")
            yield f"| {corpus} | {' | '.join(columns)} |"


def comparisons(runs: Sequence[DependenceRun], output: Path) -> list[Figures]:
    """Test whether systems differ significantly from segmental, in bits and F1; sentences are exchanged with all their
    seeds."""
    found: list[Figures] = []
    for corpus in dict.fromkeys(run.corpus for run in runs):
        rows = {(run.row, run.seed): read_rows(output, run) for run in runs if run.corpus == corpus}
        for split in ("dev", "test"):
            for system, (row, how) in SYSTEMS.items():
                pairs = [
                    (rows["segmental", seed][split]["alone"], rows[row, seed][split][how])
                    for seed in sorted({seed for _, seed in rows})
                    if system != "segmental" and how in rows.get((row, seed), {split: {}})[split]
                    if "alone" in rows.get(("segmental", seed), {split: {}})[split]
                ]
                if pairs:
                    found.append({"corpus": corpus, "split": split, "system": system, **_compared(pairs)})
            mixed = _mixed(rows, split)
            if mixed:
                found.append({"corpus": corpus, "split": split, "system": "segmental and reversed, mixed", **mixed})
    return found


def _compared(pairs: Sequence[tuple[Figures, Figures]]) -> Figures:
    fewer = np.mean([np.array(old["bits"]) - np.array(new["bits"]) for old, new in pairs], axis=0)
    names = ("correct", "predicted", "gold")
    counts = [
        np.sum([np.array([one[name] for name in names], dtype=np.int64).T for one in side], axis=0)
        for side in zip(*pairs, strict=True)
    ]
    f1 = differences(counts[0], counts[1])["f1"]
    return {
        "bits": float(-fewer.mean()),
        "p_bits": _sign_flip(fewer),
        "f1": f1.difference,
        "interval": f1.interval,
        "p_f1": f1.p_randomization,
    }


def _mixed(rows: dict[tuple[str, int], Any], split: str) -> Figures | None:
    """The mixture p = (p of segmental + p of reversed) / 2, only in bits."""
    fewer = []
    for (row, seed), found in rows.items():
        other = rows.get(("reversed", seed), {split: {}})[split]
        if row == "segmental" and "alone" in found[split] and "alone" in other:
            old, new = (np.array(one["alone"]["bits"]) for one in (found[split], {"alone": other["alone"]}))
            fewer.append(old + np.logaddexp2(-old, -new) - 1)
    if not fewer:
        return None
    mean = np.mean(fewer, axis=0)
    return {"bits": float(-mean.mean()), "p_bits": _sign_flip(mean), "f1": 0.0, "interval": (0.0, 0.0), "p_f1": 1.0}


def _sign_flip(values: np.ndarray, seed: int = 0) -> float:
    """Two-sided p of a mean difference, by random sign flips of sentences."""
    random = np.random.default_rng(seed)
    observed = abs(values.mean())
    extreme = 0
    for _ in range(0, ROUNDS, 500):
        signs = random.integers(0, 2, (500, len(values))) * 2 - 1
        extreme += int((abs((signs * values).mean(1)) >= observed - 1e-12).sum())
    return (extreme + 1) / (ROUNDS + 1)


def comparison_table(compared: Sequence[Figures]) -> Iterator[str]:
    """Differences from segmental, with two-sided p by approximate randomisation."""
    yield "| corpus | split | system | bits a sentence | p | F1 | 95% | p |"
    yield "|---|---|---|---:|---:|---:|---:|---:|"
    for one in compared:
        low, high = (100 * bound for bound in one["interval"])
        f1 = f"{100 * one['f1']:+.2f} | {low:+.2f} to {high:+.2f} | {one['p_f1']:.4f}"
        yield f"| {one['corpus']} | {one['split']} | {one['system']} | {one['bits']:+.3f} | {one['p_bits']:.4f} | {f1} |"
