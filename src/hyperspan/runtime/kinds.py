"""The kinds of models that the runtime serves: what of their scorers they have, and the distributions that they make of scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from hyperspan.config import Config
from hyperspan.kernels.encoder_arrays import ScoreArrays
from hyperspan.kernels.encoder_gaps import GapWeights, PartScores
from hyperspan.runtime.tensors import TensorFile
from hyperspan.structures.discontinuous_arrays import DiscontinuousArrayHypergraph
from hyperspan.structures.segmental_arrays import ArrayHypergraph

Shapes = dict[str, tuple[int, ...]]
ArrayDistribution = ArrayHypergraph | DiscontinuousArrayHypergraph


class ServedKind(Protocol):
    """A value of model.kind; tests compare what it makes with the scorer of that name."""

    discontinuous: bool
    """Whether mentions may have several parts."""

    def interactions(self, config: Config) -> bool:
        """Whether spans score that mentions go on."""
        ...

    def span_outputs(self, config: Config, types: int) -> int:
        """How many numbers a span has."""
        ...

    def gap_shapes(self, config: Config, types: int) -> Shapes:
        """The tensors of its scorer beside those of words and spans, by their names."""
        ...

    def gap_weights(self, tensors: TensorFile, config: Config) -> GapWeights | None:
        """The same tensors."""
        ...

    def distribution(
        self,
        config: Config,
        scores: ScoreArrays,
        parts: PartScores | None,
        lengths: Sequence[int],
        best: np.ndarray | None,
    ) -> ArrayDistribution:
        """The distribution that scores make; `best` are its best mentions, or first parts, where they are known."""
        ...


class SegmentalKind:
    """Mentions of one part."""

    discontinuous = False

    def interactions(self, config: Config) -> bool:
        return config.segmental.interactions

    def span_outputs(self, config: Config, types: int) -> int:
        return types * (1 + 2 * config.segmental.interactions + 2 * (not config.model.tied))

    def gap_shapes(self, config: Config, types: int) -> Shapes:
        return {}

    def gap_weights(self, tensors: TensorFile, config: Config) -> GapWeights | None:
        return None

    def distribution(
        self,
        config: Config,
        scores: ScoreArrays,
        parts: PartScores | None,
        lengths: Sequence[int],
        best: np.ndarray | None,
    ) -> ArrayHypergraph:
        return ArrayHypergraph(scores, lengths, best)


class DiscontinuousKind:
    """Mentions of one part or more, with words between them."""

    discontinuous = True

    def interactions(self, config: Config) -> bool:
        return True

    def span_outputs(self, config: Config, types: int) -> int:
        return 5 * types + config.discontinuous.hidden

    def gap_shapes(self, config: Config, types: int) -> Shapes:
        units, words = config.discontinuous.hidden, 2 * config.encoder.hidden
        return {
            "beside.weight": (2 * units, words),
            "beside.bias": (2 * units,),
            "width.weight": (config.discontinuous.gap, units),
            "gaps.weight": (types, units),
            "gaps.bias": (types,),
        }

    def gap_weights(self, tensors: TensorFile, config: Config) -> GapWeights:
        beside, beside_bias, widths, gaps, bias = (
            tensors.floats(f"scorer.{name}") for name in self.gap_shapes(config, 0)
        )
        return GapWeights(beside.T, beside_bias, widths, gaps.T, bias, config.discontinuous.later_width)

    def distribution(
        self,
        config: Config,
        scores: ScoreArrays,
        parts: PartScores | None,
        lengths: Sequence[int],
        best: np.ndarray | None,
    ) -> DiscontinuousArrayHypergraph:
        parts = PartScores(scores.close, scores.close, scores.close) if parts is None else parts  # of no words
        return DiscontinuousArrayHypergraph(scores, parts, lengths, config.discontinuous.parts)


SERVED_KINDS: dict[str, ServedKind] = {"segmental": SegmentalKind(), "discontinuous": DiscontinuousKind()}
