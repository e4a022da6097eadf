"""Batches: which sentences form one, and their ids as arrays without padding, in NumPy. Processes that only prepare
batches need no torch.

The words of a batch are rows in the order that torch's `PackedSequence` uses: all first words, longest sentence first,
then all second words, and so on.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from hyperspan.kernels.choice import BATCH_ENTRIES
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence

_NO_SPELLINGS = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int32), np.zeros(0, dtype=np.int64)


class RowOrder(NamedTuple):
    """The order of the words of a batch: N words in B sentences, of at most n words."""

    lengths: np.ndarray
    """(B,)"""
    batch_sizes: np.ndarray
    """(n,): how many sentences have a first, second, … word."""
    row: np.ndarray
    """(N,): the row of each word, sentence by sentence."""
    row_of: np.ndarray
    """(B * n,): the same by sentence * n + position; 0 in padding."""
    sentence: np.ndarray
    """(N,): the sentence of each row."""
    before: np.ndarray
    """(N - B',): for each row except the first words of the B' non-empty sentences, the row of the previous word."""

    @classmethod
    def of(cls, sentences: Sequence[Sentence]) -> RowOrder:
        lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int32)
        count, longest = len(lengths), int(lengths.max(initial=0))
        rank = np.empty(count, dtype=np.int32)
        rank[np.argsort(-lengths, kind="stable")] = np.arange(count, dtype=np.int32)
        shorter = np.bincount(lengths, minlength=longest + 1).cumsum()[:longest]
        batch_sizes = (count - shorter).astype(np.int32)
        first = (
            np.cumsum(batch_sizes, dtype=np.int32) - batch_sizes
        )  # the row of the longest sentence's word at each position
        sentence = np.repeat(np.arange(count, dtype=np.int32), lengths)
        begin = np.cumsum(lengths, dtype=np.int32) - lengths
        position = np.arange(len(sentence), dtype=np.int32) - begin[sentence]
        row = first[position] + rank[sentence]
        row_of = np.zeros(count * longest, dtype=np.int32)
        row_of[sentence * longest + position] = row
        by_row = np.empty_like(sentence)
        by_row[row] = sentence
        after_first = np.arange(batch_sizes[:1].sum(), len(row), dtype=np.int32)
        return cls(
            lengths, batch_sizes, row, row_of, by_row, after_first - np.repeat(batch_sizes[:-1], batch_sizes[1:])
        )

    def rows(self, values: Any, shape: tuple[int, ...] = ()) -> np.ndarray:
        """(N, …): the values of all words, given sentence by sentence, in the order of rows; 0 without values."""
        array = np.zeros((len(self.row), *shape), dtype=np.int32)
        if len(values):
            array[self.row] = values
        return array


class WordArrays(NamedTuple):
    """The input of an encoder for the words of a batch, in the order of rows; U distinct spellings."""

    words: np.ndarray
    """(N,)"""
    tags: np.ndarray
    """(N,)"""
    spelling: np.ndarray
    """(N,): the index of each word's spelling."""
    characters: np.ndarray
    """(U, longest): the spellings, longest first, 0 in padding; (0, 0) if the model reads no characters."""
    character_counts: np.ndarray
    """(U,)"""


def word_arrays(
    sentences: Sequence[Sentence], order: RowOrder, vocabulary: Vocabulary, *, characters: bool
) -> WordArrays:
    """Return the ids of the words of the sentences."""
    place, lexicon = vocabulary.look_up([token for given in sentences for token in given.tokens])
    tags = [tag for given in sentences for tag in given.tags or ("",) * len(given)] if vocabulary.tags else []
    by_length, spelled, counts = lexicon.spellings() if characters else _NO_SPELLINGS
    return WordArrays(
        words=order.rows(lexicon.words[place]),
        tags=order.rows(vocabulary.tag_ids(tags)),
        spelling=order.rows(by_length[place] if characters else []),
        characters=spelled.astype(np.int32, copy=False),
        character_counts=counts,
    )


T = TypeVar("T")
MAX_BATCH_WORDS = 20_000
"""The maximal sentences × words of a batch, which is the effective limit for short sentences."""


def shuffled_batches(lengths: Sequence[int], batch_size: int, seed: int) -> Iterator[list[int]]:
    """Yield every index once, in batches of sentences of similar length, in an order that depends on the seed.

    >>> [sorted(batch) for batch in shuffled_batches([1, 9, 2, 8], 2, seed=0)]
    [[0, 2], [1, 3]]
    """
    chance = random.Random(seed)
    noise = [length * chance.uniform(0.9, 1.1) + chance.random() for length in lengths]
    order = sorted(range(len(lengths)), key=noise.__getitem__)
    batches = [order[first : first + batch_size] for first in range(0, len(order), batch_size)]
    chance.shuffle(batches)
    yield from batches


def split_evenly(items: list[T], most: int) -> list[list[T]]:
    """Split items, in order, into as few parts of at most `most` as possible, all of similar size.

    >>> split_evenly([1, 2, 3, 4, 5], 4), split_evenly([], 4)
    ([[1, 2, 3], [4, 5]], [])
    """
    count = -(-len(items) // max(most, 1))
    size = -(-len(items) // max(count, 1))
    return [items[first : first + size] for first in range(0, len(items), max(size, 1))]


def batches_by_length(
    lengths: Sequence[int], max_width: int | None = None, limit: int = BATCH_ENTRIES
) -> Iterator[list[int]]:
    """Yield batches of indices of sentences of similar length, longest first, without empty sentences.

    Padded to its longest sentence, a batch has at most `limit` entries, or it is a single longer sentence.

    >>> list(batches_by_length([2, 9, 0, 3, 8], limit=100))
    [[1], [4], [3, 0]]
    """
    order = sorted((index for index, length in enumerate(lengths) if length), key=lambda index: -lengths[index])
    first = 0
    while first < len(order):
        length = lengths[order[first]]
        size = max(min(limit // (length * min(max_width or length, length)), MAX_BATCH_WORDS // length), 1)
        yield order[first : first + size]
        first += size
