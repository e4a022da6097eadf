"""Vocabulary lookup in C: words.c. :mod:`hyperspan.text.words` defines the result."""

from __future__ import annotations

import ctypes
import os
from typing import NamedTuple

import numpy as np

from hyperspan.kernels import libraries

_SEED = int.from_bytes(os.urandom(8), "little")
"""The hash seed of this process, so that no text can be crafted whose words all collide."""


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


_INTEGER, _ADDRESS, _LINES = ctypes.c_int64, ctypes.c_void_p, (ctypes.c_char_p, ctypes.c_int64)
_INDEX = (ctypes.c_char_p, _ADDRESS, _ADDRESS, _INTEGER, ctypes.c_uint64)


class CompiledIndex:
    """The ids of the words in the bytes of a words.txt. A duplicate word raises a ValueError with its id."""

    def __init__(self, data: bytes, count: int):
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
