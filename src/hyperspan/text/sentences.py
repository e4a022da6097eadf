"""Text to sentences and their tokens. Any string will do, and time is linear in its length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hyperspan.text.boundaries import sentence_ends
from hyperspan.text.paragraphs import paragraph_spans
from hyperspan.text.tokenize import tokenize
from hyperspan.types import Span

MOST_TOKENS = 500
"""A sentence of more tokens than this is no sentence, and is cut where it hurts least."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text that holds one sentence, and its tokens; all spans count characters from the start of the text."""

    start: int
    end: int
    tokens: tuple[Span, ...]


def sentence_spans(text: str) -> Iterator[Span]:
    """The stretches of the text that hold a sentence each; white space alone is none."""
    for start, end in paragraph_spans(text):
        for span in sentence_ends(text, start, end):
            if not text[slice(*span)].isspace():
                yield span


def split_text(text: str, tokenizer: str = "words") -> list[Piece]:
    """The sentences of a text with their tokens.

    >>> text = "Dr. Grey met Lee. Why?"
    >>> [[text[start:end] for start, end in piece.tokens] for piece in split_text(text)]
    [['Dr.', 'Grey', 'met', 'Lee', '.'], ['Why', '?']]
    """
    return list(iter_pieces(text, tokenizer))


def iter_pieces(text: str, tokenizer: str = "words") -> Iterator[Piece]:
    """What :func:`split_text` returns, one sentence after the other, for texts whose tokens would fill the memory."""
    for start, end in sentence_spans(text):
        tokens = [(start + a, start + b) for a, b in tokenize(text[start:end], tokenizer)]
        if len(tokens) <= MOST_TOKENS:
            yield Piece(start, end, tuple(tokens))
        else:
            yield from _cut(text, start, end, tokens)


def _cut(text: str, start: int, end: int, tokens: Sequence[Span]) -> Iterator[Piece]:
    """A sentence of too many tokens in pieces of up to MOST_TOKENS, cut at line breaks, else semicolons, else commas, else anywhere."""
    first = 0
    while len(tokens) - first > MOST_TOKENS:
        places = range(first + MOST_TOKENS, first + MOST_TOKENS // 2, -1)
        last = max(places, key=lambda place: _cut_quality(text, tokens[place - 1][1], tokens[place][0]))
        yield Piece(start, tokens[last][0], tuple(tokens[first:last]))
        start, first = tokens[last][0], last
    yield Piece(start, end, tuple(tokens[first:]))


def _cut_quality(text: str, before: int, after: int) -> int:
    """How well a sentence can be cut between two tokens."""
    if "\n" in text[before:after]:
        return 3
    return {";": 2, ":": 2, ",": 1}.get(text[before - 1], 0)
