"""Confidence intervals of scores and significance of differences, by resampling sentences.

Everything is computed from three counts of each sentence: correct, predicted and gold mentions. Sentences with the same
counts are interchangeable. So each round draws how often every distinct row of counts occurs. This has the same
distribution as drawing sentence by sentence, and takes time proportional to the number of distinct rows.

Resampling cannot show what a small test set lacks: if all its mentions are right, so are those of every sample. Where
few mentions are right or wrong, intervals are those of proportions instead, and differences are smoothed.

*Proportions.* The interval of Clopper and Pearson (1934) inverts the binomial distribution: if 15 of 15 are right, it
excludes the true proportions that would have made that unlikely. It needs independent counts, but the mentions of a
sentence are found or missed together. So it is computed for the effective number of counts, as Korn and Graubard (1998)
do for surveys: the number divided by the design effect, the variance between sentences relative to that of independent
counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hyperspan.errors import counted
from hyperspan.evaluation.counts import MEASURES, Counts, measures

_CLOSE = 1e-12
"""The relative precision of quantiles."""


def proportion_interval(right: NDArray[np.int64], counts: NDArray[np.int64], level: float) -> tuple[float, float]:
    """The confidence interval of a proportion, from the number of right ones and of all in each group.

    >>> low, high = proportion_interval(np.array([1] * 15), np.array([1] * 15), 0.95)
    >>> round(low, 3), high
    (0.782, 1.0)
    """
    total = int(counts.sum())
    if not total:
        return 0.0, 1.0
    share = float(right.sum() / total)
    effective = _effective_count(right, counts, level)
    # rounded, so that the same counts in another order of sentences give the same interval
    hits, misses = round(share * effective, 9), round((1 - share) * effective, 9)
    low = beta_quantile((1 - level) / 2, hits, misses + 1) if hits else 0.0
    high = beta_quantile((1 + level) / 2, hits + 1, misses) if misses else 1.0
    return low, high


def _effective_count(right: NDArray[np.int64], counts: NDArray[np.int64], level: float) -> float:
    """The equivalent number of independent counts: at most all, at least one for each non-empty group."""
    filled = counts > 0
    groups, total = int(filled.sum()), int(counts.sum())
    if groups == 1:
        return 1.0
    share = right.sum() / total
    effect = 1.0
    if 0 < share < 1:
        residuals = (right - share * counts)[filled]  # (groups,)
        between = groups / (groups - 1) * float((residuals**2).sum()) / total**2
        effect = max(1.0, between * (total - 1) / (share * (1 - share)))
    # few groups tell little about the variance between them
    certainty = (student_quantile(level, total - 1) / student_quantile(level, groups - 1)) ** 2
    return max(groups, total / effect * certainty)


@lru_cache(maxsize=10_000)
def student_quantile(level: float, degrees: int) -> float:
    """The t such that Student's distribution has this probability between -t and t.

    >>> round(student_quantile(0.95, 9), 3)
    2.262
    """
    return math.sqrt(degrees * (1 / beta_quantile(1 - level, degrees / 2, 0.5) - 1))


@lru_cache(maxsize=10_000)
def beta_quantile(probability: float, a: float, b: float) -> float:
    """The value below which a beta distribution has this probability.

    >>> round(beta_quantile(0.5, 2, 3), 4)
    0.3857
    """
    low, high, value = 0.0, 1.0, a / (a + b)
    while high - low > _CLOSE * high:
        error = beta_cdf(value, a, b) - probability
        low, high = (low, value) if error > 0 else (value, high)
        density = math.exp(_log_scale(value, a, b)) / (value * (1 - value))
        guess = value - error / density if density else low  # Newton's method
        if abs(guess - value) < _CLOSE * value:
            break
        value = guess if low < guess < high else (low + high) / 2
    return value


def beta_cdf(value: float, a: float, b: float) -> float:
    """The probability below a value: the regularised incomplete beta function.

    >>> round(beta_cdf(0.3, 2, 3), 4)  # 1 - 0.7 ** 4 - 4 * 0.3 * 0.7 ** 3
    0.3483
    """
    if not 0 < value < 1:
        return float(value >= 1)
    below = value <= (a + 1) / (a + b + 2)  # the continued fraction of this tail converges faster
    return _beta_tail(value, a, b) if below else 1 - _beta_tail(1 - value, b, a)


def _beta_tail(value: float, a: float, b: float) -> float:
    """The same by its continued fraction, 1 / (1 + d1 / (1 + d2 / (1 + …))), from a depth where it has converged."""
    fraction = 1.0
    for m in range(20 + int(2 * math.sqrt(a + b)), 0, -1):
        even = m * (b - m) * value / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * value / ((a + 2 * m) * (a + 2 * m + 1))
        fraction = 1 + even / (1 + odd / fraction)
    fraction = 1 - (a + b) * value / ((a + 1) * fraction)
    return math.exp(_log_scale(value, a, b)) / (a * fraction)


def _log_scale(value: float, a: float, b: float) -> float:
    """log of value^a (1 - value)^b / B(a, b)."""
    return math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(value) + b * math.log1p(-value)


BATCH = 500
"""The number of rounds computed together; bounds the memory."""
TOLERANCE = 1e-12
"""Rounding error of differences that are equal as fractions."""
ENOUGH = 100
"""The minimum of right mentions, of wrong ones and of sentences with mentions for the bootstrap alone."""
TOO_WIDE = 0.1
"""The width of an F1 interval from which a larger test set is recommended."""
PSEUDO_SENTENCES = np.array([[1, 1, 1, 0, 1, 1], [0, 1, 1, 1, 1, 1]])
"""A sentence with one mention that only A gets right, and another that only B gets right."""


@dataclass(frozen=True)
class Confidence:
    """Intervals that contain the score on a far larger test set in a fraction `level` of all cases."""

    precision: tuple[float, float]
    recall: tuple[float, float]
    f1: tuple[float, float]
    level: float
    samples: int
    seed: int
    methods: dict[str, str]
    """The method for each measure: "bootstrap", or "exact" if the counts are too small for it."""
    note: str | None
    """A warning if the test set is too small to decide; else None."""


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
    """Twice the fraction of bootstrap samples with no difference or the opposite sign; 1 if there is no difference."""


def confidence(counts: Counts, *, samples: int = 1000, seed: int = 0, level: float = 0.95) -> Confidence:
    """Intervals by drawing sentences with replacement, or exact ones for small counts.

    >>> found = confidence(np.array([[1, 1, 1]] * 15))
    >>> found.precision[0].__round__(3), found.methods["precision"]
    (0.782, 'exact')
    >>> found.note
    '15 mentions are too few to tell: the F1 on a larger test set may lie between 87.8 and 100.0'
    """
    drawn = bootstrap_intervals(counts, samples=samples, seed=seed, level=level)
    exact = exact_intervals(counts, level=level)
    few = _are_few(counts)
    chosen = {measure: exact[measure] if few[measure] else drawn[measure] for measure in MEASURES}
    methods = {measure: "exact" if few[measure] else "bootstrap" for measure in MEASURES}
    note = too_few(int(counts[:, 2].sum()), "F1", chosen["f1"])
    return Confidence(**chosen, level=level, samples=samples, seed=seed, methods=methods, note=note)


def bootstrap_intervals(counts: Counts, *, samples: int, seed: int, level: float) -> dict[str, tuple[float, float]]:
    """The middle `level` of each measure in samples of as many sentences, drawn with replacement."""
    low, high = _interval(measures(_in_batches(_resampling(counts), samples, seed)), level)
    return dict(zip(MEASURES, zip(low, high, strict=True), strict=True))


def exact_intervals(counts: Counts, *, level: float) -> dict[str, tuple[float, float]]:
    """Intervals that hold for any number of mentions.

    F1 is 2p / (1 + p), where p is the fraction of right mentions among all that are gold, predicted or both.
    """
    found = {name: proportion_interval(right, every, level) for name, (right, every) in _proportions(counts).items()}
    low, high = found["f1"]
    return {**found, "f1": (2 * low / (1 + low), 2 * high / (1 + high))}


def _proportions(counts: Counts) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """For each measure, the right mentions and all that it counts, by sentence."""
    correct, predicted, gold = counts.T
    return {"precision": (correct, predicted), "recall": (correct, gold), "f1": (correct, predicted + gold - correct)}


def _are_few(counts: Counts) -> dict[str, bool]:
    """Whether each measure has too few right mentions, wrong ones, or sentences."""
    return {
        name: min(right.sum(), (every - right).sum(), (every > 0).sum()) < ENOUGH
        for name, (right, every) in _proportions(counts).items()
    }


def too_few(mentions: int, score: str, interval: tuple[float, float], form: str = ".1f") -> str | None:
    """A warning about a wide interval of a score; None if it is narrow enough.

    >>> too_few(15, "F1", (0.782, 1.0))
    '15 mentions are too few to tell: the F1 on a larger test set may lie between 78.2 and 100.0'
    """
    low, high = interval
    if high - low <= TOO_WIDE:
        return None
    verb = "is" if mentions == 1 else "are"
    return (
        f"{counted(mentions, 'mention')} {verb} too few to tell: the {score} on a larger test set may lie "
        f"between {100 * low:{form}} and {100 * high:{form}}"
    )


def differences(
    counts_a: Counts, counts_b: Counts, *, rounds: int = 10_000, seed: int = 0, level: float = 0.95
) -> dict[str, Difference]:
    """Compares each measure of two systems on the same sentences, by approximate randomisation and by paired bootstrap.

    >>> always, never = np.array([[1, 1, 1]] * 30), np.array([[0, 1, 1]] * 30)
    >>> found = differences(never, always)["f1"]
    >>> found.difference, found.interval[0] > 0.7, found.interval[1], found.p_randomization < 0.001
    (1.0, True, 1.0, True)

    With few mentions, the bootstrap adds one sentence that only A gets right and one that only B gets right. So two
    systems that agree on a small test set are not taken to be equal.
    """
    ours = [measures(counts.sum(axis=0)) for counts in (counts_a, counts_b)]
    observed = ours[1] - ours[0]
    pairs = np.concatenate([counts_a, counts_b], axis=1)
    exchanged = _differences(_in_batches(_exchanging(pairs), rounds, seed))
    at_least_as_large = (np.abs(exchanged) >= np.abs(observed) - TOLERANCE).sum(axis=0)
    few = [_are_few(counts)["f1"] for counts in (counts_a, counts_b)]
    smoothed = np.concatenate([pairs, PSEUDO_SENTENCES]) if any(few) else pairs
    drawn = _differences(_in_batches(_resampling(smoothed), rounds, seed))
    not_above, not_below = (drawn <= TOLERANCE).sum(axis=0), (drawn >= -TOLERANCE).sum(axis=0)
    opposite = np.where(np.abs(observed) <= TOLERANCE, rounds, np.minimum(not_above, not_below))
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
