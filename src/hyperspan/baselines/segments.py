"""Scores of whole segments, for the semi-Markov structure and for trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from hyperspan.config import Config
from hyperspan.kernels.span_layout import SpanLayout
from hyperspan.nn.abilities import Abilities
from hyperspan.nn.batch import Batch
from hyperspan.nn.encoder import Encoder
from hyperspan.nn.scorer import INITIAL_MENTION_BIAS, Scorer, WeightColumns
from hyperspan.structures import (
    ConstituencyTrees,
    Distribution,
    SegmentScores,
    SemiMarkov,
    outermost,
    without_crossing,
)
from hyperspan.structures.mentions import Mention


class SegmentScorer(Scorer):
    """Scores of whole segments and of words outside them, for the semi-Markov structure."""

    abilities = Abilities("none overlapping", spans=True, conditions=True, large_batches=True)

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__(encoder, labels, config)
        self.segment = encoder.span_layer(self.types, whole=True)
        self.outside = encoder.word_layer(1)
        with torch.no_grad():
            self.segment.bias[: self.types] = INITIAL_MENTION_BIAS

    def forward(self, words: Tensor, spans: Tensor | None, batch: Batch, layout: SpanLayout | None) -> SegmentScores:
        shape = (len(batch.lengths), batch.longest)
        outside = self._by_word(self.outside(words), batch)[..., 0]
        if layout is None or spans is None:
            return SegmentScores(outside, outside.new_zeros(*shape, 1, self.types))
        rows = self.segment(words, spans, batch, layout).float()
        return SegmentScores(outside, layout.chains.unpack_widths(rows))

    def add_mention_bias(self, scores: SegmentScores, bias: float) -> SegmentScores:
        return replace(scores, segment=scores.segment + bias)

    def weight_columns(self) -> list[WeightColumns]:
        roles = ["begins after it", "begins", "is inside", "ends", "ends before it"]
        return [
            WeightColumns(self.segment.words.weight, roles),
            WeightColumns(self.segment.span.weight, ["is a mention"], of_spans=True),
        ]

    def type_axes(self) -> dict[str, tuple[int, ...]]:
        return {f"segment.{name}": axes for name, axes in self.segment.output_axes.items()}

    def distribution(self, scores: SegmentScores, lengths: Sequence[int]) -> Distribution:
        return SemiMarkov(scores, lengths)

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        return set(outermost(self._no_wider(mentions, longest))[0])


class TreeScorer(SegmentScorer):
    """The same scores for trees: mentions nest, but do not cross."""

    abilities = Abilities("nested, none crossing", spans=True)
    # No large batches: the inside algorithm is cubic in the words of a sentence.

    def distribution(self, scores: SegmentScores, lengths: Sequence[int]) -> Distribution:
        return ConstituencyTrees(scores.segment, lengths, scores.outside)

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        return set(without_crossing(self._no_wider(mentions, longest)))
