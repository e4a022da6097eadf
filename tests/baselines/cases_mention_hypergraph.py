"""Small batches of mention hypergraphs, with every hyperpath enumerated, each as the set that its visits mark."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import torch
from hypothesis import strategies as st

from experiments.figures.graphs import mention_network
from hyperspan.baselines.mention_hypergraph import MentionHypergraph, WordEdgeScores
from hyperspan.structures import MentionSet
from hyperspan.structures.graphs import Hyperedge, SegmentalNode, mentions_of
from tests.baselines.cases_mention_separators import closed
from tests.structures.batches import Batch, batches
from tests.structures.brute_force import BruteForce, Case, Explicit, all_mentions, all_sets

MANY = 9
"""Sentences with more possible mentions than this are not enumerated: 2 ** 9 hyperpaths."""


@cache
def visited_edges(mentions: MentionSet, length: int, types: int) -> list[tuple[str, int, int]]:
    """The edges (name, word, type) of the hyperpath whose visits mark these mentions, start by start; kept, as examples
    share their sets."""
    edges: list[tuple[str, int, int]] = []
    for start in range(length):
        for kind in range(types):
            ends = {end - 1 for s, end, k in mentions if (s, k) == (start, kind)}
            edges.append(("present" if ends else "absent", start, kind))
            longest = max(ends, default=start - 1)
            edges += [("branch" if word in ends else "extend", word, kind) for word in range(start, longest)]
            edges += [("close", longest, kind)] if ends else []
    return edges


def untied(scores: WordEdgeScores) -> dict[str, torch.Tensor]:
    branch = scores.extend + scores.close if scores.branch is None else scores.branch
    names = ("absent", "present", "extend", "close")
    return {**{name: getattr(scores, name) for name in names}, "branch": branch}


def hyperpath_scores(scores: WordEdgeScores, sentence: int, length: int) -> dict[MentionSet, float]:
    """The score of every hyperpath of one sentence, by the set that its visits mark."""
    tables = {name: tensor[sentence].tolist() for name, tensor in untied(scores).items()}
    types = scores.absent.shape[2]
    return {
        mentions: sum(tables[name][word][kind] for name, word, kind in visited_edges(mentions, length, types))
        for mentions in all_sets(all_mentions(length, types, length))
    }


def network_weights(scores: WordEdgeScores, sentence: int) -> Callable[[Hyperedge], float]:
    """The log-weight of each hyperedge of the explicit graph."""
    tensors = dict(zip(["TX", "TI", "II", "IX", "IXI"], untied(scores).values(), strict=True))

    def weight(edge: Hyperedge) -> float:
        assert isinstance(edge.head, SegmentalNode)
        symbols = "".join(node.symbol for node in (edge.head, *edge.tail) if isinstance(node, SegmentalNode))
        if edge.head.symbol in "AE":
            return 0.0
        return tensors[symbols][sentence, max(edge.head.start, edge.head.last), edge.head.kind].item()

    return weight


def mention_hypergraph_case(scores: WordEdgeScores, lengths: list[int], tolerance: float) -> Case:
    _, n, m = scores.absent.shape
    vectorised, scores = MentionHypergraph(scores, lengths), scores.to(torch.float64)
    brute, explicit = [], []
    for sentence, length in enumerate(lengths):
        brute.append(BruteForce(hyperpath_scores(scores, sentence, length)))
        explicit.append(Explicit(mention_network(length, m), network_weights(scores, sentence), mentions_of))
    return Case(vectorised, lengths, m, n, brute, explicit, tolerance, meant_by=closed, independent_types=True)


def mention_hypergraph_cases() -> st.SearchStrategy[Case]:
    def made(b: Batch, untied: bool) -> Case:
        tensors = b.random(5 if untied else 4, b.size, b.n, b.m, possible=0)  # T → X
        return mention_hypergraph_case(WordEdgeScores(*tensors), b.lengths, b.tolerance)

    return st.builds(made, batches({1: 4, 2: 3, 3: 3}, MANY, any_width=True), st.booleans())
