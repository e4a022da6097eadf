"""Thresholds with a promise: against the formulas written out, on made distributions, and at the edges."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.structures.guarantees import (
    CONFIDENCE,
    LEAST,
    THRESHOLDS,
    RiskCurve,
    hoeffding_bentkus,
    most_precision,
    most_recall,
    precision_threshold,
    recall_threshold,
)

Row = tuple[int, float, bool]
"""A mention: its unit, its probability, and whether it is gold."""
ROWS = st.lists(
    st.tuples(
        st.integers(0, 6), st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, *THRESHOLDS.tolist()])), st.booleans()
    ),
    max_size=40,
)


def curve_of(rows: list[Row] | np.ndarray) -> RiskCurve:
    units, probabilities, right = zip(*rows, strict=True) if len(rows) else ((), (), ())
    return RiskCurve.of(units, probabilities, right)


def losses(rows: list[Row], least: float) -> tuple[list[float], list[float]]:
    """The share missed of each unit with gold, and the share that is wrong of each in which something is found."""
    missed: list[float] = []
    wrong: list[float] = []
    for unit in {row[0] for row in rows}:
        gold = [p for u, p, right in rows if u == unit and right]
        found = [right for u, p, right in rows if u == unit and p >= least]
        missed += [sum(p < least for p in gold) / len(gold)] if gold else []
        wrong += [found.count(False) / len(found)] if found else []
    return missed, wrong


@given(ROWS)
def test_curve_has_the_mean_loss_of_units_at_each_threshold(rows: list[Row]) -> None:
    curve = curve_of(rows)
    for place in (0, 60, 105, 150, len(THRESHOLDS) - 1):
        missed, wrong = losses(rows, THRESHOLDS[place])
        assert (curve.units, curve.found[place]) == (len(missed), len(wrong))
        assert curve.missed[place] == pytest.approx(np.mean(missed) if missed else 0)
        assert curve.wrong[place] == pytest.approx(np.mean(wrong) if wrong else 0)


def test_curve_is_the_same_for_more_units_than_are_in_memory_at_a_time() -> None:
    rng = np.random.default_rng(1)
    rows = [
        (int(u), float(p), bool(r))
        for u, p, r in zip(rng.integers(0, 1100, 2000), rng.random(2000), rng.random(2000) < 0.6, strict=True)
    ]
    missed, wrong = losses(rows, THRESHOLDS[100])
    assert curve_of(rows).missed[100] == pytest.approx(np.mean(missed))
    assert curve_of(rows).wrong[100] == pytest.approx(np.mean(wrong))


@given(ROWS, st.floats(0.01, 0.99))
def test_recall_threshold_is_the_largest_that_satisfies_the_formula(rows: list[Row], recall: float) -> None:
    def allowed(least: float) -> bool:
        missed, n = losses(rows, least)[0], len(losses(rows, least)[0])
        mean = math.fsum(missed) / n if n else 0.0
        return n / (n + 1) * mean + 1 / (n + 1) <= 1 - recall + 1e-12

    assert recall_threshold(curve_of(rows), recall) == max(filter(allowed, THRESHOLDS.tolist()), default=None)


@given(ROWS)
def test_recall_threshold_falls_and_that_of_precision_rises_with_what_is_asked(rows: list[Row]) -> None:
    curve, shares = curve_of(rows), [k / 20 for k in range(1, 20)]
    recalls = [recall_threshold(curve, share) or 0.0 for share in shares]
    assert recalls == sorted(recalls, reverse=True)
    precisions = [precision_threshold(curve, share) or 1.0 for share in shares]
    assert precisions == sorted(precisions)


@given(ROWS)
def test_most_precision_has_a_threshold_at_which_something_is_found(rows: list[Row]) -> None:
    curve = curve_of(rows)
    if (most := most_precision(curve)) is not None:
        assert losses(rows, precision_threshold(curve, most) or 1.0)[1]


@given(ROWS)
def test_most_recall_is_what_can_be_promised(rows: list[Row]) -> None:
    curve, most = curve_of(rows), most_recall(curve_of(rows))
    if most > 0:
        assert recall_threshold(curve, most) is not None
    assert recall_threshold(curve, most + 1e-6) is None


def test_recall_finds_mentions_of_exactly_its_threshold() -> None:
    tie = float(THRESHOLDS[100])
    assert recall_threshold(curve_of([(unit, tie, True) for unit in range(99)]), 0.9) == tie


def test_nothing_can_be_promised_without_gold_and_little_with_one_unit() -> None:
    for rows in ([], [(0, 0.9, False)]):
        assert (curve_of(rows).units, recall_threshold(curve_of(rows), 0.01), most_recall(curve_of(rows))) == (
            0,
            None,
            0,
        )
    one = curve_of([(0, 0.9, True)])
    assert recall_threshold(one, 0.5) is not None and recall_threshold(one, 0.51) is None
    assert precision_threshold(one, 0.9) is None


def test_mentions_that_a_model_cannot_find_bound_its_recall() -> None:
    rows = [(unit, 0.0 if unit % 10 == 0 else 0.8, True) for unit in range(1000)]
    assert most_recall(curve_of(rows)) == pytest.approx(1 - (1000 * 0.1 + 1) / 1001)


@pytest.mark.parametrize("limit", [0.05, 0.1, 0.3])
@pytest.mark.parametrize("n", [1, 12, 150])
def test_hoeffding_bentkus_is_the_smaller_of_both_bounds(n: int, limit: float) -> None:
    for mean in np.linspace(0, limit, 7)[:-1]:
        terms = mean * math.log(mean / limit) if mean else 0.0
        hoeffding = math.exp(-n * (terms + (1 - mean) * math.log((1 - mean) / (1 - limit))))
        most = math.ceil(n * mean - 1e-9)
        tail = sum(math.comb(n, k) * limit**k * (1 - limit) ** (n - k) for k in range(most + 1))
        assert hoeffding_bentkus(mean, n, limit) == pytest.approx(min(hoeffding, math.e * tail, 1))
    assert hoeffding_bentkus(limit, n, limit) == 1


# -- a made distribution of texts --------------------------------------------------------------------------------------


def made_texts(rng: np.random.Generator, count: int) -> np.ndarray:
    """(mentions, 3): texts with up to five gold mentions and others; hard texts have lower probabilities, and a text's
    mentions are found or missed together."""
    sizes, others = rng.integers(0, 6, count), rng.integers(0, 4, count)
    unit = np.repeat(np.arange(count), sizes + others)
    right = np.concatenate([np.arange(a + b) < a for a, b in zip(sizes, others, strict=True)])
    ease = rng.normal(size=count)[unit]
    log_odds = np.where(right, 2.0, -2.0) + ease + rng.normal(size=len(unit))
    return np.stack([unit, 1 / (1 + np.exp(-log_odds)), right], axis=1)


EVERYONE: Any = RiskCurve.of(*made_texts(np.random.default_rng(0), 60_000).T)
"""As good as the distribution itself."""


@pytest.mark.parametrize("recall", [0.7, 0.95])
def test_recall_is_as_promised_on_average_over_calibrations_and_hardly_more(recall: float) -> None:
    rng, achieved = np.random.default_rng(2), list[float]()
    for _ in range(250):
        threshold = recall_threshold(RiskCurve.of(*made_texts(rng, 120).T), recall)
        assert threshold is not None
        achieved.append(1 - float(EVERYONE.missed[THRESHOLDS.searchsorted(threshold)]))
    noise = 3 * float(np.std(achieved)) / math.sqrt(len(achieved))
    assert recall - noise <= np.mean(achieved) <= recall + 0.02


@pytest.mark.parametrize("precision", [0.85])
def test_precision_is_broken_at_most_as_often_as_its_confidence_allows_and_is_not_vacuous(precision: float) -> None:
    rng, achieved = np.random.default_rng(3), list[float]()
    for _ in range(120):
        threshold = precision_threshold(RiskCurve.of(*made_texts(rng, 400).T), precision)
        assert threshold is not None
        achieved.append(1 - float(EVERYONE.wrong[THRESHOLDS.searchsorted(threshold)]))
    assert np.mean(np.array(achieved) < precision) <= 1 - CONFIDENCE
    assert np.mean(achieved) <= precision + 0.06


def test_a_model_that_is_never_wrong_may_find_everything() -> None:
    assert precision_threshold(curve_of([(unit, 0.96, True) for unit in range(500)]), 0.9) == LEAST
