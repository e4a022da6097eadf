"""The kinds of models that C scores: the outputs of their scorers, their scores in arrays, and the distributions over
them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.kernels.encode import BESIDE
from hyperspan.runtime.tensors import floats
from hyperspan.structures.discontinuous import DiscontinuousHypergraph
from hyperspan.structures.scores import DiscontinuousScores, EdgeScores
from hyperspan.structures.segmental import SegmentalHypergraph

if TYPE_CHECKING:
    from hyperspan.structures.joint import JointSegmentalHypergraph

ArrayDistribution = Union[
    SegmentalHypergraph[np.ndarray], DiscontinuousHypergraph[np.ndarray], "JointSegmentalHypergraph[np.ndarray]"
]


def groups_of(config: Config, labels: Sequence[str]) -> list[list[int]]:
    """The types that depend on each other, by `joint.groups`."""
    return [[labels.index(label) for label in group if label in labels] for group in config.joint.groups]


class SegmentalKind:
    """Models of contiguous mentions. Tests compare the results of a kind with the scorer of that name in nn."""

    discontinuous = False
    """Whether the model finds discontinuous mentions."""

    def check(self, config: Config) -> None:
        """Raise an InputError if the values of a configuration are inconsistent."""

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

    def layers(self, config: Config, types: int) -> dict[str, tuple[int, ...]]:
        """The shapes of further weights, by name."""
        return {}

    def unfilled(self, config: Config, shape: tuple[int, int, int, int]) -> Any:
        """The scores of a batch of this shape, (B, n, c, m), for C to compute; they hold anything yet."""
        made = _starts_and_ends(*shape)
        if not config.model.tied:
            made["branch"] = np.empty_like(made["extend"])
        return EdgeScores.trusted(**made)

    def completed(self, filled: Any, config: Config, tensors: Mapping[str, np.ndarray], temperature: float) -> Any:
        """The scores of a batch, given what C computed: with those that do not depend on its words, divided by a
        temperature."""
        return filled

    def distribution(
        self, scores: Any, lengths: Sequence[int], config: Config, labels: Sequence[str]
    ) -> ArrayDistribution:
        """The distribution that the scores of a batch define."""
        return SegmentalHypergraph(scores, lengths)


class JointKind(SegmentalKind):
    """Models whose mentions depend on each other if they begin at the same word."""

    def check(self, config: Config) -> None:
        from hyperspan.structures.joint_scores import MOST_TYPES  # here, as few models need it

        groups = config.joint.groups
        listed = [label for group in groups for label in group]
        if len(set(listed)) < len(listed) or any(len(group) > MOST_TYPES for group in groups):
            raise InputError(
                f"joint.groups is {[list(group) for group in groups]}, but must have each label once, in groups of at "
                f"most {MOST_TYPES}; leave it out to have groups chosen from the training sentences"
            )

    def obstacle(self, config: Config) -> str:
        scored = [name for name in ("together", "within") if getattr(config.joint, name) == "spans"]
        if scored:
            return f'joint.{scored[0]} = "spans"'
        return "" if config.calibration.is_empty else "calibration by label"

    def layers(self, config: Config, types: int) -> dict[str, tuple[int, ...]]:
        return {f"scorer.{name}.bias": (types, types) for name in self._pairs(config)}

    def completed(self, filled: Any, config: Config, tensors: Mapping[str, np.ndarray], temperature: float) -> Any:
        from hyperspan.structures.joint_scores import JointScores

        shape = (*filled.close.shape, filled.close.shape[3])
        pairs = {
            name: np.broadcast_to(floats(tensors, f"scorer.{name}.bias") / np.float32(temperature), shape)
            for name in self._pairs(config)
        }
        return JointScores(filled, **pairs)

    def distribution(
        self, scores: Any, lengths: Sequence[int], config: Config, labels: Sequence[str]
    ) -> ArrayDistribution:
        from hyperspan.structures.joint import JointSegmentalHypergraph

        return JointSegmentalHypergraph(scores, lengths, groups_of(config, labels))

    def _pairs(self, config: Config) -> list[str]:
        return [name for name in ("together", "within") if getattr(config.joint, name) != "none"]


class DiscontinuousKind(SegmentalKind):
    """Models of contiguous and discontinuous mentions."""

    discontinuous = True

    def check(self, config: Config) -> None:
        given, width = config.discontinuous, config.model.max_width
        if not config.model.tied:
            raise InputError("model.tied is false, but model.kind discontinuous ties its edges; set it to true")
        least = max(given.gap + BESIDE, given.later_width)
        if width != "n" and width < least:
            raise InputError(
                f"model.max_width is {width}, but gaps of discontinuous.gap = {given.gap} words with the words beside them and later "
                f"parts of discontinuous.later_width = {given.later_width} words are spans, too; set model.max_width = {least} or more"
            )

    def obstacle(self, config: Config) -> str:
        return "" if config.model.tied else "model.tied = false"

    def interactions(self, config: Config) -> bool:
        return True

    def span_outputs(self, config: Config, types: int) -> int:
        return 6 * types

    def biased(self, config: Config, learnt: np.ndarray) -> np.ndarray:
        close, leaving, arriving, opening, last, gap = np.split(learnt, 6)
        return np.concatenate([close, leaving, arriving, opening + np.float32(config.discontinuous.bias), last, gap])

    def unfilled(self, config: Config, shape: tuple[int, int, int, int]) -> Any:
        (batch, n, c, m), limits = shape, config.discontinuous
        widths = {"open": c, "gap": max(min(limits.gap, c - BESIDE), 0), "last": min(limits.later_width, c)}
        parts = {name: np.empty((batch, n, width, m), dtype=np.float32) for name, width in widths.items()}
        return DiscontinuousScores.trusted(**_starts_and_ends(*shape), **parts)

    def distribution(
        self, scores: Any, lengths: Sequence[int], config: Config, labels: Sequence[str]
    ) -> ArrayDistribution:
        return DiscontinuousHypergraph(scores, lengths, config.discontinuous.parts)


def _starts_and_ends(batch: int, n: int, c: int, m: int) -> dict[str, np.ndarray]:
    """The scores that all kinds have."""
    widths = {"absent": (), "present": (), "extend": (c - 1,), "close": (c,)}
    return {name: np.empty((batch, n, *width, m), dtype=np.float32) for name, width in widths.items()}


KINDS: dict[str, SegmentalKind] = {
    "segmental": SegmentalKind(),
    "joint": JointKind(),
    "discontinuous": DiscontinuousKind(),
}
