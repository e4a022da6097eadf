"""Discontinuous mentions as menus: the possible sets, their weights, and the best of them; over arrays and tensors.

All mentions of a type whose first part is the words i to i + w form one *event* of the chain that starts at i. An event
is a choice of one or more items from a *menu*. There are three menus:

- of an event: the first part is a mention (`close`), or others follow (`open`, and what the next menu weighs);
- of a gap that begins at word j: it has one word, two, … (`gap`, and what the menu of the part after it weighs);
- of a part that begins at word s: it ends after one word, two, … and is the last (`last`), or others follow (`open`,
  and a gap's menu).

The menus below an item belong to that item alone: nothing is shared, so every set of mentions is exactly one
combination of choices. But the *scores* of a gap and of what follows do not depend on the parts before it. So the
weights of their menus are computed once for all of them, which costs O(n m (c + P (g + c'))); over arrays, in C.

The weight of a menu sums over all choices of one or more of its items. Written by the last item u that is chosen, the
sum has no differences, so nothing cancels::

    some(x₁, …, x_r) = log Σ_u exp(x_u) Π_{v<u} (1 + exp(x_v))

From last parts to first; with P parts at most, `begin` and `after` are computed P - 1 times::

    begin[s]    = some( last[s, u],   open[s, u] + after[s + u + 1] )    over widths u of a part
    after[j]    = some( gap[j, d] + begin[j + d + 1] )                   over widths d of a gap
    event[i, w] = some( close[i, w],  open[i, w] + after[i + w + 1] )    over the two items

The chain over first parts is that of the segmental hypergraph with `event` in place of `close`.

Requiring or forbidding a contiguous mention changes one event. A discontinuous mention is an item of a menu that others
share: forbidding it after one first part must not forbid it after another. So the menus along such a mention become
*private*: they are computed once more, from its last part to its first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from hyperspan.kernels.choice import choose
from hyperspan.kernels.menus import MenuResults, run_menus
from hyperspan.kernels.numbers import (
    MINUS_INFINITY,
    finite,
    is_array,
    log_sum,
    namespace,
    placed,
    put,
    replaced,
    softplus,
)
from hyperspan.structures.constraints import KnownMentions
from hyperspan.structures.mentions import Parts
from hyperspan.structures.scores import DiscontinuousScores

Prefix = tuple[int, int, Parts] | tuple[int, int, Parts, int]
"""The name of a single menu: the sentence, the type, the parts that are complete and, of a part, its first word."""


def log_some(items: Any, axis: int) -> Any:
    """log Σ exp(sum of the chosen items) over all choices of one or more items; without cancellation.

    Each choice has a last item u: that is Σ_u e^u Π_{v before u} (1 + e^v).

    >>> float(np.exp(log_some(np.zeros(3), 0)).round())  # three items, so seven choices
    7.0
    """
    if items.shape[axis] < 2:
        return items.sum(axis) if items.shape[axis] else items.sum(axis) + MINUS_INFINITY
    xp = namespace(items)
    first, earlier, later = (_along(items, axis, some) for some in (slice(1), slice(-1), slice(1, None)))
    return log_sum(xp.concatenate([first, later + softplus(earlier).cumsum(axis)], axis), axis)


def _along(items: Any, axis: int, some: slice) -> Any:
    return items[(*(slice(None),) * axis, some)]


def best_some(items: np.ndarray, axis: int) -> np.ndarray:
    """The weight of the best choice of one or more items: all that weigh more than 0, or else the heaviest.

    >>> best_some(np.array([[1.0, 2.0, -1.0], [-3.0, -1.0, -np.inf]]), 1).tolist()
    [3.0, -1.0]
    """
    heaviest = items.max(axis, initial=-np.inf)
    return np.where(heaviest > 0, np.maximum(items, 0.0).sum(axis), heaviest)


def log_some_given(items: Any, required: Any, axis: int) -> Any:
    """The same as :func:`log_some` over all choices of one or more items that include the required ones."""
    xp = namespace(items)
    given = xp.where(required, items, softplus(items)).sum(axis)
    return xp.where(required.any(axis), given, log_some(items, axis))


def best_some_given(items: np.ndarray, required: np.ndarray, axis: int) -> np.ndarray:
    """The weight of the best choice of one or more items that includes the required ones."""
    given = np.where(required, items, np.maximum(items, 0.0)).sum(axis)
    return np.where(required.any(axis), given, best_some(items, axis))


def following(values: Any, count: int) -> Any:
    """(B, n, m) -> (B, n, count, m): the entries of the next words, i + 1 to i + count; -inf beyond the last.

    >>> following(np.array([[[1.0], [2.0]]]), 2)[0, :, :, 0].tolist()
    [[2.0, -inf], [-inf, -inf]]
    """
    xp = namespace(values)
    if count == 0 or not values.shape[1]:
        return values[:, :, None][:, :, [0] * count]
    beyond = xp.zeros_like(values[:, :1]) + MINUS_INFINITY
    padded = xp.concatenate([values[:, 1:], *[beyond] * count], 1)
    if is_array(values):
        windows = np.lib.stride_tricks.sliding_window_view(padded, count, 1)
    else:
        windows = padded.unfold(1, count, 1)
    return windows.swapaxes(2, 3)


def preceding(values: np.ndarray) -> np.ndarray:
    """(B, n, count, m) -> (B, n, m): sums of the entries that :func:`following` took from each word."""
    found = np.zeros_like(values[:, :, 0]) if values.shape[2] else np.zeros((*values.shape[:2], values.shape[3]))
    n = values.shape[1]
    for step in range(min(values.shape[2], max(n - 1, 0))):
        found[:, step + 1 :] += values[:, : n - step - 1, step]
    return found


class SharedMenus(NamedTuple):
    """The menus that all first parts share, for 1, 2, … parts that may still come."""

    parts: Sequence[Any]
    """(B, n, c' or 2 c', m): the menu of a part that begins at word s, as the last and if others follow."""
    gaps: Sequence[Any]
    """(B, n, g, m): the menu of a gap that begins at word j."""
    more: Any
    """(B, n, c, m): the second item of each event, mentions of more parts."""


Some = Callable[[Any, int], Any]
"""The weight of all choices of one or more items, or of the best of them."""


def shared_menus(scores: DiscontinuousScores[Any], parts: int, some: Some) -> SharedMenus:
    """The menus of a batch; scores beyond sentences are -inf."""
    c, later, gap = scores.close.shape[2], scores.last.shape[2], scores.gap.shape[2]
    of_parts: list[Any] = []
    of_gaps: list[Any] = []
    for _ in range(1, parts):
        items = scores.last
        if of_gaps:
            more = scores.open[:, :, :later] + following(some(of_gaps[-1], 2), later)
            items = namespace(items).concatenate([items, more], 2)
        of_parts.append(items)
        of_gaps.append(scores.gap + following(some(items, 2), gap))
    more = (
        scores.open + following(some(of_gaps[-1], 2), c)
        if of_gaps
        else namespace(scores.close).full_like(scores.close, MINUS_INFINITY)
    )
    return SharedMenus(of_parts, of_gaps, more)


class Menu(NamedTuple):
    """The items that may be chosen at one place."""

    items: Any  # (items,): what each weighs
    required: np.ndarray  # (items,): which are in every choice


class Menus:
    """The weights of the menus of a batch: sums over all choices or, if `best`, the best choice of arrays; under the
    constraints, if any."""

    def __init__(
        self,
        scores: DiscontinuousScores[Any],
        lengths: Sequence[int],
        parts: int,
        *,
        best: bool = False,
        known: KnownMentions | None = None,
    ):
        self.parts = parts
        self._some, self._some_given = (best_some, best_some_given) if best else (log_some, log_some_given)
        self.required = np.zeros((2, *scores.close.shape), dtype=bool)
        """(2, B, n, c, m): which of the two items of an event are required."""
        self.private: dict[Prefix, Menu] = {}
        self._levels: tuple[np.ndarray, list[SharedMenus]] | None = None
        self._shares: Any = None
        in_c = is_array(scores.close) and (known is None or known.floor is None) and choose("menus", "cpu") == "c"
        if in_c:
            self.scores = scores.inside(lengths, ("last",))
            found = run_menus(
                [self.scores.tensors()[name] for name in ("close", "open", "gap", "last")], lengths, parts, best=best
            )
            self.shared = _of_c(self.scores, found, parts)
            self.events = found.events
            self._shares = found.shares
        else:
            self.scores = scores.inside(lengths)
            self.shared = shared_menus(self.scores, parts, self._some)
        self.close = self.scores.close
        """(B, n, c, m): the first item of each event, a contiguous mention."""
        self.more = self.shared.more
        """(B, n, c, m): the second item of each event, mentions of more parts."""
        if not in_c:
            self.events = self._all_events()
            """(B, n, c, m): the weight of each event."""
        if known is not None:
            self._constrain(known)

    def _all_events(self) -> Any:
        return self._some(namespace(self.close).stack([self.close, self.more]), 0)

    @property
    def shares(self) -> Any:
        """(2, B, n, c, m): the probability of the two items of each event, given the event."""
        if self._shares is None:
            self._shares = self.shares_at((...,))
        return self._shares

    def shares_at(self, place: tuple[Any, ...]) -> Any:
        """(2, places): the same at some places, which is faster where they are few."""
        if self._shares is not None:
            return self._shares[:, *place]
        xp, total = namespace(self.close), self.events[place]
        items, must = xp.stack([self.close[place], self.more[place]]), placed(self.required[:, *place], total)
        others = xp.flip(xp.where(must, items, softplus(items)), (0,))
        never = (items == MINUS_INFINITY) | (others == MINUS_INFINITY) | (total == MINUS_INFINITY)
        given = replaced(items, never, 0.0) + replaced(others, never, 0.0) - finite(total)
        return replaced(xp.exp(given.clip(max=0.0)), never, 0.0)

    # -- constraints -------------------------------------------------------------------------------------------------

    def _constrain(self, known: KnownMentions) -> None:
        """Compute again what constraints change: private menus, and the events above them."""
        xp, scores = namespace(self.close), self.scores
        self.close = replaced(self.close, placed(known.forbidden, self.close), MINUS_INFINITY)
        self.required = np.stack([known.required, known.opened])
        if known.floor is not None:
            self._raise_floor(known.floor)
        concerned = known.forbidden | self.required.any(0)
        private = known.by_first_part()
        if private:
            below = []
            for (sentence, start, width, kind), mentions in private.items():
                below.append(self._weigh_gap((sentence, kind, ((start, start + width + 1),)), mentions))
            place = tuple(np.array(list(private), dtype=np.int64).T)
            self.more = put(self.more, place, scores.open[place] + xp.stack(below))
            concerned[place] = True
        place = concerned.nonzero()
        items = xp.stack([self.close[place], self.more[place]])
        self.events = put(self.events, place, self._some_given(items, placed(self.required[:, *place], items), 0))
        if self._shares is not None:
            shares, self._shares = self._shares, None
            shares[:, *place] = self.shares_at(place)
            self._shares = shares

    def _weigh_gap(self, key: tuple[int, int, Parts], mentions: Iterable[tuple[Parts, bool]]) -> Any:
        """The weight of what may follow some parts, given the parts of mentions that begin with them, in order, and
        whether each is required; if not, it is forbidden."""
        sentence, kind, done = key
        j, changed, required = done[-1][1], dict[int, Any](), set[int]()
        for start, group in groupby(mentions, key=lambda one: one[0][len(done)][0]):
            here, item = list(group), start - j - 1
            below = self._weigh_part((sentence, kind, done, start), here)
            changed[item] = self.scores.gap[sentence, j, item, kind] + below
            required |= {item for _, must in here if must}
        return self._keep(key, self._items(key), changed, required, set())

    def _weigh_part(self, key: tuple[int, int, Parts, int], mentions: Iterable[tuple[Parts, bool]]) -> Any:
        """The same of the part after a gap, which begins at a word."""
        (sentence, kind, done, start), scores = key, self.scores
        changed, required, forbidden = dict[int, Any](), set[int](), set[int]()
        for part, group in groupby(mentions, key=lambda one: one[0][len(done)]):
            here, item = list(group), part[1] - start - 1
            if ends := {must for parts, must in here if len(parts) == len(done) + 1}:
                changed[item] = scores.last[sentence, start, item, kind]  # it may be under a floor
                required |= {item} if True in ends else set()
                forbidden |= {item} if False in ends else set()
            if longer := [(parts, must) for parts, must in here if len(parts) > len(done) + 1]:
                below = self._weigh_gap((sentence, kind, (*done, part)), longer)
                opening, item = scores.open[sentence, start, item, kind], item + scores.last.shape[2]
                changed[item] = opening + below
                required |= {item for _, must in longer if must}
        return self._keep(key, self._items(key), changed, required, forbidden)

    def _keep(self, key: Prefix, items: Any, changed: dict[int, Any], required: set[int], forbidden: set[int]) -> Any:
        """Keep a private menu, in which some items weigh something else, and return its weight."""
        values = namespace(items).stack(list(changed.values()))
        items = put(items, (np.array(list(changed), dtype=np.int64),), values)
        must, never = (np.isin(np.arange(len(items)), list(some)) for some in (required, forbidden))
        items = replaced(items, placed(never, items), MINUS_INFINITY)
        self.private[key] = Menu(items, must)
        return self._some_given(items, placed(must, items), 0)

    def _raise_floor(self, floor: np.ndarray) -> None:
        """Let no mention of several parts end at its start's floor or before, but for required ones.

        A start sees at most as many words as a mention can span. So floors twice that distance apart share menus, in
        which last parts may not end at a floor or up to that many words before it. This bounds the number of shared
        menus, however long the sentence.
        """
        hull, (_, n, later, _) = self.scores.limits(self.parts).hull, self.scores.last.shape
        closed = floor - np.arange(n)[:, None] >= hull  # (B, n, m): no mention ends after the floor
        share = np.where(closed, -2, np.where(floor > 0, floor % (2 * hull), -1))
        level, menus = np.zeros_like(floor), [self.shared]
        ends = np.arange(n)[:, None] + np.arange(1, later + 1)  # (n, c')
        for index, one in enumerate(np.unique(share[share != -1]).tolist(), 1):
            level[share == one] = index
            under = np.full((len(floor), n + later + 1), one == -2)  # (B, ends)
            for sentence in np.nonzero((share == one).any((1, 2)))[0].tolist():
                for end in np.unique(floor[sentence][share[sentence] == one]).tolist():
                    under[sentence, max(end - hull + 1, 0) : end + 1] = True
            last = replaced(self.scores.last, placed(under[:, ends][..., None], self.scores.last), MINUS_INFINITY)
            menus.append(shared_menus(self.scores.changed(last=last), self.parts, self._some))
            here = placed((level == index)[:, :, None], last)
            self.more = namespace(last).where(here, menus[-1].more, self.more)
        self._levels = level, menus
        self.events, self._shares = self._all_events(), None

    # -- single menus ------------------------------------------------------------------------------------------------

    def _items(self, key: Prefix) -> Any:
        """(items,): the weights of the menu that a place has without private ones."""
        sentence, kind, done, *start = key
        shared = self.shared
        if self._levels is not None:
            level, menus = self._levels
            shared = menus[level[sentence, done[0][0], kind]]
        items = (shared.parts if start else shared.gaps)[self.parts - len(done) - 1]
        return items[sentence, start[0] if start else done[-1][1], :, kind]

    def after(self, sentence: int, kind: int, done: Parts) -> Menu:
        """The menu of the gap after some parts: an item for each width."""
        return self._menu((sentence, kind, done), done[-1][1])

    def part(self, sentence: int, kind: int, done: Parts, start: int) -> Menu:
        """The menu of the next part, which begins at `start`: an item for each width of a last part, then for each
        width of a part that others follow."""
        return self._menu((sentence, kind, done, start), start)

    def _menu(self, key: Prefix, word: int) -> Menu:
        if key in self.private:
            return self.private[key]
        items = self._items(key) if word < self.close.shape[1] else np.zeros(0)
        return Menu(items, np.zeros(len(items), dtype=bool))

    def part_at(self, start: int, item: int) -> tuple[tuple[int, int], bool]:
        """The part that an item of such a menu represents, and whether others follow it."""
        c = self.scores.last.shape[2]
        return (start, start + item % c + 1), item >= c


def _of_c(scores: DiscontinuousScores[np.ndarray], found: MenuResults, parts: int) -> SharedMenus:
    return SharedMenus([scores.last, *found.part_items][: parts - 1], list(found.gap_items), found.more)
