"""What all scorers share. They do not know how words and spans were encoded: they ask the encoder for layers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from hyperspan.batch import Batch
from hyperspan.config import Config
from hyperspan.encoders.base import Encoder
from hyperspan.kernels.encoder import FusedEncoder, FusedScores
from hyperspan.kernels.span_layout import SpanLayout
from hyperspan.structures import Distribution
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.losses import Loss
from hyperspan.structures.mentions import Mention
from hyperspan.structures.segmental_calibration import TypeCalibration
from hyperspan.types import Sentence

INITIAL_MENTION_BIAS = -3.0
"""The first score of mentions: most mention sets of a sentence are large, so training begins with small ones."""


class WeightColumns(NamedTuple):
    """Weights of handcrafted features, and the roles of their columns."""

    weights: Tensor  # (features + 1, roles * m); row 0 is of unknown features
    roles: list[str]
    of_spans: bool = False
    """Whether the features are of spans and not of words."""


def linear_axes(name: str) -> dict[str, tuple[int, ...]]:
    """The axes of the parameters of a linear layer, by name, that go over its outputs."""
    return {f"{name}.weight": (0,), f"{name}.bias": (0,)}


class Scorer(nn.Module):
    """From words and spans to scores, and from scores to a distribution."""

    over_spans: ClassVar[bool] = False
    """Whether spans are looked at, no wider than c, and not words alone."""
    linear_memory: ClassVar[bool] = False
    """Whether scores and structure need memory linear in sentences × words × widths, so that a GPU may have large
    batches."""
    can_skip: ClassVar[bool] = False
    """Whether words at which no mention is likely to begin can be passed over in inference."""
    can_calibrate: ClassVar[bool] = False
    """Whether types are independent, so that each can have its own temperature."""
    allowed_mentions: ClassVar[str] = "overlapping in any way"
    """Which mentions a sentence may have."""
    outputs_by_type: ClassVar[bool] = False
    """Whether the outputs of a type stand together, and not those of one role of all types."""
    shared_outputs: ClassVar[int] = 0
    """Outputs before those, which are of no type."""
    independent_types: ClassVar[bool] = False
    """Whether mentions of one type say nothing about those of another, so that sentences may be annotated with some
    types only."""
    discontinuous: ClassVar[bool] = False
    """Whether mentions may have several parts, with words between them."""
    can_couple: ClassVar[bool] = False
    """Whether its distributions are products of independent units, so that couplings can make mentions depend on each
    other."""
    has_cross_entropy: ClassVar[bool] = False
    """Whether its distributions have a cross-entropy, so that a model can learn from teachers of its kind."""
    can_condition: ClassVar[bool] = False
    """Whether its distributions take any mentions as required or forbidden, so that sentences may be annotated in
    part."""

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__()
        self.types, self.config = len(labels), config

    @classmethod
    def check(cls, config: Config) -> None:
        """Raises an InputError where a configuration asks for what this scorer cannot do."""

    @classmethod
    def settled(cls, config: Config, labels: Sequence[str], sentences: Sequence[Sentence]) -> Config:
        """The configuration with what this scorer takes from the training sentences, as far as it is not given."""
        return config

    def forward(self, words: Tensor, spans: Tensor | None, batch: Batch, layout: SpanLayout | None) -> Any:
        """The scores of a batch."""
        raise NotImplementedError

    def fuse(self, encoder: Encoder) -> FusedEncoder | None:
        """A kernel that encodes and scores in one call, for inference; None where there is none."""
        return None

    def of_fused(self, found: FusedScores) -> Any:
        """The scores that this kernel has computed."""
        raise NotImplementedError

    def skipping(self, scores: Any, margin: float) -> Any:
        """The scores of mentions that start only where ``present`` is this much less than ``absent`` at most; only
        where `can_skip`."""
        raise NotImplementedError

    def add_mention_bias(self, scores: Any, bias: float) -> Any:
        """The scores with this much added for every mention, or, where mentions share what is scored, for every
        start."""
        raise NotImplementedError

    def add_discontinuous_bias(self, scores: Any, bias: float) -> Any:
        """The scores with this much added for every part after which others follow; only where `discontinuous`."""
        raise NotImplementedError

    def calibrated(self, scores: Any, lengths: Sequence[int], calibration: TypeCalibration) -> Any:
        """The scores of a distribution with the same most probable sets, calibrated by type; only where
        `can_calibrate`."""
        raise NotImplementedError

    def weight_columns(self) -> list[WeightColumns]:
        """The weights of handcrafted features, and the roles of their columns."""
        raise NotImplementedError

    def type_axes(self) -> dict[str, tuple[int, ...]]:
        """The axes of its parameters, by name, that go over the outputs of types; none if it cannot tell.

        The layers are those of a dense encoder: others cannot be taken over.
        """
        return {}

    @torch.no_grad()
    def copy_from(self, state: Mapping[str, Tensor], weights: Tensor) -> None:
        """Takes over what a scorer of the same kind has learnt, given its state.

        `weights` (types, types of that scorer) have rows that sum to 1: each type begins as a weighted mean of learnt
        ones.
        """
        axes = self.type_axes()
        for name, parameter in self.named_parameters() if axes else ():
            learnt = state[name]
            for axis in axes.get(name, ()):
                learnt = self._of_types(learnt.movedim(axis, 0), weights).movedim(0, axis)
            parameter.copy_(learnt)

    def _of_types(self, learnt: Tensor, weights: Tensor) -> Tensor:
        """(outputs of the types that were learnt, …) -> (outputs of other types, …)"""
        shared, typed = learnt.tensor_split([self.shared_outputs])
        old, by_type = weights.shape[1], self.outputs_by_type
        outputs = typed.unflatten(0, (old, -1)) if by_type else typed.unflatten(0, (-1, old)).transpose(0, 1)
        found = torch.tensordot(weights, outputs, 1)  # (types, roles, …)
        found = found if by_type else found.transpose(0, 1)
        return torch.cat([shared, found.flatten(0, 1)])

    def distribution(self, scores: Any, lengths: Sequence[int]) -> Distribution:
        """The distribution that scores make."""
        raise NotImplementedError

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        """Those mentions that the structure can represent together, in a batch whose longest sentence has `longest`
        words."""
        return mentions

    def loss(
        self,
        scores: Any,
        gold: Sequence[set[Mention]],
        lengths: Sequence[int],
        marks: PartialMarks | None = None,
    ) -> Loss:
        """-log p of gold mentions, or of what `marks` leave of them, and how many the structure cannot represent."""
        kept = [self.representable(mentions, max(lengths, default=0)) for mentions in gold]
        values = -self.distribution(scores, lengths).log_prob_of_known(kept, marks)
        return Loss(values, tuple(len(all_) - len(some) for all_, some in zip(gold, kept, strict=True)))

    def _by_word(self, rows: Tensor, batch: Batch) -> Tensor:
        """(N, d) -> (B, n, d)"""
        return rows.index_select(0, batch.row_of).view(len(batch.lengths), batch.longest, rows.shape[1]).float()

    def _no_wider(self, mentions: set[Mention], longest: int) -> set[Mention]:
        limit = self.config.model.max_width
        return {m for m in mentions if m[1] - m[0] <= (longest if limit == "n" else limit)}
