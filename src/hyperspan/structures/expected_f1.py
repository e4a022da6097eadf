"""The expected F1 of given sets of mentions under a segmental hypergraph, exactly and without torch."""

from __future__ import annotations

import numpy as np

from hyperspan.structures.mentions import MentionSets
from hyperspan.structures.places import rows_of_sets

NEGLIGIBLE = 1e-10
"""The probability of mentions in a chain (a start and a type) below which it is left out."""
NODES = 20
"""Of the quadrature, and one more for each mention of the largest given set."""


def expected_f1(
    absent: np.ndarray, extend: np.ndarray, close: np.ndarray, branch: np.ndarray, sets: MentionSets
) -> np.ndarray:
    """(B,): the F1 of each given set against a set that is drawn from the distribution; 1 where both are empty.

    The arrays are the probabilities of hyperedges: `absent` (B, n, m), `extend` and `branch` (B, n, c - 1, m), `close`
    (B, n, c, m). For a given set S of k mentions, F1 is 2 |S ∩ Y| / (k + |Y|). As 1 / (k + s) is the integral of
    t^(k + s - 1) from 0 to 1, its expectation is 2 ∫ t^(k - 1) E[|S ∩ Y| t^|Y|] dt. Chains are independent, so
    the expectation inside is a product of one polynomial in t for each chain. Gauss-Legendre quadrature integrates it
    exactly up to the degree 2 q - 1 for q nodes; beyond, its error falls exponentially with q.
    """
    rows = rows_of_sets(sets)
    sizes = np.bincount(rows[:, 0], minlength=len(absent))  # (B,): k
    given = np.zeros(close.shape, dtype=bool)
    sentence, start, end, kind = rows[rows[:, 2] - rows[:, 1] <= close.shape[2]].T  # a wider one is in no set
    given[sentence, start, end - start - 1, kind] = True
    sentence, start, kind = np.nonzero(close.sum(2) > NEGLIGIBLE)  # padding has no probability at all
    nodes, weights = np.polynomial.legendre.leggauss(NODES + int(sizes.max(initial=0)))
    t = (nodes + 1) / 2
    went_on = extend + branch
    share = np.divide(branch, went_on, out=np.zeros_like(branch), where=went_on > 0)
    places = (sentence, start, slice(None), kind)
    count, hits = _generating_functions(
        t, absent[sentence, start, kind], close[places], share[places], given[places]
    )  # both (chains, q)
    log_count, ratio = np.zeros((len(absent), len(t))), np.zeros((len(absent), len(t)))
    np.add.at(log_count, sentence, np.log(count))
    np.add.at(ratio, sentence, hits / count)
    powers = t ** np.maximum(sizes - 1, 0)[:, None]
    expected = (powers * np.exp(log_count) * ratio) @ weights  # 2 ∫ dt over (0, 1) has the weights of (-1, 1)
    empty = np.ones(len(absent))
    np.multiply.at(empty, sentence, absent[sentence, start, kind])
    return np.clip(np.where(sizes > 0, expected, empty), 0.0, 1.0)


def _generating_functions(
    t: np.ndarray, absent: np.ndarray, longest: np.ndarray, share: np.ndarray, given: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """E[t^|Y|] and E[|S ∩ Y| t^|Y|] of each chain, (chains, q).

    `longest` (chains, c) is P(w is the longest mention); `share` (chains, c - 1) is P(mention at u) once a longer one is there.
    """
    shorter, hits_shorter = np.ones((len(absent), len(t))), np.zeros((len(absent), len(t)))  # up to width w
    count, hits = np.repeat(absent[:, None], len(t), axis=1), np.zeros_like(hits_shorter)
    widths = np.flatnonzero((longest > 0).any(0))
    for width in range(int(widths[-1]) + 1 if len(widths) else 0):
        last = longest[:, width, None] * t
        count += last * shorter
        hits += last * (hits_shorter + shorter * given[:, width, None])
        if width < share.shape[1]:
            one = share[:, width, None] * t
            coin = 1 - share[:, width, None] + one
            hits_shorter = hits_shorter * coin + shorter * one * given[:, width, None]
            shorter = shorter * coin
    return count, hits
