"""Scores of discontinuous mentions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.kernels.encode import BESIDE
from hyperspan.nn.batch import Batch
from hyperspan.nn.encoder import Encoder, Outputs, Spans
from hyperspan.nn.model import Abilities
from hyperspan.nn.recognizer import INITIAL_MENTION_BIAS, Scorer
from hyperspan.plugins import ENCODERS
from hyperspan.runtime.kinds import KINDS
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.discontinuous import DiscontinuousHypergraph
from hyperspan.structures.losses import starts_of, with_margin
from hyperspan.structures.mentions import Limits, Mention
from hyperspan.structures.scores import DiscontinuousScores


class DiscontinuousScorer(Scorer):
    """Contiguous mentions as in a segmental hypergraph; other parts and gaps are scored from their spans.

    All scores are linear in span vectors. A gap uses the span from the word before it to the word after it, so the span
    LSTM has read the words on both sides, the gap's words, and its width.
    """

    abilities = Abilities(
        "overlapping in any way, with gaps",
        spans=True,
        gaps=True,
        vectors=True,
        independent_types=True,
        conditions=True,
        calibrates=True,
        distils=True,
        large_batches=True,
    )

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__(encoder, labels, config)
        m = self.types
        self.start = encoder.word_layer(Outputs(["starts no mention", "starts"], m))
        roles = ["ends", "goes on", "goes on to it", "ends before a gap", "is a later part", "is a gap"]
        self.parts = encoder.span_layer(Outputs(roles, m))
        with torch.no_grad():
            self.parts.bias[:m] = INITIAL_MENTION_BIAS
            self.parts.bias[3 * m :] = INITIAL_MENTION_BIAS

    @classmethod
    def check(cls, config: Config) -> None:
        if not ENCODERS[config.encoder.kind].abilities.contextual:
            raise InputError(
                f"model.kind discontinuous reads vectors of spans, but encoder.kind is {config.encoder.kind}; set it to neural"
            )
        KINDS["discontinuous"].check(config)

    def forward(self, words: Tensor, spans: Spans | None, batch: Batch) -> DiscontinuousScores:
        m, shape = self.types, (len(batch.lengths), batch.longest)
        if spans is None:
            empty = self.parts.bias.new_zeros(*shape, m)
            wide = empty[:, :, None]
            return DiscontinuousScores(empty, empty, wide[:, :, :0], wide, wide, wide[:, :, :0], wide)
        limits, layout = self.config.discontinuous, spans.layout
        absent, present = self.by_word(self.start(words), batch).split(m, dim=2)
        rows = self.parts(words, spans, batch).float()
        close, leaving, arriving, others = rows.split([m, m, m, 3 * m], dim=1)
        extend = layout.steps_to_padded(layout.previous(leaving) + arriving[layout.longer])
        close, opening, last, gap = spans.by_width(torch.cat([close, others], dim=1)).split(m, dim=3)
        gap = pad(gap[:, :-1, BESIDE:], (0, 0, 0, 0, 1, 0))[:, :, : limits.gap]  # by the gap's first word and width
        return DiscontinuousScores(absent, present, extend, close, opening, gap, last[:, :, : limits.later_width])

    def add_mention_bias(self, scores: DiscontinuousScores, bias: float) -> DiscontinuousScores:
        return replace(scores, present=scores.present + bias)

    def add_discontinuous_bias(self, scores: DiscontinuousScores, bias: float) -> DiscontinuousScores:
        return replace(scores, open=scores.open + bias)

    def distribution(self, scores: DiscontinuousScores, lengths: Sequence[int]) -> DiscontinuousHypergraph:
        return DiscontinuousHypergraph(scores, lengths, self.config.discontinuous.parts)

    def representable(self, mentions: set[Any], longest: int) -> set[Any]:
        given, limit = self.config.discontinuous, self.config.model.max_width
        limits = Limits(given.parts, longest if limit == "n" else limit, given.gap, given.later_width)
        return {mention for mention in mentions if limits.allow(mention)}

    def with_margin(
        self,
        scores: DiscontinuousScores,
        gold: Sequence[set[Mention]],
        lengths: Sequence[int],
        marks: PartialMarks | None,
    ) -> DiscontinuousScores:
        return (
            scores
            if marks is not None
            else with_margin(scores, starts_of(gold, scores.absent), self.config.training.beta)
        )
