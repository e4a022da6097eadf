"""Tokenization in C: libkernels.so. The regular expressions of :mod:`hyperspan.text` define the result."""

from __future__ import annotations

import codecs
import ctypes
import sys
import unicodedata
from array import array
from collections.abc import Sequence
from functools import cache
from itertools import chain, islice
from typing import Any, NamedTuple

from hyperspan.kernels import libraries

TOKENIZERS = ("split", "words")
KNOWN = (range(0x250), range(0x370, 0x530), range(0x1E00, 0x2300))
"""Code points of Latin, Greek, Cyrillic and signs, whose classes are the same in all versions of Unicode."""
EASTERN = (
    *(range(0xE00, 0xF00), range(0x1000, 0x10A0), range(0x1780, 0x1800), range(0x1950, 0x1AB0), range(0x1B00, 0x1B80)),
    *(range(0x2E80, 0x3130), range(0xA980, 0xAAE0), range(0xFF00, 0xFFF0)),
)
"""Code points of blocks that mix scripts without spaces with other characters."""
JOINERS = (0x200C, 0x200D)
"""Joiners, which are left to the regular expressions: they join the characters around them."""

_CLASSES = {"L": 1 | 16, "M": 2 | 16, "N": 4, "Nd": 4 | 8 | 16, "Nl": 4 | 16, "Pc": 16}
"""Bits by Unicode category: letter, mark, number, digit and word, as in tokens.c."""
_MARK = _CLASSES["M"]
_SPACE, _BLANK, _IS_KNOWN = 32, 64, 128
_UNIT = _BLANK
"""Without the bit of white space: a character that is always a token."""
_ENCODING = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"
codecs.lookup(_ENCODING)  # imports it now: a fork during the import would leave the child waiting for it forever
_SPACES_OF_PYTHON = range(0x1C, 0x20)
"""White space to Python, but not to regular expressions."""


class TokenSpans(NamedTuple):
    """The tokens of sentences as spans of the text."""

    spans: list[tuple[int, int]]
    counts: list[int]
    """The number of tokens of each sentence; -1 for a sentence with an unsupported character."""


def tokens(tokenizer: str, text: str, first: int, sentences: Sequence[tuple[int, int]], table: bytes) -> TokenSpans:
    """The tokens of sentences, which are spans of a text. `text` is the part of it that holds them, from its character
    `first` on.

    `tokenizer` is one of :data:`TOKENIZERS`, `table` what :func:`classes` returns.
    """
    encoded = text.encode(_ENCODING, "surrogatepass")
    count, size = len(sentences), len(text)
    numbers = array("q", (0,)) * (count + 2 * size)  # the counts, and where each token starts and ends
    given = array("q", chain.from_iterable(sentences))
    address = numbers.buffer_info()[0]
    found = _function()(
        *(tokenizer == "split", encoded, size, first, given.buffer_info()[0], count, table, len(table)),
        *(address, address + 8 * count),
    )
    if found < 0:
        raise MemoryError(f"there is no memory to cut a text of {size:,} characters")
    places = iter(numbers[: count + 2 * found].tolist())
    counts = list(islice(places, count))
    return TokenSpans(list(zip(places, places, strict=True)), counts)


@cache
def _function() -> Any:
    library = libraries.compiled().library
    assert library is not None  # the caller has chosen
    function = library.tokens_of
    integer, address, characters = ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p
    function.restype = integer
    given = (integer, characters, integer, integer, address, integer)
    function.argtypes = (*given, characters, integer, address, address)
    return function


@cache
def classes(units: tuple[tuple[int, int], ...], marks: str) -> bytes:
    """The class bits of tokens.c by code point; 0 for unsupported characters.

    `units` are the code points, from and to, of characters that are always tokens; `marks` are those that count as
    marks.
    """
    bits = bytearray(0x10000)
    for code in chain.from_iterable(KNOWN + EASTERN):
        category = unicodedata.category(chr(code))
        if category not in ("Cn", "Cs") and code not in JOINERS:
            bits[code] = _IS_KNOWN | _CLASSES.get(category, _CLASSES.get(category[0], 0))
            if chr(code).isspace():
                bits[code] |= _SPACE | (0 if code in _SPACES_OF_PYTHON else _BLANK)
    for first, end in units:
        if end <= len(bits):
            bits[first:end] = bytes((_IS_KNOWN | _UNIT,)) * (end - first)
    for mark in marks:
        bits[ord(mark)] = _IS_KNOWN | _MARK
    return bytes(bits)
