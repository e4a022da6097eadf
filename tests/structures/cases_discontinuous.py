"""Small batches of mentions with gaps, with every set of them enumerated."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from hypothesis import strategies as st

from hyperspan.structures import DiscontinuousHypergraph, DiscontinuousScores
from hyperspan.structures.graphs import Hyperedge, discontinuous_hypergraph, discontinuous_mentions
from hyperspan.structures.mentions import AnyMention, Limits, Parts, parts_of, with_parts
from tests.structures.brute_force import BruteForce, Case, Explicit, all_sets, arrays

MANY = 9
"""Sentences with more possible mentions than this are not enumerated: 2 ** 9 sets."""


def all_discontinuous(n: int, types: int, limits: Limits) -> list[AnyMention]:
    """Every mention that a sentence of n words can hold."""

    def longer(parts: Parts) -> list[Parts]:
        found = [parts]
        if len(parts) < limits.parts:
            for start in range(parts[-1][1] + 1, min(parts[-1][1] + limits.gap, n - 1) + 1):
                for end in range(start + 1, min(start + limits.later_width, n) + 1):
                    found += longer((*parts, (start, end)))
        return found

    firsts = [((i, j),) for i in range(n) for j in range(i + 1, min(i + limits.width, n) + 1)]
    return [with_parts(parts, kind) for kind in range(types) for first in firsts for parts in longer(first)]


def discontinuous_score(scores: SimpleNamespace, sentence: int, length: int, mentions: Any) -> float:
    """The score of one set, added up from the definition: each part and gap once for all mentions that are alike up to
    it."""

    def at(values: Any, start: int, end: int, kind: int) -> float:
        return values[sentence, start, end - start - 1, kind]

    total = 0.0
    for start in range(length):
        for kind in range(scores.close.shape[3]):
            own = [parts_of(mention) for mention in mentions if (mention[0], mention[2]) == (start, kind)]
            if not own:
                total += scores.absent[sentence, start, kind]
                continue
            total += scores.present[sentence, start, kind]
            total += scores.extend[sentence, start, : max(parts[0][1] for parts in own) - start - 1, kind].sum()
            total += sum(at(scores.close, *parts[0], kind) for parts in own if len(parts) == 1)
            total += sum(at(scores.last, *parts[-1], kind) for parts in own if len(parts) > 1)
            opened = {parts[:done] for parts in own for done in range(1, len(parts))}
            total += sum(at(scores.open, *done[-1], kind) for done in opened)
            gaps = {(parts[:done], parts[done][0]) for parts in own for done in range(1, len(parts))}
            total += sum(at(scores.gap, done[-1][1], begin, kind) for done, begin in gaps)
    return total


def brute_force_of(scores: DiscontinuousScores, lengths: list[int], parts: int) -> list[BruteForce]:
    known, limits, m = arrays(scores), scores.limits(parts), scores.close.shape[3]
    return [
        BruteForce(
            {
                found: discontinuous_score(known, sentence, length, found)
                for found in all_sets(all_discontinuous(length, m, limits))
            }
        )
        for sentence, length in enumerate(lengths)
    ]


def discontinuous_scores(
    batch: int,
    n: int,
    limits: Limits,
    m: int,
    dtype: torch.dtype = torch.float64,
    seed: int = 0,
    spread: float = 1.0,
    impossible: float = 0.0,
) -> DiscontinuousScores:
    """Random scores; a share `impossible` of all edges is -inf, but T → X never is, so that some set is possible."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*size: int, share: float = impossible) -> torch.Tensor:
        values = torch.randn(batch, n, *size, m, generator=generator, dtype=torch.float64) * spread
        values[torch.rand(values.shape, generator=generator) < share] = -math.inf
        return values.to(dtype)

    c = limits.width
    return DiscontinuousScores(
        draw(share=0.0), draw(), draw(c - 1), draw(c), draw(c), draw(limits.gap), draw(limits.later_width)
    )


def discontinuous_weights(scores: SimpleNamespace, sentence: int) -> Callable[[Hyperedge], float]:
    """The log-weight of each hyperedge of the explicit graph."""

    def weight(edge: Hyperedge) -> float:
        symbol, start, kind, last, parts = edge.head  # type: ignore[misc]
        below = [node.symbol for node in edge.tail]  # type: ignore[attr-defined]
        if symbol == "T":
            return (scores.absent if below == ["X"] else scores.present)[sentence, start, kind]
        if symbol == "I":
            return scores.extend[sentence, start, last - start, kind] if "I" in below else 0.0
        if symbol == "G":
            return scores.gap[sentence, parts[-1][1], start - parts[-1][1] - 1, kind] if "P" in below else 0.0
        if symbol != "D":
            return 0.0
        start, end = parts[-1]
        own = {"X": scores.close if len(parts) == 1 else scores.last, "G": scores.open}
        return sum(own[node][sentence, start, end - start - 1, kind] for node in below)

    return weight


def discontinuous_case(scores: DiscontinuousScores, lengths: list[int], parts: int, tolerance: float) -> Case:
    _, _, c, m = scores.close.shape
    limits, known = scores.limits(parts), arrays(scores)
    pools = [all_discontinuous(length, m, limits) for length in lengths]
    return Case(
        DiscontinuousHypergraph(scores, lengths, parts),
        lengths,
        m,
        c,
        brute_force_of(scores, lengths, parts),
        [
            Explicit(
                discontinuous_hypergraph(length, m, limits),
                discontinuous_weights(known, sentence),
                discontinuous_mentions,
            )
            for sentence, length in enumerate(lengths)
        ],
        tolerance,
        conditions=True,
        independent_types=True,
        longer=[[mention for mention in pool if len(mention) == 4] for pool in pools],
    )


@st.composite
def discontinuous_cases(draw: st.DrawFn) -> Case:
    parts, m = draw(st.integers(1, 3)), draw(st.sampled_from([1, 1, 2]))
    c = draw(st.integers(1, 3))
    limits = Limits(parts, c, draw(st.integers(0, 3)), draw(st.integers(0, c)))
    n, batch = draw(st.integers(0, 5)), draw(st.integers(1, 2))
    lengths = draw(st.lists(st.integers(0, n), min_size=batch, max_size=batch))
    while len(all_discontinuous(max(lengths), m, limits)) > MANY:
        lengths = [max(length - 1, 0) for length in lengths]
    single = draw(st.booleans())
    scores = discontinuous_scores(
        batch,
        n,
        limits,
        m,
        torch.float32 if single else torch.float64,
        seed=draw(st.integers(0, 2**31)),
        spread=draw(st.sampled_from([0.0, 1.0, 5.0])),
        impossible=draw(st.sampled_from([0.0, 0.2])),
    )
    return discontinuous_case(scores, lengths, parts, tolerance=2e-4 if single else 1e-9)
