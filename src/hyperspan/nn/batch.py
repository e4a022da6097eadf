"""Convert sentences to batches without padding.

The words of a batch are rows in the order that :class:`torch.nn.utils.rnn.PackedSequence` uses: all first words,
longest sentence first, then all second words, and so on. Nothing is computed for padding, because there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from hyperspan.kernels.transfer import to_device
from hyperspan.runtime.batches import RowOrder, WordArrays, word_arrays
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence

if TYPE_CHECKING:
    from hyperspan.nn.subwords import SubwordTokenizer

NO_ARRAYS: Mapping[str, np.ndarray] = MappingProxyType({})


@dataclass(frozen=True)
class SubwordWindows:
    """The input of a pretrained encoder: W windows of up to L subwords; P subwords represent the N words."""

    words: int
    """N"""
    ids: Tensor
    """(W, L), with padding at the end of windows."""
    counts: Tensor
    """(W,): the number of subwords of each window."""
    place: Tensor
    """(P,): the position of each row's subwords, as window * L + position; with the pooling first, of the first one
    only."""
    owner: Tensor
    """(P,): the row of each subword."""


@dataclass(frozen=True)
class Batch:
    """Sentences as ids, one row per word, in packed order; N words, U distinct spellings."""

    lengths: list[int]
    batch_sizes: Tensor
    """(n,) on the CPU: how many sentences have a first, second, … word."""
    row_of: Tensor
    """(B * n,): the row of each word, by sentence * n + position; 0 in padding."""
    sentence: Tensor
    """(N,): the sentence of each row."""
    before: Tensor
    """(N - B',): for each row except the first words of the B' non-empty sentences, the row of the previous word."""
    words: Tensor
    """(N,)"""
    tags: Tensor
    """(N,)"""
    spelling: Tensor
    """(N,): the index of each word's spelling."""
    characters: Tensor
    """(U, longest): the spellings, longest first, 0 in padding; (0, 0) if the model reads no characters."""
    character_counts: Tensor
    """(U,) on the CPU."""
    features: Tensor | None = None
    """(N, templates): the features of words, for handcrafted encoders."""
    span_features: Tensor | None = None
    """(rows, templates): the features of spans, in the order of their layout."""
    subwords: SubwordWindows | None = None
    """The subwords of the words, for a pretrained encoder."""

    @property
    def longest(self) -> int:
        """n: the number of words of the longest sentence."""
        return len(self.batch_sizes)


def collate(
    sentences: Sequence[Sentence],
    vocabulary: Vocabulary,
    *,
    characters: bool,
    device: torch.device | str = "cpu",
    tokenizer: SubwordTokenizer | None = None,
) -> Batch:
    """Make a batch of sentences, in their order; with a `tokenizer`, also of their subwords."""
    order = RowOrder.of(sentences)
    words = word_arrays(sentences, order, vocabulary, characters=characters)
    subwords = _subword_arrays(sentences, tokenizer, order) if tokenizer is not None else {}
    return batch_of(order, words, device, subwords)


def batch_of(
    order: RowOrder, words: WordArrays, device: torch.device | str, subwords: Mapping[str, np.ndarray] = NO_ARRAYS
) -> Batch:
    """Make a batch of these arrays on a device; to a GPU in a single copy."""
    arrays = {name: getattr(order, name) for name in ("row_of", "sentence", "before")}
    arrays |= {name: array for name, array in words._asdict().items() if name != "character_counts"}
    tensors = to_device([*arrays.values(), *subwords.values()], device)
    return Batch(
        lengths=order.lengths.tolist(),
        batch_sizes=torch.from_numpy(order.batch_sizes.astype(np.int64)),
        character_counts=torch.from_numpy(words.character_counts.astype(np.int64)),
        subwords=SubwordWindows(len(order.row), **dict(zip(subwords, tensors[len(arrays) :], strict=True)))
        if subwords
        else None,
        **dict(zip(arrays, tensors[: len(arrays)], strict=True)),
    )


def _subword_arrays(
    sentences: Sequence[Sentence], tokenizer: SubwordTokenizer, order: RowOrder
) -> dict[str, np.ndarray]:
    """Return the windows of the sentences and the subwords of each row."""
    cut = tokenizer.cut(sentences)
    first, sizes = order.rows(cut.first), order.rows(cut.sizes)
    if tokenizer.pooling == "first":
        sizes = np.ones_like(sizes)
    owner = np.repeat(np.arange(len(first)), sizes)
    within = np.arange(len(owner)) - np.repeat(sizes.cumsum() - sizes, sizes)
    return {"ids": cut.ids, "counts": cut.counts, "place": first[owner] + within, "owner": owner}
