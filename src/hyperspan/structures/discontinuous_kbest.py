"""The k best sets of mentions that may be discontinuous.

As in :mod:`hyperspan.structures.segmental_kbest`, a sentence has n·m independent chains, and only the k - 1 with the
smallest *first steps*, from the best to the second best, need to change. Here a chain has a choice at each width: no
first part, or one with the best, the second best, … of what its menus hold. The second best of a menu is its best with
one item more or less, or with the second best of one item. So first steps take one pass over the menus, all at once.

The chains that may change are searched lazily (:mod:`hyperspan.structures.discontinuous_search`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from hyperspan.structures.discontinuous_menus import Menus, best_mentions, following
from hyperspan.structures.discontinuous_search import Choices, Node, chain_alternatives
from hyperspan.structures.kbest import Alternatives, cheapest_combinations
from hyperspan.structures.mentions import AnyMention


class FirstParts(NamedTuple):
    """The scores of the chains over first parts in float64, widths last; -inf where there is no room."""

    absent: np.ndarray  # (B, n, m)
    present: np.ndarray  # (B, n, m)
    skip: np.ndarray  # (B, n, m, c - 1): continuing without a first part of this width
    take: np.ndarray  # (B, n, m, c - 1): continuing with one, without what it holds
    stop: np.ndarray  # (B, n, m, c): the widest first part, with the best that it holds
    best: np.ndarray  # (B, n, m, c): the best that a first part holds

    @classmethod
    def of(cls, edges: Any, extend: Any, events: np.ndarray, lengths: Sequence[int]) -> FirstParts:
        """From the scores of a distribution over first parts, and the `extend` scores without constraints."""
        absent, present, skip, take, stop = (
            tensor.numpy(force=True) for tensor in (edges.absent, edges.present, edges.extend, extend, edges.close)
        )
        n, c = stop.shape[1:3]
        room = np.array(lengths, dtype=np.int64).reshape(-1, 1, 1, 1) - np.arange(n)[:, None, None]
        outside = np.arange(c) >= room  # (B, n, 1, c)
        skip, take, stop, best = (values.swapaxes(2, 3) for values in (skip, take, stop, events))
        return cls(
            np.where(outside[..., 0], 0.0, absent),
            np.where(outside[..., 0], -np.inf, present),
            *(np.where(outside[..., 1:], -np.inf, values) for values in (skip, take)),
            *(np.where(outside, -np.inf, values) for values in (stop, best)),
        )

    def widest(self) -> np.ndarray:
        """(B, n, m, c): the score of each widest first part, with the better choice at every smaller width."""
        found = self.stop + self.present[..., None]
        found[..., 1:] += np.maximum(self.skip, self.take + self.best[..., :-1]).cumsum(-1)
        return found


def second_of(items: np.ndarray, seconds: np.ndarray, required: np.ndarray, axis: int) -> np.ndarray:
    """The weight lost by the second-best choice; `seconds` are the item weights with their second-best content.

    >>> second_of(np.array([2.0, 1.0, -3.0]), np.array([1.5, -9.0, -9.0]), np.zeros(3, dtype=bool), 0).tolist()
    0.5
    """
    positive, must = items > 0, required.any(axis, keepdims=True)
    order = -np.sort(-items, axis)
    highest, next_highest = (np.take(order, [rank], axis) if items.shape[axis] > rank else None for rank in (0, 1))
    if highest is None:
        return np.full(items.sum(axis).shape, np.inf)
    alone = positive & (positive.sum(axis, keepdims=True) == 1) & ~must
    none = ~positive.any(axis, keepdims=True) & ~must
    with np.errstate(invalid="ignore"):
        toggled = np.where(required | alone, np.inf, np.abs(items))
        swapped = np.inf if next_highest is None else highest - next_highest
        toggled = np.where(none, swapped, toggled)
        taken = positive | required | (none & (items == highest))
        changed = np.where(taken, items - seconds, np.inf)
    steps = np.fmin(toggled, changed).min(axis)  # -inf minus -inf is NaN: no step
    return np.where(np.isnan(steps), np.inf, steps)


def event_steps(menus: Menus) -> np.ndarray:
    """(B, n, c, m): how much more the second best of each event costs than its best; inf if there is none."""
    arrays = menus.arrays
    later, gaps = arrays.last.shape[2], arrays.gap.shape[2]
    no, after = np.zeros((1, 1, 1, 1), dtype=bool), None
    for part_items, gap_items in zip(menus.part_items, menus.gap_items, strict=True):
        seconds = np.full_like(part_items, -np.inf)
        if after is not None:
            seconds[:, :, later:] = part_items[:, :, later:] - _step_after(after, later)
        begins = second_of(part_items, seconds, np.broadcast_to(no, part_items.shape), 2)
        seconds = gap_items - _step_after(begins, gaps)
        after = second_of(gap_items, seconds, np.broadcast_to(no, gap_items.shape), 2)
    more = np.full_like(menus.more, np.inf) if after is None else _step_after(after, menus.more.shape[2])
    for sentence, kind, done, *start in menus.private:
        if len(done) == 1 and not start:
            ranked = Choices(menus, sentence, kind).after(done).alternatives
            first, second = ranked.get(0), ranked.get(1)
            ((i, j),) = done
            more[sentence, i, j - i - 1, kind] = np.inf if second is None or first is None else second[0] - first[0]
    items = np.stack([menus.close, menus.more])
    with np.errstate(invalid="ignore"):
        seconds = np.stack([np.full_like(menus.close, -np.inf), menus.more - more])
    return second_of(items, seconds, np.broadcast_to(menus.required, items.shape), 0)


def _step_after(steps: np.ndarray, width: int) -> np.ndarray:
    """(B, n, m) -> (B, n, width, m): the entries of the next words, inf beyond the last."""
    return -following(-steps, width)


class GapChains(NamedTuple):
    """What one pass computes for every chain."""

    best: np.ndarray  # (B, n, m): the score of its best
    first_step: np.ndarray  # (B, n, m): how much more its second best costs; inf if there is none
    rows: np.ndarray  # (events, 4): the first parts of the best, as (sentence, start, end, type)


def summarise(first: FirstParts, steps: np.ndarray) -> GapChains:
    """Summarise every chain; `steps` (B, n, m, c) is the extra cost of each first part's second-best content."""
    widest = first.widest()
    width = widest.argmax(-1)[..., None]  # the first, and so the narrowest, of equal ones
    value = np.take_along_axis(widest, width, -1)[..., 0]
    present = value > first.absent
    take = first.take + first.best[..., :-1]
    other = widest.copy()
    np.put_along_axis(other, width, -np.inf, -1)
    with np.errstate(invalid="ignore"):
        second = np.maximum(first.skip, take - steps[..., :-1])
        doubt = np.where(take > first.skip, take - second, first.skip - take)
        below = np.arange(doubt.shape[-1]) < width
        step = np.where(present, value - np.maximum(other.max(-1), first.absent), first.absent - value)
    doubt = np.where(below & present[..., None], doubt, np.inf)
    held = np.where(present, np.take_along_axis(steps, width, -1)[..., 0], np.inf)
    step = np.fmin(np.fmin(step, held), np.fmin.reduce(doubt, axis=-1, initial=np.inf))
    sentence, start, kind, narrower = np.nonzero(below & present[..., None] & (take > first.skip))
    chains = np.nonzero(present)
    columns = zip((*chains, width[..., 0][chains]), (sentence, start, kind, narrower), strict=True)
    b, i, k, w = (np.concatenate(both) for both in columns)
    rows = np.stack([b, i, i + w + 1, k], axis=1)
    return GapChains(np.maximum(value, first.absent), np.where(np.isnan(step), np.inf, step), rows)


def best_sets(
    menus: Menus, first: FirstParts, log_partition: np.ndarray, possible: Sequence[bool], k: int
) -> list[list[tuple[frozenset[AnyMention], float]]]:
    """The k most probable sets of each sentence with their log-probabilities, best first; none where no set is
    possible."""
    summary = summarise(first, event_steps(menus).swapaxes(2, 3))
    contiguous, longer = best_mentions(menus, summary.rows)
    best: list[list[AnyMention]] = [[] for _ in possible]
    for sentence, start, end, kind in contiguous.tolist():
        best[sentence].append((start, end, kind))
    for sentence, mention in longer:
        best[sentence].append(mention)
    with np.errstate(invalid="ignore"):
        top = (summary.best - log_partition).sum((1, 2)).tolist()
    widest = first.widest()
    return [
        _sets_of(menus, first, widest[sentence], summary.first_step[sentence], best[sentence], sentence, log_prob, k)
        if possible[sentence]
        else []
        for sentence, log_prob in enumerate(top)
    ]


def _sets_of(
    menus: Menus,
    first: FirstParts,
    widest: np.ndarray,
    steps: np.ndarray,
    best: Sequence[AnyMention],
    sentence: int,
    log_prob: float,
    k: int,
) -> list[tuple[frozenset[AnyMention], float]]:
    """The k best sets of one sentence, whose best set has this log-probability."""
    order = steps.ravel().argsort(kind="stable")[: max(k - 1, 0)]
    starts, kinds = np.divmod(order[np.isfinite(steps.ravel()[order])], max(steps.shape[1], 1))
    keys: list[tuple[int, int]] = list(zip(starts.tolist(), kinds.tolist(), strict=True))
    found = [Choices(menus, sentence, kind) for _, kind in keys]
    choices = [
        Alternatives(_chain(one, first, widest[start, kind], sentence, start, kind, k))
        for one, (start, kind) in zip(found, keys, strict=True)
    ]

    def mentions(index: int, held: dict[int, tuple[Node, int]]) -> list[AnyMention]:
        start, _ = keys[index]
        return [one for width, value in held.items() for one in found[index].mentions(start, width, *value)]

    changeable = set(keys)
    fixed = frozenset(one for one in best if (one[0], one[2]) not in changeable)
    before = [mentions(index, (choice.get(0) or (0.0, {}))[1]) for index, choice in enumerate(choices)]
    result: list[tuple[frozenset[AnyMention], float]] = []
    for cost, changed in islice(cheapest_combinations(choices), k):
        kept = chain.from_iterable(some for index, some in enumerate(before) if index not in changed)
        added = chain.from_iterable(mentions(index, held) for index, held in changed.items())
        result.append((fixed.union(kept, added), min(log_prob - cost, 0.0)))
    return result


def _chain(
    choices: Choices, first: FirstParts, widest: np.ndarray, sentence: int, start: int, kind: int, k: int
) -> Any:
    place = sentence, start, kind
    nodes = [choices.event(start, width) for width in range(len(widest))]
    take = first.take[place] + first.best[place][:-1]
    return chain_alternatives(nodes, float(first.absent[place]), widest, first.skip[place], take, first.stop[place], k)
