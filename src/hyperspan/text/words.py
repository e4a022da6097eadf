"""The words of a vocabulary: a file with one word per line, which is searched without parsing it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import overload

import numpy as np

from hyperspan.kernels.choice import choose
from hyperspan.kernels.text import CompiledIndex, FoundTokens

UNKNOWN = 0
"""The id of every symbol that was not seen in training."""
LONGEST_SPELLING = 48
"""Of a longer word, such as a DNA sequence, only the first and last characters are read; words.c has half of this
value."""
MOST_BYTES = 2**31
"""The maximal size of a file of words."""

_SPECIAL = re.compile("[\\\\\n\r\ud800-\udfff]")
_ESCAPED = re.compile(r"\\(?:([\\nr])|u(d[89a-f][0-9a-f]{2}))")
_BY_SIGN = {"\\": "\\", "n": "\n", "r": "\r"}
_SIGNS = {character: sign for sign, character in _BY_SIGN.items()}


def escaped(word: str) -> str:
    r"""Escape the backslashes, line breaks, carriage returns and lone surrogates of a word for the file.

    >>> escaped("a\nb\\"), escaped("\ud800")
    ('a\\nb\\\\', '\\ud800')
    """
    return _SPECIAL.sub(lambda found: "\\" + _SIGNS.get(found[0], f"u{ord(found[0]):04x}"), word)


def _unescaped(line: str) -> str:
    return _ESCAPED.sub(lambda found: _BY_SIGN[found[1]] if found[1] else chr(int(found[2], 16)), line)


class Words(Sequence[str]):
    """Distinct words; the first has id 1.

    They stay the bytes of a words.txt, which are searched directly and decoded only when the words are read.

    >>> words = Words.of(["the", "zoo"])
    >>> words.data, words.find("zoo"), words.find("lion"), list(words)
    (b'the\\nzoo\\n', 2, 0, ['the', 'zoo'])
    """

    def __init__(self, data: bytes):
        """Make the words from the bytes of an untrusted file; raise a ValueError if they are invalid."""
        self.data = data
        self._count = data.count(b"\n")
        self._check()
        self._compiled: CompiledIndex | None = None
        if choose("look_up", "cpu") == "c":
            try:
                self._compiled = CompiledIndex(data, self._count)
            except ValueError as error:
                raise self._twice(error.args[0] - 1) from None
        elif len(self._ids) < self._count:
            seen: set[str] = set()
            raise self._twice(next(index for index, word in enumerate(self) if word in seen or seen.add(word)))

    @classmethod
    def of(cls, words: Iterable[str]) -> Words:
        return cls("".join(f"{escaped(word)}\n" for word in words).encode())

    def _check(self) -> None:
        if self.data and not self.data.endswith(b"\n"):
            raise ValueError("its last line is cut off")
        if len(self.data) > MOST_BYTES:
            raise ValueError(f"it has {len(self.data):,} bytes, more than {MOST_BYTES:,}")
        self.data.decode()  # raises an error if it is not UTF-8
        if b"\r" in self.data:
            raise ValueError("it has carriage returns, as if its line breaks had been changed")
        end = -1
        while (place := self.data.find(b"\\", end + 1)) >= 0:
            start, end = self.data.rfind(b"\n", 0, place) + 1, self.data.find(b"\n", place)
            line = self.data[start:end].decode()
            if escaped(_unescaped(line)) != line:
                raise ValueError(f"the line {line[:50]!r} has a backslash that escapes nothing")

    def _twice(self, index: int) -> ValueError:
        return ValueError(f"the word {self[index][:50]!r} is there twice")

    @cached_property
    def _list(self) -> list[str]:
        return [_unescaped(line) if "\\" in line else line for line in self.data.decode().split("\n")[:-1]]

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: index + 1 for index, word in enumerate(self._list)}

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        return self._list[index]

    def __iter__(self) -> Iterator[str]:
        return iter(self._list)

    def __contains__(self, word: object) -> bool:
        return isinstance(word, str) and self.find(word) != UNKNOWN

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Words) and self.data == other.data

    __hash__ = None  # pyright: ignore[reportAssignmentType]: like a list

    def __repr__(self) -> str:
        return f"Words({len(self):,})"

    def __reduce__(self) -> tuple[type[Words], tuple[bytes]]:
        return Words, (self.data,)

    def find(self, word: str) -> int:
        """Return the id of a word, or :data:`UNKNOWN`."""
        if self._compiled is None:
            return self._ids.get(word, UNKNOWN)
        key = escaped(word).encode()
        return int(self._compiled.look_up(1, key, key, None, _NO_CHARACTERS).words[0])

    def look_up(self, tokens: Sequence[str], lowercase: bool, character_ids: np.ndarray) -> FoundTokens:
        """Look up the distinct tokens of a batch.

        With `lowercase`, a token is looked up in lower case only, otherwise first as written. :func:`spelling` gives
        its character ids; a token that is too long loses its middle, and an empty one counts as a space.
        """
        lines = "\n".join(tokens)
        if self._compiled is None or not tokens or lines.count("\n") >= len(tokens):
            return self._look_up_each(tokens, lowercase, character_ids)
        # Line breaks do not affect case mapping, so each token is lowercased as if it were alone.
        keys = lines.lower() if lowercase else lines
        try:
            encoded, lower = lines.encode(), None if lowercase else _keys(lines.lower())
            return self._compiled.look_up(len(tokens), encoded, _keys(keys), lower, character_ids)
        except UnicodeEncodeError:  # a lone surrogate
            return self._look_up_each(tokens, lowercase, character_ids)

    def _look_up_each(self, tokens: Sequence[str], lowercase: bool, character_ids: np.ndarray) -> FoundTokens:
        # In the order of the batch, so that sums over the tokens are the same in every run.
        places: dict[str, int] = {}
        place = [places.setdefault(token, len(places)) for token in tokens]
        first: dict[int, int] = {}
        for index, kind in enumerate(place):
            first.setdefault(kind, index)
        shortened = [_shortened(token) for token in places]
        found = [(UNKNOWN if lowercase else self.find(token)) or self.find(token.lower()) for token in places]
        return FoundTokens(
            np.array(place, dtype=np.int64),
            np.array(list(first.values()), dtype=np.int64),
            np.array(found, dtype=np.int64),
            spelling("".join(shortened), character_ids),
            np.array([len(token) for token in shortened], dtype=np.int64),
        )


_NO_CHARACTERS = np.empty(0, np.int32)


def _keys(lines: str) -> bytes:
    """Return the lines with the escapes of the file."""
    if "\\" in lines:
        lines = lines.replace("\\", r"\\")
    if "\r" in lines:
        lines = lines.replace("\r", r"\r")
    return lines.encode()


def _shortened(token: str) -> str:
    half = LONGEST_SPELLING // 2
    return (token if len(token) <= LONGEST_SPELLING else token[:half] + token[-half:]) or " "


def spelling(text: str, character_ids: np.ndarray) -> np.ndarray:
    """Return the ids of the characters of a text, from `character_ids` by code point; 1 for code points beyond it."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    ids = np.ones(len(codes), np.int64)
    known = codes < len(character_ids)
    ids[known] = character_ids[codes[known]]
    return ids
