"""Reading the menus of discontinuous mentions: the best mentions, the probable ones, samples, and expected edges.
NumPy, without torch.

:mod:`hyperspan.structures.gaps` defines menus.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from hyperspan.kernels.numbers import softplus
from hyperspan.structures.gaps import Menu, Menus, preceding
from hyperspan.structures.mentions import AnyMention, Mention, Parts, TooManyMentionsError, with_parts
from hyperspan.structures.places import Places, with_discontinuous

Pick = Callable[[Menu], np.ndarray]
"""(items,): which items of a menu are chosen."""
FEW, MOST_PER_WORD = 0.0001, 100
"""Below this probability there may be at most so many discontinuous mentions for each word of a sentence."""


def below(menus: Menus, sentence: int, kind: int, done: Parts, pick: Pick) -> Iterator[Parts]:
    """The mentions of a choice of what follows some parts."""
    for width in np.nonzero(pick(menus.after(sentence, kind, done)))[0].tolist():
        start = done[-1][1] + width + 1
        for item in np.nonzero(pick(menus.part(sentence, kind, done, start)))[0].tolist():
            part, goes_on = menus.part_at(start, item)
            if goes_on:
                yield from below(menus, sentence, kind, (*done, part), pick)
            else:
                yield (*done, part)


# -- the best mentions -------------------------------------------------------------------------------------------------


def chosen(menu: Menu) -> np.ndarray:
    """The items of the best choice of one or more items that includes the required ones.

    >>> no = np.zeros(3, dtype=bool)
    >>> chosen(Menu(np.array([1.0, 2.0, -1.0]), no)).tolist(), chosen(Menu(np.array([-3.0, -1.0]), no[:2])).tolist()
    ([True, True, False], [False, True])
    """
    taken = (menu.items > 0) | menu.required
    if not taken.any() and len(taken):
        taken[menu.items.argmax()] = True
    return taken


def best_mentions(menus: Menus, rows: np.ndarray) -> Places:
    """The best mentions that begin with the best first parts, (parts, 4) as (sentence, start, end, type); the menus
    must hold best weights."""
    sentence, start, end, kind = rows.T
    place = sentence, start, end - start - 1, kind
    close, more = menus.close[place], menus.more[place]
    alone, longer = (np.stack([close, more]) > 0) | menus.required[:, *place]
    neither = ~(alone | longer)
    alone, longer = alone | neither & (close >= more), longer | neither & (close < more)
    found: list[tuple[int, AnyMention]] = []
    for b, i, j, k in rows[longer].tolist():
        found += [(b, with_parts(parts, k)) for parts in below(menus, b, k, ((i, j),), chosen)]
    return with_discontinuous(Places(rows[alone], np.zeros(alone.sum())), found, [0.0] * len(found))


# -- probabilities -----------------------------------------------------------------------------------------------------


def probabilities(menu: Menu) -> np.ndarray:
    """(items,): the probability that each item is chosen, among choices of one or more items that include the required
    ones.

    >>> probabilities(Menu(np.zeros(2), np.zeros(2, dtype=bool))).round(3).tolist()  # in two of three choices
    [0.667, 0.667]
    """
    items, required = menu
    if not required.any():
        return item_probabilities(items, 0)
    with np.errstate(invalid="ignore"):
        found = np.exp(items - softplus(items))
    return np.where(required, 1.0, np.where(items == -np.inf, 0.0, found))


def item_probabilities(items: np.ndarray, axis: int) -> np.ndarray:
    """The probability of each item of menus without required items."""
    if not items.shape[axis]:
        return items
    maybe = softplus(items)
    upto = maybe.cumsum(axis)
    last = items + (upto - maybe)  # the weight of all choices whose last item this is, as in log_some
    pivot = last.max(axis, keepdims=True)
    pivot[pivot == -np.inf] = 0.0
    every = upto.take([-1], axis)
    with np.errstate(invalid="ignore", divide="ignore"):
        each = items - maybe + (every - pivot - np.log(np.exp(last - pivot).sum(axis, keepdims=True)))
    return np.where(items == -np.inf, 0.0, np.exp(np.minimum(each, 0.0)))


def probable_mentions(
    menus: Menus, contiguous: Places, goes_on: np.ndarray, least: Sequence[float], lengths: Sequence[int]
) -> Places:
    """Some contiguous mentions, and the discontinuous ones that reach their type's threshold, given the probability
    that each first part continues.

    Their number grows with a high power of the limits on parts and gaps, so below `FEW` it is bounded for each word.
    """
    found: list[tuple[int, AnyMention]] = []
    probabilities: list[float] = []
    bounded = min(least, default=FEW) < FEW
    room = [MOST_PER_WORD * max(words, 10) if bounded else math.inf for words in lengths]
    for b, i, w, k in np.argwhere((goes_on >= np.array(least)) & (goes_on > 0)).tolist():
        for parts, probability in _probable(menus, b, k, ((i, i + w + 1),), float(goes_on[b, i, w, k]), least[k]):
            found.append((b, with_parts(parts, k)))
            probabilities.append(min(probability, 1.0))
            room[b] -= 1
        if room[b] < 0:
            raise TooManyMentionsError(
                f"a sentence has more than {MOST_PER_WORD} discontinuous mentions for each word with a probability of at "
                f"least {min(least):g}; ask for at least {FEW}"
            )
    return with_discontinuous(contiguous, found, probabilities)


def _probable(
    menus: Menus, sentence: int, kind: int, done: Parts, probability: float, least: float
) -> Iterator[tuple[Parts, float]]:
    """The mentions that begin with these parts and reach a probability, given the probability that any mention does so
    begin."""
    begins = probability * probabilities(menus.after(sentence, kind, done))
    for width in np.nonzero((begins >= least) & (begins > 0))[0].tolist():
        start = done[-1][1] + width + 1
        found = begins[width] * probabilities(menus.part(sentence, kind, done, start))
        for item in np.nonzero((found >= least) & (found > 0))[0].tolist():
            part, goes_on = menus.part_at(start, item)
            if goes_on:
                yield from _probable(menus, sentence, kind, (*done, part), float(found[item]), least)
            else:
                yield (*done, part), float(found[item])


def probability_of(menus: Menus, sentence: int, parts: Parts, kind: int, opened: float) -> float:
    """The probability of a discontinuous mention, given the probability that its first part continues."""
    c = menus.scores.last.shape[2]
    for index in range(1, len(parts)):
        done, (start, end) = parts[:index], parts[index]
        item = end - start - 1 if index == len(parts) - 1 else end - start - 1 + c
        opened *= float(
            probabilities(menus.after(sentence, kind, done))[start - done[-1][1] - 1]
            * probabilities(menus.part(sentence, kind, done, start))[item]
        )
    return opened


# -- samples -----------------------------------------------------------------------------------------------------------


def draw_mentions(
    menus: Menus, events: Sequence[Sequence[Iterable[Mention]]], uniform: Callable[..., np.ndarray]
) -> list[list[frozenset[AnyMention]]]:
    """For each set of first parts of each sentence, a set of mentions that begin with them, from uniform random
    numbers."""

    def pick(menu: Menu) -> np.ndarray:
        return draw(menu, uniform)

    def drawn(sentence: int, firsts: Iterable[Mention]) -> Iterator[AnyMention]:
        for start, end, kind in firsts:
            place = sentence, start, end - start - 1, kind
            alone, goes_on = pick(
                Menu(np.array([menus.close[place], menus.more[place]]), menus.required[:, *place])
            ).tolist()
            if alone:
                yield start, end, kind
            if goes_on:
                yield from (with_parts(parts, kind) for parts in below(menus, sentence, kind, ((start, end),), pick))

    return [[frozenset(drawn(b, sorted(one))) for one in sets] for b, sets in enumerate(events)]


def draw(menu: Menu, uniform: Callable[..., np.ndarray]) -> np.ndarray:
    """(items,): sample a choice of one or more items, including the required ones, in proportion to exp of its weight.

    The last item u of a choice has the weight e^u Π_{v before u} (1 + e^v); the items before it are then independent.
    """
    items, required = menu
    maybe = softplus(items)
    taken = uniform(len(items)) < np.exp(items - maybe)
    if required.any():
        return taken | required
    weights = items.copy()
    weights[1:] += maybe[:-1].cumsum()
    reached = np.exp(weights - weights.max()).cumsum()
    last = int(np.searchsorted(reached, uniform(1)[0] * reached[-1], side="right"))
    taken[last] = True
    taken[last + 1 :] = False
    return taken


# -- expected edges ----------------------------------------------------------------------------------------------------


class ExpectedEdges:
    """How often each part and gap is expected, given how often each first part is: one pass from first parts to
    last ones."""

    def __init__(self, menus: Menus, events: np.ndarray):
        """`events` (B, n, c, m) are the probabilities of first parts, or more or less than these by any factor."""
        self.menus, scores = menus, menus.scores
        self.close, self.open = events * menus.shares
        self.gap, self.last = np.zeros_like(scores.gap), np.zeros_like(scores.last)
        shape = scores.absent.shape
        self._gaps = [np.zeros(shape, dtype=events.dtype) for _ in menus.shared.gaps]
        """(B, n, m): how often a shared menu of gaps is read, by the number of parts that may still come."""
        self._parts = [np.zeros(shape, dtype=events.dtype) for _ in menus.shared.parts]
        """The same of parts."""
        if self._gaps:
            self._follow(self.open.copy())

    def _follow(self, opened: np.ndarray) -> None:
        menus, later = self.menus, self.menus.scores.last.shape[2]
        for sentence, kind, done, *start in menus.private:
            if len(done) == 1 and not start:
                place = sentence, done[0][0], done[0][1] - done[0][0] - 1, kind
                self._after(sentence, kind, done, float(opened[place]))
                opened[place] = 0.0
        self._gaps[-1] += preceding(opened)
        for more in reversed(range(len(self._gaps))):
            begun = item_probabilities(menus.shared.gaps[more], 2) * self._gaps[more][:, :, None]
            self.gap += begun
            self._parts[more] += preceding(begun)
            found = item_probabilities(menus.shared.parts[more], 2) * self._parts[more][:, :, None]
            self.last += found[:, :, :later]
            if more:
                self.open[:, :, :later] += found[:, :, later:]
                self._gaps[more - 1] += preceding(found[:, :, later:])

    def _after(self, sentence: int, kind: int, done: Parts, probability: float) -> None:
        """Follow a private menu: that of the gap after some parts, which come with a probability."""
        menus, j, more = self.menus, done[-1][1], self.menus.parts - len(done) - 1
        begun = probability * probabilities(menus.after(sentence, kind, done))
        self.gap[sentence, j, :, kind] += begun
        for width in begun.nonzero()[0].tolist():
            start = j + width + 1
            if (sentence, kind, done, start) not in menus.private:
                self._parts[more][sentence, start, kind] += begun[width]
                continue
            found = begun[width] * probabilities(menus.part(sentence, kind, done, start))
            for item in found.nonzero()[0].tolist():
                self._part(sentence, kind, done, *menus.part_at(start, item), float(found[item]))

    def _part(
        self, sentence: int, kind: int, done: Parts, part: tuple[int, int], goes_on: bool, probability: float
    ) -> None:
        """Follow a part of a private menu."""
        start, end = part
        place = sentence, start, end - start - 1, kind
        if not goes_on:
            self.last[place] += probability
            return
        self.open[place] += probability
        if (sentence, kind, (*done, part)) in self.menus.private:
            self._after(sentence, kind, (*done, part), probability)
        elif end < self.gap.shape[1]:
            self._gaps[self.menus.parts - len(done) - 2][sentence, end, kind] += probability
