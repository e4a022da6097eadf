"""The semi-Markov CRF of order zero (Sarawagi & Cohen 2004) as a probability distribution over sets of mentions that do
not overlap.

A sentence is a sequence of single words outside all mentions and of segments, each a mention of at most c words with
its type. Such sequences and sets of non-overlapping mentions are one-to-one. The score of a sequence is the sum over
its parts; neighbours do not interact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from hyperspan.baselines.linear_chain import outermost
from hyperspan.config import Config
from hyperspan.nn import INITIAL_MENTION_BIAS, Abilities, Batch, Encoder, Outputs, Scorer, Spans
from hyperspan.structures import Distribution, Mention, MentionSets, PartialMarks, Scores, check_scores
from hyperspan.structures.constraints import constraint_masks
from hyperspan.structures.graphs import Graph, SpanGraph


@dataclass(frozen=True)
class SegmentScores(Scores):
    """One score (log-weight) for every word outside and for every segment of a padded batch.

    ============  ==============  ==============================================================
    field         shape           choosing it means
    ============  ==============  ==============================================================
    ``outside``   (B, n)          word i is in no mention
    ``segment``   (B, n, c, m)    there is a mention of type k from word i to word i + w inclusive
    ============  ==============  ==============================================================

    c, the number of widths, may be larger than n. Entries that reach beyond a sentence are padding: they may hold
    anything. A score of -inf makes its choice impossible.
    """

    outside: Tensor
    segment: Tensor

    def __post_init__(self) -> None:
        if self.segment.dim() != 4 or self.segment.shape[2] < 1:
            raise ValueError(
                f"expected segment of shape (B, n, c, m) with c >= 1 widths, got {tuple(self.segment.shape)}"
            )
        shape = tuple(self.segment.shape)
        check_scores({"segment": self.segment, "outside": self.outside}, {"segment": shape, "outside": shape[:2]})


@lru_cache(maxsize=64)
def semi_markov_graph(n: int, c: int, m: int) -> Graph:
    """From each word on, the rest of the sentence: the word is outside, or a mention of one to c words starts."""
    graph = Graph(mention=(n, c, m), outside=(n,))
    rest = np.full(n + c + 1, graph.nowhere)  # beyond the sentence, nothing is possible
    rest[n] = graph.end
    for i in reversed(range(n)):
        after_mention = np.repeat(rest[i + 1 : i + c + 1], m)
        slots = np.append(graph.slots["outside"][i], graph.slots["mention"][i])
        rest[i] = graph.add(np.append(rest[i + 1], after_mention), slots, position=i)
    return graph.finish(rest[0])


class SemiMarkov(SpanGraph):
    """A distribution over the sets of non-overlapping mentions of each sentence of a padded batch: p(set) ∝ exp(score).

    Everything is exact, and takes O(c m n) time and memory. Padding may hold anything. If a sentence has no possible
    set, its `log_partition` and `log_prob` are -inf; its other values are finite but meaningless.

    >>> words = SemiMarkov(SegmentScores(outside=torch.zeros(1, 2), segment=torch.zeros(1, 2, 2, 1)), lengths=[2])
    >>> words.log_partition.exp()  # no mention, one of one word (twice), two of one word, one of two words
    tensor([5.])
    >>> words.marginals[0, :, :, 0]
    tensor([[0.4000, 0.2000],
            [0.4000, 0.0000]])
    >>> SemiMarkov(SegmentScores(torch.tensor([[1.0]]), torch.zeros(1, 1, 1, 1)), [1]).topk(3)
    [[(frozenset(), -0.3132616875182228), (frozenset({(0, 1, 0)}), -1.3132616875182228)]]
    """

    def __init__(self, scores: SegmentScores, lengths: Tensor | Sequence[int]):
        _, n, c, m = scores.segment.shape
        self.scores = scores
        graph = semi_markov_graph(n, min(n, c), m)
        super().__init__(graph, {"mention": scores.segment, "outside": scores.outside}, lengths)

    def condition(self, require: MentionSets | None = None, forbid: MentionSets | None = None) -> SemiMarkov:
        """The distribution given that some mentions are in the set and others are not.

        Each argument is a collection of mentions per sentence. The result's `log_partition` minus that of `self` is the
        log-probability of the constraints: -inf where two required mentions overlap.

        >>> words = SemiMarkov(SegmentScores(outside=torch.zeros(1, 2), segment=torch.zeros(1, 2, 2, 1)), lengths=[2])
        >>> words.condition(require=[{(1, 2, 0)}]).marginals[0, :, :, 0]
        tensor([[0.5000, 0.0000],
                [1.0000, 0.0000]])
        """
        return self._given(*constraint_masks(require, forbid, self.lengths, self.scores.segment.shape))

    def _given(self, required: np.ndarray, forbidden: np.ndarray) -> SemiMarkov:
        """The same for masks (B, n, c, m)."""
        outside, segment = np.zeros(self.scores.outside.shape, dtype=bool), forbidden.copy()
        for b, start, width, kind in np.argwhere(required).tolist():
            itself, end = segment[b, start, width, kind], start + width + 1
            outside[b, start:end] = True
            for other in range(max(start - self.max_width + 1, 0), end):  # segments that overlap it begin here
                segment[b, other, max(start - other, 0) :] = True
            segment[b, start, width, kind] = itself
        given, device = self.scores, self.scores.outside.device
        scores = SegmentScores(
            given.outside.masked_fill(torch.from_numpy(outside).to(device), -math.inf),
            given.segment.masked_fill(torch.from_numpy(segment).to(device), -math.inf),
        )
        return SemiMarkov(scores, self.lengths)

    def log_prob_of_known(self, gold: Sequence[set[Mention]], marks: PartialMarks | None) -> Tensor:
        if marks is None:
            return self.log_prob(gold)
        _, n, c, _ = self.scores.segment.shape
        return self._given(*marks.masks(gold, n, c)).log_partition - self.log_partition


# -- the scorer --------------------------------------------------------------------------------------------------------


class SegmentScorer(Scorer):
    """Scores of whole segments and of words outside them, for the semi-Markov structure."""

    abilities = Abilities("none overlapping", spans=True, conditions=True, large_batches=True)

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__(encoder, labels, config)
        self.segment = encoder.span_layer(Outputs(["is a mention"], self.types), whole=True)
        self.outside = encoder.word_layer(Outputs(["is outside"]))
        with torch.no_grad():
            self.segment.bias[: self.types] = INITIAL_MENTION_BIAS

    def forward(self, words: Tensor, spans: Spans | None, batch: Batch) -> SegmentScores:
        shape = (len(batch.lengths), batch.longest)
        outside = self.by_word(self.outside(words), batch)[..., 0]
        if spans is None:
            return SegmentScores(outside, outside.new_zeros(*shape, 1, self.types))
        rows = self.segment(words, spans, batch).float()
        return SegmentScores(outside, spans.by_width(rows))

    def add_mention_bias(self, scores: SegmentScores, bias: float) -> SegmentScores:
        return replace(scores, segment=scores.segment + bias)

    def distribution(self, scores: SegmentScores, lengths: Sequence[int]) -> Distribution:
        return SemiMarkov(scores, lengths)

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        return set(outermost(self.no_wider(mentions, longest))[0])
