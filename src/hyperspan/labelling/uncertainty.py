"""How much a model does not know about a sentence, read off its distribution over sets of mentions."""

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
"""Mentions that are less probable are not counted among the expected errors."""
OVERHEAD = 5.0
"""What it costs to begin a sentence, in words, beside the words that it has."""


class UncertainDistribution(Protocol):
    """What the measures ask of a distribution, that of a torch model or of the runtime."""

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
"""A number for each sentence."""


def entropy(distribution: UncertainDistribution) -> list[float]:
    """The entropy over all sets, in nats."""
    return distribution.entropy.tolist()


def surprisal(distribution: UncertainDistribution) -> list[float]:
    """Minus the log-probability of the best set."""
    return [-ranked[0][1] for ranked in distribution.topk(1)]


def closeness(distribution: UncertainDistribution) -> list[float]:
    """How probable the second best set is beside the best, from 0 to 1: 1 where the two are equal."""
    both = distribution.topk(2)
    return [math.exp(ranked[1][1] - ranked[0][1]) if len(ranked) > 1 else 0.0 for ranked in both]


def expected_error(distribution: UncertainDistribution) -> list[float]:
    """1 less the expected F1 of the best set."""
    return (1.0 - distribution.expected_f1(distribution.argmax())).tolist()


def expected_mistakes(distribution: UncertainDistribution) -> list[float]:
    """How many wrong decisions to expect: the sum of min(p, 1 - p) over all mentions."""
    [places] = distribution.places([[LEAST] * distribution.types])
    probability = places.probabilities.astype(np.float64)
    mistakes = np.minimum(probability, 1 - probability)
    return np.bincount(places.rows[:, 0], mistakes, minlength=len(distribution.lengths)).tolist()


@dataclass(frozen=True)
class Criterion:
    """What sentences and documents are ranked by."""

    measure: Measure
    combine: Callable[[Sequence[float]], float] = math.fsum
    """The measure of a document, from those of its sentences."""
    overhead: float | None = OVERHEAD
    """Scores are by cost: the words, and so many more for each sentence. None for scores of the sentence as a whole."""

    def score(self, values: Sequence[float], words: int) -> float:
        """The score of some sentences with these measures and so many words together."""
        cost = 1.0 if self.overhead is None else words + self.overhead * len(values)
        return self.combine(values) / cost


CRITERIA = {
    "mix": Criterion(expected_mistakes),
    "entropy": Criterion(entropy),
    "best-set": Criterion(surprisal),
    "margin": Criterion(closeness, max, overhead=None),
    "expected-f1": Criterion(expected_error, fmean, overhead=None),
}
"""What `--by` takes."""


def criterion_of(name: str) -> Criterion:
    """The criterion of this name, or an error that lists them."""
    if name not in CRITERIA:
        raise InputError(f"sentences cannot be ranked by {name!r}; choose one of {', '.join(CRITERIA)}")
    return CRITERIA[name]


def measure(model: InferenceModel, sentences: Sequence[Sentence], by: Measure) -> list[float]:
    """The measure of each sentence, computed in batches; 0 for one without words."""
    values = [0.0] * len(sentences)
    for batch in batches_by_length([len(sentence) for sentence in sentences], model.max_width, model.batch_entries):
        with model.inference():
            try:
                found = by(model.distribution([sentences[index] for index in batch]))
            except NotSupportedError as error:
                raise InputError(f"{error}; or rank by mix or margin, which every model has") from None
        for index, value in zip(batch, found, strict=True):
            values[index] = value
    return values
