"""Convert sentences to arrays of ids without padding, in NumPy: processes that only prepare batches need no torch.

The words of a batch are rows in the order that torch's `PackedSequence` uses: all first words, longest sentence first,
then all second words, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

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
