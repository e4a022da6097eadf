"""Required and forbidden mentions: contiguous ones as masks (B, n, c, m) by sentence, start, width and type, others as
sets.

Partial annotation is such a constraint: listed mentions are required, mentions known to be absent are forbidden, and
the rest is free.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hyperspan.kernels.numbers import inside
from hyperspan.structures.mentions import (
    AnyMention,
    Limits,
    Mention,
    MentionSets,
    Parts,
    check_discontinuous,
    check_mentions,
    parts_of,
)

Shape = Sequence[int]
"""(B, n, c, m)."""
AnySets = Sequence[Iterable[AnyMention]]
"""Mentions of each sentence, with or without parts."""
Sets = Sequence[frozenset[Any]]
FirstPart = tuple[int, int, int, int]
"""The sentence, start, width and type of a first part: its place in (B, n, c, m)."""


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
    required, forbidden = check_mentions(require, lengths, m), check_mentions(forbid, lengths, m)
    check_both(required, forbidden)
    for sentence, some in enumerate(required):
        for start, end, kind in sorted(some):
            if end - start > c:
                raise ValueError(
                    f"expected required mentions of at most c = {c} words, got {(start, end, kind)} in sentence {sentence}"
                )
    return mask_of(required, shape), mask_of(forbidden, shape)


def check_both(required: Sequence[Set[Any]], forbidden: Sequence[Set[Any]]) -> None:
    """Raise an error if a mention is required and forbidden."""
    for sentence, (must, never) in enumerate(zip(required, forbidden, strict=True)):
        if contradictory := must & never:
            raise ValueError(
                f"expected a mention to be required or forbidden, not both, got {sorted(contradictory)} in sentence {sentence}"
            )


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
        return np.asarray((known | ~inside(lengths, known, c)).all(2))


@dataclass(frozen=True)
class KnownMentions:
    """Mentions of a batch that are known to be present, and mentions known to be absent."""

    required: np.ndarray
    """(B, n, c, m): contiguous mentions that are present."""
    forbidden: np.ndarray
    """(B, n, c, m): contiguous mentions that are absent."""
    longer_required: Sets
    """For each sentence, the discontinuous mentions that are present."""
    longer_forbidden: Sets
    """For each sentence, the discontinuous mentions that are absent."""
    floor: np.ndarray | None = None
    """(B, n, m): no other discontinuous mention that begins with word i ends at this word or before."""

    def joined(self, other: KnownMentions) -> KnownMentions:
        """The union of both constraints; `self` has no floor."""
        under = [
            frozenset(one for one in mine if other.is_under_floor(b, one)) - its
            for b, (mine, its) in enumerate(zip(self.longer_required, other.longer_required, strict=True))
        ]
        forbidden = (self.longer_forbidden, other.longer_forbidden, under)
        return KnownMentions(
            self.required | other.required,
            self.forbidden | other.forbidden,
            [one | two for one, two in zip(self.longer_required, other.longer_required, strict=True)],
            [frozenset().union(*some) for some in zip(*forbidden, strict=True)],
            other.floor,
        )

    def is_under_floor(self, sentence: int, mention: AnyMention) -> bool:
        return self.floor is not None and mention[1] <= self.floor[sentence, mention[0], mention[2]]

    def select(self, sentences: Sequence[int]) -> KnownMentions:
        """The constraints on some sentences."""
        chosen = list(sentences)
        required, forbidden = ([sets[b] for b in chosen] for sets in (self.longer_required, self.longer_forbidden))
        floor = None if self.floor is None else self.floor[chosen]
        return KnownMentions(self.required[chosen], self.forbidden[chosen], required, forbidden, floor)

    def restrict(self, types: Sequence[int]) -> KnownMentions:
        """The constraints on some types."""
        place = {kind: index for index, kind in enumerate(types)}

        def of_types(sets: Sets) -> Sets:
            return [frozenset((s, e, place[k], *parts) for s, e, k, *parts in some if k in place) for some in sets]

        return KnownMentions(
            self.required[..., types],
            self.forbidden[..., types],
            of_types(self.longer_required),
            of_types(self.longer_forbidden),
            None if self.floor is None else self.floor[..., types],
        )

    def allows(self, sentence: int, mentions: Iterable[AnyMention]) -> bool:
        """Whether a set satisfies all constraints."""
        found = set(mentions)
        short = np.array([(s, e - s - 1, k) for s, e, k, *parts in found if not parts], dtype=np.int64).reshape(-1, 3).T
        longer = {mention for mention in found if len(mention) == 4}
        required = self.longer_required[sentence]
        return bool(
            self.required[sentence][tuple(short)].sum() == self.required[sentence].sum()
            and not self.forbidden[sentence][tuple(short)].any()
            and required <= longer
            and not longer & self.longer_forbidden[sentence]
            and not any(self.is_under_floor(sentence, mention) for mention in longer - required)
        )

    @property
    def opened(self) -> np.ndarray:
        """(B, n, c, m): the first parts after which others are required."""
        first = [{(*parts_of(mention)[0], mention[2]) for mention in some} for some in self.longer_required]
        return mask_of(first, self.required.shape)

    def by_first_part(self) -> dict[FirstPart, list[tuple[Parts, bool]]]:
        """The parts of all discontinuous mentions that begin with each first part, in order, and whether they are
        required."""
        found: dict[FirstPart, list[tuple[Parts, bool]]] = {}
        for must, sets in ((True, self.longer_required), (False, self.longer_forbidden)):
            for sentence, some in enumerate(sets):
                for mention in some:
                    parts = parts_of(mention)
                    start, end = parts[0]
                    found.setdefault((sentence, start, end - start - 1, mention[2]), []).append((parts, must))
        return {place: sorted(mentions) for place, mentions in found.items()}

    @property
    def chains(self) -> np.ndarray:
        """(B, n, m): where there is any constraint."""
        known: np.ndarray = np.asarray((self.required | self.forbidden).any(2))
        for sets in (self.longer_required, self.longer_forbidden):
            for sentence, some in enumerate(sets):
                for mention in some:
                    known[sentence, mention[0], mention[2]] = True
        return known if self.floor is None else np.asarray(known | (self.floor > 0))


def known_of(
    require: AnySets | None, forbid: AnySets | None, lengths: Sequence[int], shape: Sequence[int], limits: Limits
) -> KnownMentions:
    """Both constraints; raise an error that names what cannot be required or forbidden."""
    checked = [check_discontinuous(given, lengths, shape[3]) for given in (require, forbid)]
    required, forbidden = ([frozenset(one for one in some if len(one) == 4) for some in sets] for sets in checked)
    check_both(required, forbidden)
    for sentence, must in enumerate(required):
        for mention in sorted(must):
            if not limits.allow(mention):
                raise ValueError(f"expected required mentions of {limits}, got {mention} in sentence {sentence}")
    short = [[[one for one in some if len(one) == 3] for some in sets] for sets in checked]
    here, never = constraint_masks(short[0], short[1], lengths, shape)
    return KnownMentions(here, never, required, [frozenset(filter(limits.allow, some)) for some in forbidden])


def known_of_marks(
    gold: Sequence[Iterable[AnyMention]], marks: PartialMarks, shape: Sequence[int], limits: Limits
) -> KnownMentions:
    """The constraints of a partial annotation: gold mentions are present, other mentions of annotated types inside
    annotated regions are absent."""

    def split(sets: Sequence[Iterable[AnyMention]]) -> tuple[list[list[Mention]], Sets]:
        pool = [list(some) for some in sets]
        longer = [frozenset(one for one in some if len(one) == 4 and limits.allow(one)) for some in pool]
        return [[one for one in some if len(one) == 3] for some in pool], longer

    _, n, c, _ = shape
    (short, longer), (none, never) = split(gold), split(marks.forbidden)
    required, forbidden = replace(marks, forbidden=none).masks(short, n, c)
    floor = np.zeros((shape[0], n, shape[3]), dtype=np.int64)
    for sentence, regions in enumerate(marks.regions):
        ends = np.zeros(n, dtype=np.int64)
        for first, last in [(0, n)] if regions is None else regions:
            ends[first:] = np.maximum(ends[first:], last)
        floor[sentence] = ends[:, None] * marks.types[sentence]
    return KnownMentions(required, forbidden, longer, [no - yes for no, yes in zip(never, longer, strict=True)], floor)
