"""Profile the text of a corpus: its word frequencies, and the surprisal of held-out text.

A profile contains hashed words and their counts, no text. It tokenises raw text itself, so that profiles of models with
different tokenizers are comparable. Needs neither torch nor NumPy.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from typing import Any
from zlib import crc32

from hyperspan.errors import InputError
from hyperspan.toml import shown

MOST_WORDS = 20_000
"""The number of words kept, the most frequent ones; they take about 30 KB in a model card."""
WINDOW = 100
"""The number of words in the windows of text that are compared."""
MOST_CHARACTERS = 6_000
"""The maximum number of characters read of a text; of a longer one, excerpts spread over it."""
_PARTS = 4
_BITS = 20
_UNSEEN_WORDS = 100_000
"""The assumed number of words absent from the corpus, which share the probability of unseen words."""
_LEVELS = 6
"""Counts are kept to the nearest power of 2 ** (1 / 6), within 6%."""
_LEAST_SPREAD = 0.35
"""In nats per word. A few windows of held-out text may be unusually similar by chance."""
_LEAST_LIMIT = 2.5
"""A deviation, in standard deviations, that is always accepted."""
_WORD = re.compile(r"n't\b|'(?:s|re|ve|ll|d|m)\b|[^\W\d_]{1,24}[a-z]*|0|[^\w\s]")
_DIGITS = re.compile(r"\d+")


def words_of(text: str) -> list[str]:
    """The lower-cased words and signs of a text, independent of spaces between them; numbers become 0.

    >>> words_of("Don't cross-link 2,500 ‘cells’")
    ['do', "n't", 'cross', '-', 'link', '0', ',', '0', "'", 'cells', "'"]
    """
    plain = text.lower().replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')
    return _WORD.findall(_DIGITS.sub("0", plain.replace("n't", " n't")))


def excerpt(text: str, most: int = MOST_CHARACTERS) -> str:
    """A text, or excerpts spread over it with about this many characters in total."""
    if len(text) <= most:
        return text
    size, step = most // _PARTS, (len(text) - most // _PARTS) // (_PARTS - 1)
    return "\n".join(text[start : start + size] for start in range(0, step * _PARTS, step))


@dataclass(frozen=True)
class WordCounts:
    """The hashed words of a text with their counts."""

    words: Mapping[int, int]
    """Words with letters."""
    signs: Mapping[int, int]
    """Punctuation and numbers."""

    @classmethod
    def of(cls, words: Iterable[str]) -> WordCounts:
        found: tuple[dict[int, int], dict[int, int]] = ({}, {})
        for word, count in Counter(words).items():
            key = crc32(word.encode("utf-8", "surrogatepass")) >> (32 - _BITS)
            part = found[word[-1].isalpha()]
            part[key] = part.get(key, 0) + count
        return cls(found[1], found[0])

    @cached_property
    def total(self) -> int:
        return sum(self.words.values()) + sum(self.signs.values())

    @cached_property
    def letters(self) -> int:
        """The number of words with letters."""
        return sum(self.words.values())


@dataclass(frozen=True)
class TextProfile:
    """The words of a corpus, and the surprisal of similar text.

    >>> zoo = TextProfile.of(["the lion sleeps in the zoo . the lion eats"] * 20)
    >>> texts = "The zoo eats the lion.", "A zoo of proteins"
    >>> [round(zoo.unknown(WordCounts.of(words_of(text))), 2) for text in texts]
    [0.0, 0.75]
    """

    counts: Mapping[int, int]
    """The counts of the most frequent words, by hash."""
    surprisal: float
    """The mean surprisal of the windows of held-out text, in nats per word."""
    spread: float
    """The standard deviation of the surprisal."""
    limit: float
    """The number of standard deviations from the mean within which 99% of the held-out windows lie."""
    usual_unknown: float
    """The share of words of held-out text that are absent from the corpus."""

    @classmethod
    def of(cls, texts: Iterable[str], held_out: Iterable[str] = ()) -> TextProfile:
        """Profile a corpus; without held-out text, a tenth of it is held out to measure surprisal."""
        windows, others = list(_windows(texts)), list(_windows(held_out))
        everything = _counted(windows)
        counts = everything if others else _counted(window for index, window in enumerate(windows) if index % 10)
        measured = [WordCounts.of(window) for window in others or windows[::10]]
        bare = cls(counts, 0.0, 1.0, _LEAST_LIMIT, 0.0)
        full = [one for one in measured if one.total == WINDOW] or measured
        surprisals = [bare.surprisal_of(one) for one in full] or [0.0]
        mean = sum(surprisals) / len(surprisals)
        variance = sum((value - mean) ** 2 for value in surprisals) / max(len(surprisals) - 1, 1)
        spread = max(math.sqrt(variance), _LEAST_SPREAD)
        highest = sorted(surprisals)[math.ceil(0.99 * len(surprisals)) - 1]
        limit = max((highest - mean) / spread, _LEAST_LIMIT * (1 + 2 / len(surprisals)))  # wider for few windows
        unknown = sum(bare.unknown(one) for one in full) / max(len(full), 1)
        return cls(everything, round(mean, 4), round(spread, 4), round(limit, 2), round(unknown, 4))

    # -- reading text ----------------------------------------------------------------------------------------------

    @cached_property
    def total(self) -> int:
        return sum(self.counts.values())

    @cached_property
    def _surprisals(self) -> dict[int, float]:
        """The surprisal of each word of the corpus; all others share the probability of a new word (Witten & Bell)."""
        least = len(self.counts) / _UNSEEN_WORDS
        by_count = {count: -math.log((count + least) / self._mass) for count in set(self.counts.values())}
        return {key: by_count[count] for key, count in self.counts.items()}

    @property
    def _mass(self) -> int:
        return self.total + len(self.counts)

    @cached_property
    def _unseen(self) -> float:
        return -math.log(max(len(self.counts), 1) / _UNSEEN_WORDS / max(self._mass, 1))

    def _nats(self, counts: Mapping[int, int]) -> float:
        """The sum of -log p of hashed words by their counts."""
        known, unseen = self._surprisals, self._unseen
        return sum([count * known.get(key, unseen) for key, count in counts.items()])

    def nats_of(self, text: WordCounts) -> float:
        """-log p of a text, including its signs."""
        return self._nats(text.words) + self._nats(text.signs)

    def surprisal_of(self, text: WordCounts) -> float:
        """The mean of -log p of its words; without words, that of held-out text."""
        return self._nats(text.words) / text.letters if text.letters else self.surprisal

    def deviation(self, text: WordCounts) -> float:
        """The excess surprisal of its words over held-out text, in standard deviations for as many words."""
        fewer = math.sqrt(min(text.total, WINDOW) / WINDOW)
        return (self.surprisal_of(text) - self.surprisal) / self.spread * fewer

    def unknown(self, text: WordCounts) -> float:
        """The share of its words that are absent from the corpus."""
        new = sum(count for key, count in text.words.items() if key not in self.counts)
        return new / text.letters if text.letters else 0.0

    # -- a table of card.toml --------------------------------------------------------------------------------------

    def to_table(self) -> dict[str, Any]:
        """The table that :meth:`from_table` reads."""
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        return {**numbers, "counts": _packed(self.counts)}

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> TextProfile | None:
        """Read the profile of an untrusted model card; None if it has none, InputError if it is invalid."""
        if not table:
            return None
        if unknown := table.keys() - _NUMBERS.keys() - {"counts"}:
            raise InputError(
                f"the profile of the model card has no key {min(unknown)[:100]!r}, but {', '.join((*_NUMBERS, 'counts'))}"
            )
        numbers = {name: _number(table.get(name), name, *ends) for name, ends in _NUMBERS.items()}
        return cls(_unpacked(table.get("counts")), **numbers)


_NUMBERS = {"surprisal": (0.0, 100.0), "spread": (1e-3, 100.0), "limit": (0.1, 1000.0), "usual_unknown": (0.0, 1.0)}
"""The numeric keys of a table with their ranges."""


def _windows(texts: Iterable[str]) -> Iterator[Sequence[str]]:
    """The words of consecutive texts, in windows; the last may be shorter."""
    held: list[str] = []
    for text in texts:
        held += words_of(text)
        whole = len(held) - len(held) % WINDOW
        for start in range(0, whole, WINDOW):
            yield held[start : start + WINDOW]
        del held[:whole]
    if held:
        yield held


def _counted(windows: Iterable[Sequence[str]]) -> dict[int, int]:
    """The most frequent words, hashed, with their rounded counts."""
    found = WordCounts.of(chain.from_iterable(windows))
    counts = Counter(found.words)
    counts.update(found.signs)
    kept = counts if len(counts) <= MOST_WORDS else sorted(counts, key=lambda key: (-counts[key], key))[:MOST_WORDS]
    return {key: _count(_level(counts[key])) for key in sorted(kept)}


def _level(count: int) -> int:
    return round(_LEVELS * math.log2(count))


def _count(level: int) -> int:
    return round(2 ** (level / _LEVELS))


def _packed(counts: Mapping[int, int]) -> str:
    """Counts as a string: differences of sorted keys in three bytes each, then levels, deflated, in base 64."""
    keys = sorted(counts)
    gaps = [key - before for before, key in zip([-1, *keys], keys, strict=False)]
    data = b"".join(gap.to_bytes(3, "big") for gap in gaps)
    columns = data[0::3] + data[1::3] + data[2::3]
    levels = bytes(min(_level(counts[key]), 255) for key in keys)
    return base64.b64encode(zlib.compress(columns + levels, 9)).decode()


def _unpacked(given: object) -> dict[int, int]:
    wrong = InputError(
        "the profile of the model card has counts that hyperspan did not write; make it again with hyperspan model profile"
    )
    if not isinstance(given, str):
        raise wrong
    try:
        reader = zlib.decompressobj()
        data = reader.decompress(base64.b64decode(given, validate=True), 4 * MOST_WORDS + 1)
    except (ValueError, binascii.Error, zlib.error):
        raise wrong from None
    size, rest = divmod(len(data), 4)
    if rest or not reader.eof or size > MOST_WORDS:
        raise wrong
    rows = bytearray(4 * size)
    for place in (0, 1, 2):  # high, middle, low byte of each difference, below a byte of zero
        rows[place + 1 :: 4] = data[place * size : (place + 1) * size]
    gaps = struct.unpack(f">{size}I", rows)
    keys = list(accumulate(gaps, initial=-1))[1:]
    if 0 in gaps or (keys and keys[-1] >= 1 << _BITS):
        raise wrong
    counts = [_count(level) for level in range(256)]
    return dict(zip(keys, map(counts.__getitem__, data[3 * size :]), strict=True))


def _number(value: object, name: str, low: float, high: float) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not low <= value <= high:
        raise InputError(
            f"the profile of the model card has {name} = {shown(value)}, but must have a number from {low:g} to {high:g}"
        )
    return float(value)
