"""Confidence intervals of proportions that are valid for small and for clustered counts.

The interval of Clopper and Pearson (1934) inverts the binomial distribution: if 15 of 15 are right, it excludes the
true proportions that would have made that unlikely. It needs independent counts, but the mentions of a sentence are
found or missed together. So it is computed for the effective number of counts, as Korn and Graubard (1998) do for
surveys: the number divided by the design effect, the variance between sentences relative to that of independent counts.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

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
