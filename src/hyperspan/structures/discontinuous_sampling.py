"""Sample discontinuous mentions from their menus, given sampled first parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from hyperspan.structures.discontinuous_menus import Menu, Menus, softplus
from hyperspan.structures.mentions import AnyMention, Mention, Parts, with_parts


def draw_mentions(
    menus: Menus, events: Sequence[Sequence[Iterable[Mention]]], generator: np.random.Generator
) -> list[list[frozenset[AnyMention]]]:
    """For each set of first parts of each sentence, a set of mentions that begin with them."""
    return [
        [frozenset(_drawn(menus, sentence, sorted(one), generator)) for one in drawn]
        for sentence, drawn in enumerate(events)
    ]


def _drawn(
    menus: Menus, sentence: int, events: Iterable[Mention], generator: np.random.Generator
) -> Iterator[AnyMention]:
    required = np.broadcast_to(menus.required, (2, *menus.close.shape))
    for start, end, kind in events:
        place = sentence, start, end - start - 1, kind
        items = np.array([menus.close[place], menus.more[place]])
        alone, goes_on = draw(Menu(items, required[:, *place]), generator).tolist()
        if alone:
            yield start, end, kind
        if goes_on:
            yield from (
                with_parts(parts, kind) for parts in _drawn_after(menus, sentence, kind, ((start, end),), generator)
            )


def _drawn_after(
    menus: Menus, sentence: int, kind: int, done: Parts, generator: np.random.Generator
) -> Iterator[Parts]:
    """The mentions of a sampled choice of what follows these parts."""
    for width in np.nonzero(draw(menus.after(sentence, kind, done), generator))[0].tolist():
        start = done[-1][1] + width + 1
        for item in np.nonzero(draw(menus.part(sentence, kind, done, start), generator))[0].tolist():
            part, goes_on = menus.part_at(start, item)
            if goes_on:
                yield from _drawn_after(menus, sentence, kind, (*done, part), generator)
            else:
                yield (*done, part)


def draw(menu: Menu, generator: np.random.Generator) -> np.ndarray:
    """(items,): sample a choice of one or more items, including the required ones, in proportion to exp of its weight.

    The last item u of a choice has the weight e^u Π_{v before u} (1 + e^v); the items before it are then independent.
    """
    items, required = menu
    maybe = softplus(items)
    taken = generator.random(len(items)) < np.exp(items - maybe)
    if required.any():
        return taken | required
    weights = items.copy()
    weights[1:] += maybe[:-1].cumsum()
    reached = np.exp(weights - weights.max()).cumsum()
    last = int(np.searchsorted(reached, generator.random() * reached[-1], side="right"))
    taken[last] = True
    taken[last + 1 :] = False
    return taken
