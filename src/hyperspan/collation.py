"""From sentences to arrays of ids without padding, in NumPy alone: processes that only prepare batches need no torch.

The words of a batch are rows in the order that torch's `PackedSequence` uses: all first words, longest sentence first,
then all second words, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hyperspan.types import Sentence
from hyperspan.vocabulary import Vocabulary

_NO_SPELLINGS = np.zeros(0, dtype=np.int64), np.zeros((0, 0), dtype=np.int32), np.zeros(0, dtype=np.int64)


class RowOrder(NamedTuple):
    """Where the words of a batch stand; N words in B sentences, the longest of n words."""

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
    """(N - B',): for each row but the first words of the B' sentences that have any, the row of the word before."""

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
        """(N, …): what is known of each word, sentence by sentence, in the order of rows; 0 where there are no
        values."""
        array = np.zeros((len(self.row), *shape), dtype=np.int32)
        if len(values):
            array[self.row] = values
        return array


class WordArrays(NamedTuple):
    """What an encoder reads of the words of a batch, in the order of rows; U different spellings."""

    words: np.ndarray
    """(N,)"""
    tags: np.ndarray
    """(N,)"""
    clusters: np.ndarray
    """(N, prefixes), or (N, 0) where there are none."""
    spelling: np.ndarray
    """(N,): which of the spellings a word has."""
    characters: np.ndarray
    """(U, longest): the spellings, longest first, 0 in padding; (0, 0) where characters are not looked at."""
    character_counts: np.ndarray
    """(U,)"""


def word_arrays(
    sentences: Sequence[Sentence], order: RowOrder, vocabulary: Vocabulary, *, characters: bool
) -> WordArrays:
    """The ids of the sentences' words."""
    place, lexicon = vocabulary.look_up([token for given in sentences for token in given.tokens])
    tags = [tag for given in sentences for tag in given.tags or ("",) * len(given)] if vocabulary.tags else []
    by_length, spelled, counts = lexicon.spellings() if characters else _NO_SPELLINGS
    return WordArrays(
        words=order.rows(lexicon.words[place]),
        tags=order.rows(vocabulary.tag_ids(tags)),
        clusters=order.rows(lexicon.clusters[place], lexicon.clusters.shape[1:]),
        spelling=order.rows(by_length[place] if characters else []),
        characters=spelled.astype(np.int32, copy=False),
        character_counts=counts,
    )
