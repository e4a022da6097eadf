"""The k best mention sets where mentions that begin at one word depend on each other.

Words and groups of types are independent, so that the k - 1 whose second best costs least more than their best suffice, as for
:mod:`hyperspan.structures.segmental_kbest`. What one of them can have comes best first from a search (A*): a partial choice, up to some
width, is as good as its score and the best that can follow, which is known exactly.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import chain, count, islice
from typing import NamedTuple

import numpy as np
from torch import Tensor

from hyperspan.kernels.joint_reference import GroupScores, choices_of, local_scores
from hyperspan.structures.kbest import Alternatives, cheapest_combinations
from hyperspan.structures.mentions import Mention, MentionSet

Ends = tuple[tuple[int, int], ...]
"""(width, place of the type in its group) of the mentions that begin at a word."""


class GroupTables(NamedTuple):
    """What the search knows of one group at every word of a batch, in float64."""

    types: Sequence[int]
    scores: GroupScores
    start: np.ndarray  # (R, 2^g): the score of the types that begin
    best: np.ndarray  # (R, c + 1, 2^g): the best that can follow, by width and active types
    log_partition: np.ndarray  # (R,)
    room: np.ndarray  # (R,)

    @classmethod
    def of(
        cls, types: Sequence[int], scores: GroupScores, start: Tensor, best: Tensor, log_partition: Tensor, room: Tensor
    ) -> GroupTables:
        """The same from tensors."""
        return cls(types, scores, *(tensor.numpy(force=True) for tensor in (start, best, log_partition, room)))

    def second_costs(self, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """For some rows, how much less their second best set of beginning types scores; and whether the best is empty."""
        total = self.start[rows] + self.best[rows, 0]
        ranked = np.sort(total, axis=1)[:, ::-1]
        with np.errstate(invalid="ignore"):
            cost = ranked[:, 0] - ranked[:, 1]
        return np.where(np.isnan(cost), np.inf, cost), total.argmax(1) == 0

    def alternatives(self, row: int) -> Iterator[tuple[float, Ends]]:
        """What a word can have as (cost, mentions), cheapest first; cost is minus score."""
        g = self.scores.close.shape[2]
        one = self.scores.rows(slice(row, row + 1))
        choices = choices_of(g, self.scores.close.device)
        active, on, ends = (tensor.numpy(force=True) for tensor in (choices.active, choices.on, choices.ends))
        with_active = [np.flatnonzero(active == state) for state in range(2**g)]
        types_ending = [tuple(np.flatnonzero(which).tolist()) for which in ends]
        local: dict[int, np.ndarray] = {}
        best, order = self.best[row], count()
        heap: list[tuple[float, int, int, int, float, Ends]] = []
        for state in range(2**g):
            score = float(self.start[row, state])
            heap.append((-(score + float(best[0, state])), next(order), 0, state, score, ()))
        heap = [entry for entry in heap if entry[0] < np.inf]
        heapq.heapify(heap)
        while heap:
            cost, _, width, state, score, taken = heapq.heappop(heap)
            if state == 0:
                yield cost, taken
                continue
            if width not in local:
                local[width] = local_scores(one, width)[0].numpy(force=True)
            for choice in with_active[state].tolist():
                reached = score + float(local[width][choice])
                following = -(reached + float(best[width + 1, on[choice]]))
                if following < np.inf:
                    more = tuple((width, place) for place in types_ending[choice])
                    heapq.heappush(heap, (following, next(order), width + 1, int(on[choice]), reached, taken + more))


def best_sets(
    tables: Sequence[GroupTables], best: Sequence[MentionSet | None], lengths: Sequence[int], n: int, k: int
) -> list[list[tuple[MentionSet, float]]]:
    """The k most probable sets of each sentence with their log-probabilities, best first; none where `best` is None."""
    result: list[list[tuple[MentionSet, float]]] = []
    for sentence, (length, top) in enumerate(zip(lengths, best, strict=True)):
        if top is None:
            result.append([])
            continue
        rows = slice(sentence * n, sentence * n + length)
        log_prob = sum(
            float(((table.start + table.best[:, 0])[rows].max(1, initial=-np.inf) - table.log_partition[rows]).sum())
            for table in tables
        )
        sets = _cheapest_sets(tables, rows, top, k)
        result.append([(mentions, min(log_prob - cost, 0.0)) for cost, mentions in sets])
    return result


def _cheapest_sets(
    tables: Sequence[GroupTables], rows: slice, best: MentionSet, k: int
) -> Iterator[tuple[float, MentionSet]]:
    """The k best sets of a sentence as (cost above the best, set), best first."""
    candidates: list[tuple[float, int, int, Alternatives[Ends]]] = []
    for number, table in enumerate(tables):
        costs, empty = table.second_costs(rows)
        for place, (cost, none) in enumerate(zip(costs.tolist(), empty.tolist(), strict=True)):
            found = Alternatives(table.alternatives(rows.start + place))
            if not none:  # the second best may begin with the same types
                first, second = found.get(0), found.get(1)
                cost = np.inf if first is None or second is None else second[0] - first[0]
            if cost < np.inf:
                candidates.append((cost, number, place, found))
    chosen = sorted(candidates, key=lambda candidate: candidate[:3])[: max(k - 1, 0)]

    def mentions(index: int, ends: Ends) -> list[Mention]:
        _, number, start, _ = chosen[index]
        return [(start, start + width + 1, tables[number].types[place]) for width, place in ends]

    before = [(found.get(0) or (0.0, ()))[1] for *_, found in chosen]
    for cost, changed in islice(cheapest_combinations([found for *_, found in chosen]), k):
        dropped = chain.from_iterable(mentions(index, before[index]) for index in changed)
        added = chain.from_iterable(mentions(index, ends) for index, ends in changed.items())
        yield cost, best.difference(dropped).union(added)
