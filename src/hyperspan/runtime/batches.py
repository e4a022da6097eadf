"""Which sentences form a batch, and the order of its words."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np

from hyperspan.kernels.choice import BATCH_ENTRIES

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


def packed_order(lengths: Sequence[int]) -> np.ndarray:
    """(N,): for each row of a packed batch, the index of its word over all sentences; as torch's `PackedSequence`: all
    first words, longest sentence first, then all second words, and so on.

    >>> packed_order([1, 3]).tolist()  # the first words of the longer and of the shorter sentence, then the others
    [1, 0, 2, 3]
    """
    if len(lengths) == 1:
        return np.arange(lengths[0])
    given = np.array(lengths, dtype=np.int64)
    order = np.argsort(-given, kind="stable")
    at = np.arange(given.max(initial=0))[:, None]
    counts = (given[None, :] > at).sum(1)  # sentences that have a first, second, … word
    rank = np.arange(given.sum()) - np.repeat(counts.cumsum() - counts, counts)
    return (given.cumsum() - given)[order[rank]] + np.repeat(np.arange(len(counts)), counts)
