"""Scores of the segmental hypergraph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import pad

from hyperspan.config import Config
from hyperspan.nn.batch import Batch
from hyperspan.nn.encoder import Encoder, Outputs, Spans
from hyperspan.nn.model import Abilities
from hyperspan.nn.recognizer import INITIAL_MENTION_BIAS, Scorer
from hyperspan.structures import EdgeScores, SegmentalHypergraph, softmax_margin
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.mentions import Mention


class SegmentalScorer(Scorer):
    """The segmental hypergraph: T → X and T → I from the first word, I edges from spans.

    An I edge scores closing at its span and leaving it; with a contextual encoder, whose spans have read their words,
    also arriving at it.
    """

    abilities = Abilities(
        spans=True,
        independent_types=True,
        conditions=True,
        calibrates=True,
        distils=True,
        large_batches=True,
    )

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__(encoder, labels, config)
        self.tied, self.interactions = config.model.tied, config.segmental.interactions
        self.contextual = encoder.abilities.contextual
        steps = ["goes on"] * self.interactions + ["ends and goes on"] * (not self.tied)
        roles = [role for step in steps for role in ([step, f"{step} to it"] if self.contextual else [step])]
        self.start = encoder.word_layer(Outputs(["starts after it", "starts"], self.types))
        self.parts = encoder.span_layer(Outputs(["ends", *roles], self.types))
        with torch.no_grad():
            self.parts.bias[: self.types] = INITIAL_MENTION_BIAS

    def forward(self, words: Tensor, spans: Spans | None, batch: Batch) -> EdgeScores:
        m, shape = self.types, (len(batch.lengths), batch.longest)
        if spans is None:
            empty = self.parts.bias.new_zeros(*shape, m)
            return EdgeScores(empty, empty, empty[:, :, None][:, :, :0], empty[:, :, None])
        other, present = self.by_word(self.start(words), batch).split(m, dim=2)
        # Without a contextual encoder, the previous word also scores a start.
        absent = other if self.contextual else torch.zeros_like(other)
        present = present if self.contextual else present + pad(other[:, :-1], (0, 0, 1, 0))
        parts = iter(self.parts(words, spans, batch).float().split(m, dim=1))
        close = spans.by_width(next(parts))
        layout = spans.layout

        def step() -> Tensor:
            """The scores of leaving one span and arriving at the next."""
            leaving = layout.previous(next(parts))
            return layout.steps_to_padded(leaving + next(parts)[layout.longer] if self.contextual else leaving)

        extend = step() if self.interactions else close.new_zeros(*shape, close.shape[2] - 1, m)
        return EdgeScores(absent, present, extend, close, None if self.tied else step())

    def add_mention_bias(self, scores: EdgeScores, bias: float) -> EdgeScores:
        return replace(scores, present=scores.present + bias)

    def distribution(self, scores: EdgeScores, lengths: Sequence[int]) -> SegmentalHypergraph:
        return SegmentalHypergraph(scores, lengths)

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        return self.no_wider(mentions, longest)

    def with_margin(
        self, scores: EdgeScores, gold: Sequence[set[Mention]], lengths: Sequence[int], marks: PartialMarks | None
    ) -> EdgeScores:
        return softmax_margin(scores, gold, lengths, self.config.training.beta, marks)
