"""The recursion of constituency.py over all spans of a sentence: log-sums, the k best trees, and samples."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import pad

from hyperspan.kernels.numerics import MINUS_INFINITY, log_sum
from hyperspan.structures.common import largest
from hyperspan.structures.mentions import Mention, MentionSet

Part = Literal["top", "sequence", "inner", "mention"]


class TreeChart:
    """Log-sums over all ways to cover some words, k = 1 value each; `scores` (B, n, c, m) and `outside` (B, n) must be
    free of padding.

    They are -inf where nothing can cover the words, and where there are no such words.
    """

    sequence: Tensor  # (B, n + 1, c + 1, k): by start and number of words
    mention: Tensor  # (B, n + 1, c, k): by *end* and number of words, the widest first
    top: Tensor  # (B, n + 1, k): by end

    def __init__(self, scores: Tensor, outside: Tensor, k: int = 1):
        batch, n, c, m = scores.shape
        self.k, self.c = k, c if m else 0
        nothing = pad(scores.new_zeros(batch, n + 1, 1, 1), (0, k - 1), value=MINUS_INFINITY)  # no words: one way
        sequence, mention = nothing, nothing[:, :, :0]
        for width in range(1, self.c + 1):
            starts = n - width + 1
            # A last mention of `width - u` words follows a sequence of u: both charts line up, as one grows at each
            # end.
            split = self._join(sequence[:, :starts, 1:], mention[:, width:])
            inner = self._keep("inner", width, torch.cat([sequence[:, :starts, -1], split], dim=2))
            whole = self._keep("mention", width, self._typed(width, scores[:, :starts, width - 1], inner))
            either = self._keep("sequence", width, torch.cat([inner, whole], dim=2))
            sequence = torch.cat([sequence, pad(either, (0, 0, 0, width), value=MINUS_INFINITY)[:, :, None]], dim=2)
            mention = torch.cat([pad(whole, (0, 0, width, 0), value=MINUS_INFINITY)[:, :, None], mention], dim=2)
        top = [nothing[:, 0, 0]]  # (B, k) by end
        for end in range(1, n + 1):
            words = min(self.c, end)
            # (B, words, k): what comes before a last mention, the longest first
            before = torch.stack(top[end - words :], dim=1) if words else nothing[:, 0, :0]
            split = self._join(before, mention[:, end, self.c - words :])
            after_word = top[-1] + outside[:, end - 1, None]
            top.append(self._keep("top", end, torch.cat([after_word, split], dim=1)))
        self.sequence, self.mention, self.top = sequence, mention, torch.stack(top, dim=1)

    def values(self, lengths: Sequence[int]) -> Tensor:
        """(B, k): the values of whole sentences."""
        sentences = torch.arange(len(lengths), device=self.top.device)
        return self.top[sentences, torch.tensor(lengths, dtype=torch.long, device=self.top.device)]

    def _join(self, left: Tensor, right: Tensor) -> Tensor:
        """(…, splits, k) twice -> (…, candidates): what is left of each split, with a mention on its right."""
        return (left + right).flatten(-2)

    def _typed(self, width: int, scores: Tensor, inner: Tensor) -> Tensor:
        """Scores of types (…, m) and a content (…, k) -> (…, candidates)."""
        return scores + inner

    def _keep(self, part: Part, place: int, candidates: Tensor) -> Tensor:
        """(…, candidates) -> (…, k): the candidates kept for spans of a width, or at the top for an end."""
        return log_sum(candidates, -1).unsqueeze(-1)


class BestTrees(TreeChart):
    """The k best trees of each sentence of a batch, best first; -inf where there are fewer.

    For all spans of a width at once, the k best trees are the best combinations of the k best parts. For two parts,
    ranks r and s (from 0) can be among the k best only if (r + 1)(s + 1) <= k.
    """

    def __init__(self, scores: Tensor, outside: Tensor, k: int):
        self._left, self._right = _pairs(k, k, k)
        self._type_rank, self._inner_rank = _pairs(min(scores.shape[3], k), k, k)
        # Where each of the k best came from, as an index into its candidates; by width, and at the top by end.
        self._sources: dict[tuple[Part, int], Tensor] = {}
        self._types: dict[int, Tensor] = {}
        super().__init__(scores, outside, k)
        self._sources = {place: source.cpu() for place, source in self._sources.items()}
        self._types = {width: kinds.cpu() for width, kinds in self._types.items()}

    def _join(self, left: Tensor, right: Tensor) -> Tensor:
        return (left[..., self._left] + right[..., self._right]).flatten(-2)

    def _typed(self, width: int, scores: Tensor, inner: Tensor) -> Tensor:
        best, self._types[width] = scores.topk(min(scores.shape[-1], self.k), dim=2)
        return best[..., self._type_rank] + inner[..., self._inner_rank]

    def _keep(self, part: Part, place: int, candidates: Tensor) -> Tensor:
        best, source = (
            found.view(*candidates.shape[:-1], self.k) for found in largest(candidates.flatten(0, -2), self.k)
        )
        self._sources[part, place] = source
        return best

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
    """Sample the mention sets of one sentence from the top down; the choices at each place are computed once.

    `sequence[i][w]` is the log-sum over the w words from i on, `mention[j][-w]` over mentions of the w words up to j.
    """

    def __init__(self, chart: TreeChart, scores: Tensor, outside: Tensor, sentence: int):
        self.scores, self.outside = scores[sentence].tolist(), outside[sentence].tolist()
        self.sequence = chart.sequence[sentence, :, :, 0].tolist()
        self.mention, self.top = chart.mention[sentence, :, :, 0].tolist(), chart.top[sentence, :, 0].tolist()
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
            words = self._choose(part, start, end, next(numbers))
            if words == 0:
                todo.append((outer, start, end - 1))
                continue
            first = end - words
            mentions.add((first, end, self._choose("mention", first, end, next(numbers))))
            todo.append((outer, start, first))
            todo.append(("inner", first, end))
        return frozenset(mentions)

    def _choose(self, part: Part, start: int, end: int, number: float) -> int:
        place = (part, start, end)
        if place not in self._cumulative:
            weights = self.scores[start][end - start - 1] if part == "mention" else self._last_items(*place)
            pivot = max(weights)
            self._cumulative[place] = list(itertools.accumulate(math.exp(weight - pivot) for weight in weights))
        cumulative = self._cumulative[place]
        return bisect.bisect_right(cumulative, number * cumulative[-1], hi=len(cumulative) - 1)

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
