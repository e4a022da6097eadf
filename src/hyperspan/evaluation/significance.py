"""How much of a score, or of a difference between two, may be chance: resampling over sentences.

Everything is computed from what is counted in each sentence: right mentions, predicted mentions, gold mentions. Sentences with
the same counts are interchangeable, so each round draws how often every *kind* of sentence occurs, which is the same
distribution as drawing sentence by sentence, and takes time by the number of kinds instead of sentences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
"""(sentences, 3): right, predicted and gold mentions of each sentence."""
MEASURES = ("precision", "recall", "f1")
BATCH = 500
"""So many rounds are computed at once, which bounds the memory."""
ROUNDING = 1e-12
"""Differences that are equal as fractions may differ by this much."""


@dataclass(frozen=True)
class Confidence:
    """Between which values each measure lies in the middle `level` of bootstrap samples."""

    precision: tuple[float, float]
    recall: tuple[float, float]
    f1: tuple[float, float]
    level: float
    samples: int
    seed: int


@dataclass(frozen=True)
class Difference:
    """A measure of system B minus that of system A, and how surprising it is."""

    a: float
    b: float
    difference: float
    """b - a."""
    interval: tuple[float, float]
    """Where the difference lies in the middle `level` of paired bootstrap samples."""
    p_randomization: float
    """How often systems whose outputs are exchanged at random differ at least as much: two-sided."""
    p_bootstrap: float
    """Twice the share of bootstrap samples in which the difference is none or the other way round."""


def measures(totals: NDArray[np.int64]) -> NDArray[np.float64]:
    """Precision, recall and F1 of counts (..., 3); what would be 0/0 is 0.

    >>> measures(np.array([6, 8, 12])).tolist()
    [0.75, 0.5, 0.6]
    """
    correct, predicted, gold = np.moveaxis(totals, -1, 0)
    below = np.stack([predicted, gold, predicted + gold], axis=-1)
    above = np.stack([correct, correct, 2 * correct], axis=-1)
    return np.divide(above, below, out=np.zeros(below.shape), where=below > 0)


def confidence(counts: Counts, *, samples: int = 1000, seed: int = 0, level: float = 0.95) -> Confidence:
    """Percentile bootstrap intervals: as many sentences as there are, drawn with replacement, again and again.

    >>> confidence(np.array([[1, 1, 2], [2, 2, 2], [0, 1, 1]]), seed=1).precision
    (0.0, 1.0)
    """
    totals = _in_batches(_resampling(counts), samples, seed)
    low, high = _middle(measures(totals), level)
    precision, recall, f1 = zip(low, high, strict=True)
    return Confidence(precision, recall, f1, level, samples, seed)


def differences(
    counts_a: Counts, counts_b: Counts, *, rounds: int = 10_000, seed: int = 0, level: float = 0.95
) -> dict[str, Difference]:
    """Each measure of two systems on the same sentences, compared by approximate randomisation and by paired bootstrap.

    >>> always, never = np.array([[1, 1, 1]] * 30), np.array([[0, 1, 1]] * 30)
    >>> found = differences(never, always)["f1"]
    >>> found.difference, found.interval, found.p_randomization < 0.001
    (1.0, (1.0, 1.0), True)
    """
    ours = [measures(counts.sum(axis=0)) for counts in (counts_a, counts_b)]
    observed = ours[1] - ours[0]
    pairs = np.concatenate([counts_a, counts_b], axis=1)
    exchanged = _differences(_in_batches(_exchanging(pairs), rounds, seed))
    as_far = (np.abs(exchanged) >= np.abs(observed) - ROUNDING).sum(axis=0)
    drawn = _differences(_in_batches(_resampling(pairs), rounds, seed))
    not_above, not_below = (drawn <= ROUNDING).sum(axis=0), (drawn >= -ROUNDING).sum(axis=0)
    turned = np.minimum(not_above, not_below)
    low, high = _middle(drawn, level)
    return {
        measure: Difference(
            a=float(ours[0][i]),
            b=float(ours[1][i]),
            difference=float(observed[i]),
            interval=(low[i], high[i]),
            # What was observed is itself one of the possible outcomes, so that no p-value is ever 0.
            p_randomization=float((as_far[i] + 1) / (rounds + 1)),
            p_bootstrap=float(min(1.0, 2 * (turned[i] + 1) / (rounds + 1))),
        )
        for i, measure in enumerate(MEASURES)
    }


Draw = Callable[[np.random.Generator, int], NDArray[np.int64]]
"""Totals over all sentences in so many rounds."""


def _resampling(rows: NDArray[np.int64]) -> Draw:
    """Sentences drawn with replacement."""
    kinds, times = np.unique(rows, axis=0, return_counts=True)
    return lambda generator, rounds: generator.multinomial(len(rows), times / len(rows), size=rounds) @ kinds


def _exchanging(pairs: NDArray[np.int64]) -> Draw:
    """The outputs of both systems exchanged in each sentence with probability 1/2: (sentences, 6) -> (rounds, 6)."""
    kinds, times = np.unique(pairs, axis=0, return_counts=True)
    gain = kinds[:, 3:] - kinds[:, :3]  # what A wins and B loses where they are exchanged
    change = np.concatenate([gain, -gain], axis=1)
    total = pairs.sum(axis=0)
    return lambda generator, rounds: total + generator.binomial(times, 0.5, size=(rounds, len(times))) @ change


def _in_batches(draw: Draw, rounds: int, seed: int) -> NDArray[np.int64]:
    generator = np.random.default_rng(seed)
    sizes = [min(BATCH, rounds - done) for done in range(0, rounds, BATCH)]
    return np.concatenate([draw(generator, size) for size in sizes])


def _differences(totals: NDArray[np.int64]) -> NDArray[np.float64]:
    """The measures of B minus those of A: (rounds, 6) -> (rounds, 3)."""
    return measures(totals[:, 3:]) - measures(totals[:, :3])


def _middle(values: NDArray[np.float64], level: float) -> tuple[list[float], list[float]]:
    """Where the middle `level` of the values of each column begin and end."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low.tolist(), high.tolist()
