"""Mentions that depend on each other over NumPy arrays: everything that annotating asks, exactly, without torch.

The formulas are those of :class:`hyperspan.structures.CoupledHypergraph` over a segmental hypergraph, which also has gradients and
other devices; tests compare the two. A unit is a chain: what a word has of one type.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hyperspan.structures.choices import Choice, Mentions, cheapest_sets
from hyperspan.structures.coupled_kbest import factor_choices
from hyperspan.structures.coupling import (
    Couplings,
    Factors,
    Units,
    couple,
    marginalised,
    patterns,
    patterns_of_sets,
    units_of,
)
from hyperspan.structures.expected_f1 import expected_f1_of
from hyperspan.structures.kbest import Alternatives
from hyperspan.structures.mentions import Mention, MentionSet, MentionSets, check_mentions
from hyperspan.structures.places import Places, places_above, places_at, sets_of_rows
from hyperspan.structures.segmental_arrays import SAMPLE_PORTION, ArrayHypergraph
from hyperspan.structures.segmental_kbest import (
    ChainArrays,
    ChainSummary,
    chain_alternatives,
    chains_at,
    packed_chains,
    summarise,
)

EVERY = 2**30
"""More alternatives than are ever asked for."""


@dataclass(frozen=True)
class FactorRows:
    """Factors of one size, their units, and where these are among all units and rows."""

    factors: Factors
    units: Units
    of_units: slice
    of_rows: slice

    def patterns(self, values: np.ndarray) -> np.ndarray:
        """(F, 2^N): the score of each pattern, given that of each of all rows."""
        first = np.searchsorted(self.units.factor, np.arange(len(self.factors.sentence)))
        return self.factors.table + np.add.reduceat(values[self.of_rows][self.units.row], first, axis=0)

    def row_weights(self, probabilities: np.ndarray) -> np.ndarray:
        """(rows,): how probable each row is, given that of each pattern (F, 2^N)."""
        weights = probabilities[self.units.factor].ravel()
        return np.bincount(self.units.row.ravel(), weights, minlength=len(self.units.unit_of))


class ChainRows:
    """The rows of all units of a batch: a chain once for each pattern of its members.

    Rows of a unit differ at its members alone. So what all rows share is computed once a unit.
    """

    def __init__(self, base: ArrayHypergraph, units: Sequence[Units]):
        self.sentence, self.start, self.kind = (
            np.concatenate([getattr(some, name) for some in units]) for name in ("sentence", "start", "group")
        )  # (units,)
        self.chains = _chains(base, self.sentence, self.start, self.kind)
        units_before = np.cumsum([0, *(len(some.factor) for some in units)]).tolist()
        rows_before = np.cumsum([0, *(len(some.unit_of) for some in units)]).tolist()
        self.unit_of = np.concatenate(
            [some.unit_of + before for some, before in zip(units, units_before, strict=False)]
        )
        self.first = np.searchsorted(self.unit_of, np.arange(len(self.sentence)))  # (units,): the first row of each
        self.of_units = [slice(*pair) for pair in zip(units_before, units_before[1:], strict=False)]
        self.of_rows = [slice(*pair) for pair in zip(rows_before, rows_before[1:], strict=False)]
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
        """(rows, c): the score of each longest mention, where shorter ones have these of a unit without members (units, c - 1)."""
        steps = self._at_members(steps, self.chains.branch, self.chains.extend)
        longest = self._stop[self.unit_of]
        longest[self._blocked] = -np.inf
        longest[:, 1:] += steps.cumsum(1)
        return longest

    def _at_members(self, values: np.ndarray, inside: np.ndarray | float, outside: np.ndarray | float) -> np.ndarray:
        """(units, c - 1) -> (rows, c - 1): with other values for members that are in the set, and for those that are not."""
        found = values[self.unit_of]
        some = self._width < found.shape[1]
        row, unit, width = self._row[some], self._unit[some], self._width[some]
        there, none = (np.broadcast_to(one, values.shape)[unit, width] for one in (inside, outside))
        found[row, width] = np.where(self._in[some], there, none)
        return found

    def sums(self) -> np.ndarray:
        """(rows, c): the log-weight of each longest mention, with all that may be shorter."""
        return self._longest(np.logaddexp(self.chains.extend, self.chains.branch))

    def bests(self) -> np.ndarray:
        """(rows, c): the score of each longest mention, with the best that is shorter."""
        return self._longest(np.maximum(self.chains.extend, self.chains.branch))

    def log_odds(self) -> np.ndarray:
        """(rows, c - 1): of a mention, given a longer one."""
        return self._at_members(self.chains.shorter_log_odds, np.inf, -np.inf)


@dataclass(frozen=True)
class ChainTables:
    """What a search for the best sets knows of some rows."""

    rows: ChainRows
    bests: np.ndarray  # (all rows, c)
    log_odds: np.ndarray  # (all rows, c - 1)
    some: slice

    @property
    def best_scores(self) -> np.ndarray:
        """(rows,): that of the best that a row can have."""
        return np.maximum(self.rows.absent, self.bests.max(1, initial=-np.inf))[self.some]

    def alternatives(self, row: int, word: int) -> Iterator[tuple[float, Mentions]]:
        """What a row, which is that of a word, can have as (cost, mentions), cheapest first; cost is minus score."""
        at = self.some.start + row
        kind = int(self.rows.kind[self.rows.unit_of[at]])
        for cost, widths in chain_alternatives(self.rows.absent[at], self.bests[at], self.log_odds[at], EVERY):
            yield cost, tuple((word, word + width + 1, kind) for width in widths)


class CoupledArrayHypergraph:
    """A segmental hypergraph in which some mentions depend on each other, by factors over a few of them; see CoupledHypergraph.

    >>> from hyperspan.structures.segmental_arrays import ScoreArrays
    >>> zeros = np.zeros((1, 1, 2))
    >>> base = ArrayHypergraph(ScoreArrays(zeros, zeros, np.zeros((1, 1, 0, 2)), np.zeros((1, 1, 1, 2))), [1])
    >>> CoupledArrayHypergraph.of(base, Couplings({"span": -30.0}, {"span": 1.0})).marginals.flatten().round(4).tolist()
    [0.4, 0.4]
    """

    exact_marginals = True

    def __init__(self, base: ArrayHypergraph, factors: Sequence[Factors]):
        self.base, self.factors = base, [some for some in factors if len(some.sentence)]
        self.lengths, self.types, self.max_width = base.lengths, base.types, base.max_width
        self._kept: tuple[ChainRows, list[FactorRows]] | None = None
        self._kept_sums: tuple[np.ndarray, np.ndarray] | None = None

    def __repr__(self) -> str:
        return f"CoupledArrayHypergraph({self.base}, {sum(len(some.sentence) for some in self.factors)} factors)"

    @classmethod
    def of(cls, base: ArrayHypergraph, couplings: Couplings) -> CoupledArrayHypergraph:
        """The base with the couplings of its probable mentions."""
        return cls(base, couple(base.marginals, couplings, np.arange(base.types)))

    # Kept without functools.cached_property, whose lock a fork may leave locked for ever in the child.

    @property
    def _joined(self) -> tuple[ChainRows, list[FactorRows]]:
        """The rows of all units, and the factors of each size; there must be factors."""
        if self._kept is None:
            units = [units_of(factors, np.arange(self.types)) for factors in self.factors]
            rows = ChainRows(self.base, units)
            columns = zip(self.factors, units, rows.of_units, rows.of_rows, strict=True)
            self._kept = rows, [FactorRows(*some) for some in columns]
        return self._kept

    @property
    def _sums(self) -> tuple[np.ndarray, np.ndarray]:
        """(rows, c): the log-weights of longest mentions. (rows,): log-partitions."""
        if self._kept_sums is None:
            rows, _ = self._joined
            longest = rows.sums()
            self._kept_sums = longest, np.logaddexp(rows.absent, _log_sum(longest))
        return self._kept_sums

    # -- probabilities --------------------------------------------------------------------------------------------

    def _log_ratios(self) -> Iterator[tuple[FactorRows, np.ndarray]]:
        """For factors of each size, (F,): log of the sum of their patterns, less that of their units without them."""
        if not self.factors:
            return
        rows, joined = self._joined
        alone = _finite(rows.chains.log_partition())
        for some in joined:
            before = np.bincount(some.units.factor, alone[some.of_units], minlength=len(some.factors.sentence))
            yield some, _log_sum(some.patterns(self._sums[1])) - before

    def _posteriors(self) -> Iterator[tuple[FactorRows, np.ndarray]]:
        """For factors of each size, (F, 2^N): the log-probability of each pattern."""
        if not self.factors:
            return
        for some in self._joined[1]:
            scores = some.patterns(self._sums[1])
            yield some, scores - _finite(_log_sum(scores))[:, None]

    def _by_sentence(self, sentence: np.ndarray, values: np.ndarray) -> np.ndarray:
        """(B,): the sum over those of each sentence."""
        found = np.zeros(len(self.lengths))
        np.add.at(found, sentence, values)
        return found

    @property
    def log_partition(self) -> np.ndarray:
        """(B,): the logarithm of the sum of exp(score) over all mention sets."""
        total = self.base.log_partition
        ratios = (self._by_sentence(some.factors.sentence, ratio) for some, ratio in self._log_ratios())
        return (total + sum(ratios, np.zeros(len(total)))).astype(total.dtype)

    def log_prob(self, mention_sets: MentionSets) -> np.ndarray:
        """(B,): the log-probability of one mention set a sentence; -inf for a set with a mention wider than c."""
        sets = check_mentions(mention_sets, self.lengths, self.types)
        total = self.base.log_prob(sets)
        possible = self.log_partition > -np.inf
        for some, ratio in self._log_ratios():
            chosen = some.factors.table[np.arange(len(ratio)), patterns_of_sets(some.factors, sets)]
            total = total + self._by_sentence(some.factors.sentence, chosen - _finite(ratio))
        return np.where(possible, np.minimum(total, 0.0), -np.inf)

    @property
    def marginals(self) -> np.ndarray:
        """(B, n, c, m): the probability of the mention from i to i + w inclusive of type k; 0 in padding."""
        if not self.factors:
            return self.base.marginals
        found, (rows, _), (longest, log_partition) = self.base.marginals.copy(), self._joined, self._sums
        logs = list(self._posteriors())
        weights = np.concatenate([some.row_weights(np.exp(one)) for some, one in logs])
        with np.errstate(divide="ignore"):
            relative = np.log(weights) - _finite(log_partition)  # (rows,)
        ends = np.add.reduceat(np.exp(longest + relative[:, None]), rows.first, axis=0)  # (units, c): the longest
        share = _share(rows.chains.shorter_log_odds)
        ends[:, :-1] += share * _wider(ends)
        found[rows.sentence, rows.start, : ends.shape[1], rows.kind] = ends
        for some, one in logs:
            start, end, kind = some.factors[1:4]
            inside = np.exp(one) @ patterns(some.factors.size)  # (F, N)
            found[some.factors.sentence[:, None], start, end - start - 1, kind] = inside
        return found

    @property
    def entropy(self) -> np.ndarray:
        """(B,): the entropy of the distribution over mention sets, in nats."""
        total = self.base.entropy
        if not self.factors:
            return total
        rows, _ = self._joined
        below = _entropy(rows.absent, *self._sums, rows.log_odds())
        chains = rows.chains
        sums = chains.stop + chains.present[:, None]
        sums[:, 1:] += np.logaddexp(chains.extend, chains.branch).cumsum(1)
        before = _entropy(chains.absent, sums, chains.log_partition(), chains.shorter_log_odds)
        total = total - self._by_sentence(rows.sentence, before)
        for some, logs in self._posteriors():
            probabilities = np.exp(logs)
            total += self._by_sentence(some.factors.sentence, -(probabilities * _finite(logs)).sum(1))
            weighted = below[some.of_rows] * some.row_weights(probabilities)
            total += self._by_sentence(some.units.sentence[some.units.unit_of], weighted)
        return np.maximum(total, 0.0)

    def expected_f1(self, mention_sets: MentionSets) -> np.ndarray:
        """(B,): the F1 of each of these sets, one a sentence, expected over the distribution; 1 where both are empty."""
        if not self.factors:
            return self.base.expected_f1(mention_sets)
        sets = check_mentions(mention_sets, self.lengths, self.types)
        exact = CoupledArrayHypergraph(self.base._untied()._in_float64(), self.factors)
        total, scores = _finite(exact.log_partition), exact.base.scores
        assert scores.branch is not None
        branch = scores.branch

        def tilted(t: float) -> tuple[np.ndarray, np.ndarray]:
            """E[t^|Y|], and the expected number of given mentions if each mention weighs t times as much."""
            given = scores._replace(close=scores.close + np.log(t), branch=branch + np.log(t))
            some = CoupledArrayHypergraph(ArrayHypergraph(given, self.lengths), self.factors)
            marginals = some.marginals
            hits = [
                sum(float(marginals[b, i, j - i - 1, k]) for i, j, k in mentions if j - i <= self.max_width)
                for b, mentions in enumerate(sets)
            ]
            return np.exp(some.log_partition - total), np.array(hits)

        empty = np.exp(exact.log_prob([()] * len(sets)))
        return expected_f1_of([len(some) for some in sets], tilted, empty)

    # -- decoding -------------------------------------------------------------------------------------------------

    def places(self, wanted: Sequence[Sequence[float] | None], certain: np.ndarray | None = None) -> list[Places]:
        """For each of `wanted`: the mentions of the best sets (None), or those as probable as their type has to be.

        `certain` are mentions, (mentions, 4), that are known to be there, which rounding may have made a hair less probable.
        """
        marginals = self.marginals
        if certain is not None and len(certain):
            marginals = marginals.copy()
            sentence, start, end, kind = certain.T
            marginals[sentence, start, end - start - 1, kind] = 1.0
        return [
            places_at(marginals, self._best()) if least is None else places_above(marginals, least) for least in wanted
        ]

    def _best(self) -> np.ndarray:
        """(mentions, 4): those of the best sets."""
        found = self.base._best()
        if not self.factors:
            return found
        rows, joined = self._joined
        bests = rows.bests()
        scores = np.maximum(rows.absent, bests.max(1, initial=-np.inf))
        chosen: list[np.ndarray] = []  # (units,): the row of each
        for some in joined:
            totals = some.patterns(scores)
            pattern = totals.argmax(1)
            self._check_possible(some.factors.sentence[totals.max(1) == -np.inf])
            chosen.append(
                some.of_rows.start + some.units.row[np.arange(len(some.units.row)), pattern[some.units.factor]]
            )
        row = np.concatenate(chosen)
        width = bests[row].argmax(1)  # the first, and so the shortest, of equal ones
        present = np.flatnonzero(bests[row, width] > rows.absent[row])
        below = np.arange(bests.shape[1] - 1) < width[present][:, None]
        place, shorter = np.nonzero(below & (rows.log_odds()[row[present]] > 0))
        unit = np.concatenate([present, present[place]])
        ends = rows.start[unit] + np.concatenate([width[present], shorter]) + 1
        own = np.stack([rows.sentence[unit], rows.start[unit], ends, rows.kind[unit]], axis=1)
        touched = np.zeros(self.base.scores.absent.shape, dtype=bool)
        touched[rows.sentence, rows.start, rows.kind] = True
        kept = found[~touched[found[:, 0], found[:, 1], found[:, 3]]]
        every = np.concatenate([kept, own.astype(found.dtype)])
        return every[np.lexsort(every.T[::-1])]

    def argmax(self) -> list[MentionSet]:
        """The most probable set of each sentence; of two equal choices the one with fewer mentions."""
        return sets_of_rows(self._best(), len(self.lengths))

    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The k most probable sets of each sentence with their log-probabilities, best first; fewer where fewer exist."""
        if not self.factors or k < 0:
            return self.base.topk(k)
        exact = CoupledArrayHypergraph(self.base._in_float64(), self.factors)
        log_partition = exact.log_partition
        if np.isnan(log_partition).any():
            self.base._raise_impossible()
        rows, joined = exact._joined
        bests, log_odds = rows.bests(), rows.log_odds()
        by_sentence: list[list[Choice]] = [[] for _ in self.lengths]
        for some in joined:
            tables = ChainTables(rows, bests, log_odds, some.of_rows), np.arange(len(some.units.unit_of))
            for sentence, choice in factor_choices(some.factors, some.units, [tables]):
                by_sentence[sentence].append(choice)
        lengths = np.array(self.lengths, dtype=np.int64)
        summary = summarise(exact.base.scores, lengths)
        summary.first_step[rows.sentence, rows.start, rows.kind] = np.inf
        touched = set(zip(*(column.tolist() for column in (rows.sentence, rows.start, rows.kind)), strict=True))
        found: list[list[tuple[float, MentionSet]]] = []
        for sentence, possible in enumerate((log_partition > -np.inf).tolist()):
            others = [
                mention for mention in summary.mentions[sentence] if (sentence, mention[0], mention[2]) not in touched
            ]
            choices = by_sentence[sentence] + _chain_choices(exact.base, lengths, summary, sentence, k, others)
            found.append(list(cheapest_sets(choices, k)) if possible else [])
        tops = exact.log_prob([ranked[0][1] if ranked else frozenset[Mention]() for ranked in found]).tolist()
        return [
            [(some, min(top - cost, 0.0)) for cost, some in ranked] for top, ranked in zip(tops, found, strict=True)
        ]

    def sample(self, k: int = 1, generator: np.random.Generator | None = None) -> list[list[MentionSet]]:
        """k independent samples of each sentence's set; the same state of the generator gives the same samples."""
        generator = generator or np.random.default_rng()
        if not self.factors or k < 0:
            return self.base.sample(k, generator)
        rows, _ = self._joined
        longest, log_partition = self._sums
        for some, logs in self._posteriors():
            self._check_possible(some.factors.sentence[logs.max(1) == -np.inf])
        touched = set(zip(*(column.tolist() for column in (rows.sentence, rows.start, rows.kind)), strict=True))
        samples: list[list[set[Mention]]] = [
            [{one for one in some if (sentence, one[0], one[2]) not in touched} for some in drawn]
            for sentence, drawn in enumerate(self.base.sample(k, generator))
        ]
        reach = np.exp(longest - _finite(log_partition)[:, None])[:, ::-1].cumsum(1)[:, ::-1]  # (rows, c)
        share = _share(rows.log_odds())
        for done in range(0, k, SAMPLE_PORTION):
            draws = min(SAMPLE_PORTION, k - done)
            row = np.concatenate(
                [self._draw_rows(*one, draws, generator) for one in self._posteriors()]
            )  # (units, draws)
            level = generator.random(row.shape)
            unit, draw = np.nonzero(level < reach[row, 0])
            row = row[unit, draw]
            last = (level[unit, draw][:, None] < reach[row]).sum(1) - 1  # of the longest mentions
            tossed = share[row]
            shorter = (generator.random(tossed.shape) < tossed) & (np.arange(tossed.shape[1]) < last[:, None])
            entry, width = np.nonzero(shorter)
            for index, widths in ((np.arange(len(row)), last), (entry, width)):
                own = unit[index]
                columns = rows.sentence[own], draw[index] + done, rows.start[own], widths, rows.kind[own]
                for s, d, i, w, t in np.stack(columns, axis=1).tolist():
                    samples[s][d].add((i, i + w + 1, t))
        return [[frozenset(some) for some in drawn] for drawn in samples]

    def _draw_rows(self, some: FactorRows, logs: np.ndarray, draws: int, generator: np.random.Generator) -> np.ndarray:
        """(units, draws): the row of each unit in the patterns that are drawn."""
        below = np.exp(logs).cumsum(1)
        below /= below[:, -1:]
        level = generator.random((len(below), draws))
        pattern = np.stack([np.searchsorted(*one, side="right") for one in zip(below, level, strict=True)])
        return some.of_rows.start + np.take_along_axis(some.units.row, pattern[some.units.factor], axis=1)

    def _check_possible(self, impossible: np.ndarray) -> None:
        """Raises where some sentences have no possible set."""
        if len(impossible):
            self.base._raise_impossible()
            raise ValueError(
                f"sentence {int(impossible.min())} has no possible mention set: every choice of mentions that depend on each other "
                "has a score of -inf; check the scores, or what was required and forbidden"
            )

    # -- other distributions --------------------------------------------------------------------------------------

    def condition(
        self, require: MentionSets | np.ndarray | None = None, forbid: MentionSets | np.ndarray | None = None
    ) -> CoupledArrayHypergraph:
        """The distribution given that some mentions are in the set and others are not.

        Each is a collection of mentions a sentence, or a mask (B, n, c, m) of booleans.
        """
        return CoupledArrayHypergraph(self.base.condition(require, forbid), self.factors)

    def restrict(self, types: Sequence[int]) -> CoupledArrayHypergraph:
        """The distribution over the mentions of some types alone; sums over those of others."""
        base, chosen = self.base.restrict(types), list(types)
        joined = self._joined[1] if self.factors else []
        kept = [
            few
            for some in joined
            for few in marginalised(some.factors, some.units, self._sums[1][some.of_rows], chosen)
        ]
        return CoupledArrayHypergraph(base, kept)


def _chains(base: ArrayHypergraph, sentence: np.ndarray, start: np.ndarray, kind: np.ndarray) -> ChainArrays:
    """(chains,): those of these sentences, starts and types, as wide as there is room."""
    room = np.array(base.lengths, dtype=np.int64)[sentence] - start
    widths = max(1, min(base.max_width, int(room.max(initial=1))))

    def at(array: np.ndarray, count: int) -> np.ndarray:
        return array[sentence, start, :count, kind].astype(np.float64)

    scores = base.scores
    absent, present = (array[sentence, start, kind].astype(np.float64) for array in (scores.absent, scores.present))
    branch = None if scores.branch is None else at(scores.branch, widths - 1)
    return packed_chains(room, absent, present, at(scores.extend, widths - 1), at(scores.close, widths), branch)


def _chain_choices(
    base: ArrayHypergraph, lengths: np.ndarray, summary: ChainSummary, sentence: int, k: int, best: Sequence[Mention]
) -> list[Choice]:
    """Those of the k - 1 chains with the cheapest steps, and what all others have in the best set."""
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
    """Mentions instead of widths."""
    for cost, widths in ranked:
        yield cost, tuple((start, start + width + 1, kind) for width in widths)


def _log_sum(values: np.ndarray) -> np.ndarray:
    """Along the last dimension; -inf where all are."""
    pivot = _finite(values.max(-1, initial=-np.inf))
    with np.errstate(divide="ignore"):
        return np.log(np.exp(values - pivot[..., None]).sum(-1)) + pivot


def _finite(values: np.ndarray) -> np.ndarray:
    """0 instead of -inf."""
    return np.where(values == -np.inf, 0.0, values)


def _share(log_odds: np.ndarray) -> np.ndarray:
    """The probabilities of log-odds."""
    with np.errstate(over="ignore"):
        return 1.0 / (1.0 + np.exp(-log_odds))


def _wider(longest: np.ndarray) -> np.ndarray:
    """(..., c - 1): the probability of a wider mention, given that of each longest one (..., c)."""
    return longest[..., :0:-1].cumsum(-1)[..., ::-1]


def _entropy(absent: np.ndarray, sums: np.ndarray, log_partition: np.ndarray, log_odds: np.ndarray) -> np.ndarray:
    """(rows,): that of what each row has; 0 where nothing is possible."""
    logs = np.concatenate([absent[:, None], sums], axis=1) - _finite(log_partition)[:, None]
    probabilities, share = np.exp(logs), _share(log_odds)
    doubt = np.logaddexp(0.0, log_odds) - np.where(share > 0, share * np.where(np.isinf(log_odds), 0.0, log_odds), 0.0)
    doubt[np.isposinf(log_odds)] = 0.0
    return -(probabilities * _finite(logs)).sum(1) + (_wider(probabilities[:, 1:]) * doubt).sum(1)
