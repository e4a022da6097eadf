"""Mentions without the white space that annotators select along with them."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from hyperspan.corpora.source import Problems
from hyperspan.types import Mention, Span

SPACE_LEFT_OUT = "white space at the ends of a mention left out"


def trimmed(mentions: Iterable[Mention], text: str, problems: Problems) -> list[Mention]:
    """The mentions, by character, without white space at their ends, which is noted; those of nothing else stay as they are.

    So do mentions that do not fit the text: :class:`hyperspan.types.Document` says what is wrong with them.

    >>> problems = Problems()
    >>> [mention.span for mention in trimmed([Mention(0, 6, "GPE"), Mention(0, 5, "GPE")], "Syria left.", problems)]
    [(0, 5), (0, 5)]
    >>> problems.notes
    {'white space at the ends of a mention left out': 1}
    """
    kept: list[Mention] = []
    for mention in mentions:
        shorter = _shorter(mention, text) if _has_space(mention, text) else None
        if shorter is not None:
            problems.note(SPACE_LEFT_OUT)
        kept.append(shorter or mention)
    return kept


def _has_space(mention: Mention, text: str) -> bool:
    """Whether a mention of the text begins or ends, or one of its fragments does, with white space."""
    if mention.end > len(text) or mention.text not in ("", text[mention.start : mention.end]):
        return False
    spans = mention.parts
    return any(text[start].isspace() or text[end - 1].isspace() for start, end in spans)


def _shorter(mention: Mention, text: str) -> Mention | None:
    spans = [span for given in mention.parts if (span := without_space(given, text))]
    if not spans:
        return None
    start, end = spans[0][0], spans[-1][1]
    head = without_space(mention.head, text) if mention.head else None
    head = head if head and start <= head[0] and head[1] <= end else None
    fragments = tuple(spans) if len(spans) > 1 else ()
    return evolve(mention, start=start, end=end, fragments=fragments, head=head, text="")


def joined(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, joined where they touch.

    >>> joined([(0, 2), (2, 3), (5, 6)])
    [(0, 3), (5, 6)]
    """
    result: list[Span] = []
    for start, end in spans:
        if result and start <= result[-1][1]:
            start = result.pop()[0]
        result.append((start, end))
    return result


def without_space(span: Span, text: str) -> Span | None:
    """The span without white space at its ends, or None if nothing else is there."""
    covered = text[slice(*span)]
    start = span[0] + len(covered) - len(covered.lstrip())
    return (start, start + len(covered.strip())) if covered.strip() else None
