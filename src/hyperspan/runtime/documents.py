"""Assemble the predictions of sentences into documents with mentions in characters, also from streams of texts of which
some may fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hyperspan.corpora.documents import by_characters
from hyperspan.corpora.json_records import PROMISE, without_mention_metadata
from hyperspan.errors import EXIT_EXCEPTIONS
from hyperspan.runtime.options import DecodingOptions
from hyperspan.types import (
    Document,
    Mention,
    RankedMentions,
    Sentence,
    SentenceAlternatives,
    longest_first,
    trusted_document,
    trusted_sentence,
)


@dataclass(frozen=True)
class SentencePrediction:
    """The mentions of a sentence in tokens, its best sets with their probabilities, and its candidates."""

    mentions: list[Mention] = field(default_factory=list)
    sets: list[tuple[float, list[Mention]]] = field(default_factory=list)
    candidates: list[Mention] = field(default_factory=list)


def assemble(document: Document, predictions: Sequence[SentencePrediction], options: DecodingOptions) -> Document:
    """Return the document with its mentions replaced by the predictions of its sentences."""
    pairs = list(zip(document.sentences, predictions, strict=True))
    text = document.text
    mentions = [by_characters(mention, words.offsets, text) for words, found in pairs for mention in found.mentions]
    alternatives: list[SentenceAlternatives] | None = None
    if options.top_k:
        alternatives = [_alternatives(text, *pair) for pair in pairs if pair[0].tokens]
    candidates: list[Mention] | None = None
    if options.candidates is not None:
        candidates = [mention for pair in pairs for mention in _candidates(text, *pair)]
    return trusted_document(
        text,
        mentions,
        tuple([_with_found(*pair) for pair in pairs]),
        document.id,
        found_metadata(document, options),
        alternatives,
        candidates,
    )


def found_metadata(document: Document, options: DecodingOptions) -> dict[str, Any]:
    """The metadata of a document whose mentions are replaced, with the promise that they come with."""
    kept = without_mention_metadata(document.metadata)
    return {**kept, PROMISE: options.promise} if options.promise else kept


def _with_found(sentence: Sentence, found: SentencePrediction) -> Sentence:
    """Return the sentence with only the found mentions, and without context words."""
    return trusted_sentence(sentence.tokens, sentence.offsets, found.mentions, sentence.tags)


def _alternatives(text: str, sentence: Sentence, found: SentencePrediction) -> SentenceAlternatives:
    placed: dict[Mention, Mention] = {}  # the sets of a sentence share most of their mentions
    for _, mentions in found.sets:
        for mention in mentions:
            if mention not in placed:
                placed[mention] = by_characters(mention, sentence.offsets, text)
    sets = [RankedMentions(probability, [placed[mention] for mention in ranked]) for probability, ranked in found.sets]
    return SentenceAlternatives(sentence.offsets[0][0], sentence.offsets[-1][1], sets)


def _candidates(text: str, sentence: Sentence, found: SentencePrediction) -> list[Mention]:
    in_order = sorted(found.candidates, key=longest_first)
    return [by_characters(mention, sentence.offsets, text) for mention in in_order]


_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Failure:
    """A text that cannot be annotated, with its exception."""

    given: str | Document
    error: BaseException


def attempt(given: str | Document, function: Callable[[], _Result]) -> _Result | Failure:
    """Return the result of a function or its failure; exceptions that end the program are raised."""
    try:
        return function()
    except EXIT_EXCEPTIONS:
        raise
    except BaseException as error:  # native code raises more than Exception
        return Failure(given, error)


def windows(items: Iterable[_Item], words_in: Callable[[_Item], int], words: int) -> Iterator[list[_Item]]:
    """Group items into windows of about `words` words.

    >>> list(windows(["a b", "", "c", "d"], lambda text: len(text.split()), words=4))
    [['a b', ''], ['c', 'd']]
    """
    window: list[_Item] = []
    held = 0
    for item in items:
        window.append(item)
        held += words_in(item) + 1  # so that items without words fill a window too
        if held >= words:
            yield window
            window, held = [], 0
    if window:
        yield window
