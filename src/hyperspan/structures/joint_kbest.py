"""The k best mention sets when mentions that begin at the same word depend on each other.

Words and groups of types are independent, so only the k - 1 with the cheapest second best need to change, as in
:mod:`hyperspan.structures.units`. An A* search yields the alternatives of one of them, best first: the
priority of a partial choice, up to some width, is its score plus the best completion, which is known exactly.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, count, product

import numpy as np
from torch import Tensor

from hyperspan.kernels import joint
from hyperspan.kernels.joint import GroupScores
from hyperspan.structures.kbest import Alternatives, Choice, Mentions, cheapest_sets
from hyperspan.structures.mentions import MentionSet
from hyperspan.structures.segmental_chains import Chains, chain_alternatives

EVERY = 2**30
"""More alternatives than are ever needed."""
LocalChoice = tuple[tuple[int, ...], int, float]
"""The types that end, those that continue (as a bit set), and the score."""


@dataclass(eq=False)
class GroupTables:
    """The search tables of one group at some words, in float64."""

    types: Sequence[int]
    scores: GroupScores
    start: np.ndarray  # (R, 2^g): the score of the types that begin
    best: np.ndarray  # (R, c + 1, 2^g): the best that can follow, by width and active types
    log_partition: np.ndarray  # (R,)
    room: np.ndarray  # (R,): words to the end of the sentence
    # Kept without cached_property, whose lock a fork may leave locked (Python 3.11).
    _kept_arrays: list[np.ndarray | None] | None = field(default=None, init=False, repr=False)
    _kept_chains: tuple[np.ndarray, np.ndarray, np.ndarray] | None = field(default=None, init=False, repr=False)

    @classmethod
    def of(cls, types: Sequence[int], scores: GroupScores, room: Tensor, log_partition: Tensor) -> GroupTables:
        """The tables of some rows."""
        best = joint.highest_sums(scores, room)
        tensors = joint.start_scores(scores), best, log_partition, room
        return cls(types, scores, *(tensor.numpy(force=True) for tensor in tensors))

    @property
    def best_scores(self) -> np.ndarray:
        """(R,): the best score of each row."""
        return (self.start + self.best[:, 0]).max(1, initial=-np.inf)

    @property
    def _chains(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For one type: the scores of no mention (R,) and of each longest one (R, c), and the log-odds of shorter ones
        (R, c - 1)."""
        if self._kept_chains is not None:
            return self._kept_chains
        absent, present, extend, close, branch, *_ = self._arrays
        assert absent is not None and present is not None and extend is not None and close is not None
        last = None if branch is None else branch[..., 0]
        rows = Chains.of(self.room, absent[:, 0], present[:, 0], extend[..., 0], close[..., 0], last)
        self._kept_chains = rows.absent, rows.longest(maximum=True), rows.log_odds()
        return self._kept_chains

    def first_steps(self, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """For some rows, how much less the second-best set of starting types scores, and whether the best one is
        empty."""
        total = self.start[rows] + self.best[rows, 0]
        ranked = np.sort(total, axis=1)[:, ::-1]
        with np.errstate(invalid="ignore"):
            cost = ranked[:, 0] - ranked[:, 1]
        return np.where(np.isnan(cost), np.inf, cost), total.argmax(1) == 0

    def alternatives(self, row: int, word: int) -> Iterator[tuple[float, Mentions]]:
        """The alternatives of a row, which belongs to a word, as (cost, mentions), cheapest first; cost is minus
        score."""
        g = self.scores.close.shape[2]
        if g == 1:
            kind = self.types[0]
            absent, longest, log_odds = self._chains
            ways = chain_alternatives(float(absent[row]), longest[row], log_odds[row], EVERY)
            yield from ((cost, tuple((word, word + width + 1, kind) for width in widths)) for cost, widths in ways)
            return
        best, order = self.best[row], count()
        begin = ((float(self.start[row, state]), state) for state in range(2**g))
        heap: list[tuple[float, int, int, int, float, Mentions]] = [
            (-(score + float(best[0, state])), next(order), 0, state, score, ()) for score, state in begin
        ]
        heap = [entry for entry in heap if entry[0] < np.inf]
        heapq.heapify(heap)
        local: dict[tuple[int, int], list[LocalChoice]] = {}
        while heap:
            cost, _, width, state, score, taken = heapq.heappop(heap)
            if state == 0:
                yield cost, taken
                continue
            if (width, state) not in local:
                local[width, state] = list(self._choices(row, width, state))
            for ends, on, more in local[width, state]:
                reached = score + more
                following = -(reached + float(best[width + 1, on]))
                if following < np.inf:
                    mentions = tuple((word, word + width + 1, self.types[kind]) for kind in ends)
                    heapq.heappush(heap, (following, next(order), width + 1, on, reached, taken + mentions))

    @property
    def _arrays(self) -> list[np.ndarray | None]:
        if self._kept_arrays is None:
            self._kept_arrays = [None if one is None else one.numpy(force=True) for one in self.scores]
        return self._kept_arrays

    def _choices(self, row: int, width: int, state: int) -> Iterator[LocalChoice]:
        """The options of the active types at one width: which end, which continue, and the score."""
        _, _, extend, close, branch, together, within = self._arrays
        assert extend is not None and close is not None
        g, last = close.shape[2], width == close.shape[1] - 1
        active = [kind for kind in range(g) if state >> (g - 1 - kind) & 1]
        for digits in product((1,) if last else (1, 2, 3), repeat=len(active)):
            ends = tuple(kind for kind, digit in zip(active, digits, strict=True) if digit & 1)
            goes = [kind for kind, digit in zip(active, digits, strict=True) if digit & 2]
            score = sum(float(close[row, width, kind]) for kind in ends if branch is None or kind not in goes)
            score += sum(float(extend[row, width, kind]) for kind in goes if branch is None or kind not in ends)
            if branch is not None:
                score += sum(float(branch[row, width, kind]) for kind in goes if kind in ends)
            if together is not None:
                score += sum(float(together[row, width, k, other]) for k, other in combinations(ends, 2))
            if within is not None:
                score += sum(float(within[row, width, k, other]) for k in ends for other in goes if other != k)
            yield ends, sum(1 << (g - 1 - kind) for kind in goes), score


def best_sets(
    tables: Sequence[GroupTables], possible: Sequence[bool], lengths: Sequence[int], n: int, k: int
) -> list[list[tuple[MentionSet, float]]]:
    """The k most probable sets of each sentence with their log-probabilities, best first; none where none is
    possible."""
    with np.errstate(invalid="ignore"):  # -inf minus -inf, where nothing is possible
        lead = sum((table.best_scores - table.log_partition for table in tables), np.zeros(len(lengths) * n))
    result: list[list[tuple[MentionSet, float]]] = []
    for sentence, length in enumerate(lengths):
        if not possible[sentence]:
            result.append([])
            continue
        log_prob = float(lead[sentence * n : sentence * n + length].sum())
        choices = [choice for table in tables for choice in row_choices(table, sentence * n, length, k)]
        result.append([(some, min(log_prob - cost, 0.0)) for cost, some in cheapest_sets(choices, k)])
    return result


def row_choices(table: GroupTables, first: int, length: int, k: int) -> Iterator[Choice]:
    """The choices of one group at the words of a sentence, whose rows begin at `first`; the k - 1 cheapest steps
    suffice."""
    costs, empty = table.first_steps(slice(first, first + length))
    waiting: list[tuple[float, int]] = []
    for word, (cost, none) in enumerate(zip(costs.tolist(), empty.tolist(), strict=True)):
        if none:
            waiting.append((cost, word))
        else:  # the second best may begin with the same types
            yield Choice.of(table.alternatives(first + word, word))
    for cost, word in sorted(waiting)[: max(k - 1, 0)]:
        if cost < np.inf:
            yield Choice(cost, Alternatives(table.alternatives(first + word, word)))
