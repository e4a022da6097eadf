"""Right, found and expected mentions: the one way to count them, and precision, recall and F1 of the counts.

0/0 counts as 0, as in other scorers: precision without predictions, recall without gold mentions.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hyperspan.types import Sentence

Counts = NDArray[np.int64]
"""(sentences, 3): correct, predicted and gold mentions of each sentence."""
MEASURES = ("precision", "recall", "f1")
One = TypeVar("One", bound=Hashable)
"""A mention in any form, as both sides have it."""


def counts_of(gold: Iterable[Set[One]], predicted: Iterable[Set[One]]) -> Counts:
    """(sentences, 3): correct, predicted and gold mentions of each sentence. Duplicates count once.

    >>> counts_of([{(0, 1), (0, 2)}, {(3, 4)}], [{(0, 2)}, set()]).tolist()
    [[1, 1, 2], [0, 0, 1]]
    """
    rows = [(len(truth & found), len(found), len(truth)) for truth, found in zip(gold, predicted, strict=True)]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def sentence_counts(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> Counts:
    """(sentences, 3): correct, predicted and gold mentions of each sentence."""
    return counts_of((one.mentions for one in gold), (one.mentions for one in predicted))


def measures(totals: NDArray[np.int64]) -> NDArray[np.float64]:
    """Precision, recall and F1 of counts (..., 3).

    >>> measures(np.array([6, 8, 12])).tolist()
    [0.75, 0.5, 0.6]
    """
    correct, predicted, gold = np.moveaxis(totals, -1, 0)
    numerator = np.stack([correct, correct, 2 * correct], axis=-1)
    denominator = np.stack([predicted, gold, predicted + gold], axis=-1)
    return np.divide(numerator, denominator, out=np.zeros(denominator.shape), where=denominator > 0)


@dataclass(frozen=True)
class Score:
    """Counts of correct, predicted and gold mentions.

    >>> score = Score(correct=6, predicted=8, gold=12)
    >>> score.precision, score.recall, score.f1
    (0.75, 0.5, 0.6)
    """

    correct: int = 0
    predicted: int = 0
    gold: int = 0

    @classmethod
    def total(cls, counts: Counts) -> Score:
        """Over all sentences."""
        return cls(*counts.sum(axis=0).tolist())

    @property
    def by_measure(self) -> dict[str, float]:
        """Precision, recall and F1."""
        values = measures(np.array([self.correct, self.predicted, self.gold], dtype=np.int64)).tolist()
        return dict(zip(MEASURES, values, strict=True))

    @property
    def precision(self) -> float:
        return self.by_measure["precision"]

    @property
    def recall(self) -> float:
        return self.by_measure["recall"]

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return self.by_measure["f1"]

    def __add__(self, other: Score) -> Score:
        return Score(self.correct + other.correct, self.predicted + other.predicted, self.gold + other.gold)

    def to_dict(self) -> dict[str, Any]:
        return {**self.by_measure, **asdict(self)}
