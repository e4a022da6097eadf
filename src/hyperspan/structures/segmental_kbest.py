"""The k best mention sets of a segmental hypergraph, for a few times what its marginals cost.

A sentence of n words has n·m independent chains (:mod:`hyperspan.kernels.chain_reference`). Two facts keep nearly all of them in tensors.

**Only k - 1 chains need be changed.** Let the *first step* δ_j of chain j be what its second best costs more than its best. A set
that changes chain j costs at least δ_j more than the best set. If k - 1 other chains have first steps of at most δ_j, then the
best set and the k - 1 sets that take one of those steps each are k sets that cost no more. So there are k best sets that leave
chain j alone, and the k - 1 chains with the smallest first steps suffice.

**First steps need no search.** The best of a chain is to be absent, or to have a longest mention of some width w. Its second best
is the best that has another longest mention (or is absent), or has the same one and one other choice below it: the most doubtful
one. Both are the extremum of a row, so that all first steps take one pass over the scores.

The same two facts hold inside a chain, for its widths and for the choices below each of them. So Python sees O(k) chains, and O(1)
alternatives of them for each set. The pass takes some starts at a time, so that its memory does not grow with the scores.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from hyperspan.kernels.chain_rows import rows_from, rows_of
from hyperspan.kernels.numerics import MINUS_INFINITY
from hyperspan.structures.kbest import Alternatives, cheapest_combinations, cheapest_subsets
from hyperspan.structures.mentions import Mention, MentionSet
from hyperspan.structures.scores import EdgeScores

PORTION = 2**19
"""Entries of `close` that are looked at together."""
Widths = tuple[int, ...]


class ChainSummary(NamedTuple):
    """What the pass tells of every chain; in padding, its best is certain and has no second."""

    log_partition: Tensor  # (B, n, m)
    best: Tensor  # (B, n, m): the score of its best
    first_step: Tensor  # (B, n, m): what its second best costs more; inf where there is none
    mentions: list[list[Mention]]
    """The best set of each sentence."""


def summarise(scores: EdgeScores, lengths: Tensor) -> ChainSummary:
    """The log-partition, the best and the first step of every chain."""
    batch, n, c, m = scores.close.shape
    longest_sentence = int(lengths.max()) if batch else 0
    at_once = max(1, PORTION // max(batch * min(c, n) * m, 1))
    log_partition, best = (torch.zeros(batch, n, m, dtype=torch.float64, device=lengths.device) for _ in range(2))
    first_step = torch.full_like(best, torch.inf)
    found: list[Tensor] = []
    for first in range(0, longest_sentence, at_once):
        last = min(first + at_once, longest_sentence)
        starts, widths = slice(first, last), min(c, longest_sentence - first)
        log_partition[:, starts], best[:, starts], first_step[:, starts], places = _summarise_starts(
            scores, lengths, starts, widths
        )
        found.append(places)
    return ChainSummary(log_partition, best, first_step, _by_sentence(found, batch))


def _summarise_starts(
    scores: EdgeScores, lengths: Tensor, starts: slice, widths: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The three tensors for some starts, (B, starts, m) each, and their best mentions: (mentions, 4) numbers."""
    rows = rows_from(scores, lengths, starts, widths, torch.float64)
    longest = rows.longest()
    value, width = longest.max(-1)  # the first, and so the shortest, of equal ones
    present = value > rows.absent
    second = longest.scatter_(-1, width.unsqueeze(-1), MINUS_INFINITY).amax(-1)
    step = torch.where(present, value - torch.maximum(second, rows.absent), rows.absent - value)
    log_odds = rows.shorter_log_odds[present]  # (present chains, widths - 1)
    below = torch.arange(widths - 1, device=log_odds.device) < width[present].unsqueeze(-1)
    if widths > 1:
        doubt = log_odds.abs().masked_fill_(~below | log_odds.isinf(), torch.inf).amin(-1)
        step[present] = torch.minimum(step[present], doubt)
    chain_of, shorter = (below & (log_odds > 0)).nonzero(as_tuple=True)
    sentence, start, kind = present.nonzero(as_tuple=True)
    chains = torch.stack([sentence, start + starts.start, kind], dim=1)
    ends = torch.cat([width[present], shorter]).unsqueeze(1)
    places = torch.cat([torch.cat([chains, chains[chain_of]]), ends], dim=1)
    return rows.log_partition(), torch.maximum(value, rows.absent), step, places


def _by_sentence(found: Sequence[Tensor], batch: int) -> list[list[Mention]]:
    mentions: list[list[Mention]] = [[] for _ in range(batch)]
    for sentence, start, kind, width in chain.from_iterable(places.tolist() for places in found):
        mentions[sentence].append((start, start + width + 1, kind))
    return mentions


def cheapest_sets(
    scores: EdgeScores, lengths: Tensor, summary: ChainSummary, sentence: int, k: int
) -> Iterator[tuple[float, MentionSet]]:
    """The k best sets of a sentence as (cost above the best, set), best first."""
    steps = summary.first_step[sentence].flatten().cpu().numpy()
    order = steps.argsort(kind="stable")[: max(k - 1, 0)]
    starts, kinds = np.divmod(order[np.isfinite(steps[order])], max(scores.close.shape[3], 1))
    keys = list(zip(starts.tolist(), kinds.tolist(), strict=True))
    start, kind = (torch.from_numpy(array).to(lengths.device) for array in (starts, kinds))
    rows = rows_of(scores, lengths, torch.full_like(start, sentence), start, kind, torch.float64)
    arrays = (tensor.cpu().numpy() for tensor in (rows.absent, rows.longest(), rows.shorter_log_odds))
    choices = [
        Alternatives(chain_alternatives(absent, longest, log_odds, k))
        for absent, longest, log_odds in zip(*arrays, strict=True)
    ]

    def mentions(index: int, widths: Widths) -> list[Mention]:
        start, kind = keys[index]
        return [(start, start + width + 1, kind) for width in widths]

    best = frozenset(summary.mentions[sentence])
    before = [(choice.get(0) or (0.0, ()))[1] for choice in choices]
    for cost, changed in islice(cheapest_combinations(choices), k):
        dropped = chain.from_iterable(mentions(index, before[index]) for index in changed)
        added = chain.from_iterable(mentions(index, widths) for index, widths in changed.items())
        yield cost, best.difference(dropped).union(added)


def chain_alternatives(
    absent: float, longest: np.ndarray, log_odds: np.ndarray, k: int
) -> Iterator[tuple[float, Widths]]:
    """What one chain can hold as (cost, widths of its mentions), the k cheapest first; cost is minus score.

    `longest[w]` is the score of "w is the longest" with the better choice at every shorter width; `log_odds[u]` the
    log-odds of a mention at a shorter width u.
    """
    costs = -np.concatenate([[absent], longest])
    order = costs.argsort(kind="stable")[:k]
    ways = [(float(costs[place]), int(place) - 1) for place in order if costs[place] < np.inf]
    heap: list[tuple[float, int, Widths, Iterator[tuple[float, Widths]]]] = []

    def push(rank: int, alternatives: Iterator[tuple[float, Widths]]) -> None:
        following = next(alternatives, None)
        if following is not None:
            heapq.heappush(heap, (following[0], rank, following[1], alternatives))

    opened = 0
    while heap or opened < len(ways):
        # A way is opened when nothing that is open is cheaper than its first alternative.
        if opened < len(ways) and (not heap or ways[opened][0] <= heap[0][0]):
            cost, width = ways[opened]
            push(opened, _with_longest(cost, width, log_odds, k))
            opened += 1
            continue
        cost, rank, widths, alternatives = heapq.heappop(heap)
        yield cost, widths
        push(rank, alternatives)


def _with_longest(cost: float, width: int, log_odds: np.ndarray, k: int) -> Iterator[tuple[float, Widths]]:
    """The alternatives of a chain whose longest mention has this width, or which is absent (-1)."""
    best = set((log_odds[: max(width, 0)] > 0).nonzero()[0].tolist())
    top = (width,) if width >= 0 else ()
    yield cost, (*sorted(best), *top)
    odds = np.abs(log_odds[: max(width, 0)])
    flips = odds.argsort(kind="stable")[: max(k - 1, 0)]
    flips = flips[np.isfinite(odds[flips])].tolist()
    for more, flipped in islice(cheapest_subsets(odds[flips].tolist()), 1, None):
        yield cost + more, (*sorted(best.symmetric_difference(flips[index] for index in flipped)), *top)
