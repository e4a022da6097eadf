"""Resampling against full enumeration, and properties of any significance test."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.errors import InputError
from hyperspan.evaluation import compare, confidence, differences
from hyperspan.evaluation.comparison import Agreement
from hyperspan.evaluation.significance import MEASURES, Counts, measures
from hyperspan.types import Sentence
from tests.evaluation.cases import any_sentences, sentence

A = np.array([[1, 2, 3], [0, 1, 1], [2, 2, 2], [1, 3, 1], [0, 0, 2], [1, 1, 2]])
B = np.array([[3, 3, 3], [1, 1, 1], [1, 2, 2], [1, 1, 1], [0, 1, 2], [2, 2, 2]])


def noisy(seed: int, rate: float, size: int = 300) -> Counts:
    """A system that finds each of three mentions at this rate, and sometimes predicts a wrong one."""
    generator = np.random.default_rng(seed)
    correct = generator.binomial(3, rate, size)
    return np.stack([correct, correct + generator.binomial(1, 0.3, size), np.full(size, 3)], axis=1)


def test_differences_match_all_exchanges() -> None:
    observed = np.abs(measures(B.sum(0)) - measures(A.sum(0)))
    as_far = np.zeros(3)
    for swaps in product([False, True], repeat=len(A)):
        chosen = np.array(swaps)[:, None]
        a, b = np.where(chosen, B, A).sum(0), np.where(chosen, A, B).sum(0)
        as_far += np.abs(measures(b) - measures(a)) >= observed - 1e-12
    found = differences(A, B, rounds=40_000, seed=3)
    for measure, exact in zip(MEASURES, as_far / 2 ** len(A), strict=True):
        assert found[measure].p_randomization == pytest.approx(exact, abs=0.01)


def test_confidence_matches_all_samples() -> None:
    few = A[:4], B[:4]
    drawn = np.array([list(choice) for choice in product(range(4), repeat=4)])  # (256, 4): all samples
    ours, theirs = (measures(counts[drawn].sum(axis=1)) for counts in few)
    change = (theirs - ours)[:, 2]
    found = differences(*few, rounds=40_000, seed=3)["f1"]
    exact = 2 * min((change <= 1e-12).mean(), (change >= -1e-12).mean())
    assert found.p_bootstrap == pytest.approx(exact, abs=0.01)
    assert found.interval == pytest.approx(np.quantile(change, [0.025, 0.975]), abs=0.05)
    sure = confidence(few[0], samples=40_000, seed=3)
    assert sure.f1 == pytest.approx(np.quantile(ours[:, 2], [0.025, 0.975]), abs=0.03)


def test_differences_of_identical_systems_are_not_significant() -> None:
    counts = noisy(1, 0.7)
    for found in differences(counts, counts, rounds=500).values():
        assert (found.difference, found.interval) == (0, (0, 0))
        assert found.p_randomization == found.p_bootstrap == 1


def test_differences_find_a_clearly_better_system() -> None:
    found = differences(noisy(1, 0.6), noisy(2, 0.8))["f1"]
    assert found.difference > 0.1 and found.interval[0] > 0.05
    assert found.p_randomization < 0.001 and found.p_bootstrap < 0.001
    alike = differences(noisy(1, 0.7), noisy(2, 0.7))["f1"]
    assert alike.p_randomization > 0.05 and alike.interval[0] < 0 < alike.interval[1]


def test_differences_have_uniform_p_values_without_a_difference() -> None:
    """A test at level 0.1 errs one time in ten: on 200 pairs of equally good systems."""
    found = [differences(noisy(i, 0.7, 60), noisy(1000 + i, 0.7, 60), rounds=400)["f1"] for i in range(200)]
    assert 0.04 < np.mean([one.p_randomization <= 0.1 for one in found]) < 0.17
    covered = [one.interval[0] <= 0 <= one.interval[1] for one in found]
    assert 0.90 < np.mean(covered) <= 0.99


def test_resampling_depends_on_the_seed_alone() -> None:
    a, b = noisy(1, 0.7), noisy(2, 0.72)
    assert differences(a, b, rounds=999, seed=5) == differences(a, b, rounds=999, seed=5)
    assert differences(a, b, rounds=999, seed=5) != differences(a, b, rounds=999, seed=6)
    assert confidence(a, seed=5) == confidence(a, seed=5) != confidence(a, seed=6)
    order = np.random.default_rng(0).permutation(len(a))
    assert differences(a[order], b[order], rounds=999, seed=5) == differences(a, b, rounds=999, seed=5)


def test_confidence_contains_the_score_and_narrows_with_data() -> None:
    few, many = confidence(noisy(1, 0.7, 50)), confidence(noisy(1, 0.7, 5000))
    for sure, counts in ((few, noisy(1, 0.7, 50)), (many, noisy(1, 0.7, 5000))):
        for (low, high), value in zip((sure.precision, sure.recall, sure.f1), measures(counts.sum(0)), strict=True):
            assert low < value < high
    assert many.f1[1] - many.f1[0] < (few.f1[1] - few.f1[0]) / 5


@given(any_sentences(systems=3), st.integers(0, 3))
def test_compare_is_symmetric(sentences: tuple[list[Sentence], ...], seed: int) -> None:
    gold, a, b = sentences
    if not gold:
        with pytest.raises(InputError, match="gold has no sentences"):
            compare(gold, a, b)
        return
    one, other = (compare(gold, *pair, rounds=50, seed=seed) for pair in ((a, b), (b, a)))
    assert one.f1.difference == -other.f1.difference and one.f1.a == other.f1.b
    assert one.found == Agreement(other.found.both, other.found.only_b, other.found.only_a, other.found.neither)
    found, spurious = one.found, one.spurious
    assert sum(vars(found).values()) == sum(len(s.mentions) for s in gold)
    assert found.both + found.only_a + spurious.both + spurious.only_a == sum(len(s.mentions) for s in a)
    assert 0 < one.f1.p_randomization <= 1 and 0 < one.f1.p_bootstrap <= 1


def test_compare_agreement_by_hand() -> None:
    gold = [sentence("0:4:A", "1:2:B", "5:6:C"), sentence("0:1:A")]
    a = [sentence("0:4:A", "1:2:B", "7:8:A"), sentence()]
    b = [sentence("0:4:A", "5:6:C", "7:8:A", "6:8:B"), sentence("1:2:A")]
    found = compare(gold, a, b, rounds=10)
    assert found.found == Agreement(both=1, only_a=1, only_b=1, neither=1)
    assert found.spurious == Agreement(both=1, only_a=0, only_b=2, neither=0)
