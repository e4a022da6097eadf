"""Calibration of probabilities: of the mentions with probability 0.8, are eight in ten right?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hyperspan.errors import InputError
from hyperspan.types import Sentence

BINS = 10
TOLERANCE = 1e-6
"""How far rounding may move a probability outside 0 to 1."""


@dataclass(frozen=True)
class Bin:
    """Mentions with probabilities in [low, high), in the last bin [low, high]."""

    low: float
    high: float
    count: int
    probability: float
    """The mean of their probabilities; 0 in an empty bin."""
    correct: float
    """The fraction of them that are right; 0 in an empty bin."""


@dataclass(frozen=True)
class Calibration:
    """The deviation of predicted probabilities from observed frequencies."""

    bins: tuple[Bin, ...]
    ece: float
    """Expected calibration error: |mean probability - precision| of each bin, averaged over mentions."""
    brier: float
    """The mean squared difference between a probability and the outcome, 1 or 0."""
    count: int
    """The number of mentions with a probability."""
    correct: int
    """How many of them are gold."""
    missed: int = 0
    """The number of gold mentions that are not among them."""


def calibrate(probabilities: Sequence[float], correct: Sequence[bool], *, bins: int = BINS) -> Calibration:
    """Measure how well probabilities are calibrated, given which predictions are correct.

    Returns the expected calibration error (`ece`), the Brier score (`brier`), and `bins` bins of equal width with their
    mean probability and share of correct predictions.

    >>> from hyperspan.evaluation.calibration import calibrate
    >>> found = calibrate([0.9, 0.9, 0.9, 0.3], [True, True, False, False])
    >>> round(found.ece, 4), round(found.brier, 4)
    (0.25, 0.23)
    """
    stated, true = np.asarray(probabilities, dtype=float), np.asarray(correct, dtype=bool)
    wrong = stated[(stated < -TOLERANCE) | (stated > 1 + TOLERANCE) | np.isnan(stated)]
    if wrong.size:
        raise InputError(
            f"a mention has probability {wrong[0]}, but a number from 0 to 1 is expected; rescale or drop it"
        )
    stated = stated.clip(0, 1)
    edges = np.arange(bins + 1) / bins
    index = np.clip(np.searchsorted(edges, stated, side="right") - 1, 0, bins - 1)  # (mentions,): the bin of each
    counts = np.bincount(index, minlength=bins)
    sums, rights = np.bincount(index, stated, minlength=bins), np.bincount(index, true, minlength=bins)
    per_mention = np.maximum(counts, 1)
    total = max(1, len(stated))
    return Calibration(
        tuple(
            Bin(float(edges[i]), float(edges[i + 1]), int(counts[i]), float(mean), float(share))
            for i, (mean, share) in enumerate(zip(sums / per_mention, rights / per_mention, strict=True))
        ),
        ece=float(np.abs(sums - rights).sum() / total),
        brier=float(((stated - true) ** 2).sum() / total),
        count=len(stated),
        correct=int(true.sum()),
    )


def calibration_of(gold: Iterable[Sentence], candidates: Iterable[Sentence], *, bins: int = BINS) -> Calibration | None:
    """The calibration of the candidates with probabilities; None if there are none. Both sides have the same sentences.

    >>> from hyperspan.types import Mention
    >>> gold = [Sentence(["a", "b"], [Mention(0, 1, "X")])]
    >>> found = [Sentence(["a", "b"], [Mention(0, 1, "X", probability=0.8)])]
    >>> round(calibration_of(gold, found).brier, 2)
    0.04
    """
    probabilities: list[float] = []
    correct: list[bool] = []
    mentions = 0
    for truth, found in zip(gold, candidates, strict=True):
        mentions += len(truth.mentions)
        for mention in sorted(found.mentions):  # a fixed order, so that sums always round the same way
            if mention.probability is not None:
                probabilities.append(mention.probability)
                correct.append(mention in truth.mentions)
    if not probabilities:
        return None
    calibration = calibrate(probabilities, correct, bins=bins)
    return replace(calibration, missed=mentions - calibration.correct)
