"""Nested mentions as constituents of a tree, after Finkel & Manning (2009): a distribution over sets without crossing.

A sentence is a sequence of items; an item is a word or a mention, and a mention is again a sequence of items. Sequences
are built from left to right by their last item, so every set is built in exactly one way:

- ``mention[i, j) = log Σ_k exp(score[i, j, k]) + inner[i, j)``
- ``inner[i, j)``: the last item is the word j - 1, after ``sequence[i, j - 1)``; or ``mention[a, j)`` with a > i, after
  ``sequence[i, a)``. That is a mention's content: anything but the same span once more.
- ``sequence[i, j)``: ``inner[i, j)`` or ``mention[i, j)``
- ``top[j]``: the same from word 0 on and inside no mention, where a word may have a score
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from hyperspan.baselines.semi_markov import SegmentScorer, SegmentScores
from hyperspan.nn import Abilities
from hyperspan.structures import Distribution, Mention, MentionSet, check_scores
from hyperspan.structures.graphs import Graph, SpanGraph


@lru_cache(maxsize=32)
def tree_graph(n: int, c: int, m: int) -> Graph:
    """The chart above, narrow spans first. Words in mentions have no scores of their own: `word` is 0."""
    graph = Graph(mention=(n, c, m), outside=(n,), word=(n,))
    sequence, mention = (np.full((n + 1, c + 1), graph.nowhere) for _ in range(2))  # by start and width
    sequence[:, 0] = graph.end
    for width in range(1, (c if m else 0) + 1):
        start = np.arange(n - width + 1)
        before = np.arange(1, width)  # the words of the sequence before a mention
        names = {"start": start, "end": start + width}
        inner = graph.add(
            np.column_stack([sequence[start, width - 1], sequence[start[:, None], before]]),
            np.column_stack([graph.slots["word"][start + width - 1], np.full((len(start), width - 1), graph.nothing)]),
            np.column_stack([np.full(len(start), graph.end), mention[start[:, None] + before, width - before]]),
            **names,
            symbol="inner",
        )
        types = graph.slots["mention"][start, width - 1]  # (starts, m)
        mention[start, width] = graph.add(inner[:, None], types, **names, symbol="mention")
        either = np.column_stack([inner, mention[start, width]])
        sequence[start, width] = graph.add(either, **names, symbol="sequence")
    top = np.full(n + 1, graph.end)
    for end in range(1, n + 1):
        start = np.arange(max(end - c, 0), end)
        tails, others = (np.append(top[end - 1], top[start]), np.append(graph.end, mention[start, end - start]))
        slots = np.append(graph.slots["outside"][end - 1], np.full(len(start), graph.nothing))
        top[end] = graph.add(tails, slots, others, symbol="top", start=0, end=end)
    return graph.finish(top[n])


class ConstituencyTrees(SpanGraph):
    """A distribution over the nested mention sets of each sentence of a padded batch: p(set) ∝ exp(sum of scores).

    `scores` (B, n, c, m) has one score for each mention, by start i, words - 1 and type; `outside` (B, n), 0 unless
    given, one for each word that is in no mention. Sets with mentions that cross, or with two types on one span, are
    impossible: :func:`without_crossing` finds the largest possible subset. Everything is exact; probabilities take
    O(n c²) time. Padding may hold anything. If a sentence has no possible set, its `log_partition` and `log_prob` are
    -inf; its other values are finite but meaningless.

    >>> words = ConstituencyTrees(torch.zeros(1, 3, 3, 1), lengths=[3])
    >>> words.log_partition.exp()  # 2 ** 6 sets less the 2 ** 4 in which (0, 2) and (1, 3) cross
    tensor([48.])
    >>> words.marginals[0, :, :, 0]
    tensor([[0.5000, 0.3333, 0.5000],
            [0.5000, 0.3333, 0.0000],
            [0.5000, 0.0000, 0.0000]])
    """

    def __init__(self, scores: Tensor, lengths: Tensor | Sequence[int], outside: Tensor | None = None):
        if scores.dim() != 4 or scores.shape[2] < 1:
            raise ValueError(f"expected scores of shape (B, n, c, m) with c >= 1 widths, got {tuple(scores.shape)}")
        batch, n, c, m = scores.shape
        if outside is None:
            outside = scores.new_zeros(batch, n)
        check_scores({"scores": scores, "outside": outside}, {"scores": (batch, n, c, m), "outside": (batch, n)})
        super().__init__(tree_graph(n, min(n, c), m), {"mention": scores, "outside": outside}, lengths)


def is_nested(mentions: Iterable[Mention]) -> bool:
    """Whether no two mentions cross, and no two share their span.

    >>> is_nested({(0, 4, 0), (1, 3, 0), (1, 2, 1)})
    True
    >>> is_nested({(0, 2, 0), (1, 3, 0)}), is_nested({(0, 1, 0), (0, 1, 1)})
    (False, False)
    """
    open_ends: list[int] = []
    before: tuple[int, int] | None = None
    # Outer mentions come before those that they contain.
    for start, end, _ in sorted(mentions, key=lambda mention: (mention[0], -mention[1])):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        if (start, end) == before or (open_ends and open_ends[-1] < end):
            return False
        open_ends.append(end)
        before = start, end
    return True


def without_crossing(mentions: Iterable[Mention]) -> MentionSet:
    """The largest subset of mentions that forms a tree. Ties go to the subset that covers more words.

    >>> crossing = {(0, 3, 0), (2, 5, 0), (2, 4, 1), (4, 5, 0)}
    >>> sorted(without_crossing(crossing))
    [(2, 4, 1), (2, 5, 0), (4, 5, 0)]
    >>> len(crossing - without_crossing(crossing))
    1
    """
    wanted = frozenset(mentions)
    if is_nested(wanted):
        return wanted
    # The best tree where each wanted mention scores 1 and all others are impossible. Only the order of the boundaries
    # matters, so one word per boundary is enough.
    boundaries = sorted({boundary for start, end, _ in wanted for boundary in (start, end)})
    place = {boundary: index for index, boundary in enumerate(boundaries)}
    kinds = sorted({kind for _, _, kind in wanted})
    all_words = sum(end - start for start, end, _ in wanted)
    n = len(boundaries) - 1
    scores = torch.full((1, n, n, len(kinds)), -math.inf, dtype=torch.float64, device="cpu")
    for start, end, kind in wanted:
        score = 1 + (end - start) / (all_words + 1)
        scores[0, place[start], place[end] - place[start] - 1, kinds.index(kind)] = score
    (kept,) = ConstituencyTrees(scores, [n]).argmax()
    return frozenset((boundaries[start], boundaries[end], kinds[kind]) for start, end, kind in kept)


# -- the scorer --------------------------------------------------------------------------------------------------------


class TreeScorer(SegmentScorer):
    """The same scores for trees: mentions nest, but do not cross."""

    abilities = Abilities("nested, none crossing", spans=True)
    # No large batches: the inside algorithm is cubic in the words of a sentence.

    def distribution(self, scores: SegmentScores, lengths: Sequence[int]) -> Distribution:
        return ConstituencyTrees(scores.segment, lengths, scores.outside)

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        return set(without_crossing(self.no_wider(mentions, longest)))
