"""Factors over a few mentions and the chains that they join, over NumPy arrays, for
:mod:`hyperspan.structures.coupled_arrays`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hyperspan.structures.choices import Choice, Mentions
from hyperspan.structures.coupling import Factors, Units
from hyperspan.structures.kbest import Alternatives
from hyperspan.structures.mentions import Mention
from hyperspan.structures.segmental_arrays import ArrayHypergraph
from hyperspan.structures.segmental_kbest import (
    ChainArrays,
    ChainSummary,
    chain_alternatives,
    chains_at,
    packed_chains,
)

EVERY = 2**30
"""More alternatives than are ever needed."""


@dataclass(frozen=True)
class FactorRows:
    """Factors of one size, their units, and where these are among all units and rows."""

    factors: Factors
    units: Units
    of_units: slice
    of_rows: slice

    def patterns(self, values: np.ndarray) -> np.ndarray:
        """(F, 2^N): the score of each pattern, given the score of every row."""
        first = np.searchsorted(self.units.factor, np.arange(len(self.factors.sentence)))
        return self.factors.table + np.add.reduceat(values[self.of_rows][self.units.row], first, axis=0)

    def row_weights(self, probabilities: np.ndarray) -> np.ndarray:
        """(rows,): the probability of each row, given the pattern probabilities (F, 2^N)."""
        weights = probabilities[self.units.factor].ravel()
        return np.bincount(self.units.row.ravel(), weights, minlength=len(self.units.unit_of))


class ChainRows:
    """The rows of all units of a batch: a chain once for each pattern of its members.

    Rows of a unit differ only at its members, so what all rows share is computed once per unit.
    """

    def __init__(self, base: ArrayHypergraph, units: Sequence[Units]):
        self.sentence, self.start, self.kind = (
            np.concatenate([getattr(some, name) for some in units]) for name in ("sentence", "start", "group")
        )  # (units,)
        self.chains = chains_of_units(base, self.sentence, self.start, self.kind)
        units_before = np.cumsum([0, *(len(some.factor) for some in units)]).tolist()
        rows_before = np.cumsum([0, *(len(some.unit_of) for some in units)]).tolist()
        self.unit_of = np.concatenate(
            [some.unit_of + before for some, before in zip(units, units_before, strict=False)]
        )
        self.first = np.searchsorted(self.unit_of, np.arange(len(self.sentence)))  # (units,): the first row of each
        self.of_units = [slice(*pair) for pair in pairwise(units_before)]
        self.of_rows = [slice(*pair) for pair in pairwise(rows_before)]
        self._row = np.concatenate([some.member_row + before for some, before in zip(units, rows_before, strict=False)])
        self._unit = self.unit_of[self._row]
        self._width = np.concatenate([some.member_end for some in units]) - self.start[self._unit] - 1
        self._in = np.concatenate([some.member_in for some in units])
        widest = np.full(len(self.unit_of), -1)  # of the mentions that must be there
        np.maximum.at(widest, self._row[self._in], self._width[self._in])
        self._stop = self.chains.stop + self.chains.present[:, None]
        self._blocked = np.arange(self._stop.shape[1]) < widest[:, None]  # (rows, c): those that cannot be the longest
        self._blocked[self._row[~self._in], self._width[~self._in]] = True
        self.absent = np.where(widest >= 0, -np.inf, self.chains.absent[self.unit_of])  # (rows,)

    def _longest(self, steps: np.ndarray) -> np.ndarray:
        """(rows, c): the score of each longest mention, where shorter ones have these of a unit without members (units,
        c - 1)."""
        steps = self._at_members(steps, self.chains.branch, self.chains.extend)
        longest = self._stop[self.unit_of]
        longest[self._blocked] = -np.inf
        longest[:, 1:] += steps.cumsum(1)
        return longest

    def _at_members(self, values: np.ndarray, inside: np.ndarray | float, outside: np.ndarray | float) -> np.ndarray:
        """(units, c - 1) -> (rows, c - 1): with other values for members that are in the set, and for those that are
        not."""
        found = values[self.unit_of]
        some = self._width < found.shape[1]
        row, unit, width = self._row[some], self._unit[some], self._width[some]
        there, none = (np.broadcast_to(one, values.shape)[unit, width] for one in (inside, outside))
        found[row, width] = np.where(self._in[some], there, none)
        return found

    def sums(self) -> np.ndarray:
        """(rows, c): the log-weight of each longest mention, summed over shorter mentions."""
        return self._longest(np.logaddexp(self.chains.extend, self.chains.branch))

    def bests(self) -> np.ndarray:
        """(rows, c): the score of each longest mention, with the best shorter mentions."""
        return self._longest(np.maximum(self.chains.extend, self.chains.branch))

    def log_odds(self) -> np.ndarray:
        """(rows, c - 1): the log-odds of a mention, given a longer one."""
        return self._at_members(self.chains.shorter_log_odds, np.inf, -np.inf)


@dataclass(frozen=True)
class ChainTables:
    """The tables of some rows that the search for the best sets uses."""

    rows: ChainRows
    bests: np.ndarray  # (all rows, c)
    log_odds: np.ndarray  # (all rows, c - 1)
    some: slice

    @property
    def best_scores(self) -> np.ndarray:
        """(rows,): the best score of each row."""
        return np.maximum(self.rows.absent, self.bests.max(1, initial=-np.inf))[self.some]

    def alternatives(self, row: int, word: int) -> Iterator[tuple[float, Mentions]]:
        """The alternatives of a row, which belongs to a word, as (cost, mentions), cheapest first; cost is minus
        score."""
        at = self.some.start + row
        kind = int(self.rows.kind[self.rows.unit_of[at]])
        for cost, widths in chain_alternatives(float(self.rows.absent[at]), self.bests[at], self.log_odds[at], EVERY):
            yield cost, tuple((word, word + width + 1, kind) for width in widths)


def chains_of_units(base: ArrayHypergraph, sentence: np.ndarray, start: np.ndarray, kind: np.ndarray) -> ChainArrays:
    """(chains,): the chains of these sentences, starts and types, as wide as there is room."""
    room = np.array(base.lengths, dtype=np.int64)[sentence] - start
    widths = max(1, min(base.max_width, int(room.max(initial=1))))

    def at(array: np.ndarray, count: int) -> np.ndarray:
        return array[sentence, start, :count, kind].astype(np.float64)

    scores = base.scores
    absent, present = (array[sentence, start, kind].astype(np.float64) for array in (scores.absent, scores.present))
    branch = None if scores.branch is None else at(scores.branch, widths - 1)
    return packed_chains(room, absent, present, at(scores.extend, widths - 1), at(scores.close, widths), branch)


def chain_choices(
    base: ArrayHypergraph, lengths: np.ndarray, summary: ChainSummary, sentence: int, k: int, best: Sequence[Mention]
) -> list[Choice]:
    """The choices of the k - 1 chains with the cheapest steps, and the mentions of all others in the best set."""
    steps = summary.first_step[sentence].ravel()
    order = steps.argsort(kind="stable")[: max(k - 1, 0)]
    order = order[np.isfinite(steps[order])]
    starts, kinds = np.divmod(order, max(base.types, 1))
    rows = chains_at(base.scores, lengths, sentence, starts, kinds)
    keys = list(zip(starts.tolist(), kinds.tolist(), strict=True))
    arrays = zip(rows.absent, rows.longest(), rows.shorter_log_odds, strict=True)
    ways = (chain_alternatives(*one, EVERY) for one in arrays)
    choices = [
        Choice(step, Alternatives(_named(start, kind, ranked)))
        for step, (start, kind), ranked in zip(steps[order].tolist(), keys, ways, strict=True)
    ]
    others = tuple(mention for mention in best if (mention[0], mention[2]) not in set(keys))
    return [Choice(np.inf, Alternatives([(0.0, others)])), *choices]


def _named(start: int, kind: int, ranked: Iterator[tuple[float, tuple[int, ...]]]) -> Iterator[tuple[float, Mentions]]:
    """Turn widths into mentions."""
    for cost, widths in ranked:
        yield cost, tuple((start, start + width + 1, kind) for width in widths)


def log_sum(values: np.ndarray) -> np.ndarray:
    """Log-sum-exp along the last dimension; -inf where all entries are -inf."""
    pivot = finite(values.max(-1, initial=-np.inf))
    with np.errstate(divide="ignore"):
        return np.log(np.exp(values - pivot[..., None]).sum(-1)) + pivot


def finite(values: np.ndarray) -> np.ndarray:
    """Replace -inf by 0."""
    return np.where(values == -np.inf, 0.0, values)


def share_of(log_odds: np.ndarray) -> np.ndarray:
    """Turn log-odds into probabilities."""
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.exp(-log_odds))


def wider(longest: np.ndarray) -> np.ndarray:
    """(..., c - 1): the probability of a wider mention, given that of each longest one (..., c)."""
    return longest[..., :0:-1].cumsum(-1)[..., ::-1]


def chain_entropy(absent: np.ndarray, sums: np.ndarray, log_partition: np.ndarray, log_odds: np.ndarray) -> np.ndarray:
    """(rows,): the entropy of each row; 0 where nothing is possible."""
    logs = np.concatenate([absent[:, None], sums], axis=1) - finite(log_partition)[:, None]
    probabilities, share = np.exp(logs), share_of(log_odds)
    doubt = np.logaddexp(0.0, log_odds) - np.where(share > 0, share * np.where(np.isinf(log_odds), 0.0, log_odds), 0.0)
    doubt[np.isposinf(log_odds)] = 0.0
    return -(probabilities * finite(logs)).sum(1) + (wider(probabilities[:, 1:]) * doubt).sum(1)
