"""Tag scores of the linear chain and of cascaded chains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor, nn

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.kernels.span_layout import SpanLayout
from hyperspan.nn.abilities import Abilities
from hyperspan.nn.batch import Batch
from hyperspan.nn.encoder import Encoder
from hyperspan.nn.scorer import Scorer, WeightColumns, linear_axes
from hyperspan.structures import (
    CascadedChains,
    CascadeScores,
    LinearChain,
    TagScores,
    outermost,
)
from hyperspan.structures.mentions import Mention
from hyperspan.structures.tags import BEGIN, UNIT


class LinearChainScorer(Scorer):
    """The linear chain over 4 m + 1 tags, with learnt transition weights."""

    abilities = Abilities("none overlapping", large_batches=True)
    outputs_by_type, shared_outputs = True, 1

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__(encoder, labels, config)
        tags = 4 * self.types + 1
        self.emit = encoder.word_layer(tags)
        self.step = nn.Parameter(torch.zeros(tags, tags))
        self.first, self.last = (nn.Parameter(torch.zeros(tags)) for _ in range(2))

    def forward(self, words: Tensor, spans: Tensor | None, batch: Batch, layout: SpanLayout | None) -> TagScores:
        return TagScores(self._by_word(self.emit(words), batch), self.step, self.first, self.last)

    def add_mention_bias(self, scores: TagScores, bias: float) -> TagScores:
        tags = torch.arange(scores.tags, device=scores.emit.device)
        opens = (tags % 4 == BEGIN) | ((tags % 4 == UNIT % 4) & (tags > 0))
        return replace(scores, emit=scores.emit + bias * opens)

    def weight_columns(self) -> list[WeightColumns]:
        by_role = self.emit.weight[:, 1:].unflatten(1, (-1, 4)).transpose(1, 2).flatten(1)
        return [WeightColumns(by_role, ["begins", "is inside", "ends", "is alone"])]

    def type_axes(self) -> dict[str, tuple[int, ...]]:
        return linear_axes("emit") | {"step": (0, 1), "first": (0,), "last": (0,)}

    def distribution(self, scores: TagScores, lengths: Sequence[int]) -> LinearChain:
        return LinearChain(scores, lengths)

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        return set(outermost(mentions)[0])


class CascadedScorer(Scorer):
    """Cascaded linear chains, one for each type."""

    abilities = Abilities("none overlapping another of its type")
    outputs_by_type = True

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__(encoder, labels, config)
        m = self.types
        order = config.cascaded.order
        asked = [part.strip() for part in (order.split(",") if "," in order else order.split())] or list(labels)
        if sorted(asked) != sorted(labels):
            raise InputError(
                f"cascaded.order is {config.cascaded.order!r}, but must name each label once; they are {', '.join(labels)}"
            )
        self.order = [labels.index(label) for label in asked]
        self.emit = encoder.word_layer(5 * m)
        shapes = {"step": (m, 5, 5), "first": (m, 5), "last": (m, 5), "earlier": (m, m, 3, 5, 5)}
        self.weights = nn.ParameterDict({name: nn.Parameter(torch.zeros(shape)) for name, shape in shapes.items()})

    def forward(self, words: Tensor, spans: Tensor | None, batch: Batch, layout: SpanLayout | None) -> CascadeScores:
        emit = self._by_word(self.emit(words), batch).unflatten(2, (self.types, 5))
        return CascadeScores(emit, **dict(self.weights.items()))

    def add_mention_bias(self, scores: CascadeScores, bias: float) -> CascadeScores:
        opens = scores.emit.new_tensor([0, 1, 0, 0, 1])
        return replace(scores, emit=scores.emit + bias * opens)

    def weight_columns(self) -> list[WeightColumns]:
        by_role = self.emit.weight.unflatten(1, (-1, 5)).transpose(1, 2).flatten(1)
        return [WeightColumns(by_role, ["is outside", "begins", "is inside", "ends", "is alone"])]

    def type_axes(self) -> dict[str, tuple[int, ...]]:
        axes = {"step": (0,), "first": (0,), "last": (0,), "earlier": (0, 1)}
        return linear_axes("emit") | {f"weights.{name}": place for name, place in axes.items()}

    def distribution(self, scores: CascadeScores, lengths: Sequence[int]) -> CascadedChains:
        return CascadedChains(scores, lengths, self.order)

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        by_type = [{mention for mention in mentions if mention[2] == kind} for kind in range(self.types)]
        return {mention for own in by_type for mention in outermost(own)[0]}
