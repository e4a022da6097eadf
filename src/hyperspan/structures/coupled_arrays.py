"""Dependent mentions over NumPy arrays: exact inference for annotation, without torch.

The formulas are those of :class:`hyperspan.structures.CoupledHypergraph` over a segmental hypergraph, which also
supports gradients and other devices; tests compare the two. A unit is a chain: the mentions of one type that begin at a
word.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hyperspan.structures.choices import Choice, cheapest_sets
from hyperspan.structures.coupled_chains import (
    ChainRows,
    ChainTables,
    FactorRows,
    chain_choices,
    chain_entropy,
    finite,
    log_sum,
    share_of,
    wider,
)
from hyperspan.structures.coupled_kbest import factor_choices
from hyperspan.structures.coupling import Couplings, Factors, couple, marginalised, patterns, patterns_of_sets, units_of
from hyperspan.structures.expected_f1 import expected_f1_of
from hyperspan.structures.mentions import Mention, MentionSet, MentionSets, check_mentions
from hyperspan.structures.places import Places, places_above, places_at, sets_of_rows
from hyperspan.structures.segmental_arrays import SAMPLE_PORTION, ArrayHypergraph
from hyperspan.structures.segmental_kbest import summarise


class CoupledArrayHypergraph:
    """A segmental hypergraph with factors that make a few mentions at a time depend on each other; see
    CoupledHypergraph.

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
        """Couple the probable mentions of a base distribution."""
        return cls(base, couple(base.marginals, couplings, np.arange(base.types)))

    # Cached without functools.cached_property, whose lock a fork may leave locked forever in the child.

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
            self._kept_sums = longest, np.logaddexp(rows.absent, log_sum(longest))
        return self._kept_sums

    # -- probabilities --------------------------------------------------------------------------------------------

    def _log_ratios(self) -> Iterator[tuple[FactorRows, np.ndarray]]:
        """For factors of each size, (F,): log-sum of their patterns, minus the log-partition of their units without the
        factors."""
        if not self.factors:
            return
        rows, joined = self._joined
        alone = finite(rows.chains.log_partition())
        for some in joined:
            before = np.bincount(some.units.factor, alone[some.of_units], minlength=len(some.factors.sentence))
            yield some, log_sum(some.patterns(self._sums[1])) - before

    def _posteriors(self) -> Iterator[tuple[FactorRows, np.ndarray]]:
        """For factors of each size, (F, 2^N): the log-probability of each pattern."""
        if not self.factors:
            return
        for some in self._joined[1]:
            scores = some.patterns(self._sums[1])
            yield some, scores - finite(log_sum(scores))[:, None]

    def _by_sentence(self, sentence: np.ndarray, values: np.ndarray) -> np.ndarray:
        """(B,): the sum over the values of each sentence."""
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
        """(B,): the log-probability of one mention set per sentence; -inf for a set with a mention wider than c."""
        sets = check_mentions(mention_sets, self.lengths, self.types)
        total = self.base.log_prob(sets)
        possible = self.log_partition > -np.inf
        for some, ratio in self._log_ratios():
            chosen = some.factors.table[np.arange(len(ratio)), patterns_of_sets(some.factors, sets)]
            total = total + self._by_sentence(some.factors.sentence, chosen - finite(ratio))
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
            relative = np.log(weights) - finite(log_partition)  # (rows,)
        ends = np.add.reduceat(np.exp(longest + relative[:, None]), rows.first, axis=0)  # (units, c): the longest
        share = share_of(rows.chains.shorter_log_odds)
        ends[:, :-1] += share * wider(ends)
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
        below = chain_entropy(rows.absent, *self._sums, rows.log_odds())
        chains = rows.chains
        sums = chains.stop + chains.present[:, None]
        sums[:, 1:] += np.logaddexp(chains.extend, chains.branch).cumsum(1)
        before = chain_entropy(chains.absent, sums, chains.log_partition(), chains.shorter_log_odds)
        total = total - self._by_sentence(rows.sentence, before)
        for some, logs in self._posteriors():
            probabilities = np.exp(logs)
            total += self._by_sentence(some.factors.sentence, -(probabilities * finite(logs)).sum(1))
            weighted = below[some.of_rows] * some.row_weights(probabilities)
            total += self._by_sentence(some.units.sentence[some.units.unit_of], weighted)
        return np.maximum(total, 0.0)

    def expected_f1(self, mention_sets: MentionSets) -> np.ndarray:
        """(B,): the expected F1 of each given set, one per sentence, under the distribution; 1 where both are empty."""
        if not self.factors:
            return self.base.expected_f1(mention_sets)
        sets = check_mentions(mention_sets, self.lengths, self.types)
        exact = CoupledArrayHypergraph(self.base._in_float64()._untied(), self.factors)
        total, scores = finite(exact.log_partition), exact.base.scores
        assert scores.branch is not None
        branch = scores.branch

        def tilted(t: float) -> tuple[np.ndarray, np.ndarray]:
            """E[t^|Y|], and the expected number of given mentions when each mention weighs t times as much."""
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
        """For each entry of `wanted`: the mentions of the best sets (None), or those that reach their type's threshold.

        `certain` (mentions, 4) are mentions known to be present, which rounding may have made slightly less probable.
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
        """(mentions, 4): the mentions of the best sets."""
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
        """The most probable set of each sentence; ties go to the choice with fewer mentions."""
        return sets_of_rows(self._best(), len(self.lengths))

    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The k most probable sets of each sentence with their log-probabilities, best first; fewer where fewer
        exist."""
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
            choices = by_sentence[sentence] + chain_choices(exact.base, lengths, summary, sentence, k, others)
            found.append(list(cheapest_sets(choices, k)) if possible else [])
        tops = exact.log_prob([ranked[0][1] if ranked else frozenset[Mention]() for ranked in found]).tolist()
        return [
            [(some, min(top - cost, 0.0)) for cost, some in ranked] for top, ranked in zip(tops, found, strict=True)
        ]

    def sample(self, k: int = 1, generator: np.random.Generator | None = None) -> list[list[MentionSet]]:
        """k independent samples of each sentence's set; the same generator state gives the same samples."""
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
        reach = np.exp(longest - finite(log_partition)[:, None])[:, ::-1].cumsum(1)[:, ::-1]  # (rows, c)
        share = share_of(rows.log_odds())
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
        """(units, draws): the row of each unit in the sampled patterns."""
        below = np.exp(logs).cumsum(1)
        below /= below[:, -1:]
        level = generator.random((len(below), draws))
        pattern = np.stack([np.searchsorted(*one, side="right") for one in zip(below, level, strict=True)])
        return some.of_rows.start + np.take_along_axis(some.units.row, pattern[some.units.factor], axis=1)

    def _check_possible(self, impossible: np.ndarray) -> None:
        """Raise an error if some sentences have no possible set."""
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

        Each argument is a collection of mentions per sentence, or a boolean mask (B, n, c, m).
        """
        return CoupledArrayHypergraph(self.base.condition(require, forbid), self.factors)

    def restrict(self, types: Sequence[int]) -> CoupledArrayHypergraph:
        """The distribution over only the mentions of some types; other types are summed out."""
        base, chosen = self.base.restrict(types), list(types)
        joined = self._joined[1] if self.factors else []
        kept = [
            few
            for some in joined
            for few in marginalised(some.factors, some.units, self._sums[1][some.of_rows], chosen)
        ]
        return CoupledArrayHypergraph(base, kept)
