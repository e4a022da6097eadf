"""Constraints on discontinuous mentions, and the menus that they change. NumPy, without torch.

Requiring or forbidding a contiguous mention changes one event. A discontinuous mention is an item of a menu that others
share: forbidding it after one first part must not forbid it after another. So the menus along such a mention become
*private*: separate rows, identified by the parts before them. All other menus stay shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hyperspan.structures.constraints import PartialMarks, constraint_masks, mask_of
from hyperspan.structures.discontinuous_limits import Limits
from hyperspan.structures.mentions import AnyMention, Mention, Parts, check_discontinuous, parts_of

AnySets = Sequence[Iterable[AnyMention]]
"""Mentions of each sentence, with or without parts."""
Sets = Sequence[frozenset[Any]]


@dataclass(frozen=True)
class Known:
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

    def joined(self, other: Known) -> Known:
        """The union of both constraints; `self` has no floor."""
        under = [
            frozenset(one for one in mine if other.is_under_floor(b, one)) - its
            for b, (mine, its) in enumerate(zip(self.longer_required, other.longer_required, strict=True))
        ]
        forbidden = (self.longer_forbidden, other.longer_forbidden, under)
        return Known(
            self.required | other.required,
            self.forbidden | other.forbidden,
            [one | two for one, two in zip(self.longer_required, other.longer_required, strict=True)],
            [frozenset().union(*some) for some in zip(*forbidden, strict=True)],
            other.floor,
        )

    def is_under_floor(self, sentence: int, mention: AnyMention) -> bool:
        return self.floor is not None and mention[1] <= self.floor[sentence, mention[0], mention[2]]

    def restrict(self, types: Sequence[int]) -> Known:
        """The constraints on some types."""
        place = {kind: index for index, kind in enumerate(types)}

        def of_types(sets: Sets) -> Sets:
            return [frozenset((s, e, place[k], *parts) for s, e, k, *parts in some if k in place) for some in sets]

        return Known(
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
) -> Known:
    """Both constraints; raise an error that names what cannot be required or forbidden."""
    checked = [check_discontinuous(given, lengths, shape[3]) for given in (require, forbid)]
    required, forbidden = ([frozenset(one for one in some if len(one) == 4) for some in sets] for sets in checked)
    for sentence, (must, never) in enumerate(zip(required, forbidden, strict=True)):
        if contradictory := must & never:
            raise ValueError(
                f"expected a mention to be required or forbidden, not both, got {sorted(contradictory)} in sentence {sentence}"
            )
        for mention in sorted(must):
            if not limits.allow(mention):
                raise ValueError(f"expected required mentions of {limits}, got {mention} in sentence {sentence}")
    short = [[[one for one in some if len(one) == 3] for some in sets] for sets in checked]
    here, never = constraint_masks(short[0], short[1], lengths, shape)
    return Known(here, never, required, [frozenset(filter(limits.allow, some)) for some in forbidden])


def known_of_marks(
    gold: Sequence[Iterable[AnyMention]], marks: PartialMarks, shape: Sequence[int], limits: Limits
) -> Known:
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
    return Known(required, forbidden, longer, [no - yes for no, yes in zip(never, longer, strict=True)], floor)


class PrivateRows:
    """Menus of one kind after the same number of parts, one row each, in the order of insertion."""

    def __init__(self, items: int):
        self.items, self.keys = items, dict[Any, int]()
        self.places: list[tuple[int, int, int]] = []
        """For each row: the sentence, the word at which its gap or part begins, the type."""
        self.parents: list[tuple[int, int]] = []
        """For each row: the row and the item, among the menus above, that lead to it."""
        self.required_items: set[tuple[int, int]] = set()
        self.forbidden_items: set[tuple[int, int]] = set()

    def row(self, key: Any, place: tuple[int, int, int], parent: tuple[int, int]) -> int:
        if key not in self.keys:
            self.keys[key] = len(self.places)
            self.places.append(place)
            self.parents.append(parent)
        return self.keys[key]

    @property
    def first_words(self) -> np.ndarray:
        """(rows,): the word with which the mentions of each row begin."""
        return np.array([done[0][0] for _, _, done, *_ in self.keys], dtype=np.int64)

    @property
    def index(self) -> tuple[np.ndarray, ...]:
        """Three columns: sentence, word, type."""
        return tuple(np.array(self.places, dtype=np.int64).reshape(-1, 3).T)

    def masks(self, width: int) -> tuple[np.ndarray, np.ndarray]:
        """(rows, width) each: the items that are required, and those that are forbidden."""
        masks = np.zeros((2, len(self.places), self.items), dtype=bool)
        for mask, items in zip(masks, (self.required_items, self.forbidden_items), strict=True):
            mask[tuple(np.array(sorted(items), dtype=np.int64).reshape(-1, 2).T)] = True
        required, forbidden = masks[:, :, :width]
        return required, forbidden

    @property
    def parent_columns(self) -> np.ndarray:
        """(2, rows)"""
        return np.array(self.parents, dtype=np.int64).reshape(-1, 2).T


class PrivateMenus:
    """The menus along required or forbidden discontinuous mentions.

    ``gaps[d]`` are those of gaps after d + 1 parts, with an item for each width; ``parts[d]`` those of the parts after
    these gaps, with an item for each width of a last part, and then for each width of one that others follow.
    """

    def __init__(self, known: Known, limits: Limits):
        c = limits.later_width
        self.gaps = [PrivateRows(limits.gap) for _ in range(limits.parts - 1)]
        self.parts = [PrivateRows(2 * c) for _ in range(limits.parts - 1)]
        self.events: list[tuple[int, int, int, int]] = []
        """For each row of ``gaps[0]``: the sentence, start, width and type of its first part."""
        for required, sets in ((True, known.longer_required), (False, known.longer_forbidden)):
            for sentence, some in enumerate(sets):
                for mention in sorted(some):
                    self._add(sentence, parts_of(mention), mention[2], c, required)

    def _add(self, sentence: int, parts: Parts, kind: int, c: int, required: bool) -> None:
        parent = (-1, -1)
        for index in range(len(parts) - 1):
            done, (start, end), j = parts[: index + 1], parts[index + 1], parts[index][1]
            gaps, later = self.gaps[index], self.parts[index]
            gap = gaps.row((sentence, kind, done), (sentence, j, kind), parent)
            if index == 0 and len(self.events) < len(gaps.places):
                self.events.append((sentence, parts[0][0], j - parts[0][0] - 1, kind))
            part = later.row((sentence, kind, done, start), (sentence, start, kind), (gap, start - j - 1))
            is_last, item = index == len(parts) - 2, end - start - 1
            parent = (part, item + c)
            chosen = (part, item if is_last else item + c)
            if required:
                gaps.required_items.add((gap, start - j - 1))
                later.required_items.add(chosen)
            elif is_last:
                later.forbidden_items.add(chosen)

    def steps(self) -> Iterator[tuple[int, bool, PrivateRows, np.ndarray]]:
        """Yield the rows in the order in which they can be computed, from the last parts to the first gaps.

        Each is (number of parts that may follow, whether the menu is of parts, rows, (2, previous rows): the row and
        the item that lead to each previous row).
        """
        below = np.zeros((2, 0), dtype=np.int64)
        for more, (gaps, parts) in enumerate(zip(reversed(self.gaps), reversed(self.parts), strict=True)):
            yield more, True, parts, below
            yield more, False, gaps, parts.parent_columns
            below = gaps.parent_columns

    @property
    def event_columns(self) -> tuple[np.ndarray, ...]:
        """Four columns: where the first parts stand in (B, n, c, m)."""
        return tuple(np.array(self.events, dtype=np.int64).reshape(-1, 4).T)
