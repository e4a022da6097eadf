"""The annotation of sentences in the form that structures take: mentions of label indices, and partial annotation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from hyperspan.errors import LabelError
from hyperspan.structures.constraints import PartialMarks
from hyperspan.types import ANY_LABEL, AnnotationScope, Mention, Sentence


def gold_of(sentence: Sentence, labels: Sequence[str], *, discontinuous: bool = False, hulls: bool = False) -> set[Any]:
    """Return a sentence's mentions in the form that structures take: (start, end, label index[, parts]).

    Discontinuous mentions are left out, unless `discontinuous` keeps their parts or `hulls` replaces them by the span
    from their first to their last word.

    >>> gold_of(Sentence(["Ann", "Lee"], [Mention(0, 2, "person")]), ["person"])
    {(0, 2, 0)}
    """
    index = _indices(labels)
    kept = (mention for mention in sentence.mentions if discontinuous or hulls or not mention.fragments)
    try:
        return {
            (
                mention.start,
                mention.end,
                index[mention.label],
                *((mention.fragments,) if mention.fragments and discontinuous else ()),
            )
            for mention in kept
        }
    except KeyError as error:
        raise LabelError(f"the label {error} is not among those trained: {', '.join(labels)}") from None


def marks_of(
    sentences: Sequence[Sentence], labels: Sequence[str], *, discontinuous: bool = False
) -> PartialMarks | None:
    """Return the partial annotation of sentences; None if all are fully annotated.

    Forbidden discontinuous mentions are left out without `discontinuous`: their whole span may be a mention.
    """
    if not any(sentence.is_partial for sentence in sentences):
        return None
    scopes = [sentence.annotated or AnnotationScope() for sentence in sentences]
    types = [[scope.types is None or label in scope.types for label in labels] for scope in scopes]
    forbidden = [list(_forbidden(sentence.forbidden, labels, discontinuous)) for sentence in sentences]
    regions = [scope.regions for scope in scopes]
    if all(map(all, types)) and not any(forbidden) and not any(some is not None for some in regions):
        return None
    return PartialMarks(np.array(types, dtype=bool), regions, forbidden)


def _forbidden(mentions: Iterable[Mention], labels: Sequence[str], discontinuous: bool) -> Iterator[Any]:
    index = _indices(labels)
    for mention in mentions:
        if mention.fragments and not discontinuous:
            continue
        every = range(len(labels)) if mention.label == ANY_LABEL else [index.get(mention.label)]
        parts = (mention.fragments,) if mention.fragments else ()
        yield from ((mention.start, mention.end, kind, *parts) for kind in every if kind is not None)


def _indices(labels: Sequence[str]) -> dict[str, int]:
    return {label: index for index, label in enumerate(labels)}
