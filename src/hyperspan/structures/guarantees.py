"""Thresholds that come with a promise, from what a model missed and found wrongly in units of text. Needs no torch.

A unit is a document or a sentence, drawn as those are to which the promise applies. A mention is found if its marginal
probability is at least λ, the threshold.

*Recall*, by conformal risk control (Angelopoulos et al. 2022). The loss of a unit with gold mentions is the share of
them below λ. It never falls with λ, and R(λ) is its mean over n units. With the largest λ that has
n/(n+1) · R(λ) + 1/(n+1) ≤ α, the expected loss of one more unit is at most α.

*Precision*, by learn-then-test (Angelopoulos et al. 2021). The loss of a unit in which something is found is the share
of it that is wrong. It may rise and fall, so the hypothesis that its expectation exceeds α is tested at one λ after the
other, in a fixed order: from each of s starts down to the first failure, at the level δ/s. With probability 1 - δ, all
λ that pass keep the promise, and the lowest is taken. The p-value is that of Hoeffding and Bentkus.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

STEPS = 230
THRESHOLDS = np.unique([float(f"{1 / (1 + math.exp(-x)):.4g}") for x in np.linspace(-9.2, 9.2, STEPS)])
"""(T,): the thresholds that are tried, evenly spaced in log-odds from 0.0001 to 0.9999."""
LEAST = float(THRESHOLDS[0])
"""Mentions below this probability are never found by a promise."""
CONFIDENCE = 0.9
"""1 - δ, the confidence of promises of precision."""
STARTS = (0.99, 0.95, 0.9, 0.7)
"""Where the tests of precision start: above the first, some models find nothing."""
_AT_ONCE = 1_000
"""The number of units whose losses are in memory at a time."""


@dataclass(frozen=True, eq=False)
class RiskCurve:
    """The losses of units at each threshold: all that promises need.

    Two sentences with two mentions each; of the second, one is found with a probability of 0.3 only:

    >>> curve = RiskCurve.of(units=[0, 0, 1, 1, 1], probabilities=[0.9, 0.8, 0.7, 0.3, 0.4], right=[1, 1, 1, 1, 0])
    >>> curve.units, [round(float(curve.missed[THRESHOLDS.searchsorted(least)]), 2) for least in (0.2, 0.5, 0.95)]
    (2, [0.0, 0.25, 1.0])
    """

    units: int
    """n, the number of units with gold mentions."""
    missed: np.ndarray  # (T,): R, the mean share of their gold mentions below each threshold
    found: np.ndarray  # (T,): the number of units in which something is found
    wrong: np.ndarray  # (T,): the mean share of what is found in them that is wrong

    @classmethod
    def of(cls, units: object, probabilities: object, right: object) -> Self:
        """The curve of mentions, given the unit and the probability of each, and whether it is gold.

        Gold mentions that the model cannot find have probability 0.
        """
        _, unit = np.unique(np.asarray(units, dtype=np.int64), return_inverse=True)
        is_gold = np.asarray(right, dtype=bool)
        # (mentions,): how many thresholds find each, those at its own probability too
        reach = THRESHOLDS.searchsorted(np.asarray(probabilities, dtype=np.float64), side="right")
        count = int(unit.max(initial=-1)) + 1
        missed, found, wrong = np.zeros((3, len(THRESHOLDS)))
        order = unit.argsort(kind="stable")
        unit, reach, is_gold = unit[order], reach[order], is_gold[order]
        for first in range(0, count, _AT_ONCE):
            here = slice(*unit.searchsorted([first, first + _AT_ONCE]))
            gold, other = (
                _found_at_least(unit[here][which] - first, reach[here][which], min(_AT_ONCE, count - first))
                for which in (is_gold[here], ~is_gold[here])
            )  # (units, T + 1) each, with all of them in the first column
            has_gold, every = gold[:, 0] > 0, (gold + other)[:, 1:]
            missed += (1 - gold[has_gold, 1:] / gold[has_gold, :1]).sum(0)
            found += (every > 0).sum(0)
            wrong += (other[:, 1:] / np.maximum(every, 1)).sum(0)
        with_gold = len(np.unique(unit[is_gold]))
        return cls(with_gold, missed / max(with_gold, 1), found.astype(np.int64), wrong / np.maximum(found, 1))


def _found_at_least(unit: np.ndarray, reach: np.ndarray, count: int) -> np.ndarray:
    """(units, T + 1): how many mentions of each unit reach at least so many thresholds."""
    table = np.zeros((count, len(THRESHOLDS) + 1))
    np.add.at(table, (unit, reach), 1)
    return table[:, ::-1].cumsum(1)[:, ::-1]


def expected_miss(curve: RiskCurve) -> np.ndarray:
    """(T,): n/(n+1) · R(λ) + 1/(n+1), the most that one more unit is expected to miss."""
    return (curve.units * curve.missed + 1) / (curve.units + 1)


def recall_threshold(curve: RiskCurve, recall: float) -> float | None:
    """The largest threshold with at least this expected recall; None if there is none.

    >>> found = RiskCurve.of(range(99), [0.2 + k / 200 for k in range(99)], [True] * 99)
    >>> recall_threshold(found, 0.9), recall_threshold(found, 0.995)
    (0.2377, None)
    """
    kept = np.flatnonzero(expected_miss(curve) <= 1 - recall + 1e-12)
    return float(THRESHOLDS[kept[-1]]) if len(kept) else None


def most_recall(curve: RiskCurve) -> float:
    """The highest recall that can be promised.

    >>> round(most_recall(RiskCurve.of(range(99), [0.5] * 99, [True] * 99)), 3)  # 1 - 1 / 100, though none is missed
    0.99
    """
    return float(1 - expected_miss(curve)[0])


MOST_LOSSES = 100_000


def hoeffding_bentkus(mean: float, n: int, limit: float) -> float:
    """A p-value of the hypothesis that n losses between 0 and 1 with this mean have an expectation above a limit:
    min(exp(-n · KL(mean, limit)), e · P(Bin(n, limit) ≤ ⌈n · mean⌉)).

    >>> round(hoeffding_bentkus(0.05, 200, 0.1), 4), hoeffding_bentkus(0.2, 200, 0.1)
    (0.0219, 1.0)
    """
    if mean >= limit or not n:
        return 1.0
    if limit >= 1:
        return 0.0
    n = min(n, MOST_LOSSES)  # with more, the value would only be smaller
    divergence = (1 - mean) * math.log((1 - mean) / (1 - limit)) + (mean * math.log(mean / limit) if mean else 0.0)
    steps = np.arange(1, math.ceil(n * mean - 1e-9) + 1)
    log_ratios = np.log((n - steps + 1) / steps) + math.log(limit / (1 - limit))  # P(k) / P(k - 1)
    log_terms = n * math.log1p(-limit) + np.concatenate([[0.0], log_ratios.cumsum()])
    return min(math.exp(-n * divergence), math.e * float(np.exp(log_terms).sum()), 1.0)


def precision_threshold(curve: RiskCurve, precision: float) -> float | None:
    """The lowest threshold at which at least this share of what is found is right, with :data:`CONFIDENCE`; None if
    there is none.

    >>> nine_in_ten = [k % 10 > 0 for k in range(500)]
    >>> found = RiskCurve.of(range(500), [0.97 if one else 0.3 for one in nine_in_ten], nine_in_ten)
    >>> precision_threshold(found, 0.95), precision_threshold(found, 0.8) == LEAST
    (0.3008, True)
    """
    limit, lowest = 1 - precision, len(THRESHOLDS)
    for start in STARTS:
        place = int(THRESHOLDS.searchsorted(start))
        while place >= 0:
            p_value = hoeffding_bentkus(float(curve.wrong[place]), int(curve.found[place]), limit)
            if p_value > (1 - CONFIDENCE) / len(STARTS):
                break
            lowest = min(lowest, place)
            place -= 1
    return float(THRESHOLDS[lowest]) if lowest < len(THRESHOLDS) else None


def most_precision(curve: RiskCurve) -> float | None:
    """The highest precision, in whole percent, that can be promised; None if there is none.

    >>> most_precision(RiskCurve.of(range(500), [0.99] * 500, [True] * 500)), most_precision(RiskCurve.of([], [], []))
    (0.99, None)
    """
    return next((p / 100 for p in range(99, 0, -1) if precision_threshold(curve, p / 100) is not None), None)
