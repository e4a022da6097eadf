"""Small batches of nested mention sets, with every set of mentions enumerated; those that cross are impossible."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import cache

import numpy as np
import torch
from hypothesis import strategies as st

from experiments.figures.graphs import ConstituencyNode, constituency_hypergraph, constituents_of
from hyperspan.baselines.tree import ConstituencyTrees
from hyperspan.structures import MentionSet
from hyperspan.structures.graphs import Hyperedge
from tests.structures.batches import Batch, batches
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


def constituency_cases() -> st.SearchStrategy[Case]:
    def made(b: Batch) -> Case:
        outside = b.random(b.size, b.n, possible=...)
        return constituency_case(b.random(*b.shape), outside, b.lengths, b.tolerance)

    return batches({1: 4, 2: 3, 3: 3}, MANY).map(made)
