"""The parts of discontinuous mentions in spaCy's span groups, whose spans have no gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hyperspan.types import Mention, Span

FRAGMENTS = "fragments"
"""The attribute of a span group with the parts of each span, in tokens, if one is discontinuous."""


def span_ids(mentions: Sequence[Mention]) -> list[str]:
    """The span id of each mention, by token: its id, or its parts if only these distinguish it from another mention.

    spaCy treats two spans as equal if their first and last token, label and id are equal.

    >>> span_ids([Mention(0, 4, "CL", [(0, 1), (2, 4)]), Mention(0, 4, "CL", [(0, 1), (3, 4)]), Mention(2, 4, "CL")])
    ['0:1,2:4', '0:1,3:4', '']
    """
    alike: dict[tuple[int, int, str, str], set[tuple[Span, ...]]] = {}
    for mention in mentions:
        alike.setdefault((*mention.span, mention.label, mention.id), set()).add(mention.fragments)
    return [
        mention.id or (parts_id(mention.fragments) if len(alike[*mention.span, mention.label, mention.id]) > 1 else "")
        for mention in mentions
    ]


def parts_id(parts: Sequence[Sequence[int]]) -> str:
    """The parts as an id.

    >>> parts_id([(0, 1), (3, 4)])
    '0:1,3:4'
    """
    return ",".join(f"{start}:{end}" for start, end in parts)


def fragments_of(group: Any) -> list[list[list[int]]]:
    """The parts of each span of the group, in tokens, as hyperspan stored them; empty for a contiguous one."""
    match group.attrs.get(FRAGMENTS):
        case list() | tuple() as listed if len(listed) == len(group) and all(map(_are_parts, listed)):
            return list(listed)
    return [[] for _ in group]


def _are_parts(value: Any) -> bool:
    pairs = value if isinstance(value, list | tuple) else [None]
    return all(isinstance(pair, list | tuple) and [type(place) for place in pair] == [int, int] for pair in pairs)
