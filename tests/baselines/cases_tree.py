"""Small batches of nested mention sets, with every set of mentions enumerated; those that cross are impossible."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from hypothesis import strategies as st

from hyperspan.baselines.tree import ConstituencyNode, ConstituencyTrees, constituency_hypergraph, constituents_of
from hyperspan.structures import MentionSet
from hyperspan.structures.graphs import Hyperedge
from tests.structures.brute_force import BruteForce, Case, Explicit, all_mentions, all_sets

MANY = 10
"""Sentences with more possible mentions than this are not enumerated: 2 ** 10 sets."""


@cache
def may_go_together(mentions: MentionSet) -> bool:
    """By the definition: any two mentions are disjoint, or one contains the other and is wider."""
    return all(
        one[1] <= other[0] or other[1] <= one[0] or set(range(*one[:2])) < words or words < set(range(*one[:2]))
        for one, other in itertools.combinations(mentions, 2)
        for words in [set(range(*other[:2]))]
    )


def tree_score(scores: np.ndarray, outside: np.ndarray, length: int, mentions: MentionSet) -> float:
    """The score of one set in one sentence: scores (n, c, m), outside (n,)."""
    if not may_go_together(mentions):
        return -math.inf
    covered = {word for start, end, _ in mentions for word in range(start, end)}
    alone = sum(outside[word] for word in range(length) if word not in covered)
    return alone + sum(scores[start, end - start - 1, kind] for start, end, kind in mentions)


def tree_weights(scores: np.ndarray, outside: np.ndarray) -> Callable[[Hyperedge], float]:
    """The log-weight of each hyperedge of the explicit graph: that of the types and words in its tail."""

    def weight(edge: Hyperedge) -> float:
        total = 0.0
        for node in edge.tail:
            assert isinstance(node, ConstituencyNode)
            if node.symbol == "type":
                total += scores[node.start, node.end - node.start - 1, node.kind]
            elif node.symbol == "outside":
                total += outside[node.start]
        return total

    return weight


def constituency_case(scores: torch.Tensor, outside: torch.Tensor, lengths: list[int], tolerance: float) -> Case:
    _, _, c, m = scores.shape
    vectorised = ConstituencyTrees(scores, lengths, outside)
    brute, explicit = [], []
    for length, own, own_outside in zip(lengths, scores.double().numpy(), outside.double().numpy(), strict=True):
        sets = all_sets(all_mentions(length, m, c))
        brute.append(BruteForce({s: tree_score(own, own_outside, length, s) for s in sets}))
        weights = tree_weights(own, own_outside)
        explicit.append(Explicit(constituency_hypergraph(length, m, c), weights, constituents_of))
    return Case(vectorised, lengths, m, c, brute, explicit, tolerance)


@st.composite
def constituency_cases(draw: st.DrawFn) -> Case:
    m = draw(st.integers(1, 3))
    n = draw(st.integers(0, 4 if m == 1 else 3))
    c = draw(st.integers(1, n + 1))
    batch = draw(st.integers(1, 3))
    lengths = draw(st.lists(st.integers(0, n), min_size=batch, max_size=batch))
    while len(all_mentions(max(lengths), m, c)) > MANY:
        lengths = [max(length - 1, 0) for length in lengths]
    single = draw(st.booleans())
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    spread = draw(st.sampled_from([0.0, 1.0, 5.0]))
    scores = torch.randn(batch, n, c, m, generator=generator, dtype=torch.float64) * spread
    outside = torch.randn(batch, n, generator=generator, dtype=torch.float64) * spread
    if draw(st.booleans()):
        scores[torch.rand(scores.shape, generator=generator) < 0.2] = -math.inf
    dtype = torch.float32 if single else torch.float64
    return constituency_case(scores.to(dtype), outside.to(dtype), lengths, tolerance=2e-4 if single else 1e-9)
