"""Scores of the mention hypergraph and of mention separators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import pad

from hyperspan.config import Config
from hyperspan.kernels.span_layout import SpanLayout
from hyperspan.nn.abilities import Abilities
from hyperspan.nn.batch import Batch
from hyperspan.nn.encoder import Encoder
from hyperspan.nn.scorer import Scorer, WeightColumns, linear_axes
from hyperspan.structures import (
    MentionHypergraph,
    MentionSeparators,
    WordEdgeScores,
)
from hyperspan.structures.separators import LABELS


class MentionHypergraphScorer(Scorer):
    """The mention hypergraph: all scores come from words; T → X scores 0."""

    abilities = Abilities(independent_types=True)

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__(encoder, labels, config)
        self.edges = encoder.word_layer(self.types * (3 if config.model.tied else 4))

    def forward(self, words: Tensor, spans: Tensor | None, batch: Batch, layout: SpanLayout | None) -> WordEdgeScores:
        present, extend, close, *branch = self._by_word(self.edges(words), batch).split(self.types, dim=2)
        return WordEdgeScores(torch.zeros_like(present), present, extend, close, *branch)

    def add_mention_bias(self, scores: WordEdgeScores, bias: float) -> WordEdgeScores:
        return replace(scores, present=scores.present + bias)

    def weight_columns(self) -> list[WeightColumns]:
        roles = ["starts", "goes on", "ends", "ends and goes on"]
        return [WeightColumns(self.edges.weight, roles[: 3 if self.config.model.tied else 4])]

    def type_axes(self) -> dict[str, tuple[int, ...]]:
        return linear_axes("edges")

    def distribution(self, scores: WordEdgeScores, lengths: Sequence[int]) -> MentionHypergraph:
        return MentionHypergraph(scores, lengths, self.config.model.reading)


class MentionSeparatorScorer(Scorer):
    """Mention separators: each label of a gap from the words before and after it; X scores 0."""

    abilities = Abilities(independent_types=True)

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__(encoder, labels, config)
        self.gaps = encoder.word_layer(2 * (len(LABELS) - 1) * self.types)

    def forward(self, words: Tensor, spans: Tensor | None, batch: Batch, layout: SpanLayout | None) -> Tensor:
        """(B, n + 1, 8, m)"""
        before, after = self._by_word(self.gaps(words), batch).chunk(2, dim=2)
        inside = torch.arange(batch.longest, device=before.device) < torch.tensor(
            batch.lengths, device=before.device
        ).view(-1, 1)
        together = pad(before * inside[..., None], (0, 0, 1, 0)) + pad(after * inside[..., None], (0, 0, 0, 1))
        return pad(together.unflatten(2, (len(LABELS) - 1, self.types)), (0, 0, 1, 0))

    def add_mention_bias(self, scores: Tensor, bias: float) -> Tensor:
        opens = scores.new_tensor(["S" in label for label in LABELS])
        return scores + bias * opens[:, None]

    def weight_columns(self) -> list[WeightColumns]:
        roles = [f"{label} {side}" for side in ("after", "before") for label in LABELS[1:]]
        return [WeightColumns(self.gaps.weight, roles)]

    def type_axes(self) -> dict[str, tuple[int, ...]]:
        return linear_axes("gaps")

    def distribution(self, scores: Tensor, lengths: Sequence[int]) -> MentionSeparators:
        return MentionSeparators(scores, lengths, self.config.model.reading)
