"""The segmental hypergraph in which mentions that begin at the same word depend on each other.

In :class:`SegmentalHypergraph` the mentions of a type that begin at a word are a chain, and chains are independent.
Here the chains of one word and one group of types run jointly; see :mod:`hyperspan.kernels.joint`. Words stay
independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from hyperspan.kernels import joint
from hyperspan.kernels.chains import check_possible
from hyperspan.kernels.joint import GroupScores
from hyperspan.kernels.numbers import index_sum, is_array, namespace, placed, to_numpy, widened
from hyperspan.structures.constraints import AnySets, PartialMarks, constraint_masks
from hyperspan.structures.distribution import Distribution, check_types
from hyperspan.structures.edges import hyperpaths_of, pair_uses, path_scores
from hyperspan.structures.joint_decoding import GroupTables, draw
from hyperspan.structures.joint_scores import JointScores, check_groups
from hyperspan.structures.kbest import Mentions
from hyperspan.structures.mentions import Mention, MentionSet, MentionSets, check_mentions
from hyperspan.structures.places import Places
from hyperspan.structures.scores import EdgeScores, Values, check_lengths
from hyperspan.structures.units import Given, Uniform, UnitProduct


class JointSegmentalHypergraph(UnitProduct[Values]):
    """A distribution over the mention sets of each sentence of a padded batch: p(set) ∝ exp(sum of its edges' and
    pairs' scores).

    `groups` are lists of types that interact; None puts all types in one group. Scores of pairs across groups are
    ignored. Without pair scores this is the :class:`SegmentalHypergraph`. Its units are all mentions of a group that
    begin at a word. Everything is exact and takes O(n c 4^g) for the largest group of g types.

    >>> import torch
    >>> from hyperspan.structures import EdgeScores, JointScores, JointSegmentalHypergraph
    >>> zeros = torch.zeros(1, 1, 2)
    >>> edges = EdgeScores(zeros, zeros, torch.zeros(1, 1, 0, 2), torch.zeros(1, 1, 1, 2))
    >>> never = torch.full((1, 1, 1, 2, 2), float("-inf"))
    >>> word = JointSegmentalHypergraph(JointScores(edges, together=never), lengths=[1])
    >>> word.log_partition.exp()  # no mention, or one of the two types
    tensor([3.])
    """

    limits = "its types depend on each other"

    def __init__(self, scores: JointScores[Values], lengths: Any, groups: Iterable[Iterable[int]] | None = None):
        batch, n, c, m = scores.close.shape
        self.scores: JointScores[Any] = scores
        self.lengths = check_lengths(lengths, batch, n)
        self.max_width, self.types = c, m
        self.groups = check_groups(groups, m)
        room = np.array(self.lengths, dtype=np.int64).reshape(-1, 1) - np.arange(n)
        self._room = room.clip(min=0).ravel()
        """(B * n,): the number of words from each word to the end of its sentence; 0 in padding."""
        self._kept_tables: list[GroupTables] | None = None

    def with_scores(self, scores: Any, lengths: Sequence[int] | None = None) -> Self:
        return type(self)(scores, self.lengths if lengths is None else lengths, self.groups)

    def _rows(self) -> tuple[list[GroupScores], Any]:
        """The scores of each group, row by row, and the room of each row."""
        room = placed(self._room, self.scores.close)
        return [self.scores.group(group, room) for group in self.groups], room

    def _by_word(self, values: Sequence[Any]) -> Any:
        """A value for each row of each group -> (B, n, groups)"""
        batch, n, *_ = self.scores.close.shape
        if not values:
            return self.scores.edges.absent  # of no types
        return namespace(values[0]).stack(list(values), 1).reshape(batch, n, len(values))

    # -- probabilities -----------------------------------------------------------------------------------------------

    @property
    def unit_log_partition(self) -> Values:
        """(B, n, groups): the log-partition of all mentions of a group that begin at a word; 0 in padding."""
        rows, room = self._rows()
        return self._by_word([joint.log_partition(group, room) for group in rows])

    @property
    def _group_of(self) -> list[int]:
        place = {kind: number for number, group in enumerate(self.groups) for kind in group}
        return [place[kind] for kind in range(self.types)]

    def unit_scores(self, mention_sets: AnySets) -> tuple[Values, list[bool]]:
        sets = check_mentions(mention_sets, self.lengths, self.types)  # type: ignore[arg-type]
        edges, group_of = self.scores.edges, np.array(self._group_of, dtype=np.int64)
        per_chain = path_scores(edges, hyperpaths_of(sets, self.max_width, edges.close))  # (B, n, m)
        batch, n, _ = per_chain.shape
        shape = (batch, n, len(self.groups))
        units = np.arange(batch * n)[:, None] * shape[2] + group_of  # (B * n, m)
        total = namespace(per_chain).zeros_like(per_chain[:, :, :1]).reshape(-1).repeat(shape[2])
        total = index_sum(total, placed(units.ravel(), per_chain), per_chain.reshape(-1))
        used = pair_uses(sets, self._group_of, self.max_width)
        for name, values in self.scores.pairs().items():
            sentence, start, _, kind, _ = used[name]
            unit = placed((sentence * n + start) * shape[2] + group_of[kind], values)
            total = index_sum(total, unit, values[tuple(placed(column, values) for column in used[name])])
        too_wide = [any(end - start > self.max_width for start, end, _ in some) for some in sets]
        return total.reshape(shape), too_wide

    @property
    def edge_marginals(self) -> JointScores[Values]:
        """The probability of each edge and pair in the place of its score; 0 in padding. This is the gradient of the
        log-partition."""
        if not is_array(self.scores.close):
            from hyperspan.kernels.autograd import gradients

            return gradients(lambda scores: self.with_scores(scores).unit_log_partition.sum(), self.scores)
        rows, room = self._rows()
        made = {name: np.zeros_like(values) for name, values in self.scores.tensors().items()}
        for group, some in zip(self.groups, rows, strict=True):
            for name, values in joint.run(some, room).expected._asdict().items():
                if values is not None:
                    place = np.ix_(group, group) if name in ("together", "within") else (list(group),)
                    made[name][..., *place] = values.reshape(*made[name].shape[:2], *values.shape[1:])
        pairs = {name: made.pop(name) for name in self.scores.pairs()}
        return JointScores(EdgeScores(**made), **pairs)

    @property
    def marginals(self) -> Values:
        """(B, n, c, m): the probability of each mention, by start, width and type; 0 in padding."""
        edges = self.edge_marginals.edges
        return edges.close if edges.branch is None else edges.close + widened(edges.branch, self.max_width)

    # -- under constraints, of some types, and as a teacher ----------------------------------------------------------

    def given(self, require: MentionSets | None, forbid: MentionSets | None) -> Given:  # type: ignore[override]
        return self._given(*constraint_masks(require, forbid, self.lengths, self.scores.close.shape))

    def given_marks(self, gold: AnySets, marks: PartialMarks) -> Given:
        _, n, c, _ = self.scores.close.shape
        return self._given(*marks.masks(gold, n, c))  # type: ignore[arg-type]

    def _given(self, required: np.ndarray, forbidden: np.ndarray) -> Given:
        known = np.asarray((required | forbidden).any(2))  # (B, n, m)
        units = [np.asarray(known[..., list(group)].any(2)) for group in self.groups]
        concerned = np.stack(units, axis=2) if units else known
        return Given(self.with_scores(self.scores.given(required, forbidden)), concerned)

    def restrict(self, types: Sequence[int]) -> Distribution:
        """The distribution over only the mentions of some types; of the same kind if they form whole groups."""
        chosen = check_types(types, self.types)
        whole = [group for group in self.groups if set(group) & set(chosen)]
        if not all(set(group) <= set(chosen) for group in whole):
            return Distribution.restrict(self, chosen)
        place = {kind: number for number, kind in enumerate(chosen)}
        groups = [[place[kind] for kind in group] for group in whole]
        return JointSegmentalHypergraph(self.scores.restrict(chosen), self.lengths, groups)

    def known_chains(self, marks: PartialMarks) -> np.ndarray:
        return marks.known_chains(self.lengths, *self.scores.close.shape[1:3])

    def tilted(self, weight: float) -> Self:
        edges = self.scores.edges
        branch = None if edges.branch is None else edges.branch + weight
        return self.with_scores(replace(self.scores, edges=replace(edges, close=edges.close + weight, branch=branch)))

    def expected_edges(self, teacher: Any, weights: Any = None) -> Any:
        raise self._not_supported("cross_entropy")

    # -- decoding, over arrays ---------------------------------------------------------------------------------------

    def _tables(self) -> list[GroupTables]:
        """The highest sums of each group; of arrays, they are kept."""
        if self._kept_tables is not None:
            return self._kept_tables
        scores = self.scores.map(to_numpy)
        made = [
            GroupTables.highest(group, scores.group(group, self._room), self._room, self.scores.close.shape[1])
            for group in self.groups
        ]
        if is_array(self.scores.close):
            self._kept_tables = made
        return made

    def best(self) -> Places:
        found: list[np.ndarray] = [np.zeros((0, 4), dtype=np.int64)]
        for table in self._tables():
            total = table.totals  # (R, 2^g)
            check_possible(np.where(self._room > 0, total.max(1), 0.0).reshape(*self.scores.close.shape[:2], 1))
            state = total.argmax(1)
            rows = np.nonzero((state > 0) & (self._room > 0))[0]
            picked = table.walk(rows, state[rows], lambda weights: weights.argmax(1))
            found.append(table.mentions(picked)[:, 1:])
        every = np.concatenate(found)
        return Places(every[np.lexsort(every.T[::-1])], np.zeros(len(every)))

    def leads(self) -> tuple[np.ndarray, np.ndarray]:
        totals = [table.totals for table in self._tables()]
        none = self._by_word([total[:, 0] for total in totals])
        with np.errstate(invalid="ignore"):
            leads = [total[:, 1:].max(1) - total[:, 0] for total in totals]
        return none, self._by_word(leads)

    def alternatives(self, sentence: int, units: np.ndarray, k: int) -> Sequence[Iterator[tuple[float, Mentions]]]:
        n, tables = self.scores.close.shape[1], self._tables()
        return [tables[unit].alternatives(sentence * n + start, start) for start, unit in units.tolist()]

    def draw(self, k: int, uniform: Uniform) -> list[list[MentionSet]]:
        samples: list[list[set[Mention]]] = [[set() for _ in range(k)] for _ in self.lengths]
        rows, room = self._rows()
        for group, scores in zip(self.groups, rows, strict=True):
            table = GroupTables.sums(group, scores, room, self.scores.close.shape[1])
            states = np.where(room[:, None] > 0, draw(table.totals, k, uniform), 0)  # (R, k)
            row, drawn = np.nonzero(states)
            for some in table.portions(len(row)):
                picked = table.walk(row[some], states[row[some], drawn[some]], lambda w: draw(w, 1, uniform)[:, 0])
                for entry, sentence, start, end, kind in table.mentions(picked).tolist():
                    samples[sentence][drawn[some][entry]].add((start, end, kind))
        return [list(map(frozenset, sets)) for sets in samples]
