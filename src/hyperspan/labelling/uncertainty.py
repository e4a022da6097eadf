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


Measure = Callable[[UncertainDistribution], list[list[float]]]
"""For each sentence one number, or one for each of its words, which are added up."""


def entropy(distribution: UncertainDistribution) -> list[list[float]]:
    """The entropy over all sets, in nats."""
    return [[value] for value in distribution.entropy.tolist()]


def surprisal(distribution: UncertainDistribution) -> list[list[float]]:
    """Minus the log-probability of the best set."""
    return [[-ranked[0][1]] for ranked in distribution.topk(1)]


def closeness(distribution: UncertainDistribution) -> list[list[float]]:
    """How probable the second best set is beside the best, from 0 to 1: 1 where the two are equal."""
    both = distribution.topk(2)
    return [[math.exp(ranked[1][1] - ranked[0][1])] if len(ranked) > 1 else [0.0] for ranked in both]


def expected_error(distribution: UncertainDistribution) -> list[list[float]]:
    """1 less the expected F1 of the best set."""
    return [[1.0 - value] for value in distribution.expected_f1(distribution.argmax()).tolist()]


def errors_by_word(distribution: UncertainDistribution) -> list[list[float]]:
    """How many wrong decisions to expect: min(p, 1 - p) of each mention, in equal shares for the words that it covers."""
    lengths = distribution.lengths
    [places] = distribution.places([[LEAST] * distribution.types])
    sentence, start, end, _ = places.rows.T
    probability = places.probabilities.astype(np.float64)
    shares = np.minimum(probability, 1 - probability) / (end - start)
    changes = np.zeros((len(lengths), max(lengths, default=0) + 1))  # of the sum from one word to the next
    np.add.at(changes, (sentence, start), shares)
    np.add.at(changes, (sentence, end), -shares)
    sums = np.maximum(changes.cumsum(1), 0.0)
    return [sums[row, :length].tolist() for row, length in enumerate(lengths)]


@dataclass(frozen=True)
class Criterion:
    """What sentences and documents are ranked by."""

    measure: Measure
    combine: Callable[[Sequence[float]], float] = math.fsum
    """The measure of a document, from those of its sentences."""
    overhead: float | None = OVERHEAD
    """Scores are by cost: the words, and so many more for each sentence. None for scores of the sentence as a whole."""
    decay: float = 1.0
    """What a word counts for, by word, each time it is suggested again, as a share of what it counted before."""

    def score(self, values: Sequence[float], words: int) -> float:
        """The score of some sentences with these measures and so many words together."""
        return self.combine(values) / self.cost(words, len(values))

    def cost(self, words: int, sentences: int) -> float:
        """What some sentences cost."""
        return 1.0 if self.overhead is None else words + self.overhead * sentences


CRITERIA = {
    "mix": Criterion(errors_by_word),
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


def measure(model: InferenceModel, sentences: Sequence[Sentence], by: Measure) -> list[list[float]]:
    """The measure of each sentence, computed in batches; none for one without words."""
    values: list[list[float]] = [[] for _ in sentences]
    for batch in batches_by_length([len(sentence) for sentence in sentences], model.max_width, model.batch_entries):
        with model.inference():
            try:
                found = by(model.distribution([sentences[index] for index in batch]))
            except NotSupportedError as error:
                raise InputError(f"{error}; or rank by mix or margin, which every model has") from None
        for index, value in zip(batch, found, strict=True):
            values[index] = value
    return values
