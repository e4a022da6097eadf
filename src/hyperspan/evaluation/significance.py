"""Confidence intervals of scores and significance of differences, by resampling sentences.

Everything is computed from three counts of each sentence: correct, predicted and gold mentions. Sentences with the same counts
are interchangeable. So each round draws how often every distinct row of counts occurs. This is the same distribution as drawing
sentence by sentence, and costs time by the number of distinct rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
"""(sentences, 3): correct, predicted and gold mentions of each sentence."""
MEASURES = ("precision", "recall", "f1")
BATCH = 500
"""How many rounds are computed together; bounds the memory."""
TOLERANCE = 1e-12
"""Rounding error of differences that are equal as fractions."""


@dataclass(frozen=True)
class Confidence:
    """Percentile bootstrap intervals: the middle `level` of the bootstrap samples."""

    precision: tuple[float, float]
    recall: tuple[float, float]
    f1: tuple[float, float]
    level: float
    samples: int
    seed: int


@dataclass(frozen=True)
class Difference:
    """The difference of a measure between two systems, and its significance."""

    a: float
    b: float
    difference: float
    """b - a."""
    interval: tuple[float, float]
    """The middle `level` of the differences in paired bootstrap samples."""
    p_randomization: float
    """Two-sided: how often the difference is at least as large after exchanging outputs at random."""
    p_bootstrap: float
    """Twice the fraction of bootstrap samples with no difference or one of the opposite sign."""


def measures(totals: NDArray[np.int64]) -> NDArray[np.float64]:
    """Precision, recall and F1 of counts (..., 3); 0/0 counts as 0.

    >>> measures(np.array([6, 8, 12])).tolist()
    [0.75, 0.5, 0.6]
    """
    correct, predicted, gold = np.moveaxis(totals, -1, 0)
    numerator = np.stack([correct, correct, 2 * correct], axis=-1)
    denominator = np.stack([predicted, gold, predicted + gold], axis=-1)
    return np.divide(numerator, denominator, out=np.zeros(denominator.shape), where=denominator > 0)


def confidence(counts: Counts, *, samples: int = 1000, seed: int = 0, level: float = 0.95) -> Confidence:
    """Percentile bootstrap intervals over sentences, drawn with replacement.

    >>> confidence(np.array([[1, 1, 2], [2, 2, 2], [0, 1, 1]]), seed=1).precision
    (0.0, 1.0)
    """
    totals = _in_batches(_resampling(counts), samples, seed)
    low, high = _interval(measures(totals), level)
    precision, recall, f1 = zip(low, high, strict=True)
    return Confidence(precision, recall, f1, level, samples, seed)


def differences(
    counts_a: Counts, counts_b: Counts, *, rounds: int = 10_000, seed: int = 0, level: float = 0.95
) -> dict[str, Difference]:
    """Compares each measure of two systems on the same sentences, by approximate randomisation and by paired bootstrap.

    >>> always, never = np.array([[1, 1, 1]] * 30), np.array([[0, 1, 1]] * 30)
    >>> found = differences(never, always)["f1"]
    >>> found.difference, found.interval, found.p_randomization < 0.001
    (1.0, (1.0, 1.0), True)
    """
    ours = [measures(counts.sum(axis=0)) for counts in (counts_a, counts_b)]
    observed = ours[1] - ours[0]
    pairs = np.concatenate([counts_a, counts_b], axis=1)
    exchanged = _differences(_in_batches(_exchanging(pairs), rounds, seed))
    at_least_as_large = (np.abs(exchanged) >= np.abs(observed) - TOLERANCE).sum(axis=0)
    drawn = _differences(_in_batches(_resampling(pairs), rounds, seed))
    not_above, not_below = (drawn <= TOLERANCE).sum(axis=0), (drawn >= -TOLERANCE).sum(axis=0)
    opposite = np.minimum(not_above, not_below)
    low, high = _interval(drawn, level)
    return {
        measure: Difference(
            a=float(ours[0][i]),
            b=float(ours[1][i]),
            difference=float(observed[i]),
            interval=(low[i], high[i]),
            # The observed outcome counts as one of the possible outcomes, so no p-value is 0.
            p_randomization=float((at_least_as_large[i] + 1) / (rounds + 1)),
            p_bootstrap=float(min(1.0, 2 * (opposite[i] + 1) / (rounds + 1))),
        )
        for i, measure in enumerate(MEASURES)
    }


Draw = Callable[[np.random.Generator, int], NDArray[np.int64]]
"""Draws the totals over all sentences, for a number of rounds."""


def _resampling(rows: NDArray[np.int64]) -> Draw:
    """Draws sentences with replacement."""
    distinct, times = np.unique(rows, axis=0, return_counts=True)
    return lambda generator, rounds: generator.multinomial(len(rows), times / len(rows), size=rounds) @ distinct


def _exchanging(pairs: NDArray[np.int64]) -> Draw:
    """Exchanges the outputs of both systems in each sentence with probability 1/2: (sentences, 6) -> (rounds, 6)."""
    distinct, times = np.unique(pairs, axis=0, return_counts=True)
    gain = distinct[:, 3:] - distinct[:, :3]  # what A gains and B loses by an exchange
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


def _interval(values: NDArray[np.float64], level: float) -> tuple[list[float], list[float]]:
    """The bounds of the middle `level` of the values in each column."""
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return low.tolist(), high.tolist()
