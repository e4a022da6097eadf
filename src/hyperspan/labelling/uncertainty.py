"""The uncertainty of a model about a sentence, computed from its distribution over mention sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hyperspan.errors import InputError
from hyperspan.runtime.batches import batches_by_length
from hyperspan.runtime.interface import InferenceModel
from hyperspan.structures.mentions import NotSupportedError
from hyperspan.structures.places import Places
from hyperspan.types import Sentence

LEAST = 0.01
"""The minimum probability of mentions that count towards the expected errors."""
OVERHEAD = 5.0
"""The cost of starting a sentence, in words, in addition to its length."""


class UncertainDistribution(Protocol):
    """The interface of a distribution that the measures need, in torch or in the runtime."""

    @property
    def lengths(self) -> list[int]: ...
    @property
    def types(self) -> int: ...
    @property
    def entropy(self) -> Any: ...  # (B,)
    def places(self, wanted: Sequence[Sequence[float] | None]) -> list[Places]: ...


Measure = Callable[[UncertainDistribution], list[float]]
"""A function from a distribution to a number per sentence."""


def entropy(distribution: UncertainDistribution) -> list[float]:
    """The entropy over all mention sets, in nats."""
    return distribution.entropy.tolist()


def expected_mistakes(distribution: UncertainDistribution) -> list[float]:
    """The expected number of wrong decisions: the sum of min(p, 1 - p) over all mentions."""
    [places] = distribution.places([[LEAST] * distribution.types])
    probability = places.probabilities.astype(np.float64)
    mistakes = np.minimum(probability, 1 - probability)
    return np.bincount(places.rows[:, 0], mistakes, minlength=len(distribution.lengths)).tolist()


@dataclass(frozen=True)
class Criterion:
    """The criterion by which sentences and documents are ranked."""

    measure: Measure
    overhead: float = OVERHEAD
    """Scores are divided by cost: the words, plus this many per sentence."""

    def score(self, values: Sequence[float], words: int) -> float:
        """The score of sentences with these measures and this total number of words."""
        return math.fsum(values) / (words + self.overhead * len(values))


CRITERIA = {"mix": Criterion(expected_mistakes), "entropy": Criterion(entropy)}
"""The values of `--by`."""


def criterion_of(name: str) -> Criterion:
    """The criterion of this name; an error lists the valid names."""
    if name not in CRITERIA:
        raise InputError(f"sentences cannot be ranked by {name!r}; choose one of {', '.join(CRITERIA)}")
    return CRITERIA[name]


def measure(model: InferenceModel, sentences: Sequence[Sentence], by: Measure) -> list[float]:
    """The measure of each sentence, computed in batches; 0 for one without words. Labels of names do not count."""
    values = [0.0] * len(sentences)
    shown = [kind for kind, label in enumerate(model.labels) if label not in model.names]
    for batch in batches_by_length([len(sentence) for sentence in sentences], model.max_width, model.batch_entries):
        with model.inference():
            try:
                distribution = model.distribution([sentences[index] for index in batch])
                found = by(distribution.restrict(shown) if model.names else distribution)
            except NotSupportedError as error:
                raise InputError(f"{error}; or rank by mix, which every model can") from None
        for index, value in zip(batch, found, strict=True):
            values[index] = value
    return values
