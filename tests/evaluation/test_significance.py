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
from hyperspan.evaluation.counts import MEASURES, measures
from hyperspan.evaluation.intervals import (
    PSEUDO_SENTENCES,
    Counts,
    bootstrap_intervals,
    exact_intervals,
)
from hyperspan.evaluation.tables import comparison_sections
from hyperspan.types import Mention, Sentence
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


def test_bootstrap_matches_all_samples() -> None:
    few = A[:4], B[:4]
    drawn = np.array(list(product(range(4), repeat=4)))  # (256, 4): all samples
    f1 = measures(few[0][drawn].sum(axis=1))[:, 2]
    sure = bootstrap_intervals(few[0], samples=40_000, seed=3, level=0.95)
    assert sure["f1"] == pytest.approx(np.quantile(f1, [0.025, 0.975]), abs=0.03)


def test_differences_of_few_match_all_smoothed_samples() -> None:
    few = A[:4], B[:4]
    rows = np.concatenate([np.concatenate(few, axis=1), PSEUDO_SENTENCES])  # (6, 6)
    drawn = rows[np.array(list(product(range(6), repeat=6)))].sum(axis=1)  # (46656, 6): all samples
    change = (measures(drawn[:, 3:]) - measures(drawn[:, :3]))[:, 2]
    found = differences(*few, rounds=40_000, seed=3)["f1"]
    exact = 2 * min((change <= 1e-12).mean(), (change >= -1e-12).mean())
    assert found.p_bootstrap == pytest.approx(exact, abs=0.01)
    assert found.interval == pytest.approx(np.quantile(change, [0.025, 0.975]), abs=0.05)


def test_few_mentions_that_are_all_right_or_wrong_prove_little() -> None:
    for row, expected in (([1, 1, 1], (0.7820, 1.0)), ([0, 1, 1], (0.0, 0.2180))):  # 0.025 ** (1 / 15)
        sure = confidence(np.array([row] * 15))
        assert sure.precision == pytest.approx(expected, abs=1e-4) and sure.recall == sure.precision
        assert set(sure.methods.values()) == {"exact"}
        assert sure.note is not None and sure.note.startswith("15 mentions are too few to tell: the F1 on a larger")
    together = confidence(np.array([[5, 5, 5]] * 3))
    assert together.f1[0] < confidence(np.array([[1, 1, 1]] * 15)).f1[0], "15 mentions of three sentences tell less"
    same = differences(np.array([[1, 1, 1]] * 15), np.array([[1, 1, 1]] * 15))["f1"]
    assert same.difference == 0 and same.interval[0] < -0.05 and same.interval[1] > 0.05 and same.p_bootstrap == 1


def test_many_mentions_are_resampled() -> None:
    counts = noisy(1, 0.7, 400)
    sure = confidence(counts, seed=4)
    assert set(sure.methods.values()) == {"bootstrap"} and sure.note is None
    assert sure.f1 == bootstrap_intervals(counts, samples=1000, seed=4, level=0.95)["f1"]
    exact = exact_intervals(counts, level=0.95)
    for name, method in (("precision", sure.precision), ("recall", sure.recall), ("f1", sure.f1)):
        assert exact[name] == pytest.approx(method, abs=0.01), "where both hold, both say the same"


def coverage(f1: float, test_sets: list[Counts]) -> float:
    """In how many test sets the 95% interval has the true F1."""
    intervals = [exact_intervals(counts, level=0.95)["f1"] for counts in test_sets]
    return float(np.mean([low <= f1 <= high for low, high in intervals]))


@pytest.mark.parametrize("f1", [0.5, 0.8, 0.95, 0.99])
@pytest.mark.parametrize("mentions", [5, 15, 50, 200])
def test_confidence_covers_the_true_score(mentions: int, f1: float) -> None:
    generator = np.random.default_rng(mentions)

    def test_set() -> Counts:
        found = generator.binomial(1, f1, mentions)
        ones, wrong = np.ones(mentions, int), generator.poisson(mentions * (1 - f1))
        return np.concatenate([np.stack([found, found, ones], axis=1), np.array([[0, 1, 0]] * wrong).reshape(-1, 3)])

    assert coverage(f1, [test_set() for _ in range(300)]) >= 0.93


def test_confidence_covers_the_true_score_of_sentences_that_differ() -> None:
    """Some sentences are easy and some are hard, so that mentions are found or missed together; the bootstrap's are too
    narrow."""
    generator = np.random.default_rng(1)
    gold = np.full(20, 3)

    def test_set() -> Counts:
        rates = generator.beta(0.8 * 4, 0.2 * 4, len(gold))
        correct = generator.binomial(gold, rates)
        return np.stack([correct, correct + generator.poisson(gold * (1 - rates)), gold], axis=1)

    test_sets = [test_set() for _ in range(150)]
    assert coverage(0.8, test_sets) >= 0.93
    drawn = [bootstrap_intervals(counts, samples=200, seed=1, level=0.95)["f1"] for counts in test_sets]
    assert np.mean([low <= 0.8 <= high for low, high in drawn]) < 0.93


@pytest.mark.parametrize("mentions", [5, 15, 50])
def test_intervals_of_differences_cover_the_true_difference(mentions: int) -> None:
    generator = np.random.default_rng(mentions)

    def system(f1: float) -> Counts:
        found = generator.binomial(1, f1, mentions)
        return np.stack([found, found + generator.poisson(1 - f1, mentions), np.ones(mentions, int)], axis=1)

    found = [differences(system(0.8), system(0.9), rounds=300)["f1"].interval for _ in range(150)]
    assert np.mean([low <= 0.1 <= high for low, high in found]) >= 0.93


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


def test_compare_tests_discontinuous_mentions_and_sentences_with_one_apart() -> None:
    gap, whole = Mention(0, 4, "A", ((0, 1), (3, 4))), Mention(0, 4, "A")
    gold = [sentence(gap, "1:2:B")] * 30 + [sentence("0:1:A")] * 30
    hull = [sentence(whole, "1:2:B")] * 30 + [sentence("0:1:A")] * 30
    found = compare(gold, hull, gold, rounds=200)
    assert found.discontinuous is not None and found.with_discontinuous is not None
    assert (found.discontinuous.f1.a, found.discontinuous.f1.b, found.discontinuous.gold) == (0, 1, 30)
    assert found.discontinuous.f1.p_randomization < 0.01
    assert (found.with_discontinuous.f1.a, found.with_discontinuous.sentences) == (0.5, 30)
    titles = [section.title for section in comparison_sections(found, "hull", "parts")]
    assert titles[1:3] == ["B − A on discontinuous mentions", "B − A on sentences with discontinuous mentions"]
    assert compare(gold[30:], hull[30:], gold[30:], rounds=2).discontinuous is None
