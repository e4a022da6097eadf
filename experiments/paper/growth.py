"""How the cost of a structure grows with words, types and the maximum mention width, counted exactly.

One pass over a hypergraph takes an operation for each hyperedge and each node of its tail that has hyperedges. That
number is a polynomial in the number of words n, of types m and, where mentions are limited, their widest c, as soon as
n exceeds c. Its largest monomials are those whose repeated differences, as many along each axis as their exponents, do
not vanish, while no higher differences remain. So they are found by counting on small grids, without rounding. Where
sets of types are nodes, powers 2^m and 4^m are factors, too: the difference f(m + 1) - b f(m) removes b^m as the usual
one removes a constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from experiments.paper.systems import System
from hyperspan.structures.graphs.hypergraph import Hypergraph

POINTS = 5
"""Grid points for words and widths: enough for monomials of degree 3, and to rule out degree 4."""
TYPES = 4
"""Grid points for types: enough for m² and 4^m, and to rule out anything larger."""
FIRST = 6
"""The length of the shortest sentence counted; at least the maximum width, and long enough that sentence boundaries do
not matter."""
POWERS = {1: "", 2: "²", 3: "³"}
BASES = (1, 2, 4)
"""Numbers whose m-th power may be a factor: m types have 2^m sets, and 4^m pairs of sets."""


def counted_order(system: System) -> str:
    """The growth in O notation; with c if mentions can be limited, and without limit as well."""
    free = order(_count(system, limited=False), "mn")
    return f"{order(_count(system, limited=True), 'cmn')}; c=n: {free}" if system.limited else free


def operations(graph: Hypergraph) -> int:
    """The additions and multiplications of one inside pass; leaves, whose value is one, need none."""
    heads = {edge.head for edge in graph.edges}
    return sum(1 + sum(node in heads for node in edge.tail) for edge in graph.edges)


def _count(system: System, *, limited: bool) -> NDArray[np.int64]:
    """The operations on a grid: (c,) m, n, from the smallest on."""
    widths: list[int | None] = list(range(1, POINTS + 1)) if limited else [None]
    grid = product(widths, range(1, TYPES + 1), range(FIRST, FIRST + POINTS))
    counts = [sum(map(operations, system.graphs(n, m, c))) for c, m, n in grid]
    return np.array(counts, dtype=np.int64).reshape(*([POINTS] if limited else []), TYPES, POINTS)


def order(counts: NDArray[np.int64], names: str) -> str:
    """The largest terms of counts on a grid, one axis per name: monomials, times the largest of BASES to the power of
    m.

    >>> m, n = np.meshgrid(np.arange(1, 6), np.arange(6, 11), indexing="ij")
    >>> order(2 * m * n**2 + n**3 - 7 * m * n + 5, "mn")
    'O(mn² + n³)'
    >>> order(4**m * n - 3 * 2**m * n + 5, "mn")
    'O(4ᵐn)'
    """
    types = names.index("m")
    for base in BASES:
        largest = _largest(counts, names, base)
        if largest:
            power = f"{base}ᵐ" * (base > 1)
            terms = ["".join(n + POWERS[p] for n, p in zip(names, one, strict=True) if p) for one in largest]
            return f"O({' + '.join(power + term for term in sorted(terms)) or '1'})"
        counts = _difference(counts, types, base)  # without what this base contributes
    raise ValueError(f"the counts grow faster than {BASES[-1]}^m times the largest polynomial that such a grid shows")


def _largest(counts: NDArray[np.int64], names: str, base: int) -> list[tuple[int, ...]]:
    """The exponents of the largest monomials, each with base^m as a factor; none if counts are not such a sum."""

    def remain(degrees: tuple[int, ...]) -> bool:
        rest = counts
        for axis, (name, degree) in enumerate(zip(names, degrees, strict=True)):
            for _ in range(degree):
                rest = _difference(rest, axis, base if name == "m" else 1)
        return bool(rest.any())

    there = [degrees for degrees in product(*map(range, counts.shape)) if remain(degrees)]
    if any(degree == size - 1 for one in there for degree, size in zip(one, counts.shape, strict=True)):
        return []
    return [one for one in there if not any(other != one and _is_below(one, other, names) for other in there)]


def _difference(counts: NDArray[np.int64], axis: int, base: int) -> NDArray[np.int64]:
    """f(x + 1) - base f(x) along an axis."""
    values = np.moveaxis(counts, axis, 0)
    return np.moveaxis(values[1:] - base * values[:-1], 0, axis)


def _is_below(one: Sequence[int], other: Sequence[int], names: str) -> bool:
    """Whether one monomial is dominated by another: by each exponent, where c ≤ n may replace n."""
    wide = names.find("c")
    if wide >= 0:
        one, other = ([*p, p[wide] + p[names.index("n")]] for p in (one, other))
    return all(a <= b for i, (a, b) in enumerate(zip(one, other, strict=True)) if i != wide)
