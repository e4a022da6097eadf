"""From what was found in sentences to a document with its mentions, by character."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import evolve

from hyperspan.corpora.brat import ORDER, OTHER_LINES
from hyperspan.corpora.documents import by_characters
from hyperspan.types import Document, Mention, Sentence

if TYPE_CHECKING:
    from hyperspan.inference.decoding import DecodingOptions, SentencePrediction

ALTERNATIVES = "alternatives"
"""Under this name the metadata of a document hold the k best sets of each of its sentences."""
CANDIDATES = "candidates"
"""Under this name they hold every mention that is probable enough to be thought of."""
_ABOUT_MENTIONS = (ALTERNATIVES, CANDIDATES, OTHER_LINES, ORDER)
"""Metadata that speak of the mentions a document came with, and mean nothing once others are found."""


def assemble(document: Document, found: Sequence[SentencePrediction], wanted: DecodingOptions) -> Document:
    """The document with what was found in each of its sentences."""
    sentences: list[Sentence] = []
    mentions: list[Mention] = []
    more: dict[str, list[dict[str, Any]]] = {}
    if wanted.top_k:
        more[ALTERNATIVES] = []
    if wanted.candidates is not None:
        more[CANDIDATES] = []
    for sentence, here in zip(document.sentences, found, strict=True):
        offsets = sentence.offsets
        sentences.append(evolve(sentence, mentions=here.mentions, duplicates=(), before=(), after=()))
        mentions += [by_characters(mention, offsets) for mention in here.mentions]
        if wanted.candidates is not None:
            more[CANDIDATES] += [
                place(mention, offsets) | {"probability": mention.probability}
                for mention in sorted(here.candidates, key=lambda mention: (mention.start, -mention.end, mention.label))
            ]
        if wanted.top_k and sentence.tokens:
            sets = [
                {"probability": probability, "mentions": [place(mention, offsets) for mention in ranked]}
                for probability, ranked in here.sets
            ]
            more[ALTERNATIVES].append({"start": offsets[0][0], "end": offsets[-1][1], "sets": sets})
    metadata = other_metadata(document.metadata) | more
    return evolve(document, mentions=mentions, sentences=sentences, metadata=metadata)


def other_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What stays true of a document when its mentions are replaced."""
    return {key: value for key, value in metadata.items() if key not in _ABOUT_MENTIONS}


def place(mention: Mention, offsets: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """A mention in tokens as a record in characters.

    >>> place(Mention(1, 2, "GPE"), [(0, 3), (4, 11)])
    {'start': 4, 'end': 11, 'label': 'GPE'}
    """
    return {"start": offsets[mention.start][0], "end": offsets[mention.end - 1][1], "label": mention.label}
