"""Discontinuous mentions as menus: the possible sets, their weights, and the best of them. NumPy, without torch.

All mentions of a type whose first part is the words i to i + w form one *event* of the chain that starts at i. An event
is a choice of one or more items from a *menu*. There are three menus:

- of an event: the first part is a mention (`close`), or others follow (`open`, and what the next menu weighs);
- of a gap that begins at word j: it has one word, two, … (`gap`, and what the menu of the part after it weighs);
- of a part that begins at word s: it ends after one word, two, … and is the last (`last`), or others follow (`open`,
  and a gap's menu).

The menus below an item belong to that item alone: nothing is shared, so every set of mentions is exactly one
combination of choices. But the *scores* of a gap and of what follows do not depend on the parts before it. So the
weights of their menus are computed once for all of them, which costs O(n m (c + P (g + c'))).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from hyperspan.kernels.numbers import MINUS_INFINITY, log_sum, softplus
from hyperspan.structures.discontinuous_given import Known, PrivateMenus
from hyperspan.structures.discontinuous_limits import Limits
from hyperspan.structures.mentions import AnyMention, Parts, with_parts


class PartArrays(NamedTuple):
    """The scores of parts and gaps, as in :class:`hyperspan.structures.DiscontinuousScores`."""

    close: np.ndarray  # (B, n, c, m)
    open: np.ndarray  # (B, n, c, m)
    gap: np.ndarray  # (B, n, g, m)
    last: np.ndarray  # (B, n, c', m); -inf where a part would reach beyond its sentence


def log_some(items: np.ndarray, axis: int) -> np.ndarray:
    """log Σ exp(sum of the chosen items) over all choices of one or more items; without cancellation.

    Each choice has a last item u: that is Σ_u e^u Π_{v before u} (1 + e^v).

    >>> float(np.exp(log_some(np.zeros(3), 0)).round())  # three items, so seven choices
    7.0
    """
    if items.shape[axis] < 2:
        return items.sum(axis) if items.shape[axis] else items.sum(axis) + MINUS_INFINITY
    first, earlier, later = (_along(items, axis, some) for some in (slice(1), slice(-1), slice(1, None)))
    return log_sum(np.concatenate([first, later + softplus(earlier).cumsum(axis)], axis), axis)


def _along(items: np.ndarray, axis: int, some: slice) -> np.ndarray:
    return items[(*(slice(None),) * axis, some)]


def best_some(items: np.ndarray, axis: int) -> np.ndarray:
    """The weight of the best choice of one or more items: all that weigh more than 0, or else the heaviest.

    >>> best_some(np.array([[1.0, 2.0, -1.0], [-3.0, -1.0, -np.inf]]), 1).tolist()
    [3.0, -1.0]
    """
    heaviest = items.max(axis, initial=-np.inf)
    return np.where(heaviest > 0, np.maximum(items, 0.0).sum(axis), heaviest)


def following(values: np.ndarray, count: int) -> np.ndarray:
    """(B, n, m) -> (B, n, count, m): the entries of the next words; -inf beyond the last."""
    batch, n, m = values.shape
    padded = np.full((batch, n + count, m), -np.inf, dtype=values.dtype)
    padded[:, : max(n - 1, 0)] = values[:, 1:]
    return (
        np.stack([padded[:, first : first + n] for first in range(count)], axis=2)
        if count
        else padded[:, :, None][:, :, :0]
    )


def log_some_given(items: np.ndarray, required: np.ndarray, axis: int) -> np.ndarray:
    """The same over all choices of one or more items that include the required ones."""
    given = np.where(required, items, softplus(items)).sum(axis)
    return np.where(required.any(axis), given, log_some(items, axis))


def best_some_given(items: np.ndarray, required: np.ndarray, axis: int) -> np.ndarray:
    """The weight of the best choice of one or more items that includes the required ones."""
    given = np.where(required, items, np.maximum(items, 0.0)).sum(axis)
    return np.where(required.any(axis), given, best_some(items, axis))


class Menu(NamedTuple):
    """The items that may be chosen at one place."""

    items: np.ndarray  # (items,): what each weighs
    required: np.ndarray  # (items,): which are in every choice


class Menus:
    """The weights of the menus of a batch: sums over all choices or, if `best`, the best choice; under the constraints,
    if any."""

    def __init__(self, arrays: PartArrays, parts: int, *, best: bool = False, known: Known | None = None):
        self.arrays, self.parts = arrays, parts
        self.some, self.some_given = (best_some, best_some_given) if best else (log_some, log_some_given)
        c, later, gaps = arrays.close.shape[2], arrays.last.shape[2], arrays.gap.shape[2]
        self.gap_items: list[np.ndarray] = []
        """(B, n, g, m) for 1, 2, … parts that may still come: the menu of a gap that begins at word j."""
        self.part_items: list[np.ndarray] = []
        """(B, n, c' or 2 c', m) for the same: the menu of a part that begins at word s, as the last and if others
        follow."""
        for _ in range(1, parts):
            items = arrays.last
            if self.gap_items:
                more = arrays.open[:, :, :later] + following(self.some(self.gap_items[-1], 2), later)
                items = np.concatenate([items, more], axis=2)
            self.part_items.append(items)
            self.gap_items.append(arrays.gap + following(self.some(items, 2), gaps))
        self.more = np.full_like(arrays.close, -np.inf)
        """(B, n, c, m): the second item of each event, mentions of more parts."""
        if self.gap_items:
            self.more = arrays.open + following(self.some(self.gap_items[-1], 2), c)
        self.close = arrays.close
        """(B, n, c, m): the first item of each event, a contiguous mention."""
        self.required = np.zeros((2, 1, 1, 1, 1), dtype=bool)
        """(2, B, n, c, m), or broadcastable to it: which of the two items are required."""
        self.private: dict[Any, Menu] = {}
        self.events = self.some(np.stack([self.close, self.more]), 0)
        """(B, n, c, m): the weight of each event."""
        if known is not None:
            self.constrain(known)

    def constrain(self, known: Known) -> tuple[np.ndarray, ...]:
        """Change the few menus that constraints concern, and return the places of their events."""
        arrays = self.arrays
        limits = Limits(self.parts, arrays.close.shape[2], arrays.gap.shape[2], arrays.last.shape[2])
        self.close = np.where(known.forbidden, -np.inf, arrays.close)
        self.required = np.stack([known.required, known.opened])
        private = PrivateMenus(known, limits)
        self._add_private(private)
        concerned = known.forbidden | self.required.any(0)
        concerned[private.event_columns] = True
        place = concerned.nonzero()
        items = np.stack([self.close[place], self.more[place]])
        self.events[place] = self.some_given(items, self.required[:, *place], 0)
        return place

    def _add_private(self, private: PrivateMenus) -> None:
        """Add private menus, from the last parts of mentions to the first; each equals the shared menu except for items
        that lead to private ones."""
        arrays, below = self.arrays, np.zeros(0)  # (rows,): the weights of the menus that private items lead to
        for more, of_parts, rows, (row, item) in private.steps():
            shared, scores = (self.part_items, arrays.open) if of_parts else (self.gap_items, arrays.gap)
            sentence, word, kind = rows.index
            items = shared[more][sentence, word, :, kind]  # (rows, items), a copy
            width = item - arrays.last.shape[2] if of_parts else item
            items[row, item] = scores[sentence[row], word[row], width, kind[row]] + below
            required, forbidden = rows.masks(items.shape[1])
            items[forbidden] = -np.inf
            below = self.some_given(items, required, 1)
            self.private |= {key: Menu(items[at], required[at]) for key, at in rows.keys.items()}
        place = private.event_columns
        self.more[place] = arrays.open[place] + below

    # -- single menus: a menu is named by the sentence, the type, the parts that are complete and, of a part, its first
    # word ----

    def after(self, sentence: int, kind: int, done: Parts) -> Menu:
        """The menu of the gap after some parts: an item for each width."""
        private = self.private.get((sentence, kind, done))
        if private is not None:
            return private
        items, j = self.gap_items[self.parts - len(done) - 1], done[-1][1]
        found = items[sentence, j, :, kind] if j < items.shape[1] else np.full(items.shape[2], -np.inf)
        return Menu(found, np.zeros(len(found), dtype=bool))

    def part(self, sentence: int, kind: int, done: Parts, start: int) -> Menu:
        """The menu of the next part, which begins at `start`: an item for each width of a last part, then for each
        width of a part that others follow."""
        private = self.private.get((sentence, kind, done, start))
        if private is not None:
            return private
        found = self.part_items[self.parts - len(done) - 1][sentence, start, :, kind]
        return Menu(found, np.zeros(len(found), dtype=bool))

    def part_at(self, start: int, item: int) -> tuple[tuple[int, int], bool]:
        """The part that an item of such a menu represents, and whether others follow it."""
        c = self.arrays.last.shape[2]
        return (start, start + item % c + 1), item >= c


def chosen(items: np.ndarray, required: np.ndarray | None = None) -> np.ndarray:
    """The items of the best choice of one or more items that includes the required ones.

    >>> chosen(np.array([1.0, 2.0, -1.0])).tolist(), chosen(np.array([-3.0, -1.0])).tolist()
    ([True, True, False], [False, True])
    """
    taken = items > 0 if required is None else (items > 0) | required
    if not taken.any() and len(items):
        taken[items.argmax()] = True
    return taken


def probabilities(items: np.ndarray, required: np.ndarray | None = None) -> np.ndarray:
    """The probability that each item is chosen, among choices of one or more items that include the required ones.

    >>> probabilities(np.zeros(2)).round(3).tolist()  # in two of three choices
    [0.667, 0.667]
    """
    if not len(items):
        return items
    given = required is not None and required.any()
    with np.errstate(invalid="ignore"):
        each = items - softplus(items)
        each = each if given else each + (softplus(items).sum() - log_some(items, 0))
    found = np.where(items == -np.inf, 0.0, np.exp(np.minimum(each, 0.0)))
    return found if required is None else np.where(required, 1.0, found)


class Found(NamedTuple):
    """Discontinuous mentions of a batch, and their probabilities."""

    rows: list[tuple[int, AnyMention]]
    probabilities: list[float]


def best_below(menus: Menus, sentence: int, kind: int, done: Parts) -> Iterator[Parts]:
    """The mentions of the best choice of what follows these parts; `menus` must hold best weights."""
    for width in np.nonzero(chosen(*menus.after(sentence, kind, done)))[0].tolist():
        start = done[-1][1] + width + 1
        for item in np.nonzero(chosen(*menus.part(sentence, kind, done, start)))[0].tolist():
            part, goes_on = menus.part_at(start, item)
            if goes_on:
                yield from best_below(menus, sentence, kind, (*done, part))
            else:
                yield (*done, part)


def probable_below(
    menus: Menus, sentence: int, kind: int, done: Parts, probability: float, least: float
) -> Iterator[tuple[Parts, float]]:
    """The mentions that begin with these parts and reach a probability, given the probability that any mention does so
    begin."""
    begins = probability * probabilities(*menus.after(sentence, kind, done))
    for width in np.nonzero((begins >= least) & (begins > 0))[0].tolist():
        start = done[-1][1] + width + 1
        found = begins[width] * probabilities(*menus.part(sentence, kind, done, start))
        for item in np.nonzero((found >= least) & (found > 0))[0].tolist():
            part, goes_on = menus.part_at(start, item)
            if goes_on:
                yield from probable_below(menus, sentence, kind, (*done, part), float(found[item]), least)
            else:
                yield (*done, part), float(found[item])


def probability_of(menus: Menus, sentence: int, parts: Parts, kind: int, opened: float) -> float:
    """The probability of a discontinuous mention, given the probability that its first part continues."""
    c = menus.arrays.last.shape[2]
    for index in range(1, len(parts)):
        done, (start, end) = parts[:index], parts[index]
        item = end - start - 1 if index == len(parts) - 1 else end - start - 1 + c
        opened *= float(
            probabilities(*menus.after(sentence, kind, done))[start - done[-1][1] - 1]
            * probabilities(*menus.part(sentence, kind, done, start))[item]
        )
    return opened


def event_probabilities(menus: Menus, events: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(B, n, c, m) each: the probability that a first part is a mention, and that others follow it, given the event
    probabilities."""
    alone, goes_on = np.where(events > 0, events * item_shares(menus, (...,)), 0.0)
    return alone, goes_on


def item_shares(menus: Menus, place: tuple[Any, ...]) -> np.ndarray:
    """(2, places): the probability of both items of events at some places, given the event."""
    items, total = np.stack([menus.close[place], menus.more[place]]), menus.events[place]
    others = np.where(menus.required[:, *place], items, softplus(items))[::-1]
    possible = (total > -np.inf) & (items > -np.inf)
    with np.errstate(invalid="ignore"):
        given = np.where(possible, items + others - total, 0.0)
    return np.where(possible, np.exp(np.minimum(given, 0.0)), 0.0)


def best_mentions(menus: Menus, rows: np.ndarray) -> tuple[np.ndarray, list[tuple[int, AnyMention]]]:
    """Split the best events, (events, 4) as (sentence, start, end, type), into contiguous mentions and all
    discontinuous ones."""
    sentence, start, end, kind = rows.T
    place = sentence, start, end - start - 1, kind
    close, more = menus.close[place], menus.more[place]
    must = np.broadcast_to(menus.required, (2, *menus.close.shape))[:, *place]
    alone, longer = (np.stack([close, more]) > 0) | must
    neither = ~(alone | longer)
    alone, longer = alone | neither & (close >= more), longer | neither & (close < more)
    found: list[tuple[int, AnyMention]] = []
    for row in np.nonzero(longer)[0].tolist():
        b, i, j, k = rows[row].tolist()
        found += [(b, with_parts(parts, k)) for parts in best_below(menus, b, k, ((i, j),))]
    return rows[alone], found


def probable_mentions(menus: Menus, goes_on: np.ndarray, least: Sequence[float]) -> Found:
    """The discontinuous mentions that reach their type's threshold, given the probability that each first part
    continues."""
    rows: list[tuple[int, AnyMention]] = []
    found: list[float] = []
    for b, i, w, k in np.argwhere((goes_on >= np.array(least)) & (goes_on > 0)).tolist():
        for parts, probability in probable_below(menus, b, k, ((i, i + w + 1),), float(goes_on[b, i, w, k]), least[k]):
            rows.append((b, with_parts(parts, k)))
            found.append(probability)
    return Found(rows, found)
