"""From sentences to batches without padding.

The words of a batch are rows in the order that :class:`torch.nn.utils.rnn.PackedSequence` uses: all first words, longest
sentence first, then all second words, and so on. Nothing is computed for padding, because there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from hyperspan.kernels.transfer import to_device
from hyperspan.types import Sentence
from hyperspan.vocabulary import Vocabulary

if TYPE_CHECKING:
    from hyperspan.encoders.subwords import SubwordTokenizer

_NO_SPELLINGS = np.zeros(0, np.int64), np.zeros((0, 0), np.int64), np.zeros(0, np.int64)


@dataclass(frozen=True)
class SubwordWindows:
    """Sentences as a pretrained encoder reads them: W windows of up to L subwords; P subwords represent the N words."""

    words: int
    """N"""
    ids: Tensor
    """(W, L), with padding at the end of windows."""
    counts: Tensor
    """(W,): how many subwords a window has."""
    place: Tensor
    """(P,): the places of each row's subwords, as window * L + position; of its first one alone with the pooling first."""
    owner: Tensor
    """(P,): the row that each is of."""


@dataclass(frozen=True)
class Batch:
    """Sentences as ids, one row a word, in packed order; N words, U different spellings."""

    lengths: list[int]
    batch_sizes: Tensor
    """(n,) on the CPU: how many sentences have a first, second, … word."""
    row_of: Tensor
    """(B * n,): the row of each word, by sentence * n + position; 0 in padding."""
    sentence: Tensor
    """(N,): the sentence of each row."""
    before: Tensor
    """(N - B',): for each row but the first words of the B' sentences that have any, the row of the word before."""
    words: Tensor
    """(N,)"""
    tags: Tensor
    """(N,)"""
    clusters: Tensor
    """(N, prefixes), or (N, 0) where there are none."""
    spelling: Tensor
    """(N,): which of the spellings a word has."""
    characters: Tensor
    """(U, longest): the spellings, longest first, 0 in padding; (0, 0) where characters are not looked at."""
    character_counts: Tensor
    """(U,) on the CPU."""
    features: Tensor | None = None
    """(N, templates): the features of words, for handcrafted encoders."""
    span_features: Tensor | None = None
    """(rows, templates): the features of spans, in the order of their layout."""
    subwords: SubwordWindows | None = None
    """The words in subwords, for a pretrained encoder."""

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
    """A batch of the given sentences, in their order; with a `tokenizer`, also as subwords."""
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    longest = int(lengths.max(initial=0))
    rank = np.empty(len(lengths), dtype=np.int64)
    rank[np.argsort(-lengths, kind="stable")] = np.arange(len(lengths))
    batch_sizes = (lengths[None, :] > np.arange(longest)[:, None]).sum(1)  # (n,)
    first = np.cumsum(batch_sizes) - batch_sizes  # (n,): the row of the longest sentence's word at each position
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    position = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    row = first[position] + rank[sentence]
    row_of = np.zeros(len(lengths) * longest, dtype=np.int64)
    row_of[sentence * longest + position] = row

    place, lexicon = vocabulary.look_up([token for given in sentences for token in given.tokens])
    tags = [tag for given in sentences for tag in given.tags or ("",) * len(given)] if vocabulary.tags else []
    order, spelled, counts = lexicon.spellings() if characters else _NO_SPELLINGS

    def rows(values: Any, shape: tuple[int, ...] = ()) -> np.ndarray:
        array = np.zeros((len(row), *shape), dtype=np.int64)
        if len(values):
            array[row] = values
        return array

    arrays = {
        "row_of": row_of,
        "sentence": rows(sentence),
        "before": np.arange(batch_sizes[:1].sum(), len(row)) - np.repeat(batch_sizes[:-1], batch_sizes[1:]),
        "words": rows(lexicon.words[place]),
        "tags": rows(vocabulary.tag_ids(tags)),
        "clusters": rows(lexicon.clusters[place], lexicon.clusters.shape[1:]),
        "spelling": rows(order[place] if characters else []),
        "characters": spelled,
    }
    subwords = _subword_arrays(sentences, tokenizer, rows) if tokenizer is not None else {}
    tensors = to_device([*arrays.values(), *subwords.values()], device)
    return Batch(
        lengths=lengths.tolist(),
        batch_sizes=torch.from_numpy(batch_sizes),
        character_counts=torch.from_numpy(counts),
        subwords=SubwordWindows(len(row), **dict(zip(subwords, tensors[len(arrays) :], strict=True)))
        if subwords
        else None,
        **dict(zip(arrays, tensors[: len(arrays)], strict=True)),
    )


def _subword_arrays(
    sentences: Sequence[Sentence], tokenizer: SubwordTokenizer, rows: Callable[[Any], np.ndarray]
) -> dict[str, np.ndarray]:
    """The sentences in windows, and the subwords of each row; `rows` puts what is known of words into the order of rows."""
    cut = tokenizer.cut(sentences)
    first, sizes = rows(cut.first), rows(cut.sizes)
    if tokenizer.pooling == "first":
        sizes = np.ones_like(sizes)
    owner = np.repeat(np.arange(len(first)), sizes)
    within = np.arange(len(owner)) - np.repeat(sizes.cumsum() - sizes, sizes)
    return {"ids": cut.ids, "counts": cut.counts, "place": first[owner] + within, "owner": owner}
