"""The power law through a learning curve: that it finds the truth, how often its interval holds it, and when it says
nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.training.forecast import fit, forecast

SIZES = np.array([30, 100, 300, 1000])


def f1(sizes: object, a: float, b: float, c: float) -> np.ndarray:
    return 1 - (a + b * np.asarray(sizes, dtype=float) ** -c)


@pytest.mark.parametrize(("a", "b", "c"), [(0.2, 2, 0.5), (0, 1.5, 0.25), (0.35, 6, 1.0), (0.5, 0, 1)])
def test_fit_recovers_a_power_law(a: float, b: float, c: float) -> None:
    law = fit(SIZES, f1(SIZES, a, b, c))
    further = [50, 2000, 4000]
    assert np.allclose(law.f1(further), f1(further, a, b, c), atol=2e-3)
    values = law.to_dict()
    assert np.allclose(f1(further, values["a"], values["b"], values["c"]), law.f1(further))


def test_fit_of_many_curves_is_that_of_each() -> None:
    rows = np.random.default_rng(1).random((5, 4))
    weights = [1, 2, 3, 4]
    together = fit(SIZES, rows, weights).f1([10, 5000])
    assert np.allclose(together, [fit(SIZES, row, weights).f1([10, 5000]) for row in rows])


scores = st.floats(0, 1)
runs = st.lists(st.tuples(st.integers(1, 10**6), scores), min_size=1, max_size=12)


@given(runs)
def test_forecast_is_monotone_and_within_bounds_whatever_the_scores(given_runs: list[tuple[int, float]]) -> None:
    sizes, values = [size for size, _ in given_runs], [score for _, score in given_runs]
    found = forecast(sizes, values)
    assert found.sentence.endswith(".") and "nan" not in found.sentence and "inf" not in found.sentence
    assert (found.fitted is None) == (found.verdict == "no curve")
    grid = np.geomspace(1, 4 * max(sizes), 50)
    if found.fitted is not None:
        low, high = found.fitted.band(grid)
        for curve in (found.fitted.law.f1(grid), low, high):
            assert np.isfinite(curve).all() and (curve >= 0).all() and (curve <= 1).all()
            assert (np.diff(curve) >= -1e-12).all()
        assert 0 <= found.fitted.gain_interval[0] <= found.fitted.gain_interval[1] <= 1


@pytest.mark.parametrize("seeds", [1, 3])
def test_interval_holds_the_gain_about_nine_times_in_ten(seeds: int) -> None:
    random = np.random.default_rng(7)
    sizes = np.array([*SIZES, 3000] * seeds)
    truth = f1([3000, 6000], 0.15, 1.6, 0.4)
    held = []
    for round_ in range(40):
        noise = 0.02 * (30 / sizes) ** 0.25 * random.standard_normal(len(sizes))
        drawn = f1(sizes, 0.15, 1.6, 0.4) + noise
        fitted = forecast(sizes.tolist(), drawn.tolist(), seed=round_).fitted
        assert fitted is not None
        held.append(fitted.gain_interval[0] <= truth[1] - truth[0] <= fitted.gain_interval[1])
    assert 0.8 <= np.mean(held) <= 1


@pytest.mark.parametrize(
    ("sizes", "values", "verdict", "words"),
    [
        ([30, 100], [0.4, 0.6], "no curve", "2 sizes"),
        ([30, 100, 300, 1000], [0, 0, 0.3, 0.4], "no curve", "Only 2 sizes with an F1 above 1"),
        ([30, 100, 300], [0, 0, 0], "no curve", "No size with an F1 above 1"),
        ([30, 100, 300], [0.6, 0.7, 0.5], "no curve", "F1 falls from 100 to 300 sentences"),
        ([30, 100, 300, 1000] * 2, [0.80, 0.90, 0.91, 0.912] * 2, "little", "at most 0."),
        ([100, 120, 140] * 2, [0.5, 0.53, 0.51, 0.47, 0.49, 0.54], "unclear", "cannot tell"),
    ],
)
def test_forecast_says_when_it_cannot_tell(sizes: list[int], values: list[float], verdict: str, words: str) -> None:
    found = forecast(sizes, values)
    assert found.verdict == verdict and words in found.sentence, found.sentence
