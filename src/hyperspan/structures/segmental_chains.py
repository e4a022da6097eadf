"""Single chains of a segmental hypergraph as rows of widths: their leads, and their alternatives, best first. NumPy.

:mod:`hyperspan.kernels.chains` defines chains.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from hyperspan.kernels.numbers import log_add
from hyperspan.structures.kbest import cheapest_subsets, in_turn

Widths = tuple[int, ...]


class Chains(NamedTuple):
    """The scores of some chains, widths last; -inf where there is no room."""

    absent: np.ndarray  # (...,)
    present: np.ndarray  # (...,)
    extend: np.ndarray  # (..., c - 1)
    close: np.ndarray  # (..., c)
    branch: np.ndarray  # (..., c - 1)

    @classmethod
    def of(cls, room: np.ndarray, absent: Any, present: Any, extend: Any, close: Any, branch: Any = None) -> Chains:
        """Chains with room for some widths, in float64. One in padding, which may hold anything, is absent with a score
        of 0."""
        outside = np.arange(close.shape[-1]) >= room[..., None]
        absent, present = (np.where(outside[..., 0], 0.0, one).astype(np.float64) for one in (absent, present))
        extend = np.where(outside[..., 1:], -np.inf, extend).astype(np.float64)
        close = np.where(outside, -np.inf, close).astype(np.float64)
        tied = extend + close[..., :-1] if branch is None else branch
        return cls(absent, present, extend, close, np.where(outside[..., 1:], -np.inf, tied).astype(np.float64))

    @classmethod
    def at(cls, scores: Any, lengths: Any, places: tuple[Any, Any, Any]) -> Chains:
        """The chains with these sentences, starts and types."""
        sentence, start, kind = places
        values = (scores.absent, scores.present, scores.extend, scores.close, scores.branch)
        with np.errstate(invalid="ignore"):
            return cls.of(
                np.asarray(lengths)[sentence] - start,
                *(None if one is None else one[sentence, start, ..., kind] for one in values),
            )

    def tied(self, close: np.ndarray) -> Chains:
        """The same chains with other scores `close`, tied."""
        return self._replace(close=close, branch=self.extend + close[..., :-1])

    def longest(self, *, maximum: bool) -> np.ndarray:
        """(..., c): the score of each longest mention: the sum over the choices at shorter widths, or the best of
        them."""
        found = self.close + self.present[..., None]
        found[..., 1:] += (np.maximum if maximum else log_add)(self.extend, self.branch).cumsum(-1)
        return found

    def log_odds(self) -> np.ndarray:
        """(..., c - 1): of a mention at each width, given a longer one."""
        return self.branch - np.where(self.branch == -np.inf, 0.0, self.extend)  # -inf, not NaN, if neither is possible

    def leads(self) -> np.ndarray:
        """(...,): how much more the best alternative with mentions scores than none."""
        return self.longest(maximum=True).max(-1) - self.absent

    def alternatives(self, chain: int, k: int) -> Iterator[tuple[float, Widths]]:
        """The alternatives of one chain, as :func:`chain_alternatives` gives them."""
        one = Chains(*(values[chain] for values in self))
        return chain_alternatives(float(one.absent), one.longest(maximum=True), one.log_odds(), k)


def chain_alternatives(
    absent: float, longest: np.ndarray, log_odds: np.ndarray, k: int
) -> Iterator[tuple[float, Widths]]:
    """The alternatives of one chain as (cost, widths of its mentions), the k cheapest first; cost is minus score.

    `longest[w]` is the score of "w is the longest" with the better choice at every shorter width; `log_odds[u]` the
    log-odds of a mention at a shorter width u. Of these and of the widths, only the k best can matter.
    """
    costs = -np.concatenate([[absent], longest])
    order = costs.argsort(kind="stable")[:k]
    ways = [(float(costs[place]), int(place) - 1) for place in order if costs[place] < np.inf]
    return in_turn([(cost, _with_longest(cost, width, log_odds, k)) for cost, width in ways])


def _with_longest(cost: float, width: int, log_odds: np.ndarray, k: int) -> Iterator[tuple[float, Widths]]:
    """The alternatives of a chain whose longest mention has this width, or which is absent (-1)."""
    best = set((log_odds[: max(width, 0)] > 0).nonzero()[0].tolist())
    top = (width,) if width >= 0 else ()
    yield cost, (*sorted(best), *top)
    odds = np.abs(log_odds[: max(width, 0)])
    flips = odds.argsort(kind="stable")[: max(k - 1, 0)]
    flips = flips[np.isfinite(odds[flips])].tolist()
    for more, flipped in islice(cheapest_subsets(odds[flips].tolist()), 1, None):
        yield cost + more, (*sorted(best.symmetric_difference(flips[index] for index in flipped)), *top)
