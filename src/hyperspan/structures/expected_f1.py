"""The exact expected F1 of given sets of mentions under a segmental hypergraph, without torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hyperspan.structures.mentions import MentionSets
from hyperspan.structures.places import rows_of_sets

NEGLIGIBLE = 1e-10
"""Mentions of a chain (a start and a type), or its wider mentions, are left out if their probability is below this."""
NODES = 12
"""Quadrature nodes, plus one for each mention of the largest given set."""


def expected_f1(
    absent: np.ndarray, extend: np.ndarray, close: np.ndarray, branch: np.ndarray, sets: MentionSets
) -> np.ndarray:
    """(B,): the F1 of each given set against a set drawn from the distribution, in expectation; 1 where both are empty.

    The arrays are hyperedge probabilities: `absent` (B, n, m), `extend` and `branch` (B, n, c - 1, m), `close` (B, n,
    c, m). For a given set S of k mentions, F1 is 2 |S ∩ Y| / (k + |Y|). As 1 / (k + s) is the integral of t^(k + s - 1)
    from 0 to 1, its expectation is 2 ∫ t^(k - 1) E[|S ∩ Y| t^|Y|] dt. Chains are independent, so the inner expectation
    is a product of one polynomial in t per chain. Gauss-Legendre quadrature with q nodes is exact up to degree 2 q - 1;
    beyond that, its error falls exponentially with q.
    """
    rows = rows_of_sets(sets)
    sizes = np.bincount(rows[:, 0], minlength=len(absent))  # (B,): k
    given = np.zeros(close.shape, dtype=bool)
    sentence, start, end, kind = rows[rows[:, 2] - rows[:, 1] <= close.shape[2]].T  # a wider one is in no set
    given[sentence, start, end - start - 1, kind] = True
    sentence, start, kind = np.nonzero(close.sum(2) > NEGLIGIBLE)  # padding has no probability at all
    nodes, weights = np.polynomial.legendre.leggauss(NODES + int(sizes.max(initial=0)))
    t = (nodes + 1) / 2
    places = (sentence, start, slice(None), kind)
    shorter = branch[places]
    went_on = extend[places] + shorter
    share = np.divide(shorter, went_on, out=np.zeros_like(shorter), where=went_on > 0)
    none = absent[sentence, start, kind]
    count, hits = _generating_functions(t, none, close[places], share, given[places])  # both (chains, q)
    log_count, ratio, empty = np.zeros((len(absent), len(t))), np.zeros((len(absent), len(t))), np.ones(len(absent))
    np.add.at(log_count, sentence, np.log(count))
    np.add.at(ratio, sentence, hits / count)
    np.multiply.at(empty, sentence, none)
    powers = t ** np.maximum(sizes - 1, 0)[:, None]
    expected = (powers * np.exp(log_count) * ratio) @ weights  # 2 ∫ dt over (0, 1) has the weights of (-1, 1)
    return np.clip(np.where(sizes > 0, expected, empty), 0.0, 1.0)


def _generating_functions(
    t: np.ndarray, absent: np.ndarray, longest: np.ndarray, share: np.ndarray, given: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """E[t^|Y|] and E[|S ∩ Y| t^|Y|] of each chain, (chains, q).

    `longest` (chains, c) is P(w is the longest mention); `share` (chains, c - 1) is P(mention at u) given a longer one.
    Chains with wide mentions come first, so that those active at a width form a slice.
    """
    beyond = longest[:, ::-1].cumsum(1)[:, ::-1] > NEGLIGIBLE  # (chains, c): mentions of this width or more
    order = np.argsort(-beyond.sum(1), kind="stable")
    active = beyond.sum(0)  # (c,): the number of chains that continue to a width
    longest, share, given = longest[order], share[order], given[order]
    shorter, hits_shorter = np.ones((len(absent), len(t))), np.zeros((len(absent), len(t)))  # up to width w
    count, hits = np.repeat(absent[order, None], len(t), axis=1), np.zeros_like(hits_shorter)
    for width in range(np.count_nonzero(active)):
        rows = slice(active[width])
        last, named = longest[rows, width, None] * t, given[rows, width, None]
        count[rows] += last * shorter[rows]
        hits[rows] += last * (hits_shorter[rows] + shorter[rows] * named)
        if width < share.shape[1]:
            one = share[rows, width, None] * t
            coin = 1 - share[rows, width, None] + one
            hits_shorter[rows] = hits_shorter[rows] * coin + shorter[rows] * one * named
            shorter[rows] *= coin
    back = np.argsort(order, kind="stable")
    return count[back], hits[back]


def expected_f1_of(
    sizes: Sequence[int], tilted: Callable[[float], tuple[np.ndarray, np.ndarray]], empty: np.ndarray
) -> np.ndarray:
    """(B,): the same for any distribution, for given sets of these sizes; `empty` (B,) is the probability of the empty
    set.

    `tilted` returns, (B,) each, E[t^|Y|] and the expected |S ∩ Y| under the distribution in which each mention weighs t
    times as much. Their product is the integrand E[|S ∩ Y| t^|Y|].
    """
    k = np.array(sizes, dtype=np.int64)
    if not k.any():
        return empty
    nodes, weights = np.polynomial.legendre.leggauss(NODES + int(k.max()))
    expected = np.zeros(len(k))
    for t, weight in zip(((nodes + 1) / 2).tolist(), weights.tolist(), strict=True):
        count, hits = tilted(t)
        expected += weight * t ** np.maximum(k - 1, 0) * count * hits
    return np.clip(np.where(k > 0, expected, empty), 0.0, 1.0)
