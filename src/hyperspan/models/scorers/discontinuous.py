"""Scores of mentions with gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from hyperspan.batch import Batch
from hyperspan.config import Config
from hyperspan.encoders.base import Encoder
from hyperspan.errors import InputError
from hyperspan.kernels.encoder import FusedEncoder, FusedScores, GapParts
from hyperspan.kernels.span_layout import SpanLayout
from hyperspan.models.scorers.base import INITIAL_MENTION_BIAS, Scorer, linear_axes
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.discontinuous import DiscontinuousHypergraph
from hyperspan.structures.discontinuous_limits import Limits
from hyperspan.structures.discontinuous_scores import DiscontinuousScores, with_margin
from hyperspan.structures.losses import Loss
from hyperspan.structures.mentions import Mention
from hyperspan.structures.scores import EdgeScores


class DiscontinuousScorer(Scorer):
    """Mentions of one part as in a segmental hypergraph; parts from their spans; gaps from their words, their width and the words beside them.

    The scores of a gap are linear in a hidden layer. What goes into it is linear in the vector of the words between, in that of the
    word before and in that of the word after, so that it costs as much for each word and span as a few more types would.
    """

    over_spans = linear_memory = can_skip = independent_types = True
    discontinuous = has_cross_entropy = can_condition = True

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__(encoder, labels, config)
        if not encoder.contextual:
            raise InputError(
                f"model.kind discontinuous reads vectors of spans, but encoder.kind is {config.encoder.kind}; set it to neural"
            )
        m, self.hidden = self.types, config.discontinuous.hidden
        self.start = encoder.word_layer(2 * m)
        self.beside = encoder.word_layer(2 * self.hidden)
        self.parts = encoder.span_layer(5 * m + self.hidden)  # close, leaving, arriving, open, last; and gaps
        self.width = nn.Embedding(config.discontinuous.gap, self.hidden)
        self.gaps = nn.Linear(self.hidden, m)
        with torch.no_grad():
            self.parts.bias[:m] = INITIAL_MENTION_BIAS
            self.parts.bias[3 * m : 5 * m] = INITIAL_MENTION_BIAS
            self.gaps.bias.fill_(INITIAL_MENTION_BIAS)
            self.width.weight.mul_(0.1)

    @classmethod
    def check(cls, config: Config) -> None:
        given, width = config.discontinuous, config.model.max_width
        if not config.model.tied:
            raise InputError("model.tied is false, but model.kind discontinuous ties its edges; set it to true")
        for key, value in (("gap", given.gap), ("later_width", given.later_width)):
            if width != "n" and value > width:
                raise InputError(
                    f"discontinuous.{key} is {value}, but model.max_width is {width}, and gaps and later parts are spans, too; "
                    f"set model.max_width = {value} or more"
                )

    def forward(
        self, words: Tensor, spans: Tensor | None, batch: Batch, layout: SpanLayout | None
    ) -> DiscontinuousScores:
        m, shape = self.types, (len(batch.lengths), batch.longest)
        if layout is None or spans is None:
            empty = self.parts.bias.new_zeros(*shape, m)
            wide = empty[:, :, None]
            return DiscontinuousScores(empty, empty, wide[:, :, :0], wide, wide, wide[:, :, :0], wide)
        limits, chains = self.config.discontinuous, layout.chains
        absent, present = self._by_word(self.start(words), batch).split(m, dim=2)
        rows = self.parts(words, spans, batch, layout).float()
        close, leaving, arriving, opening, last, gap = rows.split([m] * 5 + [self.hidden], dim=1)
        extend = chains.unpack_extensions(chains.shorter(leaving) + arriving[chains.longer])
        widths = chains.unpack_widths(torch.cat([close, opening, last, gap], dim=1))  # (B, n, c, outputs)
        close, opening, last, gap = widths.split([m, m, m, self.hidden], dim=3)
        before, after = self._by_word(self.beside(words), batch).split(self.hidden, dim=2)
        g = min(limits.gap, close.shape[2])
        beside = pad(before[:, :-1], (0, 0, 1, 0))[:, :, None] + self._next(after, g)  # (B, n, g, hidden)
        gap = self.gaps(torch.tanh(gap[:, :, :g] + beside + self.width.weight[:g]))
        return DiscontinuousScores(absent, present, extend, close, opening, gap, last[:, :, : limits.later_width])

    def _next(self, words: Tensor, count: int) -> Tensor:
        """(B, n, d) -> (B, n, count, d): the words i + 1 to i + count, 0 beyond the last."""
        return pad(words[:, 1:], (0, 0, 0, count)).unfold(1, count, 1).transpose(2, 3)

    def fuse(self, encoder: Encoder) -> FusedEncoder | None:
        gaps = GapParts(self.beside, self.width, self.gaps, self.config.discontinuous.later_width)
        return encoder.fuse(self.start, self.parts, tied=True, interactions=True, gaps=gaps)

    def of_fused(self, found: FusedScores) -> DiscontinuousScores:
        absent, present, extend, close, _, opening, gap, last = found
        assert opening is not None and gap is not None and last is not None
        return DiscontinuousScores(absent, present, extend, close, opening, gap, last)

    def skipping(self, scores: DiscontinuousScores, margin: float) -> DiscontinuousScores:
        first = EdgeScores(scores.absent, scores.present, scores.extend, scores.close)
        return replace(scores, present=first.skipping(margin).present)

    def add_mention_bias(self, scores: DiscontinuousScores, bias: float) -> DiscontinuousScores:
        return replace(scores, present=scores.present + bias)

    def add_discontinuous_bias(self, scores: DiscontinuousScores, bias: float) -> DiscontinuousScores:
        return replace(scores, open=scores.open + bias)

    def type_axes(self) -> dict[str, tuple[int, ...]]:
        parts = {f"parts.{name}": axes for name, axes in self.parts.output_axes.items()}
        return linear_axes("start") | linear_axes("gaps") | parts

    def outputs_after(self, name: str) -> int:
        return self.hidden if name.startswith("parts.") else 0

    def distribution(self, scores: DiscontinuousScores, lengths: Sequence[int]) -> DiscontinuousHypergraph:
        return DiscontinuousHypergraph(scores, lengths, self.config.discontinuous.parts)

    def representable(self, mentions: set[Any], longest: int) -> set[Any]:
        given, limit = self.config.discontinuous, self.config.model.max_width
        limits = Limits(given.parts, longest if limit == "n" else limit, given.gap, given.later_width)
        return {mention for mention in mentions if limits.allow(mention)}

    def loss(
        self,
        scores: DiscontinuousScores,
        gold: Sequence[set[Mention]],
        lengths: Sequence[int],
        marks: PartialMarks | None = None,
    ) -> Loss:
        kept = [self.representable(mentions, max(lengths, default=0)) for mentions in gold]
        if marks is None and self.config.training.softmax_margin:
            scores = with_margin(scores, kept, self.config.training.beta)
        values = -self.distribution(scores, lengths).log_prob_of_known(kept, marks)
        return Loss(values, tuple(len(all_) - len(some) for all_, some in zip(gold, kept, strict=True)))
