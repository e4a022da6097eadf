"""Mentions with gaps as menus: which sets are possible, what they weigh, and the best of them. NumPy, without torch.

All mentions of a type whose first part are the words i to i + w are one *event* of the chain that starts at i. What the event holds
is a choice of one item or more from a *menu*. There are three menus:

- of an event: the first part is a mention (`close`), or others follow (`open`, and what the next menu weighs);
- of a gap that begins at word j: it has one word, two, … (`gap`, and what the menu of the part after it weighs);
- of a part that begins at word s: it ends after one word, two, … and is the last (`last`), or others follow (`open`, and a gap's menu).

The menus below an item belong to that item alone: nothing is shared, so every set of mentions is one way of choosing. But the *scores*
of a gap and of what follows do not depend on the parts before it. So what their menus weigh is computed once for all of them,
which costs O(n m (c + P (g + c'))).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hyperspan.structures.mentions import AnyMention, Parts, parts_of, with_parts


class Limits(NamedTuple):
    """What mentions can be."""

    parts: int
    """P: the most parts."""
    width: int
    """c: the most words of a first part."""
    gap: int
    """g: the most words of a gap."""
    later_width: int
    """c': the most words of a later part."""

    @property
    def hull(self) -> int:
        """The most words from the first of a mention to its last."""
        return self.width + (self.parts - 1) * (self.gap + self.later_width)

    def shared(self, other: Limits) -> Limits:
        """What both limits allow."""
        return Limits(*map(min, self, other))

    def allow(self, mention: AnyMention) -> bool:
        """Whether a mention is possible.

        >>> Limits(parts=2, width=3, gap=1, later_width=1).allow((0, 3, 0, ((0, 1), (2, 3))))
        True
        """
        (start, end), *later = parts = parts_of(mention)
        gaps = [second[0] - first[1] for first, second in itertools.pairwise(parts)]
        return (
            len(parts) <= self.parts
            and end - start <= self.width
            and max(gaps, default=0) <= self.gap
            and max((end - start for start, end in later), default=0) <= self.later_width
        )


class PartArrays(NamedTuple):
    """The scores of parts and gaps, as in :class:`hyperspan.structures.DiscontinuousScores`."""

    close: np.ndarray  # (B, n, c, m)
    open: np.ndarray  # (B, n, c, m)
    gap: np.ndarray  # (B, n, g, m)
    last: np.ndarray  # (B, n, c', m); -inf where a part would reach beyond its sentence


def softplus(values: np.ndarray) -> np.ndarray:
    """log(1 + e^value)"""
    return np.logaddexp(values, 0.0)


def log_some(items: np.ndarray, axis: int) -> np.ndarray:
    """log of the sum, over all choices of one item or more, of exp of their sum; without differences.

    >>> float(np.exp(log_some(np.zeros(3), 0)).round())  # three items, so seven choices
    7.0
    """
    items = np.moveaxis(items, axis, -1)
    weights = items.copy()
    weights[..., 1:] += softplus(items[..., :-1]).cumsum(-1)
    pivot = weights.max(-1, initial=-np.inf, keepdims=True)
    pivot[pivot == -np.inf] = 0.0
    with np.errstate(divide="ignore"):
        return np.log(np.exp(weights - pivot).sum(-1)) + pivot[..., 0]


def best_some(items: np.ndarray, axis: int) -> np.ndarray:
    """The weight of the best choice of one item or more: all that weigh more than 0, or the heaviest.

    >>> best_some(np.array([[1.0, 2.0, -1.0], [-3.0, -1.0, -np.inf]]), 1).tolist()
    [3.0, -1.0]
    """
    items = np.moveaxis(items, axis, -1)
    heaviest = items.max(-1, initial=-np.inf)
    return np.where(heaviest > 0, np.maximum(items, 0.0).sum(-1), heaviest)


def following(values: np.ndarray, count: int) -> np.ndarray:
    """(B, n, m) -> (B, n, count, m): those of the next words; -inf beyond the last."""
    batch, n, m = values.shape
    padded = np.full((batch, n + count, m), -np.inf, dtype=values.dtype)
    padded[:, : max(n - 1, 0)] = values[:, 1:]
    return (
        np.stack([padded[:, first : first + n] for first in range(count)], axis=2)
        if count
        else padded[:, :, None][:, :, :0]
    )


class Menus:
    """What the menus of a batch weigh: sums over all choices, or, if `best`, the best of them."""

    def __init__(self, arrays: PartArrays, parts: int, *, best: bool = False):
        self.arrays, self.parts = arrays, parts
        some = best_some if best else log_some
        later, gaps = arrays.last.shape[2], arrays.gap.shape[2]
        self.after_part: list[np.ndarray] = []
        """(B, n, m) for 1, 2, … parts that may still come: the menu of a gap that begins at word j."""
        self.from_word: list[np.ndarray] = []
        """(B, n, m) for the same: the menu of a part that begins at word s."""
        for _ in range(1, parts):
            items = arrays.last
            if self.after_part:
                more = arrays.open[:, :, :later] + following(self.after_part[-1], later)
                items = np.concatenate([items, more], axis=2)
            self.from_word.append(some(items, 2))
            self.after_part.append(some(arrays.gap + following(self.from_word[-1], gaps), 2))
        self.more = np.full_like(arrays.close, -np.inf)
        """(B, n, c, m): the second item of each event, mentions of more parts."""
        if self.after_part:
            self.more = arrays.open + following(self.after_part[-1], arrays.close.shape[2])
        self.events = some(np.stack([arrays.close, self.more]), 0)
        """(B, n, c, m): the weight of each event."""

    # -- single menus: a menu is named by the sentence, the type, the parts that are complete and, of a part, its first word ----

    def gap_items(self, sentence: int, kind: int, done: Parts) -> tuple[np.ndarray, np.ndarray]:
        """The words at which the next part may begin, and what each weighs."""
        j, more = done[-1][1], self.parts - len(done)
        n = self.arrays.close.shape[1]
        starts = np.arange(j + 1, min(j + self.arrays.gap.shape[2], n - 1) + 1)
        items = self.arrays.gap[sentence, j, : len(starts), kind] if len(starts) else np.zeros(0)
        return starts, items + self.from_word[more - 1][sentence, starts, kind]

    def part_items(self, sentence: int, kind: int, done: Parts, start: int) -> tuple[np.ndarray, np.ndarray]:
        """(c',) each: what the part weighs that begins there and has so many words, as the last part and if others follow."""
        more, c = self.parts - len(done), self.arrays.last.shape[2]
        last = self.arrays.last[sentence, start, :, kind]
        goes_on = np.full_like(last, -np.inf)
        if more > 1:
            n = self.arrays.close.shape[1]
            ends = np.arange(start + 1, min(start + c, n - 1) + 1)
            opened = self.arrays.open[sentence, start, : len(ends), kind]
            goes_on[: len(ends)] = opened + self.after_part[more - 2][sentence, ends, kind]
        return last, goes_on


def chosen(items: np.ndarray) -> np.ndarray:
    """Which items are in the best choice of one or more.

    >>> chosen(np.array([1.0, 2.0, -1.0])).tolist(), chosen(np.array([-3.0, -1.0])).tolist()
    ([True, True, False], [False, True])
    """
    taken = items > 0
    if not taken.any() and len(items):
        taken[items.argmax()] = True
    return taken


def probabilities(items: np.ndarray) -> np.ndarray:
    """How probable each item is to be among those that are chosen, one or more.

    >>> probabilities(np.zeros(2)).round(3).tolist()  # in two of three choices
    [0.667, 0.667]
    """
    if not len(items):
        return items
    with np.errstate(invalid="ignore"):
        each = items - softplus(items) + (softplus(items).sum() - log_some(items, 0))
    return np.where(items == -np.inf, 0.0, np.exp(np.minimum(each, 0.0)))


class Found(NamedTuple):
    """Mentions of several parts in a batch, and their probabilities."""

    rows: list[tuple[int, AnyMention]]
    probabilities: list[float]


def best_below(menus: Menus, sentence: int, kind: int, done: Parts) -> Iterator[Parts]:
    """The mentions of the best choice of what follows these parts; `menus` are of the best."""
    starts, items = menus.gap_items(sentence, kind, done)
    for start in starts[chosen(items)].tolist():
        last, goes_on = menus.part_items(sentence, kind, done, start)
        taken = chosen(np.concatenate([last, goes_on])).reshape(2, -1)
        for word in np.nonzero(taken[0])[0].tolist():
            yield (*done, (start, start + word + 1))
        for word in np.nonzero(taken[1])[0].tolist():
            yield from best_below(menus, sentence, kind, (*done, (start, start + word + 1)))


def probable_below(
    menus: Menus, sentence: int, kind: int, done: Parts, probability: float, least: float
) -> Iterator[tuple[Parts, float]]:
    """The mentions that begin with these parts and are at least so probable, given how probable it is that any does."""
    starts, items = menus.gap_items(sentence, kind, done)
    begins = probability * probabilities(items)
    for place in np.nonzero(begins >= least)[0].tolist():
        start = int(starts[place])
        last, goes_on = menus.part_items(sentence, kind, done, start)
        found = begins[place] * probabilities(np.concatenate([last, goes_on])).reshape(2, -1)
        for word in np.nonzero((found[0] >= least) & (found[0] > 0))[0].tolist():
            yield (*done, (start, start + word + 1)), float(found[0, word])
        for word in np.nonzero((found[1] >= least) & (found[1] > 0))[0].tolist():
            yield from probable_below(
                menus, sentence, kind, (*done, (start, start + word + 1)), float(found[1, word]), least
            )


def probability_of(menus: Menus, sentence: int, parts: Parts, kind: int, opened: float) -> float:
    """The probability of a mention of several parts, given how probable it is that some mention has its first part and others."""
    for index in range(1, len(parts)):
        done, (start, end) = parts[:index], parts[index]
        starts, items = menus.gap_items(sentence, kind, done)
        last, goes_on = menus.part_items(sentence, kind, done, start)
        taken = probabilities(np.concatenate([last, goes_on])).reshape(2, -1)
        ends = index == len(parts) - 1
        opened *= float(probabilities(items)[start - starts[0]] * taken[0 if ends else 1, end - start - 1])
    return opened


def event_probabilities(menus: Menus, events: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(B, n, c, m) each: how probable it is that a first part is a mention, and that others follow it, given how probable events are."""
    close, more = menus.arrays.close, menus.more
    with np.errstate(invalid="ignore"):
        alone, goes_on = close + softplus(more) - menus.events, more + softplus(close) - menus.events
    possible = (events > 0) & (menus.events > -np.inf)
    return (
        np.where(possible, events * np.exp(np.minimum(np.where(possible, alone, 0.0), 0.0)), 0.0),
        np.where(possible, events * np.exp(np.minimum(np.where(possible, goes_on, 0.0), 0.0)), 0.0),
    )


def best_mentions(menus: Menus, rows: np.ndarray) -> tuple[np.ndarray, list[tuple[int, AnyMention]]]:
    """Of the best events, (events, 4) as (sentence, start, end, type): those that are mentions, and all mentions of more parts."""
    sentence, start, end, kind = rows.T
    place = sentence, start, end - start - 1, kind
    close, more = menus.arrays.close[place], menus.more[place]
    alone = (close > 0) | (close >= more)
    longer: list[tuple[int, AnyMention]] = []
    for row in np.nonzero((more > 0) | (close < more))[0].tolist():
        b, i, j, k = rows[row].tolist()
        longer += [(b, with_parts(parts, k)) for parts in best_below(menus, b, k, ((i, j),))]
    return rows[alone], longer


def probable_mentions(menus: Menus, goes_on: np.ndarray, least: Sequence[float]) -> Found:
    """The mentions of more parts that are as probable as their type has to be, given how probable it is that each first part goes on."""
    rows: list[tuple[int, AnyMention]] = []
    found: list[float] = []
    for b, i, w, k in np.argwhere((goes_on >= np.array(least)) & (goes_on > 0)).tolist():
        for parts, probability in probable_below(menus, b, k, ((i, i + w + 1),), float(goes_on[b, i, w, k]), least[k]):
            rows.append((b, with_parts(parts, k)))
            found.append(probability)
    return Found(rows, found)
