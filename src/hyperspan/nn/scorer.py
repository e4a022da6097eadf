"""The base class of scorers. They do not depend on how words and spans are encoded: the encoder provides the layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from hyperspan.config import Config
from hyperspan.nn.abilities import Abilities
from hyperspan.nn.batch import Batch
from hyperspan.nn.encoder import Encoder, Spans
from hyperspan.nn.outputs import OutputLayer, TypeAxes, WeightColumns
from hyperspan.structures import Distribution
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.losses import Loss
from hyperspan.structures.mentions import Mention
from hyperspan.types import Sentence

INITIAL_MENTION_BIAS = -3.0
"""The initial mention score: most mention sets of a sentence are large, so training starts with a bias towards small
ones."""


class Scorer(nn.Module):
    """From words and spans to scores, and from scores to a distribution."""

    abilities: ClassVar[Abilities] = Abilities()
    """What models with this scorer can do."""

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__()
        self.types, self.config = len(labels), config

    @classmethod
    def check(cls, config: Config) -> None:
        """Raise an InputError if a configuration asks for something that this scorer cannot do."""

    @classmethod
    def settled(cls, config: Config, labels: Sequence[str], sentences: Sequence[Sentence]) -> Config:
        """Complete the configuration with values that this scorer derives from the training sentences, unless given."""
        return config

    def forward(self, words: Tensor, spans: Spans | None, batch: Batch) -> Any:
        """The scores of a batch."""
        raise NotImplementedError

    def of_arrays(self, tensors: Mapping[str, Tensor], temperature: float) -> Any:
        """The scores of a batch from those that C computed, already divided by the temperature: of edges and, if it
        finds `gaps`, of parts."""
        raise NotImplementedError

    def add_mention_bias(self, scores: Any, bias: float) -> Any:
        """Add a bias to the score of every mention or, if mentions share scores, of every start."""
        raise NotImplementedError

    def add_discontinuous_bias(self, scores: Any, bias: float) -> Any:
        """Add a bias to the score of every part that others follow; only if it finds `gaps`."""
        raise NotImplementedError

    def weight_columns(self) -> list[WeightColumns]:
        """The weights of handcrafted features; empty if the layers read vectors."""
        layers = [layer for layer in self.modules() if isinstance(layer, OutputLayer) and layer.outputs.types]
        return [columns for layer in layers for columns in layer.columns()]

    def own_axes(self) -> dict[str, TypeAxes]:
        """The axes of types of its own parameters, by name: of those that are not a layer's."""
        return {}

    def type_axes(self) -> dict[str, TypeAxes]:
        """The axes of all parameters, by name, that index outputs of types; empty unless every parameter is known."""
        found = self.own_axes()
        for name, layer in self.named_modules():
            if isinstance(layer, OutputLayer):
                found |= {f"{name}.{one}": TypeAxes(layer.outputs, (axis,)) for one, axis in layer.output_axes.items()}
        if any(name not in found for name, _ in self.named_parameters()):
            return {}
        return {name: axes for name, axes in found.items() if axes.outputs.types}

    @torch.no_grad()
    def copy_from(self, state: Mapping[str, Tensor], weights: Tensor) -> None:
        """Copy the parameters of a trained scorer of the same kind, given its state.

        `weights` (types, types of that scorer) have rows that sum to 1: each type is initialised as a weighted mean of
        trained ones.
        """
        known = self.type_axes()
        for name, parameter in self.named_parameters() if known else ():
            learnt = state[name]
            if name in known:
                outputs, axes = known[name]
                for axis in axes:
                    learnt = outputs.of_types(learnt.movedim(axis, 0), weights).movedim(0, axis)
            parameter.copy_(learnt)

    def distribution(self, scores: Any, lengths: Sequence[int]) -> Distribution:
        """The distribution that the scores define."""
        raise NotImplementedError

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        """The subset of mentions that the structure can represent, in a batch whose longest sentence has `longest`
        words."""
        return mentions

    def loss(
        self,
        scores: Any,
        gold: Sequence[set[Mention]],
        lengths: Sequence[int],
        marks: PartialMarks | None = None,
    ) -> Loss:
        """-log p of gold mentions, or of the partial annotation in `marks`; and how many mentions the structure cannot
        represent."""
        kept = [self.representable(mentions, max(lengths, default=0)) for mentions in gold]
        values = -self.distribution(scores, lengths).log_prob_of_known(kept, marks)
        return Loss(values, tuple(len(all_) - len(some) for all_, some in zip(gold, kept, strict=True)))

    def by_word(self, rows: Tensor, batch: Batch) -> Tensor:
        """(N, d) -> (B, n, d)"""
        return rows.index_select(0, batch.row_of).view(len(batch.lengths), batch.longest, rows.shape[1]).float()

    def no_wider(self, mentions: set[Mention], longest: int) -> set[Mention]:
        limit = self.config.model.max_width
        return {m for m in mentions if m[1] - m[0] <= (longest if limit == "n" else limit)}
