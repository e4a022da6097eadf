"""Convert sentences to batches without padding.

The words of a batch are rows in the order that :class:`torch.nn.utils.rnn.PackedSequence` uses: all first words,
longest sentence first, then all second words, and so on. Nothing is computed for padding, because there is none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from hyperspan.kernels.transfer import to_device
from hyperspan.runtime.batches import packed_order
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence

if TYPE_CHECKING:
    from hyperspan.nn.subwords import SubwordTokenizer


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
    """Make a batch of sentences, in their order; with a `tokenizer`, also of their subwords. To a GPU in one copy."""
    lengths = [len(sentence) for sentence in sentences]
    order = packed_order(lengths)
    sizes, rows = _rows_of(lengths, order)
    words, counts = _word_arrays(sentences, vocabulary, order, characters)
    arrays = rows | words
    subwords = _subword_arrays(sentences, tokenizer, order) if tokenizer is not None else {}
    tensors = to_device([*arrays.values(), *subwords.values()], device)
    windows = dict(zip(subwords, tensors[len(arrays) :], strict=True))
    return Batch(
        lengths=lengths,
        batch_sizes=torch.from_numpy(sizes),
        character_counts=torch.from_numpy(counts.astype(np.int64)),
        subwords=SubwordWindows(len(order), **windows) if subwords else None,
        **dict(zip(arrays, tensors[: len(arrays)], strict=True)),
    )


def _rows_of(lengths: Sequence[int], order: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """(n,): how many sentences have a first, second, … word; and where each word is, by the names in :class:`Batch`."""
    counts = np.array(lengths, dtype=np.int64)
    longest = int(counts.max(initial=0))
    sizes = (counts[:, None] > np.arange(longest)).sum(0)
    sentence = np.repeat(np.arange(len(counts)), counts)[order]
    position = order - (counts.cumsum() - counts)[sentence]
    row_of = np.zeros(len(counts) * longest, dtype=np.int32)
    row_of[sentence * longest + position] = np.arange(len(order))
    before = np.arange(sizes[:1].sum(), len(order)) - np.repeat(sizes[:-1], sizes[1:])
    return sizes, {"row_of": row_of, "sentence": sentence.astype(np.int32), "before": before.astype(np.int32)}


def _word_arrays(
    sentences: Sequence[Sentence], vocabulary: Vocabulary, order: np.ndarray, characters: bool
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """The ids of the words, row by row, by the names in :class:`Batch`; and the number of characters of spellings."""
    place, lexicon = vocabulary.look_up([token for given in sentences for token in given.tokens])
    words, nothing = lexicon.words[place][order], np.zeros(len(order), dtype=np.int32)
    found = {"words": words, "tags": nothing, "spelling": nothing, "characters": np.zeros((0, 0), dtype=np.int32)}
    counts = np.zeros(0, dtype=np.int64)
    if vocabulary.tags:
        tags = [tag for given in sentences for tag in given.tags or ("",) * len(given)]
        found["tags"] = np.asarray(vocabulary.tag_ids(tags))[order]
    if characters:
        by_length, found["characters"], counts = lexicon.spellings()
        found["spelling"] = by_length[place][order]
    return {name: array.astype(np.int32, copy=False) for name, array in found.items()}, counts


def _subword_arrays(
    sentences: Sequence[Sentence], tokenizer: SubwordTokenizer, order: np.ndarray
) -> dict[str, np.ndarray]:
    """The windows of the sentences and the subwords of each row."""
    cut = tokenizer.cut(sentences)
    first, sizes = cut.first[order], cut.sizes[order]
    if tokenizer.pooling == "first":
        sizes = np.ones_like(sizes)
    owner = np.repeat(np.arange(len(first)), sizes)
    within = np.arange(len(owner)) - np.repeat(sizes.cumsum() - sizes, sizes)
    return {"ids": cut.ids, "counts": cut.counts, "place": first[owner] + within, "owner": owner}
