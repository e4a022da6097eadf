"""Trees of nested mentions one by one: the k best, and samples. The recursion is that of constituency.py."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import pad

from hyperspan.kernels.numerics import MINUS_INFINITY
from hyperspan.structures.common import largest
from hyperspan.structures.scores import Mention, MentionSet

Part = Literal["top", "sequence", "inner", "mention"]


class BestTrees:
    """The k best trees of each sentence of a batch; `scores` (B, n, c, m) and `outside` (B, n) come without padding.

    For all spans of a width at once, the k best ways are the best of the combinations of k best parts. Of two parts, ranks r
    and s (from 0) can be among the k best only if (r + 1)(s + 1) <= k.
    """

    def __init__(self, scores: Tensor, outside: Tensor, k: int):
        batch, n, c, m = scores.shape
        self.k, self.c = k, c if m else 0
        self._left, self._right = _pairs(k, k, k)
        self._type_rank, self._inner_rank = _pairs(min(m, k), k, k)
        # Where each of the k best came from, as an index into its candidates; by width, and at the top by end.
        self._sources: dict[tuple[Part, int], Tensor] = {}
        self._types: dict[int, Tensor] = {}
        nothing = pad(scores.new_zeros(batch, n + 1, 1, 1), (0, k - 1), value=MINUS_INFINITY)
        sequence, mention = nothing, nothing[:, :, :0]  # as in constituency.py, with k values in place of a sum
        for width in range(1, self.c + 1):
            starts = n - width + 1
            split = self._join(sequence[:, :starts, 1:], mention[:, width:])
            inner = self._keep("inner", width, torch.cat([sequence[:, :starts, -1], split], dim=2))
            best_types, self._types[width] = scores[:, :starts, width - 1].topk(min(m, k), dim=2)
            typed = best_types[..., self._type_rank] + inner[..., self._inner_rank]
            whole = self._keep("mention", width, typed)
            either = self._keep("sequence", width, torch.cat([inner, whole], dim=2))
            sequence = torch.cat([sequence, pad(either, (0, 0, 0, width), value=MINUS_INFINITY)[:, :, None]], dim=2)
            mention = torch.cat([pad(whole, (0, 0, width, 0), value=MINUS_INFINITY)[:, :, None], mention], dim=2)
        self._top = [nothing[:, 0, 0]]  # (B, k) by end
        for end in range(1, n + 1):
            words = min(self.c, end)
            before = torch.stack(self._top[end - words :], dim=1) if words else nothing[:, 0, :0]
            split = self._join(before, mention[:, end, self.c - words :])
            after_word = self._top[-1] + outside[:, end - 1, None]
            self._top.append(self._keep("top", end, torch.cat([after_word, split], dim=1)))
        self._sources = {place: source.cpu() for place, source in self._sources.items()}
        self._types = {width: kinds.cpu() for width, kinds in self._types.items()}

    def _join(self, left: Tensor, right: Tensor) -> Tensor:
        """(…, splits, k) twice -> (…, splits * pairs): what is left of each split, with a mention on its right."""
        return (left[..., self._left] + right[..., self._right]).flatten(-2)

    def _keep(self, part: Part, place: int, candidates: Tensor) -> Tensor:
        """(…, candidates) -> (…, k): the best of them; where they stood is noted."""
        best, source = (
            found.view(*candidates.shape[:-1], self.k) for found in largest(candidates.flatten(0, -2), self.k)
        )
        self._sources[part, place] = source
        return best

    def values(self, lengths: Sequence[int]) -> Tensor:
        """(B, k): the scores of each sentence's best trees, best first; -inf where there are fewer than k."""
        top = torch.stack(self._top, dim=1)  # (B, n + 1, k)
        return top[torch.arange(len(lengths), device=top.device), torch.tensor(lengths, device=top.device).long()]

    def read(self, sentence: int, length: int, rank: int) -> MentionSet:
        """The mentions of a sentence's tree of this rank."""
        mentions: set[Mention] = set()
        todo: list[tuple[Part, int, int, int]] = [("top", 0, length, rank)]
        while todo:
            part, start, end, rank = todo.pop()
            if start == end:
                continue
            row = self._sources[part, end if part == "top" else end - start][sentence]
            source = int(row[rank] if part == "top" else row[start, rank])
            if part == "sequence":
                todo.append(("inner" if source < self.k else "mention", start, end, source % self.k))
            elif part == "mention":
                kind = self._types[end - start][sentence, start, self._type_rank[source]]
                mentions.add((start, end, int(kind)))
                todo.append(("inner", start, end, self._inner_rank[source]))
            elif source < self.k:
                todo.append(("top" if part == "top" else "sequence", start, end - 1, source))
            else:
                split, pair = divmod(source - self.k, len(self._left))
                first = end - min(self.c, end) + split if part == "top" else start + 1 + split
                todo.append(("top" if part == "top" else "sequence", start, first, self._left[pair]))
                todo.append(("mention", first, end, self._right[pair]))
        return frozenset(mentions)


def _pairs(lefts: int, rights: int, k: int) -> tuple[list[int], list[int]]:
    """The ranks of two parts whose combination can be among the k best, as two lists."""
    pairs = [(r, s) for r in range(min(lefts, k)) for s in range(min(rights, k // (r + 1)))]
    return [r for r, _ in pairs], [s for _, s in pairs]


class TreeSampler:
    """Draws the mention sets of one sentence from the top down; what can be chosen at a place is worked out once.

    `sequence[i][w]` is the log-sum over the w words from i on, `mention[j][-w]` over mentions of the w words up to j.
    """

    def __init__(
        self,
        scores: list[list[list[float]]],
        outside: list[float],
        *,
        sequence: list[list[float]],
        mention: list[list[float]],
        top: list[float],
    ):
        self.scores, self.outside = scores, outside
        self.sequence, self.mention, self.top = sequence, mention, top
        self._cumulative: dict[tuple[Part, int, int], list[float]] = {}

    def draw(self, length: int, uniform: Iterable[float]) -> MentionSet:
        """One set, from numbers between 0 and 1: one for each word, and two for each mention, are always enough."""
        numbers = iter(uniform)
        mentions: set[Mention] = set()
        todo: list[tuple[Part, int, int]] = [("top", 0, length)]
        while todo:
            part, start, end = todo.pop()
            if start == end:
                continue
            outer: Part = "top" if part == "top" else "sequence"
            words = self._choose(part, start, end, self._last_items, next(numbers))
            if words == 0:
                todo.append((outer, start, end - 1))
                continue
            first = end - words
            mentions.add((first, end, self._choose("mention", first, end, self._kinds, next(numbers))))
            todo.append((outer, start, first))
            todo.append(("inner", first, end))
        return frozenset(mentions)

    def _choose(
        self, part: Part, start: int, end: int, log_weights: Callable[[Part, int, int], list[float]], number: float
    ) -> int:
        place = (part, start, end)
        if place not in self._cumulative:
            weights = log_weights(*place)
            pivot = max(weights)
            self._cumulative[place] = list(itertools.accumulate(math.exp(weight - pivot) for weight in weights))
        cumulative = self._cumulative[place]
        return bisect.bisect_right(cumulative, number * cumulative[-1], hi=len(cumulative) - 1)

    def _kinds(self, part: Part, start: int, end: int) -> list[float]:
        return self.scores[start][end - start - 1]

    def _last_items(self, part: Part, start: int, end: int) -> list[float]:
        """The log-weight of a word as the last item, and of mentions of 1, 2, … words."""
        mention = self.mention[end]
        if part == "top":
            widest = min(len(mention), end)
            ending = [self.top[end - words] + mention[-words] for words in range(1, widest + 1)]
            return [self.top[end - 1] + self.outside[end - 1], *ending]
        widest = end - start if part == "sequence" else end - start - 1
        before = self.sequence[start]
        return [before[end - start - 1], *(before[end - start - w] + mention[-w] for w in range(1, widest + 1))]
