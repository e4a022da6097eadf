"""Text to sentences and their tokens: the one place that cuts text. Any string will do, and time is linear in its
length."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from hyperspan.text.boundaries import sentence_ends
from hyperspan.text.paragraphs import paragraph_spans
from hyperspan.text.scripts import is_unspaced
from hyperspan.text.tokenize import WORDS, Tokenizer, tokenize_all
from hyperspan.types import Sentence, Span, trusted_sentence

MOST_TOKENS = 500
"""A longer sentence is cut where it hurts least."""
TOGETHER = 20_000
"""Sentences of this many characters are cut into tokens at a time: enough for speed, and little memory for a long
text."""

_CUT_QUALITY = dict.fromkeys(";:；：", 2) | dict.fromkeys(",，、၊", 1)


def sentence_spans(text: str) -> Iterator[Span]:
    """The stretches of the text that hold a sentence each; white space alone is none."""
    for start, end in paragraph_spans(text):
        for span in sentence_ends(text, start, end):
            if not text[slice(*span)].isspace():
                yield span


def split_text(text: str, tokenizer: Tokenizer = WORDS) -> list[Sentence]:
    """The sentences of a text, with the place of each token in it.

    >>> [sentence.tokens for sentence in split_text("Dr. Grey met Lee. Why?")]
    [('Dr.', 'Grey', 'met', 'Lee', '.'), ('Why', '?')]
    """
    return list(iter_sentences(text, tokenizer))


def iter_sentences(text: str, tokenizer: Tokenizer = WORDS) -> Iterator[Sentence]:
    """What :func:`split_text` returns, one sentence after the other, for texts whose tokens would fill the memory."""
    for stretches in _together(sentence_spans(text)):
        for offsets in tokenize_all(text, stretches, tokenizer):
            yield from (sentence_of(text, part) for part in cut_long(text, offsets))


def _together(spans: Iterable[Span]) -> Iterator[list[Span]]:
    group: list[Span] = []
    for span in spans:
        group.append(span)
        if span[1] - group[0][0] >= TOGETHER:
            yield group
            group = []
    if group:
        yield group


def token_spans(text: str, start: int, end: int, tokenizer: Tokenizer) -> Sequence[Span]:
    """The tokens of a stretch of the text, in characters of the whole text."""
    return tokenize_all(text, [(start, end)], tokenizer)[0]


def sentence_of(text: str, offsets: Sequence[Span]) -> Sentence:
    """The sentence with these tokens of the text."""
    return trusted_sentence(tuple([text[start:end] for start, end in offsets]), tuple(offsets))


def cut_long(text: str, tokens: Sequence[Span], whole: Sequence[Span] = ()) -> Iterator[Sequence[Span]]:
    """The tokens of a sentence, in parts of up to MOST_TOKENS if there are more.

    They are cut at line breaks, else semicolons, else commas and the spaces of scripts that have no others, else
    anywhere, but in none of some stretches of the text that stay `whole`, even where a part becomes longer.
    """
    if len(tokens) <= MOST_TOKENS:
        yield tokens
        return
    closed = {place for span in whole for place in _places_inside(tokens, span)}
    first = 0
    while len(tokens) - first > MOST_TOKENS:
        places = [p for p in range(first + MOST_TOKENS, first + MOST_TOKENS // 2, -1) if p not in closed]
        if not places:
            later = range(first + MOST_TOKENS + 1, len(tokens))
            places = [next((place for place in later if place not in closed), len(tokens))]
            if places[0] == len(tokens):
                break
        last = max(places, key=lambda place: _cut_quality(text, tokens[place - 1], tokens[place][0]))
        yield tokens[first:last]
        first = last
    yield tokens[first:]


def _places_inside(tokens: Sequence[Span], span: Span) -> range:
    """Before which tokens a cut would be inside a span of the text."""
    return range(
        bisect_right(tokens, span[0], key=itemgetter(0)),
        bisect_left(tokens, span[1], key=itemgetter(0)),
    )


def _cut_quality(text: str, before: Span, after: int) -> int:
    """How well a sentence can be cut after a token; the next one starts at `after`."""
    start, end = before
    if "\n" in text[end:after]:
        return 3
    return _CUT_QUALITY.get(text[end - 1], int(end < after and is_unspaced(text[start])))
