"""Required and forbidden mentions as masks (B, n, c, m) by sentence, start, width and type.

Partial annotation is such a constraint: listed mentions are required, mentions known to be absent are forbidden, and
the rest is free.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hyperspan.structures.mentions import Mention, MentionSets, check_constraints

Shape = Sequence[int]
"""(B, n, c, m)."""


def mask_of(mention_sets: Sequence[Iterable[Mention]], shape: Shape) -> np.ndarray:
    """(B, n, c, m): true for the given mentions; discontinuous mentions and those wider than c are left out.

    >>> np.argwhere(mask_of([{(0, 2, 0), (0, 3, 0)}], (1, 3, 2, 1))).tolist()
    [[0, 0, 1, 0]]
    """
    mask = np.zeros(shape, dtype=bool)
    rows = [
        (b, start, end - start - 1, kind)
        for b, some in enumerate(mention_sets)
        for start, end, kind, *parts in some
        if not parts
    ]
    found = np.array(rows, dtype=np.int64).reshape(-1, 4)
    mask[tuple(found[found[:, 2] < shape[2]].T)] = True
    return mask


def constraint_masks(
    require: MentionSets | None, forbid: MentionSets | None, lengths: Sequence[int], shape: Shape
) -> tuple[np.ndarray, np.ndarray]:
    """Return both constraints as masks; raise an error that names what cannot be required or forbidden."""
    _, _, c, m = shape
    checked = check_constraints(require, forbid, lengths, m, c)
    required, forbidden = ([pair[side] for pair in checked] for side in (0, 1))
    return mask_of(required, shape), mask_of(forbidden, shape)


def inside(lengths: Sequence[int], shape: Shape) -> np.ndarray:
    """(B, n, c, 1): which spans are inside their sentence."""
    _, n, c, _ = shape
    ends = np.arange(n)[:, None] + np.arange(c) + 1  # (n, c)
    return (ends <= np.array(lengths, dtype=np.int64).reshape(-1, 1, 1))[..., None]


@dataclass(frozen=True)
class PartialMarks:
    """What a partial annotation states besides its mentions: where all mentions are listed, and which are absent.

    >>> marks = PartialMarks(np.array([[True, False]]), [None], [{(1, 2, 1)}])
    >>> required, forbidden = marks.masks([{(0, 1, 0)}], n=2, c=1)
    >>> required[0, :, 0].tolist()  # by start and type
    [[True, False], [False, False]]
    >>> forbidden[0, :, 0].tolist()  # the second type is unknown at the first word
    [[False, False], [True, True]]
    """

    types: np.ndarray
    """(B, m): the types whose mentions are all listed, inside `regions`."""
    regions: Sequence[Sequence[tuple[int, int]] | None]
    """The spans of each sentence in which `types` are complete; None for the whole sentence."""
    forbidden: Sequence[Iterable[Mention]]
    """The mentions of each sentence that are known to be absent."""

    def of_whole_types(self, gold: Sequence[Iterable[Mention]]) -> bool:
        """Whether each type of each sentence is either fully known or fully unknown."""
        if any(self.forbidden) or any(regions is not None for regions in self.regions):
            return False
        return all(types[kind] for types, some in zip(self.types, gold, strict=True) for _, _, kind in some)

    def known(self, n: int, c: int) -> np.ndarray:
        """(B, n, c, m): the mentions that are absent unless listed."""
        shape = (len(self.types), n, c, self.types.shape[1])
        known = np.broadcast_to(self.types[:, None, None], shape).copy()
        starts = np.arange(n)[:, None]
        ends = starts + np.arange(c) + 1  # (n, c)
        for sentence, regions in enumerate(self.regions):
            if regions is not None:
                covered = [(starts >= first) & (ends <= last) for first, last in regions]
                known[sentence] &= np.any([np.zeros_like(ends, dtype=bool), *covered], axis=0)[..., None]
        return known | mask_of(self.forbidden, shape)

    def masks(self, gold: Sequence[Iterable[Mention]], n: int, c: int) -> tuple[np.ndarray, np.ndarray]:
        """(B, n, c, m) each: the mentions that are present, and those that are absent."""
        known = self.known(n, c)
        required = mask_of(gold, known.shape)
        return required, known & ~required

    def known_chains(self, lengths: Sequence[int], n: int, c: int) -> np.ndarray:
        """(B, n, m): the starts and types for which everything is known."""
        known = self.known(n, c)
        return np.asarray((known | ~inside(lengths, known.shape)).all(2))
