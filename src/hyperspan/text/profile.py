"""What the text of a corpus looks like: how often each of its words occurs, and how surprising its own further text is.

A profile holds hashed words and their counts, no text. It reads raw text by itself, so that the profiles of models that
cut text differently can be compared. Needs neither torch nor NumPy.
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
"""Words that a profile keeps, the most frequent ones: a card is a small file, and these take about 30 KB of it."""
WINDOW = 100
"""Words of the stretches of text that are compared with each other."""
MOST_CHARACTERS = 6_000
"""Of a text; of a longer one, parts are read that are spread over it."""
_PARTS = 4
_BITS = 20
_UNSEEN_WORDS = 100_000
"""How many different words a text may have that the corpus has not: they share the probability of unseen words."""
_LEVELS = 6
"""Counts are kept to the nearest power of 2 ** (1 / 6), within 6%."""
_LEAST_SPREAD = 0.35
"""Nats a word. Held-out text of a few windows may by chance be more alike than text is."""
_LEAST_LIMIT = 2.5
"""Standard deviations from the mean that are never too many."""
_WORD = re.compile(r"n't\b|'(?:s|re|ve|ll|d|m)\b|[^\W\d_]{1,24}[a-z]*|0|[^\w\s]")
_DIGITS = re.compile(r"\d+")


def words_of(text: str) -> list[str]:
    """The words and signs of a text in lower case, cut alike whether there are spaces between them; numbers become 0.

    >>> words_of("Don't cross-link 2,500 ‘cells’")
    ['do', "n't", 'cross', '-', 'link', '0', ',', '0', "'", 'cells', "'"]
    """
    plain = text.lower().replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')
    return _WORD.findall(_DIGITS.sub("0", plain.replace("n't", " n't")))


def excerpt(text: str, most: int = MOST_CHARACTERS) -> str:
    """A text, or parts of it that are spread over it and have about this many characters together."""
    if len(text) <= most:
        return text
    size, step = most // _PARTS, (len(text) - most // _PARTS) // (_PARTS - 1)
    return "\n".join(text[start : start + size] for start in range(0, step * _PARTS, step))


@dataclass(frozen=True)
class WordCounts:
    """The words of a text, hashed, and how often each occurs."""

    words: Mapping[int, int]
    """Those of letters."""
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
        """How many words of letters there are."""
        return sum(self.words.values())


@dataclass(frozen=True)
class TextProfile:
    """The words of a corpus, and how surprising other text of its kind is.

    >>> zoo = TextProfile.of(["the lion sleeps in the zoo . the lion eats"] * 20)
    >>> [round(zoo.unknown(WordCounts.of(words_of(text))), 2) for text in ("The zoo eats the lion.", "A zoo of proteins")]
    [0.0, 0.75]
    """

    counts: Mapping[int, int]
    """By hashed words, of the most frequent words."""
    surprisal: float
    """Of the words of held-out text, in nats: the mean of windows."""
    spread: float
    """The standard deviation of that."""
    limit: float
    """The standard deviations from the mean within which 99% of the windows of held-out text are."""
    usual_unknown: float
    """The share of the words of held-out text that the corpus has not."""

    @classmethod
    def of(cls, texts: Iterable[str], held_out: Iterable[str] = ()) -> TextProfile:
        """The profile of a corpus; without held-out text, a tenth of its own is held out while surprise is measured."""
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
        limit = max((highest - mean) / spread, _LEAST_LIMIT * (1 + 2 / len(surprisals)))  # few windows tell little
        unknown = sum(bare.unknown(one) for one in full) / max(len(full), 1)
        return cls(everything, round(mean, 4), round(spread, 4), round(limit, 2), round(unknown, 4))

    # -- reading text ----------------------------------------------------------------------------------------------

    @cached_property
    def total(self) -> int:
        return sum(self.counts.values())

    @cached_property
    def _surprisals(self) -> dict[int, float]:
        """Of the words of the corpus; the probability of all others together is that of a word being new (Witten &
        Bell)."""
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
        """-log p of a text, its signs included."""
        return self._nats(text.words) + self._nats(text.signs)

    def surprisal_of(self, text: WordCounts) -> float:
        """The mean of -log p of its words; that of held-out text where there are none."""
        return self._nats(text.words) / text.letters if text.letters else self.surprisal

    def deviation(self, text: WordCounts) -> float:
        """How much more surprising its words are than those of held-out text, in standard deviations of as many."""
        fewer = math.sqrt(min(text.total, WINDOW) / WINDOW)
        return (self.surprisal_of(text) - self.surprisal) / self.spread * fewer

    def unknown(self, text: WordCounts) -> float:
        """The share of its words that the corpus has not."""
        new = sum(count for key, count in text.words.items() if key not in self.counts)
        return new / text.letters if text.letters else 0.0

    # -- a table of card.toml --------------------------------------------------------------------------------------

    def to_table(self) -> dict[str, Any]:
        """What :meth:`from_table` reads."""
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        return {**numbers, "counts": _packed(self.counts)}

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> TextProfile | None:
        """The profile of a card of any origin; None where it has none, and an InputError for a wrong one."""
        if not table:
            return None
        if unknown := table.keys() - _NUMBERS.keys() - {"counts"}:
            raise InputError(
                f"the profile of the model card has no key {min(unknown)[:100]!r}, but {', '.join((*_NUMBERS, 'counts'))}"
            )
        numbers = {name: _number(table.get(name), name, *ends) for name, ends in _NUMBERS.items()}
        return cls(_unpacked(table.get("counts")), **numbers)


_NUMBERS = {"surprisal": (0.0, 100.0), "spread": (1e-3, 100.0), "limit": (0.1, 1000.0), "usual_unknown": (0.0, 1.0)}
"""The keys of a table that are numbers, and from what to what they may be."""


def _windows(texts: Iterable[str]) -> Iterator[Sequence[str]]:
    """The words of texts that follow each other, so many at a time; the last may be fewer."""
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
    """The most frequent words, hashed, and their counts, as near as they are kept."""
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
    """Counts as a text: differences of sorted keys in three bytes each, then levels, deflated, in base 64."""
    keys = sorted(counts)
    gaps = [key - before for before, key in zip([-1, *keys], keys, strict=False)]
    data = b"".join(gap.to_bytes(3, "big") for gap in gaps)
    columns = data[0::3] + data[1::3] + data[2::3]
    levels = bytes(min(_level(counts[key]), 255) for key in keys)
    return base64.b64encode(zlib.compress(columns + levels, 9)).decode()


def _unpacked(given: object) -> dict[int, int]:
    wrong = InputError(
        "the profile of the model card has counts that hyperspan did not write; make it again with hyperspan profile"
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
