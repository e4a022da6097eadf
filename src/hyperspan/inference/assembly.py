"""From the predictions for sentences to a document with its mentions, by character."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from attrs import evolve

from hyperspan.corpora.brat import ORDER, OTHER_LINES
from hyperspan.corpora.documents import by_characters
from hyperspan.corpora.results import ALTERNATIVES, CANDIDATES
from hyperspan.inference.options import DecodingOptions
from hyperspan.types import Document, Mention, RankedMentions, Sentence, SentenceAlternatives

_ABOUT_MENTIONS = (ALTERNATIVES, CANDIDATES, OTHER_LINES, ORDER)
"""Metadata that describe the mentions a document came with, and mean nothing once others are found."""


@dataclass(frozen=True)
class SentencePrediction:
    """The mentions of a sentence in tokens, its best sets with their probabilities, and its candidates."""

    mentions: list[Mention] = field(default_factory=list)
    sets: list[tuple[float, list[Mention]]] = field(default_factory=list)
    candidates: list[Mention] = field(default_factory=list)


def assemble(document: Document, predictions: Sequence[SentencePrediction], options: DecodingOptions) -> Document:
    """The document with the prediction for each of its sentences in place of its mentions."""
    pairs = list(zip(document.sentences, predictions, strict=True))
    mentions = [by_characters(mention, sentence.offsets) for sentence, found in pairs for mention in found.mentions]
    alternatives: list[SentenceAlternatives] | None = None
    if options.top_k:
        alternatives = [_alternatives(document.text, *pair) for pair in pairs if pair[0].tokens]
    candidates: list[Mention] | None = None
    if options.candidates is not None:
        candidates = [mention for pair in pairs for mention in _candidates(document.text, *pair)]
    return evolve(
        document,
        mentions=mentions,
        sentences=[
            evolve(sentence, mentions=found.mentions, duplicates=(), before=(), after=()) for sentence, found in pairs
        ],
        metadata=other_metadata(document.metadata),
        alternatives=alternatives,
        candidates=candidates,
    )


def other_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What stays true of a document when its mentions are replaced."""
    return {key: value for key, value in metadata.items() if key not in _ABOUT_MENTIONS}


def _alternatives(text: str, sentence: Sentence, found: SentencePrediction) -> SentenceAlternatives:
    placed: dict[Mention, Mention] = {}  # the sets of a sentence share most of their mentions
    for _, mentions in found.sets:
        for mention in mentions:
            if mention not in placed:
                placed[mention] = _placed(text, sentence, mention)
    sets = [RankedMentions(probability, [placed[mention] for mention in ranked]) for probability, ranked in found.sets]
    return SentenceAlternatives(sentence.offsets[0][0], sentence.offsets[-1][1], sets)


def _candidates(text: str, sentence: Sentence, found: SentencePrediction) -> list[Mention]:
    in_order = sorted(found.candidates, key=lambda mention: (mention.start, -mention.end, mention.label))
    return [_placed(text, sentence, mention) for mention in in_order]


def _placed(text: str, sentence: Sentence, mention: Mention) -> Mention:
    """A mention in tokens, in characters and with its text."""
    found = by_characters(mention, sentence.offsets)
    return evolve(found, text=text[found.start : found.end])
