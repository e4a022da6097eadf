"""The kinds of models that C scores: the outputs of their scorers, and the distributions over arrays of scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.kernels.encode import BESIDE, GapLimits, PartScores, ScoreArrays
from hyperspan.structures.discontinuous import DiscontinuousHypergraph
from hyperspan.structures.scores import DiscontinuousScores, EdgeScores
from hyperspan.structures.segmental import SegmentalHypergraph

ArrayDistribution = SegmentalHypergraph[np.ndarray] | DiscontinuousHypergraph[np.ndarray]


def check_gaps(config: Config) -> None:
    """Raise an InputError if the limits of a discontinuous model are inconsistent."""
    given, width = config.discontinuous, config.model.max_width
    if not config.model.tied:
        raise InputError("model.tied is false, but model.kind discontinuous ties its edges; set it to true")
    least = max(given.gap + BESIDE, given.later_width)
    if width != "n" and width < least:
        raise InputError(
            f"model.max_width is {width}, but gaps of discontinuous.gap = {given.gap} words with the words beside them and later "
            f"parts of discontinuous.later_width = {given.later_width} words are spans, too; set model.max_width = {least} or more"
        )


class SegmentalKind:
    """Models of contiguous mentions. Tests compare the results of a kind with the scorer of that name in nn."""

    discontinuous = False
    """Whether the model finds discontinuous mentions."""
    answers = True
    """Whether its distribution takes arrays, so that it needs no torch."""

    def obstacle(self, config: Config) -> str:
        """The setting for which C does not compute these scores; empty if it does."""
        return ""

    def interactions(self, config: Config) -> bool:
        """Whether spans score that mentions continue."""
        return config.segmental.interactions

    def span_outputs(self, config: Config, types: int) -> int:
        """The number of outputs per span."""
        return types * (1 + 2 * self.interactions(config) + 2 * (not config.model.tied))

    def biased(self, config: Config, learnt: np.ndarray) -> np.ndarray:
        """(outputs,): the biases of a span's outputs with those of the configuration."""
        return learnt

    def gaps(self, config: Config) -> GapLimits | None:
        """The limits of gaps; None without them."""
        return None

    def distribution(
        self, config: Config, scores: ScoreArrays, parts: PartScores | None, lengths: Sequence[int]
    ) -> ArrayDistribution:
        """The distribution that the scores define."""
        return SegmentalHypergraph(EdgeScores(*scores), lengths)


class JointKind(SegmentalKind):
    """Models whose mentions of one start depend on each other: C computes their edges, and torch the rest."""

    answers = False

    def obstacle(self, config: Config) -> str:
        scored = [name for name in ("together", "within") if getattr(config.joint, name) == "spans"]
        return f'joint.{scored[0]} = "spans"' if scored else ""


class DiscontinuousKind(SegmentalKind):
    """Models of contiguous and discontinuous mentions."""

    discontinuous = True

    def obstacle(self, config: Config) -> str:
        return "" if config.model.tied else "model.tied = false"

    def interactions(self, config: Config) -> bool:
        return True

    def span_outputs(self, config: Config, types: int) -> int:
        return 6 * types

    def biased(self, config: Config, learnt: np.ndarray) -> np.ndarray:
        close, leaving, arriving, opening, last, gap = np.split(learnt, 6)
        return np.concatenate([close, leaving, arriving, opening + np.float32(config.discontinuous.bias), last, gap])

    def gaps(self, config: Config) -> GapLimits:
        check_gaps(config)
        return GapLimits(config.discontinuous.gap, config.discontinuous.later_width)

    def distribution(
        self, config: Config, scores: ScoreArrays, parts: PartScores | None, lengths: Sequence[int]
    ) -> ArrayDistribution:
        parts = PartScores(scores.close, scores.close, scores.close) if parts is None else parts  # of no words
        return DiscontinuousHypergraph(DiscontinuousScores(*scores[:4], *parts), lengths, config.discontinuous.parts)


KINDS: dict[str, SegmentalKind] = {
    "segmental": SegmentalKind(),
    "joint": JointKind(),
    "discontinuous": DiscontinuousKind(),
}
