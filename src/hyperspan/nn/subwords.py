"""Split words into the subwords of a pretrained encoder, and sentences into windows of subwords.

A tokenizer splits each word separately, so the result for every distinct word is cached. A sentence whose subwords do
not fit the encoder's window is read in several overlapping windows of whole words, and nothing is left out: each word
is taken from the window that maximises the smaller of its left and right contexts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hyperspan.config import TransformerConfig
from hyperspan.errors import InputError
from hyperspan.nn.hub import require_transformers
from hyperspan.types import Sentence

LONGEST_WORD = 1_000
"""In a longer word, such as a DNA sequence, the characters in the middle are not read."""
REMEMBERED_TOKENS = 200_000
"""The cache of split words is emptied at this size, so that an endless stream does not fill memory."""


class Cut(NamedTuple):
    """Sentences as windows of subwords, and the places of their words; words are in the order of sentences."""

    ids: np.ndarray
    """(W, L): the windows, with padding after them."""
    counts: np.ndarray
    """(W,): the number of subwords of each window."""
    first: np.ndarray
    """(N,): the first subword of each word, as window * L + position."""
    sizes: np.ndarray
    """(N,): the number of subwords of each word; they are consecutive."""


def windows_of(sizes: np.ndarray, capacity: int, stride: int) -> list[tuple[int, int]]:
    """The first word and the end of each window: at most `capacity` subwords (no word has more), about `stride` apart.

    >>> windows_of(np.array([1, 1, 2, 1, 1, 1, 2]), capacity=4, stride=2)
    [(0, 3), (2, 5), (3, 6), (4, 7)]
    """
    ends = sizes.cumsum()
    starts = ends - sizes
    windows: list[tuple[int, int]] = []
    first = 0
    while True:
        last = int(np.searchsorted(ends, starts[first] + capacity, side="right"))
        if last == len(sizes):
            # The last window begins as early as possible: more left context at no cost.
            first = int(np.searchsorted(starts, ends[-1] - capacity))
            return [*windows, (first, last)]
        windows.append((first, last))
        following = int(np.searchsorted(starts, starts[first] + stride, side="right")) - 1
        reaching = int(np.searchsorted(starts, ends[last] - capacity))  # one word further than this window
        first = min(max(following, reaching), last)


def best_windows(sizes: np.ndarray, windows: Sequence[tuple[int, int]]) -> np.ndarray:
    """For each word, the window that maximises its smaller context; at the ends of the text, no context is missing.

    >>> best_windows(np.ones(6, dtype=int), [(0, 4), (2, 6)]).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    ends = sizes.cumsum()
    starts = ends - sizes
    best, most = np.zeros(len(sizes), dtype=np.int64), np.full(len(sizes), -1)
    for number, (first, last) in enumerate(windows):
        before = starts[first:last] - starts[first] if first else ends[-1]
        after = ends[last - 1] - ends[first:last] if last < len(sizes) else ends[-1]
        around = np.minimum(before, after)
        better = around > most[first:last]
        best[first:last][better] = number
        most[first:last] = np.maximum(most[first:last], around)
    return best


class SubwordTokenizer:
    """The tokenizer of a pretrained encoder, built from its description; the configuration sets the windows."""

    def __init__(self, config: TransformerConfig, description: dict[str, Any]):
        require_transformers()
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_str(json.dumps(description["tokenizer"]))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self.prefix, self.suffix = self._special()
        self.padding: int = description["config"].get("pad_token_id") or 0
        self.pooling, self.context = config.pooling, config.context
        limit = description["limit"]
        window = config.window or limit
        self.capacity: int = window - len(self.prefix) - len(self.suffix)
        """The number of subwords in a window, without special ones."""
        if window > limit or self.capacity < 2:
            least = window - self.capacity + 2
            raise InputError(
                f"transformer.window is {window}, but {config.name} reads from {least} to {limit} subwords at once; "
                "choose such a number, or 0 for the most"
            )
        self.stride: int = self.capacity // 2
        self._nothing: int = description["nothing"]
        # Byte-level tokenizers expect words with a leading space.
        self._space = " " if "ByteLevel" in json.dumps(description["tokenizer"].get("pre_tokenizer")) else ""
        self._known: dict[str, list[int]] = {}

    def _special(self) -> tuple[list[int], list[int]]:
        """The special subwords before and after a text."""
        made = self._tokenizer.encode("a", add_special_tokens=True)
        words = [place for place, special in enumerate(made.special_tokens_mask) if not special]
        if not words:
            return [], []
        return made.ids[: words[0]], made.ids[words[-1] + 1 :]

    def encode(self, token: str) -> list[int]:
        """The ids of a word's subwords: at least one, and at most half a window, from its beginning and end."""
        if (known := self._known.get(token)) is not None:
            return known
        if len(self._known) > REMEMBERED_TOKENS:
            self._known.clear()
        half = LONGEST_WORD // 2
        word = token if len(token) <= LONGEST_WORD else token[:half] + token[-half:]
        # A lone surrogate, which JSON can escape but no tokenizer accepts, is read as an unknown character.
        word = word.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        ids = self._tokenizer.encode(self._space + word, add_special_tokens=False).ids or [self._nothing]
        most = max(self.capacity // 2, 1)
        if len(ids) > most:
            ids = ids[: most - most // 2] + ids[len(ids) - most // 2 :]
        self._known[token] = ids
        return ids

    def cut(self, sentences: Sequence[Sentence]) -> Cut:
        """Split sentences into windows."""
        windows: list[list[int]] = []
        window: list[np.ndarray] = []  # of each word
        position: list[np.ndarray] = []
        sizes: list[np.ndarray] = []
        for sentence in sentences:
            if not sentence.tokens:
                continue
            words = [self.encode(token) for token in sentence.tokens]
            size = np.array([len(word) for word in words], dtype=np.int64)
            ends = size.cumsum()
            sizes.append(size)
            if ends[-1] <= self.capacity:
                before, after = self._around(sentence, self.capacity - int(ends[-1]))
                window.append(np.full(len(words), len(windows)))
                position.append(len(self.prefix) + len(before) + ends - size)
                windows.append(
                    [*self.prefix, *before, *(subword for word in words for subword in word), *after, *self.suffix]
                )
                continue
            parts = windows_of(size, self.capacity, self.stride)
            chosen = best_windows(size, parts)
            begin = (ends - size)[[first for first, _ in parts]]
            window.append(len(windows) + chosen)
            position.append(len(self.prefix) + ends - size - begin[chosen])
            for first, last in parts:
                windows.append(
                    [*self.prefix, *(subword for word in words[first:last] for subword in word), *self.suffix]
                )
        counts = np.array([len(ids) for ids in windows], dtype=np.int64)
        longest = int(counts.max(initial=0))
        ids = np.full((len(windows), longest), self.padding, dtype=np.int64)
        if windows:
            ids[np.arange(longest) < counts[:, None]] = np.concatenate(windows)
        empty = [np.zeros(0, dtype=np.int64)]
        first = np.concatenate(window or empty) * longest + np.concatenate(position or empty)
        return Cut(ids, counts, first, np.concatenate(sizes or empty))

    def _around(self, sentence: Sentence, room: int) -> tuple[list[int], list[int]]:
        """The nearest whole words before and after a sentence that fit, balanced on both sides."""
        # A teacher may have requested more words than this encoder was trained with.
        before = [self.encode(token) for token in sentence.before[: -self.context - 1 : -1]]
        after = [self.encode(token) for token in sentence.after[: self.context]]
        wanted = [sum(map(len, side)) for side in (before, after)]
        share = max(room // 2, room - wanted[1])
        earlier = _fitting(before, share)
        later = _fitting(after, room - sum(map(len, earlier)))
        return [subword for word in reversed(earlier) for subword in word], [
            subword for word in later for subword in word
        ]


def _fitting(words: Sequence[list[int]], room: int) -> Sequence[list[int]]:
    """The first words that fit."""
    taken = 0
    for number, word in enumerate(words):
        taken += len(word)
        if taken > room:
            return words[:number]
    return words
