"""Mentions of a batch as arrays, for decoding. Needs no torch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from hyperspan.structures.mentions import AnyMention, Mention, Parts, parts_of


class Places(NamedTuple):
    """Mentions of a batch, in the order of sentences, and their probabilities."""

    rows: np.ndarray  # (mentions, 4): sentence, start, end, type
    probabilities: np.ndarray  # (mentions,)
    parts: Sequence[Parts] = ()
    """The parts of each mention, () for a contiguous one; empty if all are contiguous."""


def with_discontinuous(
    contiguous: Places, longer: Sequence[tuple[int, AnyMention]], probabilities: Sequence[float]
) -> Places:
    """Contiguous mentions merged with discontinuous ones, (sentence, mention), in the order of sentences."""
    if not longer:
        return contiguous
    rows = np.array([(sentence, *mention[:3]) for sentence, mention in longer], dtype=contiguous.rows.dtype)
    every = np.concatenate([contiguous.rows, rows])
    parts = [*((),) * len(contiguous.rows), *(parts_of(mention) for _, mention in longer)]
    order = every[:, 0].argsort(kind="stable")
    found = np.concatenate([contiguous.probabilities, np.array(probabilities, dtype=contiguous.probabilities.dtype)])
    return Places(every[order], found[order], [parts[place] for place in order])


def rows_of_sets(sets: Sequence[Iterable[Mention]]) -> np.ndarray:
    """(mentions, 4): the mentions of each sentence, in the form of :class:`Places`.

    >>> rows_of_sets([[(1, 2, 0), (0, 2, 0)], [(0, 1, 3)]]).tolist()
    [[0, 0, 2, 0], [0, 1, 2, 0], [1, 0, 1, 3]]
    """
    rows = [(sentence, *mention) for sentence, mentions in enumerate(sets) for mention in sorted(mentions)]
    return np.array(rows, dtype=np.int64).reshape(-1, 4)


def sets_of(found: Places, sentences: int) -> list[frozenset[Any]]:
    """The set of each sentence.

    >>> sets_of(Places(np.array([[1, 0, 2, 0]]), np.ones(1)), 2)
    [frozenset(), frozenset({(0, 2, 0)})]
    """
    sets: list[list[AnyMention]] = [[] for _ in range(sentences)]
    for row, parts in zip(found.rows.tolist(), found.parts or repeat(()), strict=False):
        sets[row[0]].append((*row[1:], parts) if parts else tuple(row[1:]))
    return [frozenset(mentions) for mentions in sets]
