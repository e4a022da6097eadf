"""Segmental hypergraphs whose types run together, by enumeration and as explicit hypergraphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace

import torch
from hypothesis import strategies as st

from experiments.figures.graphs import joint_hypergraph, joint_mentions
from hyperspan.structures import JointScores, JointSegmentalHypergraph, MentionSet
from hyperspan.structures.graphs import Hyperedge
from tests.structures.batches import batches
from tests.structures.brute_force import BruteForce, Case, Explicit, all_mentions, all_sets


def joint_arrays(scores: JointScores) -> SimpleNamespace:
    """The scores as float64 arrays, untied; zeros for pairs that are not given."""
    exact = scores.to(torch.float64)
    known = {name: tensor.numpy() for name, tensor in exact.edges.untied().tensors().items()}
    batch, n, c, m = scores.close.shape
    zeros = torch.zeros(batch, n, c, m, m, dtype=torch.float64).numpy()
    pairs = dict.fromkeys(("together", "within"), zeros)
    return SimpleNamespace(**known, **pairs | {name: tensor.numpy() for name, tensor in exact.pairs().items()})


def pair_score(scores: SimpleNamespace, sentence: int, mentions: MentionSet, groups: Sequence[Sequence[int]]) -> float:
    """What pairs of mentions add, by the definition."""
    total = 0.0
    for i, j, k in mentions:
        for start, end, other in mentions:
            if start != i or k == other or not any(k in group and other in group for group in groups):
                continue
            if j == end and k < other:
                total += scores.together[sentence, i, j - i - 1, k, other]
    for i, j, k in mentions:
        wider = {other for start, end, other in mentions if start == i and end > j and other != k}
        for other in wider:
            if any(k in group and other in group for group in groups):
                total += scores.within[sentence, i, j - i - 1, k, other]
    return total


def joint_weights(scores: SimpleNamespace, sentence: int, m: int) -> Callable[[Hyperedge], float]:
    """The log-weight of each hyperedge of the explicit graph."""

    def weight(edge: Hyperedge) -> float:
        symbol, i, types, last = edge.head  # type: ignore[misc]
        if symbol in "AE":
            return 0.0
        on = [kind for node in edge.tail if node.symbol == "I" for kind in node.types]
        if symbol == "T":
            return sum((scores.present if kind in on else scores.absent)[sentence, i, kind] for kind in types)
        ends = [node.types[0] for node in edge.tail if node.symbol == "X"]
        w = last - i
        total = 0.0
        for kind in types:
            table = scores.extend if kind not in ends else scores.branch if kind in on else scores.close
            total += table[sentence, i, w, kind]
        for kind in ends:
            total += sum(scores.together[sentence, i, w, kind, other] for other in ends if other > kind)
            total += sum(scores.within[sentence, i, w, kind, other] for other in on if other != kind)
        return total

    return weight


def joint_case(scores: JointScores, lengths: list[int], groups: list[list[int]] | None, tolerance: float) -> Case:
    # Imported here, since the cases of all structures import this module.
    from tests.structures.cases import segmental_score

    _, _, c, m = scores.close.shape
    vectorised, known = JointSegmentalHypergraph(scores, lengths, groups), joint_arrays(scores)
    brute, explicit = [], []
    for sentence, length in enumerate(lengths):
        sets = all_sets(all_mentions(length, m, c))
        brute.append(
            BruteForce(
                {
                    s: segmental_score(known, sentence, length, s) + pair_score(known, sentence, s, vectorised.groups)
                    for s in sets
                }
            )
        )
        graph = joint_hypergraph(length, m, c, vectorised.groups)
        explicit.append(Explicit(graph, joint_weights(known, sentence, m), joint_mentions))
    return Case(vectorised, lengths, m, c, brute, explicit, tolerance, conditions=True)


@st.composite
def joint_cases(draw: st.DrawFn) -> Case:
    from tests.structures.cases import MANY, edge_scores

    b = draw(batches({1: 4, 2: 3, 3: 3}, MANY))
    edges = edge_scores(b.shape, *b.drawn, untied=draw(st.booleans()))
    names = draw(st.sampled_from([(), ("together",), ("within",), ("together", "within")]))
    pairs = {name: b.random(*b.shape, b.m) for name in names}
    groups = draw(st.sampled_from([None, [[0, b.m - 1]] if b.m > 1 else [[0]], [[kind] for kind in range(b.m)]]))
    return joint_case(JointScores(edges, **pairs), b.lengths, groups, b.tolerance)
