"""Tokenization and vocabulary lookup in C: tokens.c and words.c.

The regular expressions of :mod:`hyperspan.text` define tokens, and :mod:`hyperspan.text.words` what is found.
"""

from __future__ import annotations

import codecs
import ctypes
import os
import sys
import unicodedata
from array import array
from collections.abc import Sequence
from functools import cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from hyperspan.kernels import libraries

if TYPE_CHECKING:
    import numpy as np

TOKENIZERS = ("words", "split", "fine")
"""In the order of tokens.c."""
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
_SPACE, _BLANK, KNOWN_CLASS = 32, 64, 128
MARK_CLASS = KNOWN_CLASS | _CLASSES["M"]
UNIT_CLASS = KNOWN_CLASS | _BLANK
"""Without the bit of white space: a character that is always a token."""
_ENCODING = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"
codecs.lookup(_ENCODING)  # imports it now: a fork during the import would leave the child waiting for it forever
_SPACES_OF_PYTHON = range(0x1C, 0x20)
"""White space to Python, but not to regular expressions."""
_SEED = int.from_bytes(os.urandom(8), "little")
"""The hash seed of this process, so that no text can be crafted whose words all collide."""
_INTEGER, _ADDRESS, _LINES = ctypes.c_int64, ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_int64)
_INDEX = (ctypes.c_char_p, _ADDRESS, _ADDRESS, _INTEGER, ctypes.c_uint64)


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
        *(TOKENIZERS.index(tokenizer), encoded, size, first, given.buffer_info()[0], count, table, len(table)),
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
            bits[code] = KNOWN_CLASS | _CLASSES.get(category, _CLASSES.get(category[0], 0))
            if chr(code).isspace():
                bits[code] |= _SPACE | (0 if code in _SPACES_OF_PYTHON else _BLANK)
    for first, end in units:
        if end <= len(bits):
            bits[first:end] = bytes((UNIT_CLASS,)) * (end - first)
    for mark in marks:
        bits[ord(mark)] = MARK_CLASS
    return bytes(bits)


class FoundTokens(NamedTuple):
    """The lookup results of a batch of tokens, U of which are distinct."""

    place: np.ndarray
    """(tokens,): the index of each among the distinct ones."""
    first: np.ndarray
    """(U,): the first occurrence of each distinct token."""
    words: np.ndarray
    """(U,): the id of the word, 0 for an unknown one."""
    characters: np.ndarray
    """The ids of the characters of all distinct tokens, one token after the other."""
    counts: np.ndarray
    """(U,): the number of characters of each."""


class CompiledIndex:
    """The ids of the words in the bytes of a words.txt. A duplicate word raises a ValueError with its id."""

    def __init__(self, data: bytes, count: int):
        import numpy as np

        library = libraries.compiled().library
        assert library is not None  # the caller has chosen
        self._look_up = library.words_look_up
        self._look_up.restype, self._look_up.argtypes = (
            _INTEGER,
            (*_INDEX, *_LINES, *_LINES, *_LINES, _INTEGER, _ADDRESS, _INTEGER, *(_ADDRESS,) * 2),
        )
        slots = 1 << max(2 * count, 8).bit_length()
        self._starts, self._table = np.empty(count + 1, np.uint32), np.zeros(slots, np.uint64)
        self._index = (data, self._starts.ctypes.data, self._table.ctypes.data, slots, _SEED)
        library.words_index.restype, library.words_index.argtypes = _INTEGER, (*_INDEX, _INTEGER)
        double = library.words_index(*self._index, len(data))
        if double:
            raise ValueError(double)

    def look_up(
        self, count: int, tokens: bytes, keys: bytes, fallback: bytes | None, character_ids: np.ndarray
    ) -> FoundTokens:
        """Look up tokens. `keys` are the forms to look up, `fallback` the forms to try if that fails.

        In all three a token is a line; the last has no line break.
        """
        import numpy as np

        numbers = np.empty(4 * count + len(tokens) + 1, np.int64)
        lines = (tokens, len(tokens), keys, len(keys), fallback, len(fallback or b""))
        address = numbers.ctypes.data
        distinct = self._look_up(
            *self._index, *lines, count, character_ids.ctypes.data, len(character_ids), address, address + 32 * count
        )
        if distinct < 0:
            raise MemoryError(f"there is no memory to look {count:,} tokens up")
        place, first, words, counts = numbers[: 4 * count].reshape(4, count)
        counts = counts[:distinct]
        characters = numbers[4 * count : 4 * count + int(counts.sum())]
        return FoundTokens(place, first[:distinct], words[:distinct], characters, counts)
