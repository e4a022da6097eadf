"""Split any text into sentences and tokens, in time linear in its length. All splitting of text happens here."""

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
"""A longer sentence is cut at the best place."""
TOGETHER = 20_000
"""The number of characters tokenised at a time: enough for speed, little memory for a long text."""

_CUT_QUALITY = dict.fromkeys(";:；：", 2) | dict.fromkeys(",，、၊", 1)


def sentence_spans(text: str) -> Iterator[Span]:
    """The spans of the sentences of a text, without spans of white space alone."""
    for start, end in paragraph_spans(text):
        for span in sentence_ends(text, start, end):
            if not text[slice(*span)].isspace():
                yield span


def split_text(text: str, tokenizer: Tokenizer = WORDS) -> list[Sentence]:
    """Split a text into sentences, with the offsets of each token.

    >>> [sentence.tokens for sentence in split_text("Dr. Grey met Lee. Why?")]
    [('Dr.', 'Grey', 'met', 'Lee', '.'), ('Why', '?')]
    """
    return list(iter_sentences(text, tokenizer))


def iter_sentences(text: str, tokenizer: Tokenizer = WORDS) -> Iterator[Sentence]:
    """Yield the sentences of :func:`split_text` one by one, for texts whose tokens would fill the memory."""
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
    """The tokens of a span of the text, as offsets in the whole text."""
    return tokenize_all(text, [(start, end)], tokenizer)[0]


def sentence_of(text: str, offsets: Sequence[Span]) -> Sentence:
    """The sentence with these tokens of the text."""
    return trusted_sentence(tuple([text[start:end] for start, end in offsets]), tuple(offsets))


def cut_long(text: str, tokens: Sequence[Span], whole: Sequence[Span] = ()) -> Iterator[Sequence[Span]]:
    """The tokens of a sentence, in parts of up to MOST_TOKENS if there are more.

    They are cut at line breaks, else at semicolons, else at commas and at spaces of scripts without word spaces, else
    anywhere, but never inside the spans in `whole`, even if a part becomes longer.
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
    """The token indices before which a cut would be inside a span of the text."""
    return range(
        bisect_right(tokens, span[0], key=itemgetter(0)),
        bisect_left(tokens, span[1], key=itemgetter(0)),
    )


def _cut_quality(text: str, before: Span, after: int) -> int:
    """The quality of a cut after a token; the next token starts at `after`."""
    start, end = before
    if "\n" in text[end:after]:
        return 3
    return _CUT_QUALITY.get(text[end - 1], int(end < after and is_unspaced(text[start])))
