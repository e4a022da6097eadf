"""Text to sentences and their tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hyperspan.text.tokenize import tokenize
from hyperspan.types import Span

LONG = 2_000
"""A sentence of more characters than this that goes over several lines is taken line by line."""
_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text that holds one sentence, and its tokens; all spans count characters from the start of the text."""

    start: int
    end: int
    tokens: tuple[Span, ...]


def sentence_spans(text: str, language: str = "en") -> Iterator[Span]:
    """The stretches of the text that hold a sentence each; white space alone is none."""
    from sentencex import get_sentence_boundaries  # pyright: ignore[reportAttributeAccessIssue]: compiled, without types

    text = _SURROGATES.sub(
        "\N{REPLACEMENT CHARACTER}", text
    )  # of the same length; they are no text, and it refuses them
    end = 0
    for part in get_sentence_boundaries(language, text):
        # The parts follow one another; their own offsets count other units than characters in some versions.
        start = text.index(part["text"], end)
        end = start + len(part["text"])
        if not part["text"].isspace():
            yield from _lines(text, start, end) if end - start > LONG else [(start, end)]


def _lines(text: str, start: int, end: int) -> Iterator[Span]:
    """The lines of a sentence that is too long to be one: a list, or a table."""
    for match in re.compile(r"[^\n]*\n?").finditer(text, start, end):
        if match[0].strip():
            yield match.span()


def split_text(text: str, tokenizer: str = "words", language: str = "en") -> list[Piece]:
    """The sentences of a text with their tokens.

    >>> text = "Dr. Grey met Lee. Why?"
    >>> [[text[start:end] for start, end in piece.tokens] for piece in split_text(text)]
    [['Dr.', 'Grey', 'met', 'Lee', '.'], ['Why', '?']]
    """
    return list(iter_pieces(text, tokenizer, language))


def iter_pieces(text: str, tokenizer: str = "words", language: str = "en") -> Iterator[Piece]:
    """What :func:`split_text` returns, one sentence after the other, for texts whose tokens would fill the memory."""
    for start, end in sentence_spans(text, language):
        yield Piece(start, end, tuple((start + a, start + b) for a, b in tokenize(text[start:end], tokenizer)))
