"""Small batches of semi-Markov models, with every set of mentions that do not overlap enumerated."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace

import torch
from hypothesis import strategies as st

from experiments.figures.graphs import SegmentNode, SuffixNode, semi_markov_hypergraph, semi_markov_mentions
from hyperspan.baselines.semi_markov import SegmentScores, SemiMarkov
from hyperspan.structures import MentionSet
from hyperspan.structures.graphs import Hyperedge
from tests.baselines.cases_linear_chain import flat_sets
from tests.structures.batches import Batch, batches
from tests.structures.brute_force import BruteForce, Case, Explicit, arrays


def segment_score(scores: SimpleNamespace, sentence: int, length: int, mentions: MentionSet) -> float:
    """The score of one set, added up over its mentions and the words outside."""
    covered = {word for start, end, _ in mentions for word in range(start, end)}
    outside = sum(scores.outside[sentence, word] for word in range(length) if word not in covered)
    return outside + sum(scores.segment[sentence, start, end - start - 1, kind] for start, end, kind in mentions)


def segment_weights(scores: SimpleNamespace, sentence: int) -> Callable[[Hyperedge], float]:
    """The log-weight of each hyperedge of the explicit graph."""

    def weight(edge: Hyperedge) -> float:
        first = edge.tail[0]
        if isinstance(first, SegmentNode):
            return scores.segment[sentence, first.start, first.end - first.start - 1, first.kind]
        assert isinstance(edge.head, SuffixNode)
        return scores.outside[sentence, edge.head.position]

    return weight


def semi_markov_case(scores: SegmentScores, lengths: list[int], tolerance: float) -> Case:
    _, _, c, m = scores.segment.shape
    vectorised, known = SemiMarkov(scores, lengths), arrays(scores)
    brute, explicit = [], []
    for sentence, length in enumerate(lengths):
        brute.append(BruteForce({s: segment_score(known, sentence, length, s) for s in flat_sets(length, m, c)}))
        graph = semi_markov_hypergraph(length, m, c)
        explicit.append(Explicit(graph, segment_weights(known, sentence), semi_markov_mentions))
    return Case(vectorised, lengths, m, c, brute, explicit, tolerance, conditions=True)


def segment_scores(
    shape: tuple[int, int, int, int], dtype: torch.dtype, seed: int, spread: float = 1.0, impossible: float = 0.0
) -> SegmentScores:
    """Random scores; a share `impossible` of all segments is -inf, but no word outside is, so that some set is
    possible."""
    generator = torch.Generator().manual_seed(seed)
    outside = torch.randn(shape[:2], generator=generator, dtype=torch.float64) * spread
    segment = torch.randn(shape, generator=generator, dtype=torch.float64) * spread
    segment[torch.rand(shape, generator=generator) < impossible] = -math.inf
    return SegmentScores(outside.to(dtype), segment.to(dtype))


def semi_markov_cases() -> st.SearchStrategy[Case]:
    def made(b: Batch) -> Case:
        return semi_markov_case(segment_scores(b.shape, *b.drawn), b.lengths, b.tolerance)

    return batches({1: 5, 2: 4, 3: 3}).map(made)
