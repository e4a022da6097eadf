"""The hyperedges of sets of discontinuous mentions, as places in score arrays. Needs no torch."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from hyperspan.structures.mentions import AnyMention, Mention, Parts, parts_of

Place = tuple[int, int]
"""The word at which a span begins, and its number of words minus one: the place of its score."""


def edges_of(parts: Parts) -> Iterator[tuple[str, object, Place]]:
    """The edges of a mention: the name of the scores, the key that identifies a shared edge, and the place of the
    score.

    >>> [(name, place) for name, _, place in edges_of(((0, 2), (3, 4)))]
    [('open', (0, 1)), ('gap', (2, 0)), ('last', (3, 0))]
    """
    start, end = parts[0]
    if len(parts) == 1:
        yield "close", parts, (start, end - start - 1)
        return
    for index, ((start, end), (following, _)) in enumerate(itertools.pairwise(parts), 1):
        yield "open", parts[:index], (start, end - start - 1)
        yield "gap", (parts[:index], following), (end, following - end - 1)
    start, end = parts[-1]
    yield "last", parts, (start, end - start - 1)


def first_parts(mentions: Iterable[AnyMention]) -> set[Mention]:
    """The first parts of mentions, as mentions."""
    return {(*parts_of(mention)[0], mention[2]) for mention in mentions}


def shared_score(sets: Sequence[Iterable[AnyMention]], scores: Mapping[str, np.ndarray]) -> np.ndarray:
    """(B,): the sum of the scores of parts and gaps that sets use, each once: mentions share their common prefixes."""
    total = np.zeros(len(sets))
    for sentence, mentions in enumerate(sets):
        used = {
            (name, mention[2], shared): scores[name][sentence, *place, mention[2]]
            for mention in mentions
            for name, shared, place in edges_of(parts_of(mention))
        }
        total[sentence] = sum(used.values())
    return total
