"""What is read off the sums that follow each set of active types: walks through the widths, which find the best
mentions and samples, and the alternatives of a word, best first. NumPy, without torch.

:mod:`hyperspan.kernels.joint` defines these sums.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, count, product
from typing import Self

import numpy as np

from hyperspan.kernels import joint
from hyperspan.kernels.joint import GroupScores
from hyperspan.kernels.numbers import MINUS_INFINITY, finite
from hyperspan.structures.kbest import Mentions
from hyperspan.structures.units import Uniform

DRAW_PORTION = 2**22
"""The number of local choices to sample from at once."""
Pick = Callable[[np.ndarray], np.ndarray]
"""Choose one of (entries, choices) by log-weight."""
LocalChoice = tuple[tuple[int, ...], int, float]
"""The types that end, those that continue (as a bit set), and the score."""


@dataclass(eq=False)
class GroupTables:
    """The scores of one group, row by row, and the sums of what follows."""

    types: Sequence[int]
    scores: GroupScores
    following: np.ndarray
    """(R, c + 1, 2^g): the sum of what can follow or the highest one, by width and active types: β_0, …, β_c."""
    n: int
    """The number of rows of a sentence."""

    @classmethod
    def highest(cls, types: Sequence[int], scores: GroupScores, room: np.ndarray, n: int) -> Self:
        return cls(types, scores, joint.highest_sums(scores, room), n)

    @classmethod
    def sums(cls, types: Sequence[int], scores: GroupScores, room: np.ndarray, n: int) -> Self:
        return cls(types, scores, np.stack(list(joint.inward(scores, room))[::-1], axis=1), n)

    @property
    def totals(self) -> np.ndarray:
        """(R, 2^g): the score of each set of types of which a mention begins, with what follows."""
        return joint.start_scores(self.scores) + self.following[:, 0]

    # -- walks -------------------------------------------------------------------------------------------------------

    def walk(self, rows: np.ndarray, states: np.ndarray, pick: Pick) -> np.ndarray:
        """(mentions, 4): for entries that begin at `rows` with active types `states`, their mentions as (entry, row,
        width, place of the type)."""
        choices = joint.choices_of(len(self.types), rows)
        entries = np.arange(len(rows))
        found = [np.zeros((0, 4), dtype=np.int64)]
        for width in range(self.scores.close.shape[1]):
            if not len(rows):
                break
            here, after = self.following[rows, width], self.following[rows, width + 1]
            weights = joint.conditional(self.scores.rows(rows), width, here, after)
            picked = pick(np.where(choices.active == states[:, None], weights, MINUS_INFINITY))
            entry, kind = choices.ends[picked].nonzero()
            found.append(np.stack([entries[entry], rows[entry], np.full_like(entry, width), kind], axis=1))
            states = choices.on[picked]
            kept = states > 0
            rows, states, entries = rows[kept], states[kept], entries[kept]
        return np.concatenate(found)

    def portions(self, entries: int) -> Iterator[slice]:
        """Slices of entries to walk at once."""
        size = max(1, DRAW_PORTION // 4 ** len(self.types))
        return (slice(first, first + size) for first in range(0, entries, size))

    def mentions(self, found: np.ndarray) -> np.ndarray:
        """(mentions, 5): entry, sentence, start, end and type of what :meth:`walk` finds."""
        entry, row, width, place = found.T
        sentence, start = np.divmod(row, max(self.n, 1))
        return np.stack(
            [entry, sentence, start, start + width + 1, np.array(self.types, dtype=np.int64)[place]], axis=1
        )

    # -- the alternatives of a row -----------------------------------------------------------------------------------

    def alternatives(self, row: int, word: int) -> Iterator[tuple[float, Mentions]]:
        """The alternatives of a row, which belongs to a word, as (cost, mentions), cheapest first; cost is minus score.

        An A* search: the priority of a partial choice, up to some width, is its score plus the best completion, which
        is known exactly.
        """
        best, order = self.following[row], count()
        begin = enumerate(joint.start_scores(self.scores.rows(slice(row, row + 1)))[0].tolist())
        heap: list[tuple[float, int, int, int, float, Mentions]] = [
            (-(score + float(best[0, state])), next(order), 0, state, score, ()) for state, score in begin
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

    def _choices(self, row: int, width: int, state: int) -> Iterator[LocalChoice]:
        """The options of the active types at one width: which end, which continue, and the score."""
        _, _, extend, close, branch, together, within = self.scores
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


def draw(log_weights: np.ndarray, draws: int, uniform: Uniform) -> np.ndarray:
    """(rows, choices) -> (rows, draws): independent choices, each in proportion to exp(log_weight).

    Where no choice is possible, the result is meaningless.
    """
    weights = np.exp(log_weights - finite(log_weights.max(1, keepdims=True)))
    reached = weights.cumsum(1)
    level = uniform(len(weights), draws) * reached[:, -1:]
    # Take the first choice whose cumulative weight exceeds the level; a choice of weight 0 never does so first.
    if draws == 1:
        chosen = (reached <= level).sum(1, keepdims=True)
    else:
        rows = [np.searchsorted(row, own, side="right") for row, own in zip(reached, level, strict=True)]
        chosen = np.array(rows, dtype=np.int64).reshape(len(weights), draws)
    return np.minimum(chosen, weights.shape[1] - 1)
