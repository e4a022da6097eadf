"""The beta distribution against sums of binomial probabilities, and intervals of proportions by their definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.evaluation.intervals import beta_cdf, beta_quantile, proportion_interval, student_quantile


def at_least(hits: int, trials: int, rate: float) -> float:
    """The probability of so many hits or more."""
    return math.fsum(math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(hits, trials + 1))


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))), st.floats(0.001, 0.999))
def test_beta_cdf_is_a_sum_of_binomial_probabilities(counts: tuple[int, int], rate: float) -> None:
    hits, trials = counts
    assert beta_cdf(rate, hits, trials - hits + 1) == pytest.approx(at_least(hits, trials, rate), abs=1e-10)


@given(st.floats(0.001, 0.999), st.floats(0.5, 5000), st.floats(0.5, 5000))
def test_beta_quantile_inverts_the_cdf(probability: float, a: float, b: float) -> None:
    assert beta_cdf(beta_quantile(probability, a, b), a, b) == pytest.approx(probability, abs=1e-5)


def test_student_quantiles_of_tables() -> None:
    found = [round(student_quantile(0.95, degrees), 3) for degrees in (1, 2, 5, 30)]
    assert found == [12.706, 4.303, 2.571, 2.042]


def test_independent_counts_have_the_interval_of_clopper_and_pearson() -> None:
    right = np.array([1] * 12 + [0] * 3)
    low, high = proportion_interval(right, np.ones(15, int), 0.95)
    assert at_least(12, 15, low) == pytest.approx(0.025, abs=1e-6)
    assert 1 - at_least(13, 15, high) == pytest.approx(0.025, abs=1e-6)


def test_counts_that_go_together_tell_less() -> None:
    apart = proportion_interval(np.array([1] * 12 + [0] * 12), np.ones(24, int), 0.95)
    mixed = proportion_interval(np.array([2] * 6), np.full(6, 4), 0.95)
    together = proportion_interval(np.array([4, 4, 4, 0, 0, 0]), np.full(6, 4), 0.95)
    assert together[0] < mixed[0] < apart[0] and apart[1] < mixed[1] < together[1]


def test_nothing_tells_nothing_and_one_group_little() -> None:
    assert proportion_interval(np.array([0, 0]), np.array([0, 0]), 0.95) == (0.0, 1.0)
    low, high = proportion_interval(np.array([40]), np.array([40]), 0.95)
    assert low < 0.03 and high == 1.0
