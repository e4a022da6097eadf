"""The k best mention sets where mentions that begin at one word depend on each other.

Words and groups of types are independent, so that the k - 1 whose second best costs least more than their best suffice, as for
:mod:`hyperspan.structures.segmental_kbest`. What one of them can have comes best first from a search (A*): a partial choice, up to some
width, is as good as its score and the best that can follow, which is known exactly.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import chain, count, islice
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from hyperspan.kernels import joint
from hyperspan.kernels.joint_reference import GroupScores, choices_of, local_scores
from hyperspan.structures.kbest import Alternatives, cheapest_combinations
from hyperspan.structures.mentions import Mention, MentionSet

Mentions = tuple[Mention, ...]


@dataclass(frozen=True)
class GroupTables:
    """What the search knows of one group at each of some words, in float64."""

    types: Sequence[int]
    scores: GroupScores
    start: np.ndarray  # (R, 2^g): the score of the types that begin
    best: np.ndarray  # (R, c + 1, 2^g): the best that can follow, by width and active types
    log_partition: np.ndarray  # (R,)

    @classmethod
    def of(cls, types: Sequence[int], scores: GroupScores, room: Tensor, log_partition: Tensor) -> GroupTables:
        """The tables of some rows."""
        best = torch.stack(list(joint.inward(scores, room, joint.highest))[::-1], dim=1)
        tensors = joint.start_scores(scores), best, log_partition
        return cls(types, scores, *(tensor.numpy(force=True) for tensor in tensors))

    @property
    def best_scores(self) -> np.ndarray:
        """(R,): that of the best that a row can have."""
        return (self.start + self.best[:, 0]).max(1, initial=-np.inf)

    def first_steps(self, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """For some rows, how much less their second best set of beginning types scores; and whether the best is empty."""
        total = self.start[rows] + self.best[rows, 0]
        ranked = np.sort(total, axis=1)[:, ::-1]
        with np.errstate(invalid="ignore"):
            cost = ranked[:, 0] - ranked[:, 1]
        return np.where(np.isnan(cost), np.inf, cost), total.argmax(1) == 0

    def alternatives(self, row: int, word: int) -> Iterator[tuple[float, Mentions]]:
        """What a row, which is that of a word, can have as (cost, mentions), cheapest first; cost is minus score."""
        g = self.scores.close.shape[2]
        one = self.scores.rows(slice(row, row + 1))
        choices = choices_of(g, self.scores.close.device)
        active, on, ends = (tensor.numpy(force=True) for tensor in (choices.active, choices.on, choices.ends))
        local: dict[int, np.ndarray] = {}
        best, order = self.best[row], count()
        begin = ((float(self.start[row, state]), state) for state in range(2**g))
        heap: list[tuple[float, int, int, int, float, Mentions]] = [
            (-(score + float(best[0, state])), next(order), 0, state, score, ()) for score, state in begin
        ]
        heap = [entry for entry in heap if entry[0] < np.inf]
        heapq.heapify(heap)
        while heap:
            cost, _, width, state, score, taken = heapq.heappop(heap)
            if state == 0:
                yield cost, taken
                continue
            if width not in local:
                local[width] = local_scores(one, width)[0].numpy(force=True)
            for choice in np.flatnonzero(active == state).tolist():
                reached = score + float(local[width][choice])
                following = -(reached + float(best[width + 1, on[choice]]))
                if following < np.inf:
                    more = tuple((word, word + width + 1, self.types[kind]) for kind in np.flatnonzero(ends[choice]))
                    heapq.heappush(heap, (following, next(order), width + 1, int(on[choice]), reached, taken + more))


class Choice(NamedTuple):
    """What is independent of all else: how much its second best costs more than its best, and all that it can have."""

    first_step: float
    alternatives: Alternatives[Mentions]

    @classmethod
    def of(cls, ranked: Iterator[tuple[float, Mentions]]) -> Choice:
        """The choice among alternatives."""
        found = Alternatives(ranked)
        first, second = found.get(0), found.get(1)
        return cls(np.inf if first is None or second is None else second[0] - first[0], found)


def best_sets(
    tables: Sequence[GroupTables], possible: Sequence[bool], lengths: Sequence[int], n: int, k: int
) -> list[list[tuple[MentionSet, float]]]:
    """The k most probable sets of each sentence with their log-probabilities, best first; none where none is possible."""
    with np.errstate(invalid="ignore"):  # -inf less -inf, where nothing is possible
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


def row_choices(
    table: GroupTables, first: int, length: int, k: int, skipped: Set[int] = frozenset()
) -> Iterator[Choice]:
    """The choices of one group at the words of a sentence, whose rows begin at `first`; of those with cheap steps k - 1 suffice."""
    costs, empty = table.first_steps(slice(first, first + length))
    waiting: list[tuple[float, int]] = []
    for word, (cost, none) in enumerate(zip(costs.tolist(), empty.tolist(), strict=True)):
        if word in skipped:
            continue
        if none:
            waiting.append((cost, word))
        else:  # the second best may begin with the same types
            yield Choice.of(table.alternatives(first + word, word))
    for cost, word in sorted(waiting)[: max(k - 1, 0)]:
        if cost < np.inf:
            yield Choice(cost, Alternatives(table.alternatives(first + word, word)))


def cheapest_sets(choices: Sequence[Choice], k: int) -> Iterator[tuple[float, MentionSet]]:
    """The k best sets of independent choices as (cost above the best, set), best first."""
    firsts = [(choice.alternatives.get(0) or (0.0, ()))[1] for choice in choices]
    best = frozenset(chain.from_iterable(firsts))
    order = sorted(range(len(choices)), key=lambda index: choices[index].first_step)[: max(k - 1, 0)]
    chosen = [index for index in order if choices[index].first_step < np.inf]
    for cost, changed in islice(cheapest_combinations([choices[index].alternatives for index in chosen]), k):
        dropped = chain.from_iterable(firsts[chosen[place]] for place in changed)
        added = chain.from_iterable(changed.values())
        yield cost, best.difference(dropped).union(added)
