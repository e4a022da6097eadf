"""Partial annotation in formats with only text and labelled spans: labels that are not types of mentions.

| label | a span of it means |
|---|---|
| ``ANNOTATED``, ``ANNOTATED_GPE`` | all mentions inside it are listed, or all of the type GPE |
| ``NO_MENTION``, ``NO_MENTION_GPE`` | it is not a mention of any type, or not of the type GPE |
| ``ONLY_SURE``, at any position | only the listed mentions are certain |

A format says with ``partial="labels"`` that documents are read and written in this way. It knows nothing of the marks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import evolve

from hyperspan.corpora.documents import by_characters, covered, with_sentences, without_space
from hyperspan.corpora.source import Problems, WrongRecordError
from hyperspan.errors import InputError
from hyperspan.types import ANY_LABEL, NOTHING_ANNOTATED, AnnotationScope, Document, Mention, Span

REGION, NO_MENTION, ONLY_SURE = "ANNOTATED", "NO_MENTION", "ONLY_SURE"


class UnheldMarksError(Exception):
    """Labels cannot express the partial annotation of a document; the message is the reason."""


def mark_of(label: str) -> tuple[str, str | None] | None:
    """The kind and the type of a mark, None if it is of all types; None for the label of a mention.

    >>> mark_of("ANNOTATED_cell_type"), mark_of("NO_MENTION"), mark_of("ANNOTATEDLY")
    (('ANNOTATED', 'cell_type'), ('NO_MENTION', None), None)
    """
    if label in (REGION, NO_MENTION, ONLY_SURE):
        return label, None
    kind = next((kind for kind in (REGION, NO_MENTION) if label.startswith(f"{kind}_")), None)
    return (kind, label[len(kind) + 1 :]) if kind else None


def marks_read(document: Document) -> Document:
    """The document with the mentions that are marks as its partial annotation."""
    marks = {mention: mark for mention in document.mentions if (mark := mark_of(mention.label))}
    if not marks:
        return document
    marks = dict(sorted(marks.items()))
    forbidden: list[Mention] = []
    regions: dict[str | None, list[Span]] = {}
    for mention, (kind, label) in marks.items():
        if kind == NO_MENTION:
            forbidden.append(evolve(mention, label=ANY_LABEL if label is None else label))
        elif kind == REGION:
            regions.setdefault(label, []).extend(mention.parts)
    only_sure = any(kind == ONLY_SURE for kind, _ in marks.values())
    sentences = [
        sentence.with_mentions(mention for mention in sentence.listed if not mark_of(mention.label))
        for sentence in document.sentences
    ]
    return evolve(
        document,
        mentions=document.mentions - marks.keys(),
        sentences=sentences,
        annotated=_scope(regions, only_sure, document.text),
        forbidden=forbidden,
    )


def _scope(regions: dict[str | None, list[Span]], only_sure: bool, text: str) -> AnnotationScope | None:
    """The scope of regions by type, None if everything is annotated."""
    if not regions:
        return NOTHING_ANNOTATED if only_sure else None
    if None in regions:  # regions of single types inside those of all types add nothing
        everywhere = set(regions[None])
        regions = {
            label: spans for label, spans in regions.items() if label is None or not everywhere.issuperset(spans)
        }
    (first, spans), *others = regions.items()
    for label, other in others:
        if set(other) != set(spans):
            names = [REGION if one is None else f"{REGION}_{one}" for one in (first, label)]
            raise WrongRecordError(
                f"has different regions {names[0]} and {names[1]}, but a document has one list of types for all its "
                "regions; mark the same regions with each"
            )
    types = None if None in regions else [label for label in regions if label is not None]
    return normal_scope(AnnotationScope(types, spans), text)


def normal_scope(scope: AnnotationScope | None, text: str) -> AnnotationScope | None:
    """The scope in normal form: None if it covers everything, and one value for all scopes that cover nothing.

    >>> normal_scope(AnnotationScope(["GPE"], [(0, 8)]), "Seattle\\n")
    AnnotationScope(types=frozenset({'GPE'}), regions=None)
    """
    if scope is None or not text:
        return None
    if scope.is_empty:
        return NOTHING_ANNOTATED
    first, last = _everywhere(text)
    regions = [without_space(region, text) or region for region in scope.regions or ()]
    whole = scope.regions is None or any(start <= first and last <= end for start, end in regions)
    scope = AnnotationScope(scope.types, None if whole else regions)
    return None if scope.is_complete else scope


def _everywhere(text: str) -> Span:
    return without_space((0, len(text)), text) or (0, len(text))


def marks_written(document: Document, name: str) -> tuple[Document, list[Mention]]:
    """The document without its partial annotation, and the marks that express it; `name` is that of the format.

    >>> scope = AnnotationScope(["GPE", "PER"], [(0, 3)])
    >>> document = Document("Ada left.", annotated=scope, forbidden=[Mention(0, 3, "GPE")])
    >>> [(mark.span, mark.label) for mark in marks_written(document, "brat")[1]]
    [((0, 3), 'NO_MENTION_GPE'), ((0, 3), 'ANNOTATED_GPE'), ((0, 3), 'ANNOTATED_PER')]
    """
    reserved = next((mention.label for mention in document.mentions if mark_of(mention.label)), None)
    if reserved is not None:
        raise InputError(
            f"document {document.id!r} has a mention of the label {reserved!r}, which marks partial annotation in {name}; "
            "write it with --write-option marks=false, and read it with --option marks=false"
        )
    if not any(part.is_partial for part in (document, *document.sentences)):
        return document, []
    gathered = _gathered(document)
    sentences = [evolve(sentence, annotated=None, forbidden=()) for sentence in document.sentences]
    plain = evolve(document, sentences=sentences, annotated=None, forbidden=())
    return plain, [*map(_no_mention, sorted(gathered.forbidden)), *_regions(gathered)]


def _no_mention(mention: Mention) -> Mention:
    if mark_of(mention.label):
        raise UnheldMarksError(f"a forbidden mention has the label {mention.label!r}, which is a mark")
    return evolve(mention, label=NO_MENTION if mention.label == ANY_LABEL else f"{NO_MENTION}_{mention.label}")


def _regions(document: Document) -> Iterator[Mention]:
    """The marks of the annotated scope, one for each region and type."""
    scope = normal_scope(document.annotated, document.text)
    if scope is None:
        return
    regions = (_everywhere(document.text),) if scope.is_empty or scope.regions is None else scope.regions
    labels = [REGION] if scope.types is None else [f"{REGION}_{label}" for label in sorted(scope.types)]
    for start, end in regions:
        for label in [ONLY_SURE] if scope.is_empty else labels:
            yield Mention(start, end, label)


def _gathered(document: Document) -> Document:
    """The document with the partial annotation of its sentences by characters."""
    if not any(sentence.annotated is not None or sentence.forbidden for sentence in document.sentences):
        return document
    sentences = [sentence for sentence in with_sentences(document, Problems()).sentences if sentence.tokens]
    regions: list[Span] = []
    types: set[frozenset[str] | None] = set()
    whole = True
    forbidden = set(document.forbidden)
    for sentence in sentences:
        scope = sentence.annotated if sentence.annotated is not None else AnnotationScope()
        if not sentence.offsets and (sentence.forbidden or not scope.is_empty):
            raise UnheldMarksError("its sentences have no place in its text")
        forbidden |= {by_characters(mention, sentence.offsets) for mention in sentence.forbidden}
        whole = whole and scope.regions is None and not scope.is_empty
        if not scope.is_empty:
            types.add(scope.types)
            here: Iterable[Span] = ((0, len(sentence)),) if scope.regions is None else scope.regions
            spans = (covered(region, sentence.offsets) for region in here)
            regions += [(start, end) for start, end in spans if start < end]
    if len(types) > 1:
        raise UnheldMarksError("its sentences differ in the types that are annotated")
    scope = AnnotationScope(types.pop(), None if whole else regions) if types else NOTHING_ANNOTATED
    return evolve(document, annotated=scope, forbidden=forbidden)
