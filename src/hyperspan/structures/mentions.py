"""Sets of mentions as structures know them: spans of words with the index of a type. Needs neither torch nor NumPy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Mention = tuple[int, int, int]
"""(start, end, type index) in words, `end` exclusive."""
MentionSet = frozenset[Mention]
MentionSets = Sequence[Iterable[Mention]]
"""One collection of mentions for each sentence of a batch."""


class NotSupportedError(ValueError):
    """A distribution cannot give exactly what was asked for."""


def check_mentions(mention_sets: MentionSets | None, lengths: Sequence[int], types: int) -> list[set[Mention]]:
    """One set of mentions a sentence (empty ones for None), or an error that names the first that cannot be there."""
    if mention_sets is None:
        return [set() for _ in lengths]
    if len(mention_sets) != len(lengths):
        raise ValueError(f"expected one mention set a sentence, {len(lengths)} in all, got {len(mention_sets)}")
    checked: list[set[Mention]] = []
    for sentence, (mentions, length) in enumerate(zip(mention_sets, lengths, strict=True)):
        try:
            checked.append({(start, end, kind) for start, end, kind in mentions})
        except TypeError:
            raise ValueError(
                f"expected a collection of mentions (start, end, type) for sentence {sentence}, got {mentions!r}: "
                "give a list with one such collection a sentence"
            ) from None
        for start, end, kind in checked[-1]:
            if not 0 <= start < end <= length:
                raise ValueError(
                    f"expected a mention (start, end, type) with 0 <= start < end <= {length}, the length of sentence {sentence}, "
                    f"got {(start, end, kind)}"
                )
            if not 0 <= kind < types:
                raise ValueError(
                    f"expected a type index from 0 to {types - 1} in sentence {sentence}, got {(start, end, kind)}"
                )
    return checked


def check_constraints(
    require: MentionSets | None, forbid: MentionSets | None, lengths: Sequence[int], types: int, max_width: int
) -> list[tuple[set[Mention], set[Mention]]]:
    """The required and the forbidden mentions of each sentence, or an error that names the first that cannot be either."""
    both = list(zip(check_mentions(require, lengths, types), check_mentions(forbid, lengths, types), strict=True))
    for sentence, (required, forbidden) in enumerate(both):
        if contradictory := required & forbidden:
            raise ValueError(
                f"expected a mention to be required or forbidden, not both, got {sorted(contradictory)} in sentence {sentence}"
            )
        for start, end, kind in sorted(required):
            if end - start > max_width:
                raise ValueError(
                    f"expected required mentions of at most c = {max_width} words, got {(start, end, kind)} in sentence {sentence}"
                )
    return both
