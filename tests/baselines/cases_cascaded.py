"""Small batches of cascaded chains whose types ignore each other: only then is all that they offer exact."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import torch
from hypothesis import strategies as st

from experiments.figures.graphs import linear_chain_hypergraph, linear_chain_mentions
from hyperspan.baselines.cascaded import CascadedChains, CascadeScores
from hyperspan.baselines.linear_chain import TagScores
from hyperspan.structures import MentionSet
from hyperspan.structures.graphs import Hyperedge, Hypergraph
from tests.baselines.cases_linear_chain import chain_score, chain_weights, flat_sets, tag_scores
from tests.structures.batches import batches
from tests.structures.brute_force import BruteForce, Case, Explicit, arrays, log_sum


def merged(by_type: Iterable[MentionSet]) -> MentionSet:
    return frozenset((start, end, kind) for kind, own in enumerate(by_type) for start, end, _ in own)


def side_by_side(n: int, m: int) -> Hypergraph:
    """A linear chain for each type under one root; their nodes are pairs of a type and a node."""
    chain = linear_chain_hypergraph(n, 1)
    edges: list[Hyperedge] = [
        Hyperedge((kind, edge.head), tuple((kind, node) for node in edge.tail))
        for kind in range(m)
        for edge in chain.edges
    ]
    return Hypergraph("root", [Hyperedge("root", tuple((kind, chain.root) for kind in range(m))), *edges])


def cascaded_mentions(path: Iterable[Hyperedge]) -> MentionSet:
    by_type: dict[int, list[Hyperedge]] = {}
    for edge in path:
        if edge.head != "root":
            kind, head = edge.head  # type: ignore[misc]
            by_type.setdefault(kind, []).append(Hyperedge(head, tuple(node for _, node in edge.tail)))  # type: ignore[misc]
    return merged(linear_chain_mentions(by_type[kind]) for kind in sorted(by_type))


def cascaded_weights(weights: list[Callable[[Hyperedge], float]], total: float) -> Callable[[Hyperedge], float]:
    """Those of each chain; the edge of the root normalises them all."""

    def weight(edge: Hyperedge) -> float:
        if edge.head == "root":
            return -total
        kind, head = edge.head  # type: ignore[misc]
        return weights[kind](Hyperedge(head, tuple(node for _, node in edge.tail)))  # type: ignore[misc]

    return weight


def cascaded_case(chains: list[TagScores], lengths: list[int], order: list[int], tolerance: float) -> Case:
    m, n = len(chains), chains[0].emit.shape[1]
    emit, step, first, last = map(torch.stack, zip(*(chain.tensors().values() for chain in chains), strict=True))
    earlier = torch.zeros(m, m, 3, 5, 5, dtype=emit.dtype)
    vectorised = CascadedChains(CascadeScores(emit.permute(1, 2, 0, 3), step, first, last, earlier), lengths, order)
    known, brute, explicit = [arrays(chain) for chain in chains], [], []
    for sentence, length in enumerate(lengths):
        flat = list(flat_sets(length, 1, length))
        by_type = [[(own, chain_score(chain, sentence, length, own)) for own in flat] for chain in known]
        total = sum(log_sum(score for _, score in scored) for scored in by_type)
        brute.append(
            BruteForce(
                {
                    merged(own for own, _ in chosen): sum(score for _, score in chosen) - total
                    for chosen in itertools.product(*by_type)
                }
            )
        )
        weights = cascaded_weights([chain_weights(chain, sentence, length) for chain in known], total)
        explicit.append(Explicit(side_by_side(length, m), weights, cascaded_mentions))
    return Case(vectorised, lengths, m, max(n, 1), brute, explicit, tolerance)


@st.composite
def cascaded_cases(draw: st.DrawFn) -> Case:
    b = draw(batches({1: 4, 2: 3}))
    chains = [tag_scores(b.size, b.n, 1, b.dtype, b.seed + kind, b.spread, b.impossible) for kind in range(b.m)]
    return cascaded_case(chains, b.lengths, draw(st.permutations(range(b.m))), b.tolerance)
