"""Fit a power law to the scores of a learning curve, and predict the score with twice the data.

The error 1 − F1 at size n is a + b · n^(−c), with a, b ≥ 0. For a given c the best a and b solve a weighted linear
least-squares problem with two unknowns, in closed form; c is searched on a grid. So a fit always converges, and a
bootstrap of a thousand fits is fast. Scores are fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hyperspan.errors import counted

Array = NDArray[np.float64]

EXPONENTS = np.geomspace(0.05, 3, 120)
"""The candidate values of c."""
PARAMETERS = 3
PRIOR_DEVIATION, PRIOR_RUNS = 0.01, 2
"""The prior standard deviation of runs of one size (one point of F1), and its weight in runs."""
SHRINKAGE = 3
"""The weight, in runs, of the variance over all sizes when estimating the variance of one size."""
ROUNDS = 1000
LEVEL = 0.9
NOTHING_LEARNT = 0.01
"""Below this F1 a model has not started to learn, and curves are not power laws yet."""
LITTLE = 0.01
"""A gain of less than this, one point of F1, is called little."""


@dataclass(frozen=True)
class PowerLaw:
    """The curve 1 − F1 = floor + scale · size^(−exponent), or many curves if these are arrays."""

    floor: Array
    scale: Array
    """The part of the error that falls, at the size `reference`."""
    exponent: Array
    reference: float

    def f1(self, sizes: ArrayLike) -> Array:
        """F1 at each size, between 0 and 1; it never falls. With many curves, one row per curve."""
        relative = np.asarray(sizes, dtype=np.float64) / self.reference
        error = self.floor[..., None] + self.scale[..., None] * relative ** -self.exponent[..., None]
        return np.clip(1 - error, 0, 1)

    def to_dict(self) -> dict[str, float]:
        """The curve as error = a + b · size^(−c)."""
        scale = self.scale * self.reference**self.exponent
        return {"a": float(self.floor), "b": float(scale), "c": float(self.exponent)}


@dataclass(frozen=True)
class FittedCurve:
    """A fitted power law, and its prediction for twice the data.

    Intervals have 90% coverage if the true curve is a power law.
    """

    law: PowerLaw
    samples: PowerLaw
    """Curves fitted to bootstrap samples of the scores."""
    size: int
    """Twice the largest size."""

    @property
    def f1(self) -> float:
        """The predicted F1 with twice the data."""
        return float(self.law.f1([self.size])[0])

    @property
    def gain(self) -> float:
        """The predicted gain in F1 from twice the data."""
        return float(self._gain(self.law))

    @property
    def gain_interval(self) -> tuple[float, float]:
        low, high = _interval(self._gain(self.samples))
        return float(low), float(high)

    def band(self, sizes: ArrayLike) -> tuple[Array, Array]:
        """The interval of F1 at each size."""
        return _interval(self.samples.f1(sizes))

    def _gain(self, law: PowerLaw) -> Array:
        scores = law.f1([self.size / 2, self.size])
        return scores[..., 1] - scores[..., 0]

    def to_dict(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        values = {"size": self.size, "f1": self.f1, "gain": self.gain, "gain_interval": self.gain_interval}
        return {**self.law.to_dict(), **values, "level": LEVEL}


@dataclass(frozen=True)
class Forecast:
    """The predicted effect of twice the data."""

    verdict: Literal["gain", "little", "unclear", "no curve"]
    sentence: str
    """The verdict for people."""
    fitted: FittedCurve | None = None
    """The fitted curve; None if there is none."""

    def to_dict(self) -> dict[str, Any]:
        """A dictionary for JSON."""
        fitted = None if self.fitted is None else self.fitted.to_dict()
        return {"verdict": self.verdict, "sentence": self.sentence, "fitted": fitted}


def fit(sizes: ArrayLike, scores: ArrayLike, weights: ArrayLike | None = None) -> PowerLaw:
    """Fit a power law to scores, one per size; or to each row of scores.

    >>> sizes = np.array([30, 100, 300, 1000])
    >>> law = fit(sizes, 1 - (0.2 + 2 * sizes**-0.5))
    >>> law.f1(4000).round(2).tolist()
    [0.77]
    """
    sizes = np.asarray(sizes, dtype=np.float64)
    errors = 1 - np.asarray(scores, dtype=np.float64)  # (…, points)
    shares = np.ones_like(sizes) if weights is None else np.asarray(weights, dtype=np.float64)
    shares = shares / shares.sum()
    reference = float(np.exp(np.log(sizes).mean()))
    falling = (sizes / reference) ** -EXPONENTS[:, None]  # (exponents, points)
    # Weighted means of x = size^(−c), y = error, and their products.
    x, xx = falling @ shares, falling**2 @ shares
    y, xy = (errors @ shares)[..., None], (errors * shares) @ falling.T
    variance = xx - x**2
    slope = np.divide(xy - x * y, variance, out=np.zeros_like(xy), where=np.broadcast_to(variance > 1e-12, xy.shape))
    scale = np.maximum(np.where(y - slope * x < 0, xy / xx, slope), 0)
    floor = np.maximum(y - scale * x, 0)
    loss = floor**2 + scale**2 * xx + 2 * floor * scale * x - 2 * floor * y - 2 * scale * xy
    best = loss.argmin(-1)
    chosen = [np.take_along_axis(values, best[..., None], -1)[..., 0] for values in (floor, scale)]
    return PowerLaw(chosen[0], chosen[1], EXPONENTS[best], reference)


def forecast(sizes: Sequence[int], scores: Sequence[float], seed: int = 0) -> Forecast:
    """Predict the F1 at twice the largest size, from a size and an F1 for each run.

    >>> sizes = [30, 100, 300, 1000] * 2
    >>> found = forecast(sizes, [1 - (0.2 + 2 * size**-0.5) for size in sizes])
    >>> print(found.sentence)
    Twice the data (2,000 sentences) would bring 1.8 points of F1, to 75.5; 90% interval of the gain: 1.5 to 2.2.
    """
    x, y = np.asarray(sizes, dtype=np.float64), np.asarray(scores, dtype=np.float64)
    x, y = _without_start(x, y)
    distinct = np.unique(x)
    if len(distinct) < PARAMETERS:
        have = f"Only {counted(len(distinct), 'size')}" if len(distinct) else "No size"
        text = f"{have} with an F1 above {100 * NOTHING_LEARNT:g}: a curve, and what twice the data would bring, needs three"
        return Forecast("no curve", f"{text}; train on more sizes, or on larger parts.")
    if (fall := _fall(x, y)) is not None:
        text = f"F1 falls from {fall[0]:,} to {fall[1]:,} sentences, so these runs cannot tell what twice the data would bring"
        return Forecast("no curve", f"{text}; use more seeds, or look at what the larger part adds.")
    deviations = _deviations(x, y, fit(x, y))
    law = fit(x, y, deviations**-2)
    deviations = _deviations(x, y, law)
    fitted = FittedCurve(law, _samples(x, law, deviations, seed), 2 * int(distinct[-1]))
    return _verdict(fitted)


def _without_start(sizes: Array, scores: Array) -> tuple[Array, Array]:
    """Drop the runs of the smallest sizes that have learnt nothing yet."""
    learnt = [size for size in np.unique(sizes) if scores[sizes == size].mean() >= NOTHING_LEARNT]
    kept = sizes >= (learnt[0] if learnt else np.inf)
    return sizes[kept], scores[kept]


def _fall(sizes: Array, scores: Array) -> tuple[int, int] | None:
    """Two consecutive sizes of which the larger is significantly worse."""
    distinct = np.unique(sizes)
    groups = [scores[sizes == size] for size in distinct]
    within = sum(float(((group - group.mean()) ** 2).sum()) for group in groups)
    freedom = len(scores) - len(groups)
    variance = (within + PRIOR_RUNS * PRIOR_DEVIATION**2) / (freedom + PRIOR_RUNS)
    for index in range(len(groups) - 1):
        before, after = groups[index], groups[index + 1]
        if before.mean() - after.mean() > 2 * (variance * (1 / len(before) + 1 / len(after))) ** 0.5:
            return int(distinct[index]), int(distinct[index + 1])
    return None


def _deviations(sizes: Array, scores: Array, law: PowerLaw) -> Array:
    """The standard deviation of each run from the curve: that of its size, shrunk towards that of all sizes."""
    squares = (scores - law.f1(sizes)) ** 2
    freedom = max(len(scores) - PARAMETERS, 0)
    overall = (squares.sum() + PRIOR_RUNS * PRIOR_DEVIATION**2) / (freedom + PRIOR_RUNS)
    variances = np.empty_like(scores)
    for size in np.unique(sizes):
        here = sizes == size
        variances[here] = (squares[here].sum() + SHRINKAGE * overall) / (here.sum() + SHRINKAGE)
    return np.sqrt(variances * overall / variances.mean())


def _samples(sizes: Array, law: PowerLaw, deviations: Array, seed: int) -> PowerLaw:
    """Curves fitted to scores sampled around a curve, with uncertainty in the deviations too."""
    random = np.random.default_rng(seed)
    freedom = max(len(sizes) - PARAMETERS, 0) + PRIOR_RUNS
    inflation = np.sqrt(freedom / random.chisquare(freedom, (ROUNDS, 1)))
    drawn = law.f1(sizes) + inflation * deviations * random.standard_normal((ROUNDS, len(sizes)))
    return fit(sizes, drawn, deviations**-2)


def _interval(values: Array) -> tuple[Array, Array]:
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return low, high


def _verdict(fitted: FittedCurve) -> Forecast:
    low, high = fitted.gain_interval
    size, level, between = f"{fitted.size:,} sentences", f"{LEVEL:.0%} interval", f"{100 * low:.1f} to {100 * high:.1f}"
    if high < LITTLE:
        text = f"Twice the data ({size}) would bring little: at most {100 * high:.1f} points of F1 ({level})."
        return Forecast("little", text, fitted)
    if high - low > fitted.gain:
        text = f"These runs cannot tell what twice the data ({size}) would bring: {between} points of F1 ({level})"
        return Forecast("unclear", f"{text}; more seeds or a larger dev corpus would narrow it.", fitted)
    gain = f"{100 * fitted.gain:.1f} points of F1, to {100 * fitted.f1:.1f}; {level} of the gain: {between}"
    return Forecast("gain", f"Twice the data ({size}) would bring {gain}.", fitted)
