"""Small batches of mention separators, with every set of mentions enumerated; those that are not closed are
impossible."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from hypothesis import strategies as st

from experiments.figures.graphs import SeparatorNode, separated_mentions, separators_hypergraph
from hyperspan.baselines.mention_separators import MentionSeparators
from hyperspan.structures import MentionSet
from hyperspan.structures.graphs import Hyperedge
from tests.structures.batches import Batch, batches
from tests.structures.brute_force import BruteForce, Case, Explicit, all_mentions, all_sets

MANY = 10
"""Sentences with more possible mentions than this are not enumerated: 2 ** 10 sets."""
PLACES = {"": 0, "S": 1, "E": 2, "C": 3, "ES": 4, "CS": 5, "EC": 6, "ECS": 7}


def marks_at(gap: int, kind: int, mentions: MentionSet) -> str:
    """Which of E, C and S hold at a gap, by the definition."""
    of_type = [(start, end) for start, end, k in mentions if k == kind]
    ends, continues = any(end == gap for _, end in of_type), any(start < gap < end for start, end in of_type)
    return "E" * ends + "C" * continues + "S" * any(start == gap for start, _ in of_type)


@cache
def closed(mentions: MentionSet) -> MentionSet:
    """With every start also every end of its type that it reaches across gaps that mentions of the type cross."""
    return frozenset(
        (start, end, kind)
        for start, _, kind in mentions
        for _, end, other in mentions
        if kind == other and start < end
        if all("C" in marks_at(gap, kind, mentions) for gap in range(start + 1, end))
    )


@cache
def places_of(mentions: MentionSet, length: int, types: int) -> list[tuple[int, int, int]]:
    """The place (gap, label, type) of each score that a set uses; kept, as examples share their sets."""
    kinds = range(types)
    return [(gap, PLACES[marks_at(gap, kind, mentions)], kind) for gap in range(length + 1) for kind in kinds]


def separators_scores(scores: torch.Tensor, length: int) -> dict[MentionSet, float]:
    """The score of every set in one sentence: scores (n + 1, 8, m)."""
    table, types = scores.tolist(), scores.shape[2]
    return {
        mentions: sum(table[gap][label][kind] for gap, label, kind in places_of(mentions, length, types))
        if closed(mentions) == mentions
        else -math.inf
        for mentions in all_sets(all_mentions(length, types, length))
    }


def separators_weights(scores: np.ndarray) -> Callable[[Hyperedge], float]:
    """The log-weight of each hyperedge of the explicit graph: that of the label in its tail."""

    def weight(edge: Hyperedge) -> float:
        leaf = edge.tail[0] if edge.tail else None
        assert leaf is None or isinstance(leaf, SeparatorNode)
        return scores[leaf.gap, leaf.label, leaf.kind] if leaf and leaf.symbol == "label" else 0.0

    return weight


def separators_case(scores: torch.Tensor, lengths: list[int], tolerance: float) -> Case:
    _, gaps, _, m = scores.shape
    brute, explicit = [], []
    for length, own in zip(lengths, scores.double(), strict=True):
        brute.append(BruteForce(separators_scores(own, length)))
        explicit.append(Explicit(separators_hypergraph(length, m), separators_weights(own.numpy()), separated_mentions))
    return Case(
        MentionSeparators(scores, lengths),
        lengths,
        m,
        gaps - 1,
        brute,
        explicit,
        tolerance,
        meant_by=closed,
        independent_types=True,
    )


def separators_cases() -> st.SearchStrategy[Case]:
    def made(b: Batch) -> Case:
        scores = b.random(b.size, b.n + 1, 8, b.m, possible=(slice(None), slice(None), 0))
        return separators_case(scores, b.lengths, b.tolerance)

    return batches({1: 4, 2: 3, 3: 3}, MANY, any_width=True).map(made)
