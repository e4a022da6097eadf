"""Partial annotation in formats with only text and labelled spans: three labels that are not mention types.

A span of the label ``ANNOTATED`` is a region in which all mentions are listed. A span of ``NO_MENTION`` is not a
mention of any type. A span of ``ONLY_SURE``, at any position, means that only the listed mentions are certain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from attrs import evolve

from hyperspan.corpora.documents import by_characters, covered, with_sentences, without_space
from hyperspan.corpora.losses import Losses
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError
from hyperspan.types import ANY_LABEL, NOTHING_ANNOTATED, AnnotationScope, Document, Mention, Span

Marks = bool | Sequence[str]
"""The option of these formats: whether these labels are marks, or the names of three others."""


class MarkLabels(NamedTuple):
    """The labels that mark annotation, in the order in which the option `marks` renames them."""

    region: str = "ANNOTATED"
    no_mention: str = "NO_MENTION"
    only_sure: str = "ONLY_SURE"


def mark_labels(marks: Marks) -> MarkLabels | None:
    """The labels chosen by the option, or None if it disables them.

    >>> mark_labels(("Done", "None", "Sure")).region
    'Done'
    """
    if isinstance(marks, bool):
        return MarkLabels() if marks else None
    if len(marks) != 3 or len({*marks, ""}) != 4:
        raise InputError(
            f"the option marks is {','.join(marks)!r}, but must be false, or three other labels for {','.join(MarkLabels())}"
        )
    return MarkLabels(*marks)


def regions_of(mention: Mention, text: str) -> list[Span]:
    """The regions of a mark; fragments separated only by white space, such as a line break, are joined."""
    spans = list(mention.parts)
    breaks = [place for place, ((_, end), (start, _)) in enumerate(pairwise(spans), 1) if text[end:start].strip()]
    return [(spans[first][0], spans[last - 1][1]) for first, last in pairwise([0, *breaks, len(spans)])]


def scope_of(
    types: Iterable[str] | None, regions: Iterable[Span], only_sure: bool, text: str
) -> AnnotationScope | None:
    """The scope defined by the marks of a text; None if everything is annotated."""
    found = list(regions)
    if only_sure or types is not None or found:
        everywhere = None if types is not None and not only_sure else ()
        return normal_scope(AnnotationScope(types, found or everywhere), text)
    return None


def normal_scope(scope: AnnotationScope | None, text: str) -> AnnotationScope | None:
    """The scope in normal form: None if it covers everything, and one value for all scopes that cover nothing.

    >>> normal_scope(AnnotationScope(["GPE"], [(0, 7)]), "Seattle\\n")
    AnnotationScope(types=frozenset({'GPE'}), regions=None)
    """
    if scope is None or not text:
        return None
    if scope.is_empty:
        return NOTHING_ANNOTATED
    first, last = without_space((0, len(text)), text) or (0, len(text))
    if any(start <= first and last <= end for start, end in scope.regions or ()):
        scope = AnnotationScope(scope.types)
    return None if scope.is_complete else scope


def marked_by_characters(
    document: Document, losses: Losses, format_name: str, labels: MarkLabels | None, unheld: Callable[[Document], str]
) -> Document:
    """Move the marking of the sentences to the document; raise an error, or lose it, if that is impossible.

    `unheld` returns the part of the marking that a format cannot express, empty if it can express all.
    """
    reserved = next((mention for mention in document.mentions if labels and mention.label in labels), None)
    if reserved is not None:
        raise InputError(
            f"document {document.id!r} has a mention of the label {reserved.label!r}, which marks partial annotation in {format_name}; "
            "write it with --write-option marks=false, and read it with --option marks=false"
        )
    if not any(part.is_partial for part in (document, *document.sentences)):
        return document
    if labels is None:
        return losses.unmarked(document, format_name)
    found = document
    if any(sentence.annotated is not None or sentence.forbidden for sentence in document.sentences):
        gathered = _gathered(document)
        if gathered is None:
            return losses.unmarked(document, format_name, "its sentences differ in the types that are annotated")
        found = gathered
    if any(mention.label in labels for mention in found.forbidden):
        return losses.unmarked(document, format_name, f"a forbidden mention has one of the labels {', '.join(labels)}")
    scope = normal_scope(found.annotated, found.text)
    sentences = [evolve(sentence, annotated=None, forbidden=()) for sentence in found.sentences]
    found = evolve(found, sentences=sentences, annotated=scope)
    reason = unheld(found)
    return losses.unmarked(document, format_name, reason) if reason else found


def _gathered(document: Document) -> Document | None:
    """The document with the marking of its sentences by characters; None if one scope cannot express it."""
    sentences = [sentence for sentence in with_sentences(document, Problems()).sentences if sentence.tokens]
    regions: list[Span] = []
    types: set[frozenset[str] | None] = set()
    whole = True
    forbidden = set(document.forbidden)
    for sentence in sentences:
        scope = sentence.annotated if sentence.annotated is not None else AnnotationScope()
        if not sentence.offsets and (sentence.forbidden or not scope.is_empty):
            return None
        forbidden |= {by_characters(mention, sentence.offsets) for mention in sentence.forbidden}
        whole = whole and scope.regions is None and not scope.is_empty
        if not scope.is_empty:
            types.add(scope.types)
            here = ((0, len(sentence)),) if scope.regions is None else scope.regions
            spans = (covered(region, sentence.offsets) for region in here)
            regions += [(start, end) for start, end in spans if start < end]
    if len(types) > 1:
        return None
    scope = AnnotationScope(types.pop(), None if whole else regions) if types else NOTHING_ANNOTATED
    return evolve(document, annotated=scope, forbidden=forbidden)


def forbidden_marks(document: Document, labels: MarkLabels) -> list[Mention]:
    """The forbidden mentions, sorted; those of no type get the label for NO_MENTION."""
    return sorted(
        evolve(mention, label=labels.no_mention) if mention.label == ANY_LABEL else mention
        for mention in document.forbidden
    )
