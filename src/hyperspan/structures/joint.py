"""The segmental hypergraph in which mentions that begin at the same word depend on each other.

In :class:`SegmentalHypergraph` the mentions of a type that begin at a word are a chain, and chains are independent.
Here the chains of one word and one group of types run jointly; see :mod:`hyperspan.kernels.joint_reference`. Words stay
independent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from hyperspan.kernels import joint, transfer
from hyperspan.kernels.joint import GroupScores
from hyperspan.kernels.numbers import MINUS_INFINITY, finite, inside, log_sum
from hyperspan.structures.common import check_possible, draw
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.distribution import Distribution, check_types, tensor_masks
from hyperspan.structures.edges import hyperpaths_of, path_scores
from hyperspan.structures.joint_kbest import GroupTables, best_sets
from hyperspan.structures.joint_rows import ending_probabilities, row_entropy, walk
from hyperspan.structures.joint_scores import JointScores, check_groups, pair_uses
from hyperspan.structures.mentions import Mention, MentionSet, MentionSets, check_mentions
from hyperspan.structures.places import Places, sets_of
from hyperspan.structures.scores import check_lengths
from hyperspan.structures.units import check_count

DRAW_PORTION = 2**22
"""The number of local choices to sample from at once."""


class JointSegmentalHypergraph(Distribution):
    """A distribution over the mention sets of each sentence of a padded batch: p(set) ∝ exp(sum of its edges' and
    pairs' scores).

    `groups` are lists of types that interact; None puts all types in one group. Scores of pairs across groups are
    ignored. Without pair scores this is the :class:`SegmentalHypergraph`. Everything is exact and takes O(n c 4^g) for
    the largest group of g types.

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

    def __init__(
        self,
        scores: JointScores,
        lengths: Tensor | Sequence[int],
        groups: Iterable[Iterable[int]] | None = None,
    ):
        batch, n, c, m = scores.close.shape
        self.scores = scores
        self.lengths = check_lengths(lengths, batch, n)
        self.max_width, self.types = c, m
        self.groups = check_groups(groups, m)
        self._kept_room: Tensor | None = None

    def _like(self, scores: JointScores) -> JointSegmentalHypergraph:
        return JointSegmentalHypergraph(scores, self.lengths, self.groups)

    def _in_float64(self) -> JointSegmentalHypergraph:
        return self._like(self.scores.in_float64())

    @property
    def _room(self) -> Tensor:
        """(B * n,): the number of words from each word to the end of its sentence; 0 in padding."""
        if self._kept_room is None:  # no cached_property, whose lock a fork may leave locked (Python 3.11)
            close = self.scores.close
            with torch.inference_mode(False):  # what is asked later may need gradients
                known = transfer.lengths_on(self.lengths, close.device)
                words = torch.arange(close.shape[1], device=close.device)
                self._kept_room = (known[:, None] - words).clamp(min=0).flatten()
        return self._kept_room

    def _groups(self) -> list[GroupScores]:
        return [self.scores.group(group, self._room) for group in self.groups]

    def _by_start(self, values: Sequence[Tensor]) -> Tensor:
        """A value for each row of each group -> (B, n, groups)"""
        batch, n, *_ = self.scores.close.shape
        if not values:
            return self.scores.close.new_zeros(batch, n, 0)
        return torch.stack(list(values), dim=1).view(batch, n, len(values))

    # -- probabilities --------------------------------------------------------------------------------------------

    @property
    def group_log_partition(self) -> Tensor:
        """(B, n, groups): the log-partition of all mentions of a group that begin at a word; 0 in padding."""
        return self._by_start([joint.log_partition(group, self._room) for group in self._groups()])

    @property
    def log_partition(self) -> Tensor:
        return self.group_log_partition.sum((1, 2))

    def log_prob(self, mention_sets: MentionSets) -> Tensor:
        """(B,): the log-probability of one mention set per sentence; -inf for a set with a mention wider than c."""
        sets = check_mentions(mention_sets, self.lengths, self.types)
        total = self.group_log_probs(sets).clamp(max=0.0).sum((1, 2))
        too_wide = [any(end - start > self.max_width for start, end, _ in some) for some in sets]
        if not any(too_wide):
            return total
        return total.masked_fill(torch.tensor(too_wide, device=total.device), MINUS_INFINITY)

    def group_log_probs(self, sets: Sequence[set[Mention]]) -> Tensor:
        """(B, n, groups): the log-probability of each group's mentions at each word; mentions wider than c are left
        out."""
        edges, device = self.scores.edges, self.scores.close.device
        paths = hyperpaths_of(sets, self.max_width, edges.close)
        group_of = self._group_of
        # Subtract per group and word, so that large scores cancel before summing.
        per_chain = path_scores(edges, paths)  # (B, n, m)
        batch, n, _ = per_chain.shape
        index = torch.tensor(group_of, dtype=torch.long, device=device)
        total = per_chain.new_zeros(batch, n, len(self.groups)).index_add(2, index, per_chain)
        together, within = pair_uses(sets, group_of, self.max_width, device)
        for tensor, rows in ((self.scores.together, together), (self.scores.within, within)):
            if tensor is not None:
                place = (rows[0] * n + rows[1]) * len(self.groups) + index[rows[3]]
                total = total.flatten().index_add(0, place, tensor[tuple(rows)]).view(batch, n, len(self.groups))
        return self._relative(total, self.group_log_partition)

    @property
    def _group_of(self) -> list[int]:
        place = {kind: number for number, group in enumerate(self.groups) for kind in group}
        return [place[kind] for kind in range(self.types)]

    def _relative(self, values: Tensor, total: Tensor) -> Tensor:
        found = (values - finite(total)).masked_fill(total == MINUS_INFINITY, MINUS_INFINITY)
        return found.masked_fill(~inside(self.lengths, total, 1)[:, :, 0], 0.0)

    def log_prob_of_known(self, gold: Sequence[set[Mention]], marks: PartialMarks | None) -> Tensor:
        if marks is None:
            return self.log_prob(gold)
        _, n, c, _ = self.scores.close.shape
        required, forbidden = (torch.from_numpy(mask).to(self.scores.close.device) for mask in marks.masks(gold, n, c))
        return self._log_prob_given(required, forbidden)

    def _log_prob_given(self, required: Tensor, forbidden: Tensor) -> Tensor:
        given = self._like(self.scores.given(required, forbidden)).group_log_partition
        per_group = self._relative(given, self.group_log_partition)
        known = (required | forbidden).any(2)  # (B, n, m)
        unknown = torch.stack([~known[..., list(group)].any(2) for group in self.groups], dim=2)
        # Rounding may put the log-probability of an almost certain choice slightly above 0.
        return per_group.masked_fill(unknown, 0.0).clamp(max=0.0).sum((1, 2))

    @property
    def marginals(self) -> Tensor:
        differentiable = self.scores.needs_gradient
        found = [ending_probabilities(one, self._room, differentiable=differentiable) for one in self._groups()]
        return self._by_type(found, self.scores.close)

    def _by_type(self, found: Sequence[Tensor], like: Tensor) -> Tensor:
        """(R, c, g) for each group -> (B, n, c, m)"""
        if not found:
            return torch.zeros_like(like)
        order = [kind for group in self.groups for kind in group]
        back = sorted(range(len(order)), key=order.__getitem__)
        return torch.cat(list(found), dim=2)[..., back].view(like.shape)

    @property
    def entropy(self) -> Tensor:
        exact = self._in_float64()
        found = [row_entropy(scores, exact._room) for scores in exact._groups()]
        return self._by_start(found).sum((1, 2)).to(self.scores.close)

    # -- given, and of some types ---------------------------------------------------------------------------------

    def condition(
        self, require: MentionSets | None = None, forbid: MentionSets | None = None
    ) -> JointSegmentalHypergraph:
        """The distribution given that some mentions are in the set and others are not.

        Each argument is a collection of mentions per sentence.
        """
        return self._like(self.scores.given(*tensor_masks(require, forbid, self.lengths, self.scores.close)))

    def constraint_log_prob(self, require: MentionSets | None = None, forbid: MentionSets | None = None) -> Tensor:
        return self._log_prob_given(*tensor_masks(require, forbid, self.lengths, self.scores.close))

    def restrict(self, types: Sequence[int]) -> Distribution:
        """The distribution over only the mentions of some types; of the same kind if they form whole groups."""
        chosen = check_types(types, self.types)
        whole = [group for group in self.groups if set(group) & set(chosen)]
        if not all(set(group) <= set(chosen) for group in whole):
            return super().restrict(chosen)
        place = {kind: number for number, kind in enumerate(chosen)}
        groups = [[place[kind] for kind in group] for group in whole]
        return JointSegmentalHypergraph(self.scores.restrict(chosen), self.lengths, groups)

    def known_chains(self, marks: PartialMarks) -> np.ndarray:
        return marks.known_chains(self.lengths, *self.scores.close.shape[1:3])

    # -- decoding -------------------------------------------------------------------------------------------------

    def argmax(self) -> list[MentionSet]:
        """The most probable set of each sentence; ties go to the choice with fewer mentions."""
        rows = self.best_rows()
        return sets_of(Places(rows, np.zeros(len(rows))), len(self.lengths))

    @torch.no_grad()
    def best_rows(self) -> np.ndarray:
        if self.scores.close.device.type != "cpu":  # one C pass on the CPU is faster than hundreds of kernel launches
            return self._like(self.scores.to("cpu")).best_rows()
        found: list[np.ndarray] = []
        for group, scores in zip(self.groups, self._groups(), strict=True):
            found.append(self._mentions(group, self._best_of(scores))[:, 1:])
        rows = np.concatenate(found) if found else np.zeros((0, 4), dtype=np.int64)
        return rows[np.lexsort(rows.T[::-1])]

    def _best_of(self, scores: GroupScores) -> Tensor:
        """(mentions, 4): the best mentions of a group, as :func:`walk` finds them."""
        sums = joint.highest_sums(scores, self._room).unbind(1)
        best, state = (joint.start_scores(scores) + sums[0]).max(1)
        self._check_possible(best)
        rows = ((state > 0) & (self._room > 0)).nonzero()[:, 0]
        return walk(scores, sums, rows, state[rows], lambda weights: weights.argmax(1))

    def _check_possible(self, value: Tensor) -> None:
        """Raise an error unless every row has a possible choice: `value` is its best or total score."""
        known = value.masked_fill(self._room <= 0, 0.0).view(self.scores.close.shape[:2])
        check_possible(known.amin(1) if known.shape[1] else known.new_zeros(len(known)))

    def _mentions(self, group: Sequence[int], found: Tensor) -> np.ndarray:
        """(mentions, 5): entry, sentence, start, end and type of what :func:`walk` finds."""
        entry, row, width, place = found.cpu().numpy().T
        start = row % max(self.scores.close.shape[1], 1)
        sentence = row // max(self.scores.close.shape[1], 1)
        return np.stack([entry, sentence, start, start + width + 1, np.array(group, dtype=np.int64)[place]], axis=1)

    @torch.no_grad()
    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
        """The k most probable sets of each sentence with their log-probabilities, best first; fewer when fewer exist.

        Words and groups are independent. The choices of a word and group are found lazily, best first, by a search
        guided by the best possible completion.
        """
        check_count(k)
        exact = self._in_float64()
        tables = exact._tables()
        possible = (exact.log_partition > MINUS_INFINITY).tolist()
        return best_sets(tables, possible, self.lengths, self.scores.close.shape[1], k)

    def _tables(self) -> list[GroupTables]:
        """The tables of each group that the search for the best sets uses."""
        found: list[GroupTables] = []
        for group, scores in zip(self.groups, self._groups(), strict=True):
            total = joint.log_partition(scores, self._room)
            if bool(total.isnan().any()):
                self._check_possible(total)
            found.append(GroupTables.of(group, scores, self._room, total))
        return found

    @torch.no_grad()
    def sample(self, k: int = 1, generator: torch.Generator | None = None) -> list[list[MentionSet]]:
        check_count(k)
        exact = self._in_float64()
        samples: list[list[set[Mention]]] = [[set() for _ in range(k)] for _ in self.lengths]
        for group, scores in zip(exact.groups, exact._groups(), strict=True):
            sums = list(joint.inward(scores, exact._room))[::-1]
            total = joint.start_scores(scores) + sums[0]
            exact._check_possible(log_sum(total, 1))
            states = draw(total, k, generator).masked_fill((exact._room <= 0)[:, None], 0)  # (R, k)
            rows, draws = states.nonzero(as_tuple=True)
            size = max(1, DRAW_PORTION // 4 ** len(group))
            for first in range(0, len(rows), size):
                some = slice(first, first + size)
                picked = walk(
                    scores, sums, rows[some], states[rows[some], draws[some]], lambda w: draw(w, 1, generator)[:, 0]
                )
                found = exact._mentions(group, picked)
                for entry, sentence, start, end, kind in found.tolist():
                    samples[sentence][draws[first + entry]].add((start, end, kind))
        return [list(map(frozenset, drawn)) for drawn in samples]
