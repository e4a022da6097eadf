"""The sentences of a labelling session: split once, identified by their place in the texts, and ordered."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attrs import evolve, field, frozen

from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.json_records import json_bytes
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError
from hyperspan.text.sentences import with_context
from hyperspan.text.tokens import Tokenizer
from hyperspan.types import Document, Mention, Sentence

CONTEXT_CHARACTERS = 400
"""The number of characters shown before and after a sentence."""


@frozen
class QueueItem:
    """A sentence to label."""

    id: str
    document: int
    """The index of its document."""
    sentence: int
    """Its index in the document."""
    words: Sentence
    """Its tokens, without mentions, with the context that models may read."""
    given: frozenset[Mention]
    """The mentions given with it, in tokens."""

    @property
    def size(self) -> int:
        return len(self.words)


@frozen
class LabellingTexts:
    """The documents of a session, with sentences and tokens."""

    documents: tuple[Document, ...] = field(converter=tuple)

    @classmethod
    def read(
        cls, given: Iterable[str | Document], tokenizer: Tokenizer, problems: Problems, *, keep_mentions: bool = False
    ) -> LabellingTexts:
        """Split texts that have no sentences yet; with `keep_mentions`, never inside a given mention.

        >>> texts = LabellingTexts.read(["Ada left. Bo slept."], Tokenizer(), Problems())
        >>> [item.words.tokens for item in texts.items(0)]
        [('Ada', 'left', '.'), ('Bo', 'slept', '.')]
        """
        documents = [
            _cut(Document(text) if isinstance(text, str) else text, tokenizer, problems, keep_mentions)
            for text in given
        ]
        for document in documents:
            # Fail now, not when the output is written.
            json_bytes({"id": document.id, "text": document.text, "metadata": dict(document.metadata)})
        if not any(sentence.tokens for document in documents for sentence in document.sentences):
            raise InputError("the texts have no words, so there is nothing to label; give texts that have some")
        return cls(documents)

    def items(self, context: int) -> Iterator[QueueItem]:
        """The sentences in text order, with this many words of context."""
        for index, document in enumerate(self.documents):
            for place, words in enumerate(with_context(document.sentences, context)):
                if words.tokens:
                    yield QueueItem(f"{index}.{place}", index, place, unlabelled(words), words.mentions)

    @property
    def fingerprint(self) -> str:
        """A hash that changes if a text does."""
        return _digest(document.text for document in self.documents)

    @property
    def token_fingerprint(self) -> str:
        """A hash that changes if a text, a sentence or a token does."""
        return _digest(repr([s.offsets for s in document.sentences]) for document in self.documents)

    def shown(self, item: QueueItem) -> dict[str, Any]:
        """The text of a sentence, its tokens and its context, as in an HTTP response."""
        text, offsets = self.documents[item.document].text, item.words.offsets
        first, last = offsets[0][0], offsets[-1][1]
        return {
            "text": text[first:last],
            "tokens": [[start - first, end - first] for start, end in offsets],
            "before": text[max(0, first - CONTEXT_CHARACTERS) : first],
            "after": text[last : last + CONTEXT_CHARACTERS],
        }


def _cut(document: Document, tokenizer: Tokenizer, problems: Problems, keep_mentions: bool) -> Document:
    if not document.sentences and not keep_mentions:
        blank = with_sentences(evolve(document, mentions=()), problems, tokenizer)
        return evolve(document, sentences=blank.sentences)
    cut = with_sentences(document, problems, tokenizer)
    if any(sentence.tokens and not sentence.offsets for sentence in cut.sentences):
        raise InputError(
            f"document {document.id!r} has sentences that do not say where in the text their tokens are; "
            "give their offsets, or leave the sentences out"
        )
    return cut


def unlabelled(sentence: Sentence) -> Sentence:
    """The words of a sentence, about whose mentions nothing is said."""
    return evolve(sentence, mentions=(), duplicates=(), annotated=None, forbidden=())


def cut_out(text: str, sentence: Sentence) -> tuple[str, Sentence]:
    """The text of a sentence alone, and its words in it."""
    first, last = sentence.offsets[0][0], sentence.offsets[-1][1]
    offsets = [(start - first, end - first) for start, end in sentence.offsets]
    return text[first:last], evolve(unlabelled(sentence), offsets=offsets)


def _digest(parts: Iterable[str]) -> str:
    found = hashlib.sha256()
    for part in parts:
        content = part.encode("utf-8", "surrogatepass")
        found.update(f"{len(content)}:".encode() + content)
    return found.hexdigest()


def extended(order: Sequence[str], ranked: Iterable[str], count: int | None) -> list[str]:
    """An order of sentences, extended by new ones from another order, up to a maximum number.

    >>> extended(["b"], ["a", "b", "c", "d"], 3)
    ['b', 'a', 'c']
    """
    known = set(order)
    found = [*order, *(name for name in dict.fromkeys(ranked) if name not in known)]
    return found if count is None else found[: max(count, len(order))]
