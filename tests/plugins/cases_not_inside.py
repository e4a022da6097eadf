"""Small batches of a plug-in's structure; every set is enumerated in which no mention is inside another of its type."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import astuple, dataclass

import torch
from hypothesis import strategies as st

from hyperspan.structures import MentionSet
from hyperspan.structures.graphs import Hyperedge, Hypergraph, SpanGraph
from tests.plugins.zoo.hyperspan_not_inside import is_inside, not_inside_graph
from tests.structures.batches import Batch, batches
from tests.structures.brute_force import BruteForce, Case, Explicit, all_mentions, all_sets


@dataclass(frozen=True)
class Rest:
    """The mentions of a type that start at a word or later, and end after those before them."""

    word: int
    before: int
    kind: int


@dataclass(frozen=True)
class Leaf:
    """A mention."""

    start: int
    width: int
    kind: int


def not_inside_hypergraph(n: int, c: int, m: int) -> Hypergraph:
    graph = not_inside_graph(n, min(n, c), m)
    return graph.spelled_out(Rest, lambda _, place: Leaf(*place), root="sentence")


def leaves_of(path: Iterable[Hyperedge]) -> MentionSet:
    leaves = [node for edge in path for node in edge.tail if isinstance(node, Leaf)]
    return frozenset((leaf.start, leaf.start + leaf.width + 1, leaf.kind) for leaf in leaves)


def not_inside_case(scores: torch.Tensor, lengths: list[int], tolerance: float) -> Case:
    _, n, c, m = scores.shape
    vectorised = SpanGraph(not_inside_graph(n, min(n, c), m), {"mention": scores}, lengths)
    brute, explicit = [], []
    for length, own in zip(lengths, scores.double().numpy(), strict=True):

        def total(mentions: MentionSet, own=own) -> float:
            if any(is_inside(one, other) for one in mentions for other in mentions):
                return -math.inf
            return math.fsum(own[start, end - start - 1, kind] for start, end, kind in mentions)

        def weight(edge: Hyperedge, own=own) -> float:
            return math.fsum(own[astuple(node)] for node in edge.tail if isinstance(node, Leaf))

        brute.append(BruteForce({mentions: total(mentions) for mentions in all_sets(all_mentions(length, m, c))}))
        explicit.append(Explicit(not_inside_hypergraph(length, c, m), weight, leaves_of))
    return Case(vectorised, lengths, m, c, brute, explicit, tolerance)


def not_inside_cases() -> st.SearchStrategy[Case]:
    def made(b: Batch) -> Case:
        return not_inside_case(b.random(*b.shape), b.lengths, b.tolerance)

    return batches({1: 4, 2: 3, 3: 3}, 9).map(made)
