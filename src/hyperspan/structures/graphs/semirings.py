"""Semirings: one dynamic program, many answers.

A semiring defines what "either" (:meth:`plus`) and "both" (:meth:`times`) mean for the values that
:func:`hyperspan.structures.graphs.hypergraph.inside` passes up a hypergraph. With log-weights on the edges:

================  ===============================================  ==========================
semiring          an element                                       inside value of the root
================  ===============================================  ==========================
``Counting()``    an int of any size                               how many hyperpaths there are
``Log()``         a float                                          log of the sum of exp(score)
``KBest(k)``      up to k pairs (score, edges), best first         the k best hyperpaths
================  ===============================================  ==========================

Minus infinity is exact: an impossible edge contributes nothing, whatever its siblings score.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Hashable
from typing import Any, Protocol, TypeVar

Element = TypeVar("Element")


class Semiring(Protocol[Element]):
    """What :func:`inside` needs to know about the values that it combines."""

    zero: Element
    """The value of "no way at all"; neutral for :meth:`plus`, absorbing for :meth:`times`."""
    one: Element
    """The value of "nothing left to do"; neutral for :meth:`times`."""

    def plus(self, left: Element, right: Element) -> Element: ...
    def times(self, left: Element, right: Element) -> Element: ...
    def lift(self, edge: Hashable, weight: float) -> Element:
        """The value of one edge whose log-weight is `weight`."""
        ...


class Counting(Semiring[int]):
    """Counts hyperpaths over edges that are possible (log-weight above minus infinity)."""

    zero, one = 0, 1

    def plus(self, left: int, right: int) -> int:
        return left + right

    def times(self, left: int, right: int) -> int:
        return left * right

    def lift(self, edge: Hashable, weight: float) -> int:
        return int(weight > -math.inf)


class Log(Semiring[float]):
    """Sums exp(score) over hyperpaths, in log space."""

    zero, one = -math.inf, 0.0

    def plus(self, left: float, right: float) -> float:
        high, low = max(left, right), min(left, right)
        return high if low == -math.inf else high + math.log1p(math.exp(low - high))

    def times(self, left: float, right: float) -> float:
        return left + right

    def lift(self, edge: Hashable, weight: float) -> float:
        return weight


Scored = tuple[float, tuple[Any, ...]]  # a score and the edges, in pre-order, that earn it


class KBest(Semiring[tuple[Scored, ...]]):
    """The k best hyperpaths with their scores, best first; impossible ones are left out."""

    zero: tuple[Scored, ...] = ()
    one: tuple[Scored, ...] = ((0.0, ()),)

    def __init__(self, k: int):
        self.k = k

    def plus(self, left: tuple[Scored, ...], right: tuple[Scored, ...]) -> tuple[Scored, ...]:
        return tuple(heapq.nlargest(self.k, left + right, key=lambda scored: scored[0]))

    def times(self, left: tuple[Scored, ...], right: tuple[Scored, ...]) -> tuple[Scored, ...]:
        pairs = [(a + b, edges_a + edges_b) for a, edges_a in left for b, edges_b in right]
        return tuple(heapq.nlargest(self.k, pairs, key=lambda scored: scored[0]))

    def lift(self, edge: Hashable, weight: float) -> tuple[Scored, ...]:
        return ((weight, (edge,)),) if weight > -math.inf else ()
