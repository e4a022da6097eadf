"""A distribution whose mentions depend on each other across words and types, exactly.

A segmental or joint hypergraph is a product of independent *units*: the mentions of one type, or group of types, that
begin at a word. Here factors over a few mentions each (:mod:`hyperspan.structures.coupling`) join some of these units.
A factor of N mentions has 2^N patterns. The base's algorithm runs once on each unit of a factor for every pattern of
the unit's members. Sums therefore include all mentions outside the factors, and everything is exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hyperspan.kernels import joint
from hyperspan.kernels.joint import GroupScores
from hyperspan.kernels.numerics import MINUS_INFINITY, finite, log_sum
from hyperspan.structures.choices import Choice, cheapest_sets
from hyperspan.structures.common import check_count, draw, entropy_term, log_probability
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.coupled_kbest import factor_choices
from hyperspan.structures.coupling import Couplings, Factors, Units, couple, marginalised, patterns_of_sets, units_of
from hyperspan.structures.distribution import Constraint, Distribution, check_types
from hyperspan.structures.expected_f1 import expected_f1_of
from hyperspan.structures.joint import JointSegmentalHypergraph
from hyperspan.structures.joint_kbest import GroupTables, row_choices
from hyperspan.structures.joint_rows import best_score, ending_probabilities, given_rows, row_entropy, walk
from hyperspan.structures.joint_scores import JointScores
from hyperspan.structures.mentions import Mention, MentionSet, MentionSets, check_mentions
from hyperspan.structures.risk import sets_of
from hyperspan.structures.segmental import SegmentalHypergraph

Base = SegmentalHypergraph | JointSegmentalHypergraph


@dataclass(frozen=True)
class UnitRows:
    """The rows of the units of one group of types, conditioned on the pattern of their members."""

    types: tuple[int, ...]
    scores: GroupScores
    room: Tensor  # (rows,)
    numbers: Tensor  # (rows,): among all rows of a batch of factors


@dataclass(frozen=True)
class FactorBatch:
    """Factors of one size, their units, and the rows of those units."""

    factors: Factors
    units: Units
    parts: list[UnitRows]
    table: Tensor  # (F, 2^N)

    def rows(self, value: Callable[[GroupScores, Tensor], Tensor]) -> Tensor:
        """(rows, …): a value computed for every row."""
        found = [value(part.scores, part.room) for part in self.parts]
        order = torch.cat([part.numbers for part in self.parts])
        return torch.cat(found)[order.argsort()]

    def patterns(self, values: Tensor) -> Tensor:
        """(F, 2^N): the score of each pattern, given that of each row (rows,)."""
        units = self.units
        index = torch.from_numpy(units.row).to(values.device)
        factor = torch.from_numpy(units.factor).to(values.device)
        return self.table + torch.zeros_like(self.table).index_add(0, factor, values[index])

    def row_weights(self, probabilities: Tensor) -> Tensor:
        """(rows,): the probability of each row, given the pattern probabilities (F, 2^N)."""
        units = self.units
        index = torch.from_numpy(units.row).to(probabilities.device).flatten()
        factor = torch.from_numpy(units.factor).to(probabilities.device)
        total = probabilities.new_zeros(len(units.unit_of))
        return total.index_add(0, index, probabilities[factor].flatten())


class CoupledHypergraph(Distribution):
    """A segmental or joint hypergraph with factors that make a few mentions at a time depend on each other.

    p(set) is proportional to its probability under `base`, times exp of each factor's table entry for the set. No two
    factors may share a unit. :meth:`of` builds the factors from couplings. Everything is exact; it takes the time of
    the base plus O(2^N) for each factor of N mentions.

    >>> from hyperspan.structures import EdgeScores
    >>> zeros = torch.zeros(1, 1, 2)
    >>> base = SegmentalHypergraph(EdgeScores(zeros, zeros, torch.zeros(1, 1, 0, 2), torch.zeros(1, 1, 1, 2)), [1])
    >>> coupled = CoupledHypergraph.of(base, Couplings({"span": -30.0}, {"span": 1.0}))
    >>> coupled.constraint_log_prob(require=[[(0, 1, 0), (0, 1, 1)]]).exp() < 1e-9  # one span, two types: never both
    tensor([True])
    >>> coupled.marginals.flatten()
    tensor([0.4000, 0.4000])
    """

    limits = "its mentions depend on each other"

    def __init__(self, base: Base, factors: Sequence[Factors]):
        self.base, self.factors = base, [some for some in factors if len(some.sentence)]
        self.lengths, self.types, self.max_width = base.lengths, base.types, base.max_width

    @classmethod
    def of(cls, base: Base, couplings: Couplings) -> CoupledHypergraph:
        """Couple the probable mentions of a base distribution."""
        with torch.no_grad():
            marginals = base.marginals.numpy(force=True)
        return cls(base, couple(marginals, couplings, group_numbers(base)))

    def joined(self) -> Iterator[FactorBatch]:
        """The factors, batched by size, with the rows of their units."""
        base, scores = self.base, self.base.joint_scores
        close = scores.close
        room = _room(close, base.lengths)
        for factors in self.factors:
            units = units_of(factors, group_numbers(base))
            parts = [_part(scores, room, units, number, group) for number, group in enumerate(base.groups)]
            table = torch.from_numpy(factors.table).to(close.device, close.dtype)
            yield FactorBatch(factors, units, [part for part in parts if len(part.numbers)], table)

    # -- probabilities --------------------------------------------------------------------------------------------

    def _log_ratios(self) -> list[tuple[FactorBatch, Tensor]]:
        """For factors of each size, (F,): log-sum of their patterns, minus the log-partition of their units without the
        factors."""
        units_alone = self.base.unit_log_partition if self.factors else None
        found: list[tuple[FactorBatch, Tensor]] = []
        for joined in self.joined():
            assert units_alone is not None
            units = joined.units
            alone = units_alone[units.sentence, units.start, units.group]
            total = log_sum(joined.patterns(joined.rows(joint.log_partition)), 1)
            before = torch.zeros_like(total).index_add(
                0, torch.from_numpy(units.factor).to(total.device), finite(alone)
            )
            found.append((joined, total - before))
        return found

    def _by_sentence(self, factors: Factors, values: Tensor) -> Tensor:
        """(F,) -> (B,): the sum over the factors of each sentence."""
        index = torch.from_numpy(factors.sentence).to(values.device)
        return values.new_zeros(len(self.lengths)).index_add(0, index, values)

    @property
    def log_partition(self) -> Tensor:
        total = self.base.log_partition
        for joined, ratio in self._log_ratios():
            total = total + self._by_sentence(joined.factors, ratio)
        return total

    def log_prob(self, mention_sets: MentionSets) -> Tensor:
        sets = check_mentions(mention_sets, self.lengths, self.types)
        total = self.base.log_prob(sets)
        possible = self.base.log_partition > MINUS_INFINITY
        for joined, ratio in self._log_ratios():
            chosen = torch.from_numpy(patterns_of_sets(joined.factors, sets)).to(ratio.device)
            relative = joined.table.gather(1, chosen[:, None])[:, 0] - finite(ratio)
            possible = possible & (self._by_sentence(joined.factors, (ratio == MINUS_INFINITY).to(ratio.dtype)) == 0)
            total = total + self._by_sentence(joined.factors, relative)
        return log_probability(total, torch.zeros_like(total), (~possible).tolist())

    def log_prob_of_known(self, gold: Sequence[set[Mention]], marks: PartialMarks | None) -> Tensor:
        if marks is None:
            return self.log_prob(gold)
        close = self.base.scores.close
        required, forbidden = (torch.from_numpy(mask).to(close.device) for mask in marks.masks(gold, *close.shape[1:3]))
        return self.constraint_log_prob(required, forbidden)

    def posteriors(self) -> Iterator[tuple[FactorBatch, Tensor]]:
        """For factors of each size, (F, 2^N): the log-probability of each pattern."""
        for joined in self.joined():
            scores = joined.patterns(joined.rows(joint.log_partition))
            yield joined, scores - finite(log_sum(scores, 1))[:, None]

    @property
    def marginals(self) -> Tensor:
        differentiable = self.base.joint_scores.needs_gradient
        found = self.base.marginals.clone()
        for joined, logs in self.posteriors():
            weights, units = joined.row_weights(logs.exp()), joined.units
            for part in joined.parts:
                ends = ending_probabilities(part.scores, part.room, differentiable=differentiable)
                ends = ends * weights[part.numbers][:, None, None]  # (rows, c, g)
                unit = torch.from_numpy(units.unit_of).to(ends.device)[part.numbers]
                kept, place = unit.unique(return_inverse=True)
                total = ends.new_zeros(len(kept), *ends.shape[1:]).index_add(0, place, ends)
                where = kept.cpu().numpy()
                for column, kind in enumerate(part.types):
                    found[units.sentence[where], units.start[where], :, kind] = total[..., column]
        return found

    @property
    def entropy(self) -> Tensor:
        base = self.base._in_float64()
        total = base.entropy
        exact = CoupledHypergraph(base, self.factors)
        for joined, logs in exact.posteriors():
            probabilities, factors = logs.exp(), joined.factors
            total = total + exact._by_sentence(factors, entropy_term(logs).sum(1))
            below = joined.rows(row_entropy) * joined.row_weights(probabilities)  # (rows,)
            sentence = torch.from_numpy(joined.units.sentence[joined.units.unit_of]).to(total.device)
            total = total.index_add(0, sentence, below)
            for number, group in enumerate(base.groups):
                some = joined.units.group == number
                words = base.joint_scores.group(group, room := _room(base.scores.close, base.lengths))
                rows = joined.units.sentence[some] * base.scores.close.shape[1] + joined.units.start[some]
                before = row_entropy(words.rows(rows), room[rows])
                total = total.index_add(0, torch.from_numpy(joined.units.sentence[some]).to(total.device), -before)
        return total.clamp(min=0.0).to(self.base.scores.close)

    @torch.no_grad()
    def expected_f1(self, mention_sets: MentionSets) -> np.ndarray:
        sets = check_mentions(mention_sets, self.lengths, self.types)
        exact = CoupledHypergraph(self.base._in_float64(), self.factors)
        total = finite(exact.log_partition).numpy(force=True)

        def tilted(t: float) -> tuple[np.ndarray, np.ndarray]:
            """E[t^|Y|], and the expected number of given mentions when each mention weighs t times as much."""
            some = CoupledHypergraph(exact.base.tilted(float(np.log(t))), self.factors)
            marginals = some.marginals.numpy(force=True)
            hits = [
                sum(float(marginals[b, i, j - i - 1, k]) for i, j, k in mentions if j - i <= self.max_width)
                for b, mentions in enumerate(sets)
            ]
            return np.exp(some.log_partition.numpy(force=True) - total), np.array(hits)

        empty = exact.log_prob([()] * len(sets)).exp().numpy(force=True)
        return expected_f1_of([len(some) for some in sets], tilted, empty)

    def select(self, sentences: Sequence[int]) -> CoupledHypergraph:
        """The distribution over the sets of some sentences, by index; indices may repeat."""
        return CoupledHypergraph(self.base.select(sentences), [some.select(sentences) for some in self.factors])

    # -- given, and of some types ---------------------------------------------------------------------------------

    def condition(self, require: Constraint | None = None, forbid: Constraint | None = None) -> CoupledHypergraph:
        """The distribution given that some mentions are in the set and others are not.

        Each argument is a collection of mentions per sentence, or a boolean mask (B, n, c, m).
        """
        return CoupledHypergraph(self.base.condition(require, forbid), self.factors)

    def constraint_log_prob(self, require: Constraint | None = None, forbid: Constraint | None = None) -> Tensor:
        given, total = self.condition(require, forbid).log_partition, self.log_partition
        return log_probability(given, total)

    def restrict(self, types: Sequence[int]) -> Distribution:
        """The distribution over only the mentions of some types; other types are summed out, exactly where types were
        independent."""
        chosen = check_types(types, self.types)
        if any(len(group) > 1 for group in self.base.groups):
            return super().restrict(chosen)
        base = self.base.restrict(chosen)
        assert isinstance(base, SegmentalHypergraph | JointSegmentalHypergraph)
        with torch.no_grad():
            exact = CoupledHypergraph(self.base._in_float64(), self.factors)
            values = [(one, one.rows(joint.log_partition).numpy(force=True)) for one in exact.joined()]
        kept = [some for joined, rows in values for some in marginalised(joined.factors, joined.units, rows, chosen)]
        return CoupledHypergraph(base, kept)

    # -- decoding -------------------------------------------------------------------------------------------------

    @torch.no_grad()
    def _best(self) -> Base:
        """The base given that each factor has its best pattern."""
        close = self.base.scores.close
        required, forbidden = torch.zeros(2, *close.shape, dtype=torch.bool, device="cpu").numpy()
        for joined in self.joined():
            scores = joined.patterns(joined.rows(best_score))
            pattern = scores.argmax(1).numpy(force=True)
            factors = joined.factors
            inside = (pattern[:, None] >> np.arange(factors.size) & 1).astype(bool)
            place = factors.sentence[:, None].repeat(factors.size, 1), factors.start, factors.end - factors.start - 1
            required[(*(some[inside] for some in place), factors.kind[inside])] = True
            forbidden[(*(some[~inside] for some in place), factors.kind[~inside])] = True
        return self.base.condition(*(torch.from_numpy(mask).to(close.device) for mask in (required, forbidden)))

    def argmax(self) -> list[MentionSet]:
        """The most probable set of each sentence."""
        return self._best().argmax()

    def best_rows(self) -> np.ndarray:
        return self._best().best_rows()

    @torch.no_grad()
    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The k most probable sets of each sentence with their log-probabilities, best first; fewer when fewer
        exist."""
        check_count(k)
        base = self.base._in_float64()
        exact, n = CoupledHypergraph(base, self.factors), base.scores.close.shape[1]
        possible = (exact.log_partition > MINUS_INFINITY).tolist()
        words = JointSegmentalHypergraph(base.joint_scores, self.lengths, base.groups).tables()
        of_factors = [(one, [_tables(part) for part in one.parts]) for one in exact.joined()]
        by_sentence: list[list[Choice]] = [[] for _ in self.lengths]
        for joined, tables in of_factors:
            for sentence, choice in factor_choices(joined.factors, joined.units, tables):
                by_sentence[sentence].append(choice)
        found: list[list[tuple[float, MentionSet]]] = []
        for sentence, length in enumerate(self.lengths):
            choices = by_sentence[sentence]
            touched = [(joined.units.group, joined.units.start, joined.units.sentence) for joined, _ in of_factors]
            for number, table in enumerate(words):
                skipped = {int(i) for g, start, b in touched for i in start[(g == number) & (b == sentence)]}
                choices += row_choices(table, sentence * n, length, k, skipped)
            found.append(list(cheapest_sets(choices, k)) if possible[sentence] else [])
        tops = exact.log_prob([ranked[0][1] if ranked else frozenset[Mention]() for ranked in found]).tolist()
        return [
            [(some, min(top - cost, 0.0)) for cost, some in ranked] for top, ranked in zip(tops, found, strict=True)
        ]

    @torch.no_grad()
    def sample(self, k: int = 1, generator: torch.Generator | None = None) -> list[list[MentionSet]]:
        check_count(k)
        base = self.base._in_float64()
        exact = CoupledHypergraph(base, self.factors)
        samples = [[set(some) for some in drawn] for drawn in base.sample(k, generator)]
        for joined, logs in exact.posteriors():
            units = joined.units
            for sentence, start, group in zip(units.sentence, units.start, units.group, strict=True):
                kinds = base.groups[group]
                for some in samples[sentence]:
                    some -= {one for one in some if one[0] == start and one[2] in kinds}
            drawn = draw(logs, k, generator).numpy(force=True)  # (F, k)
            rows = np.take_along_axis(units.row, drawn[units.factor], axis=1)  # (units, k)
            for part in joined.parts:
                self._draw_part(part, units, rows, samples, generator)
        return [[frozenset(some) for some in drawn] for drawn in samples]

    def _draw_part(
        self,
        part: UnitRows,
        units: Units,
        rows: np.ndarray,
        samples: list[list[set[Mention]]],
        generator: torch.Generator | None,
    ) -> None:
        """Add the samples of the units of one group, given the row (units, k) of each draw."""
        place = np.full(len(units.unit_of), -1)
        place[part.numbers.cpu().numpy()] = np.arange(len(part.numbers))
        unit, number = np.nonzero(place[rows] >= 0)
        chosen = torch.from_numpy(place[rows[unit, number]]).to(part.room.device)
        sums = list(joint.inward(part.scores, part.room))[::-1]
        states = draw((joint.start_scores(part.scores) + sums[0])[chosen], 1, generator)[:, 0]
        active = states.nonzero()[:, 0]
        found = walk(part.scores, sums, chosen[active], states[active], lambda w: draw(w, 1, generator)[:, 0])
        for entry, _, width, kind in found.tolist():
            at = int(active[entry])
            start = int(units.start[unit[at]])
            samples[units.sentence[unit[at]]][number[at]].add((start, start + width + 1, part.types[kind]))

    def above(self, threshold: float) -> list[MentionSet]:
        """For each sentence, every mention with a probability of at least `threshold`."""
        if not 0.0 < threshold <= 1.0:
            raise ValueError(f"expected a threshold above 0 and at most 1, got {threshold}")
        return sets_of(self.marginals.detach() >= threshold)


def group_numbers(base: Base) -> np.ndarray:
    """(types,): the number of the group that each type is in."""
    found = np.zeros(base.types, dtype=np.int64)
    for number, group in enumerate(base.groups):
        found[list(group)] = number
    return found


def _room(close: Tensor, lengths: Sequence[int]) -> Tensor:
    """(B * n,): the number of words from each word to the end of its sentence; 0 in padding."""
    known = torch.tensor(lengths, dtype=torch.long, device=close.device)
    return (known[:, None] - torch.arange(close.shape[1], device=close.device)).clamp(min=0).flatten()


def _part(scores: JointScores, room: Tensor, units: Units, number: int, group: tuple[int, ...]) -> UnitRows:
    """The rows of the units of one group."""
    device, (_, n, c, _) = scores.close.device, scores.close.shape
    rows = np.flatnonzero(units.group[units.unit_of] == number)
    unit = units.unit_of[rows]
    word = torch.from_numpy(units.sentence[unit] * n + units.start[unit]).to(device)
    place = np.full(len(units.unit_of), -1)
    place[rows] = np.arange(len(rows))
    mine = place[units.member_row] >= 0
    row = place[units.member_row[mine]]
    width = units.member_end[mine] - units.start[units.unit_of[units.member_row[mine]]] - 1
    kind = np.searchsorted(np.array(group), units.member_kind[mine])
    required, forbidden = np.zeros((2, len(rows), c, len(group)), dtype=bool)
    inside = units.member_in[mine]
    required[row[inside], width[inside], kind[inside]] = True
    forbidden[row[~inside], width[~inside], kind[~inside]] = True
    masks = (torch.from_numpy(mask).to(device) for mask in (required, forbidden))
    given = given_rows(scores.group(group, room).rows(word), *masks)
    return UnitRows(group, given, room[word], torch.from_numpy(rows).to(device))


def _tables(part: UnitRows) -> tuple[GroupTables, np.ndarray]:
    """The tables of rows that the search for the best sets uses, and the row numbers."""
    tables = GroupTables.of(part.types, part.scores, part.room, joint.log_partition(part.scores, part.room))
    return tables, part.numbers.numpy(force=True)
