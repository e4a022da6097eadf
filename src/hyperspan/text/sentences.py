"""Text to sentences and their tokens: the one place that cuts text. Any string will do, and time is linear in its length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hyperspan.text.boundaries import sentence_ends
from hyperspan.text.paragraphs import paragraph_spans
from hyperspan.text.tokenize import tokenize_all
from hyperspan.types import Sentence, Span, trusted_sentence

MOST_TOKENS = 500
"""A longer sentence is cut where it hurts least."""
TOGETHER = 20_000
"""Sentences of this many characters are cut into tokens at a time: enough for speed, and little memory for a long text."""


def sentence_spans(text: str) -> Iterator[Span]:
    """The stretches of the text that hold a sentence each; white space alone is none."""
    for start, end in paragraph_spans(text):
        for span in sentence_ends(text, start, end):
            if not text[slice(*span)].isspace():
                yield span


def split_text(text: str, tokenizer: str = "words") -> list[Sentence]:
    """The sentences of a text, with the place of each token in it.

    >>> [sentence.tokens for sentence in split_text("Dr. Grey met Lee. Why?")]
    [('Dr.', 'Grey', 'met', 'Lee', '.'), ('Why', '?')]
    """
    return list(iter_sentences(text, tokenizer))


def iter_sentences(text: str, tokenizer: str = "words") -> Iterator[Sentence]:
    """What :func:`split_text` returns, one sentence after the other, for texts whose tokens would fill the memory."""
    for stretches in _together(sentence_spans(text)):
        for offsets in tokenize_all(text, stretches, tokenizer):
            for part in (offsets,) if len(offsets) <= MOST_TOKENS else _cut(text, offsets):
                yield sentence_of(text, part)


def _together(spans: Iterable[Span]) -> Iterator[list[Span]]:
    group: list[Span] = []
    for span in spans:
        group.append(span)
        if span[1] - group[0][0] >= TOGETHER:
            yield group
            group = []
    if group:
        yield group


def token_spans(text: str, start: int, end: int, tokenizer: str) -> Sequence[Span]:
    """The tokens of a stretch of the text, in characters of the whole text."""
    return tokenize_all(text, [(start, end)], tokenizer)[0]


def sentence_of(text: str, offsets: Sequence[Span]) -> Sentence:
    """The sentence with these tokens of the text."""
    return trusted_sentence(tuple([text[start:end] for start, end in offsets]), tuple(offsets))


def _cut(text: str, tokens: Sequence[Span]) -> Iterator[Sequence[Span]]:
    """Too many tokens in parts of up to MOST_TOKENS, cut at line breaks, else semicolons, else commas, else anywhere."""
    first = 0
    while len(tokens) - first > MOST_TOKENS:
        places = range(first + MOST_TOKENS, first + MOST_TOKENS // 2, -1)
        last = max(places, key=lambda place: _cut_quality(text, tokens[place - 1][1], tokens[place][0]))
        yield tokens[first:last]
        first = last
    yield tokens[first:]


def _cut_quality(text: str, before: int, after: int) -> int:
    """How well a sentence can be cut between two tokens."""
    if "\n" in text[before:after]:
        return 3
    return {";": 2, ":": 2, ",": 1}.get(text[before - 1], 0)
