"""The uncertainty of a model about a sentence, computed from its distribution over mention sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Protocol

import numpy as np

from hyperspan.batching import batches_by_length
from hyperspan.errors import InputError
from hyperspan.inference.model import InferenceModel
from hyperspan.structures.mentions import MentionSet, MentionSets, NotSupportedError
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
    def argmax(self) -> list[MentionSet]: ...
    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]: ...
    def expected_f1(self, mention_sets: MentionSets) -> np.ndarray: ...
    def places(self, wanted: Sequence[Sequence[float] | None]) -> list[Places]: ...


Measure = Callable[[UncertainDistribution], list[float]]
"""A function from a distribution to a number per sentence."""


def entropy(distribution: UncertainDistribution) -> list[float]:
    """The entropy over all mention sets, in nats."""
    return distribution.entropy.tolist()


def surprisal(distribution: UncertainDistribution) -> list[float]:
    """Minus the log-probability of the best set."""
    return [-ranked[0][1] for ranked in distribution.topk(1)]


def closeness(distribution: UncertainDistribution) -> list[float]:
    """The probability of the second best set divided by that of the best, from 0 to 1."""
    both = distribution.topk(2)
    return [math.exp(ranked[1][1] - ranked[0][1]) if len(ranked) > 1 else 0.0 for ranked in both]


def expected_error(distribution: UncertainDistribution) -> list[float]:
    """1 minus the expected F1 of the best set."""
    return (1.0 - distribution.expected_f1(distribution.argmax())).tolist()


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
    combine: Callable[[Sequence[float]], float] = math.fsum
    """Combines the measures of its sentences into the measure of a document."""
    overhead: float | None = OVERHEAD
    """Scores are divided by cost: the words, plus this many per sentence. None for undivided scores."""

    def score(self, values: Sequence[float], words: int) -> float:
        """The score of sentences with these measures and this total number of words."""
        cost = 1.0 if self.overhead is None else words + self.overhead * len(values)
        return self.combine(values) / cost


CRITERIA = {
    "mix": Criterion(expected_mistakes),
    "entropy": Criterion(entropy),
    "best-set": Criterion(surprisal),
    "margin": Criterion(closeness, max, overhead=None),
    "expected-f1": Criterion(expected_error, fmean, overhead=None),
}
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
                raise InputError(f"{error}; or rank by mix or margin, which every model has") from None
        for index, value in zip(batch, found, strict=True):
            values[index] = value
    return values
