"""The k best mention sets of a segmental hypergraph, at a few times the cost of its marginals.

A sentence of n words has n·m independent chains (:mod:`hyperspan.kernels.chain_reference`). Two facts keep nearly all
of them in arrays.

**At most k - 1 chains need to change.** Let the *first step* δ_j of chain j be how much more its second best costs than
its best. A set that changes chain j costs at least δ_j more than the best set. If k - 1 other chains have first steps
of at most δ_j, then the best set and the k - 1 sets that take one of those steps each are k sets that cost no more. So
there are k best sets that leave chain j unchanged, and the k - 1 chains with the smallest first steps suffice.

**First steps need no search.** The best of a chain is to be absent, or to have a longest mention of some width w. Its
second best is the best that has another longest mention (or is absent), or has the same one and one other choice below
it: the most doubtful one. Both are the extremum of a row, so that all first steps take one pass over the scores.

The same two facts hold inside a chain, for its widths and for the choices below each of them. So Python sees O(k)
chains, and O(1) alternatives of them for each set. The pass takes some starts at a time, so that its memory does not
grow with the scores.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

import numpy as np

from hyperspan.kernels.encode import ScoreArrays
from hyperspan.structures.kbest import Alternatives, cheapest_combinations, cheapest_subsets
from hyperspan.structures.mentions import Mention, MentionSet

PORTION = 2**19
"""The number of entries of `close` to process at once."""
Widths = tuple[int, ...]


class ChainSummary(NamedTuple):
    """What the pass computes for every chain; in padding, the best is certain and there is no second best."""

    log_partition: np.ndarray  # (B, n, m)
    best: np.ndarray  # (B, n, m): the score of its best
    first_step: np.ndarray  # (B, n, m): how much more its second best costs; inf if there is none
    mentions: list[list[Mention]]
    """The best set of each sentence."""


class ChainArrays(NamedTuple):
    """The scores of some chains in float64, widths last; -inf where there is no room."""

    absent: np.ndarray  # (...,)
    present: np.ndarray  # (...,)
    extend: np.ndarray  # (..., c - 1)
    stop: np.ndarray  # (..., c)
    branch: np.ndarray  # (..., c - 1)
    shorter_log_odds: np.ndarray  # (..., c - 1): log-odds of a mention at this width, given a longer one

    def longest(self) -> np.ndarray:
        """(..., c): the score of each longest mention, with the better choice at every shorter width."""
        longest = self.stop + self.present[..., None]
        longest[..., 1:] += np.maximum(self.extend, self.branch).cumsum(-1)
        return longest

    def log_partition(self) -> np.ndarray:
        """(...,): the logarithm of the sum of exp(score) over all that a chain can hold."""
        weights = self.stop + self.present[..., None]
        weights[..., 1:] += np.logaddexp(self.extend, self.branch).cumsum(-1)
        return np.logaddexp(self.absent, _log_sum_exp(weights))


def _log_sum_exp(values: np.ndarray) -> np.ndarray:
    """Log-sum-exp along the last dimension; -inf where all entries are -inf."""
    pivot = values.max(-1, initial=-np.inf, keepdims=True)
    pivot[pivot == -np.inf] = 0.0
    with np.errstate(divide="ignore"):
        return np.log(np.exp(values - pivot).sum(-1)) + pivot[..., 0]


def packed_chains(
    room: np.ndarray,
    absent: np.ndarray,
    present: np.ndarray,
    extend: np.ndarray,
    close: np.ndarray,
    branch: np.ndarray | None,
) -> ChainArrays:
    """Chains, each with room for some widths. A chain in padding, which may hold anything, is absent with a score of
    0."""
    outside = np.arange(close.shape[-1]) >= room[..., None]
    stop, extend = np.where(outside, -np.inf, close), np.where(outside[..., 1:], -np.inf, extend)
    absent, present = (np.where(outside[..., 0], 0.0, array) for array in (absent, present))
    if branch is None:
        log_odds = stop[..., :-1]
        return ChainArrays(absent, present, extend, stop, extend + log_odds, log_odds)
    branch = np.where(outside[..., 1:], -np.inf, branch)
    log_odds = branch - np.where(branch == -np.inf, 0.0, extend)  # -inf, not NaN, where neither is possible
    return ChainArrays(absent, present, extend, stop, branch, log_odds)


def chains_from(scores: ScoreArrays, lengths: np.ndarray, starts: slice, widths: int) -> ChainArrays:
    """(B, starts, m): all chains that begin at some words, up to some width."""

    def widths_last(array: np.ndarray, count: int) -> np.ndarray:
        return np.ascontiguousarray(array[:, starts, :count].swapaxes(2, 3), dtype=np.float64)

    absent, present = (array[:, starts].astype(np.float64) for array in (scores.absent, scores.present))
    branch = None if scores.branch is None else widths_last(scores.branch, widths - 1)
    room = lengths[:, None, None] - np.arange(starts.start, starts.stop)[:, None]  # (B, starts, 1)
    room = np.broadcast_to(room, absent.shape)
    return packed_chains(
        room, absent, present, widths_last(scores.extend, widths - 1), widths_last(scores.close, widths), branch
    )


def chains_at(
    scores: ScoreArrays, lengths: np.ndarray, sentence: int, starts: np.ndarray, kinds: np.ndarray
) -> ChainArrays:
    """(chains,): the chains of a sentence with these starts and types."""

    def at(array: np.ndarray) -> np.ndarray:
        return array[sentence].swapaxes(1, -1)[starts, kinds].astype(np.float64)

    absent, present = (array[sentence, starts, kinds].astype(np.float64) for array in (scores.absent, scores.present))
    branch = None if scores.branch is None else at(scores.branch)
    return packed_chains(lengths[sentence] - starts, absent, present, at(scores.extend), at(scores.close), branch)


def summarise(scores: ScoreArrays, lengths: np.ndarray) -> ChainSummary:
    """The log-partition, the best and the first step of every chain."""
    batch, n, c, m = scores.close.shape
    longest_sentence = int(lengths.max(initial=0))
    at_once = max(1, PORTION // max(batch * min(c, n) * m, 1))
    log_partition, best = np.zeros((2, batch, n, m))
    first_step = np.full((batch, n, m), np.inf)
    found: list[np.ndarray] = []
    with np.errstate(invalid="ignore"):  # scores may be NaN, which the caller reports
        for first in range(0, longest_sentence, at_once):
            last = min(first + at_once, longest_sentence)
            starts, widths = slice(first, last), min(c, longest_sentence - first)
            log_partition[:, starts], best[:, starts], first_step[:, starts], places = _summarise_starts(
                scores, lengths, starts, widths
            )
            found.append(places)
    return ChainSummary(log_partition, best, first_step, _by_sentence(found, batch))


def _summarise_starts(
    scores: ScoreArrays, lengths: np.ndarray, starts: slice, widths: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The three arrays for some starts, (B, starts, m) each, and their best mentions: (mentions, 4) numbers."""
    rows = chains_from(scores, lengths, starts, widths)
    longest = rows.longest()
    width = longest.argmax(-1)  # the first, and so the shortest, of equal ones
    value = np.take_along_axis(longest, width[..., None], -1)[..., 0]
    present = value > rows.absent
    np.put_along_axis(longest, width[..., None], -np.inf, -1)
    second = longest.max(-1)
    step = np.where(present, value - np.maximum(second, rows.absent), rows.absent - value)
    log_odds = rows.shorter_log_odds[present]  # (present chains, widths - 1)
    below = np.arange(widths - 1) < width[present][:, None]
    if widths > 1:
        doubt = np.where(~below | np.isinf(log_odds), np.inf, np.abs(log_odds)).min(-1)
        step[present] = np.minimum(step[present], doubt)
    chain_of, shorter = np.nonzero(below & (log_odds > 0))
    chains = np.argwhere(present)
    chains[:, 1] += starts.start
    ends = np.concatenate([width[present], shorter])[:, None]
    places = np.concatenate([np.concatenate([chains, chains[chain_of]]), ends], axis=1)
    return rows.log_partition(), np.maximum(value, rows.absent), step, places


def _by_sentence(found: Sequence[np.ndarray], batch: int) -> list[list[Mention]]:
    mentions: list[list[Mention]] = [[] for _ in range(batch)]
    for sentence, start, kind, width in chain.from_iterable(places.tolist() for places in found):
        mentions[sentence].append((start, start + width + 1, kind))
    return mentions


def best_sets(scores: ScoreArrays, lengths: Sequence[int], k: int) -> list[list[tuple[MentionSet, float]]] | None:
    """The k most probable sets of each sentence with their log-probabilities, best first; None where a score is NaN."""
    known = np.array(lengths, dtype=np.int64)
    summary = summarise(scores, known)
    if np.isnan(summary.log_partition).any():
        return None
    possible: list[bool] = np.all(summary.log_partition > -np.inf, axis=(1, 2)).tolist()
    with np.errstate(invalid="ignore"):
        top = (summary.best - summary.log_partition).sum((1, 2)).tolist()
    result: list[list[tuple[MentionSet, float]]] = []
    for sentence, log_prob in enumerate(top):
        sets = cheapest_sets(scores, known, summary, sentence, k) if possible[sentence] else ()
        result.append([(mentions, min(log_prob - cost, 0.0)) for cost, mentions in sets])
    return result


def cheapest_sets(
    scores: ScoreArrays, lengths: np.ndarray, summary: ChainSummary, sentence: int, k: int
) -> Iterator[tuple[float, MentionSet]]:
    """The k best sets of a sentence as (cost above the best, set), best first."""
    steps = summary.first_step[sentence].ravel()
    order = steps.argsort(kind="stable")[: max(k - 1, 0)]
    starts, kinds = np.divmod(order[np.isfinite(steps[order])], max(scores.close.shape[3], 1))
    keys = list(zip(starts.tolist(), kinds.tolist(), strict=True))
    rows = chains_at(scores, lengths, sentence, starts, kinds)
    choices = [
        Alternatives(chain_alternatives(absent, longest, log_odds, k))
        for absent, longest, log_odds in zip(rows.absent, rows.longest(), rows.shorter_log_odds, strict=True)
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
    """The alternatives of one chain as (cost, widths of its mentions), the k cheapest first; cost is minus score.

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
        # Open an iterator only when nothing already open is cheaper than its first alternative.
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
