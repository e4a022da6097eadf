"""Trim white space that annotators select with a mention, and join parts separated only by white space."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from hyperspan.corpora.source import Problems
from hyperspan.types import Document, Mention, Span

SPACE_LEFT_OUT = "white space at the ends of a mention left out"
PARTS_JOINED = "parts of a mention with only white space between them read as one"


def trimmed(mentions: Iterable[Mention], text: str, problems: Problems) -> list[Mention]:
    """The mentions, by character, without white space at their ends; a mention of white space alone is unchanged.

    Parts separated only by white space are joined. Both changes are noted. Mentions that do not fit the text are
    unchanged: :class:`hyperspan.types.Document` reports them.

    >>> problems = Problems()
    >>> [mention.span for mention in trimmed([Mention(0, 6, "GPE"), Mention(0, 5, "GPE")], "Syria left.", problems)]
    [(0, 5), (0, 5)]
    >>> problems.notes
    {'white space at the ends of a mention left out': 1}
    """
    kept: list[Mention] = []
    for mention in mentions:
        if _fits(mention, text):
            if _has_space(mention, text) and (shorter := _shorter(mention, text)):
                problems.note(SPACE_LEFT_OUT)
                mention = shorter
            parts = joined(mention.parts, text)
            if len(parts) < len(mention.parts):
                problems.note(PARTS_JOINED)
                mention = evolve(mention, fragments=parts)
        kept.append(mention)
    return kept


def without_empty_gaps(document: Document, problems: Problems) -> Document:
    """The document with its discontinuous mentions :func:`trimmed`, unless it has sentences, which define the words.

    >>> heart = Document("left\\nventricle", [Mention(0, 14, "part", [(0, 4), (5, 14)])])
    >>> without_empty_gaps(heart, Problems()).mentions
    frozenset({Mention(0, 14, 'part', text='left\\nventricle')})
    """
    if document.sentences or not any(mention.fragments for mention in document.mentions):
        return document
    parted = [mention for mention in document.mentions if mention.fragments]
    return evolve(document, mentions=[*(document.mentions - {*parted}), *trimmed(parted, document.text, problems)])


def _fits(mention: Mention, text: str) -> bool:
    return mention.end <= len(text) and mention.text in ("", text[mention.start : mention.end])


def _has_space(mention: Mention, text: str) -> bool:
    """Whether a mention of the text, or one of its fragments, begins or ends with white space."""
    return any(text[start].isspace() or text[end - 1].isspace() for start, end in mention.parts)


def _shorter(mention: Mention, text: str) -> Mention | None:
    spans = [span for given in mention.parts if (span := without_space(given, text))]
    if not spans:
        return None
    start, end = spans[0][0], spans[-1][1]
    head = without_space(mention.head, text) if mention.head else None
    head = head if head and start <= head[0] and head[1] <= end else None
    fragments = tuple(spans) if len(spans) > 1 else ()
    return evolve(mention, start=start, end=end, fragments=fragments, head=head, text="")


def joined(spans: Iterable[Span], text: str = "") -> list[Span]:
    """Sorted spans, joined where they touch; with a text, also if only white space is between them.

    >>> joined([(0, 2), (2, 3), (5, 6)]), joined([(0, 3), (4, 8), (13, 18)], "red cell and cells")
    ([(0, 3), (5, 6)], [(0, 8), (13, 18)])
    """
    result: list[Span] = []
    for start, end in spans:
        if result and (start <= (before := result[-1][1]) or text[before:start].isspace()):
            start = result.pop()[0]
        result.append((start, end))
    return result


def without_space(span: Span, text: str) -> Span | None:
    """The span without white space at its ends, or None if nothing remains."""
    covered = text[slice(*span)]
    start = span[0] + len(covered) - len(covered.lstrip())
    return (start, start + len(covered.strip())) if covered.strip() else None
