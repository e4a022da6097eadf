"""Context-free word vectors and their contributions to the first layer, computed once per token and cached."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hyperspan.config import Config
from hyperspan.kernels.encode import KnownTokens, PackedWeights, gate_rows
from hyperspan.kernels.libraries import EncoderLibrary
from hyperspan.runtime.characters import READERS, CharacterReader, reader_shapes
from hyperspan.runtime.tensors import FIXED, SCALE, TRAINED, TensorFile
from hyperspan.text.vocabulary import UNKNOWN, Vocabulary
from hyperspan.text.words import LONGEST_SPELLING
from hyperspan.types import Sentence

REMEMBERED_BYTES = 32_000_000
"""The size of the token cache; it is emptied when full, so that an endless stream does not fill memory."""


def packed_order(lengths: Sequence[int]) -> np.ndarray:
    """(N,): for each row of a packed batch, the index of its word over all sentences.

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


Token = str | tuple[str, str]
"""A token, with its part-of-speech tag for a model that reads those."""


_computing = threading.Lock()
"""Held while tokens are computed and cached. One lock for all models, so that no fork leaves it locked in the child."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_computing.acquire, after_in_parent=_computing.release, after_in_child=_computing.release
    )


class TokenGates:
    """The contributions of tokens to the gates of the first layer, cached as long as there is room."""

    def __init__(self, vectors: TokenVectors, packed: PackedWeights, remembered_bytes: int):
        self.vectors, self.packed = vectors, packed
        self.room = remembered_bytes // (4 * packed.gates)
        self._known: dict[Token, int] = {}
        self._used = 0  # rows of the table
        self._table = np.empty((0, packed.gates), dtype=np.float32)

    def of(
        self, library: EncoderLibrary, sentences: Sequence[Sentence], order: np.ndarray, threads: int
    ) -> KnownTokens:
        """The contributions of the words of sentences, in an order given by word indices."""
        tokens: list[Token] = [token for sentence in sentences for token in sentence.tokens]
        if self.vectors.tags is not None:
            tags = (tag for sentence in sentences for tag in sentence.tags or ("",) * len(sentence))
            tokens = list(zip(tokens, tags, strict=True))  # type: ignore[arg-type]
        with _computing:
            rows = self._rows_of(library, tokens, threads)
            table = self._table  # replaced, not changed, when it is emptied or grows
        return KnownTokens(table, np.array(rows, dtype=np.int32)[order])

    def _rows_of(self, library: EncoderLibrary, tokens: Sequence[Token], threads: int) -> list[int]:
        """The row of each token in the table; new tokens are added."""
        known = self._known
        try:
            return [known[token] for token in tokens]
        except KeyError:
            pass
        new = [token for token in dict.fromkeys(tokens) if token not in known]
        if self._used + len(new) > self.room:
            new = list(dict.fromkeys(tokens))
            known.clear()
            self._table, self._used = self._table[:0], 0
        needed = self._used + len(new)
        if needed > len(self._table):
            table = np.empty((max(needed, min(2 * needed, self.room)), self.packed.gates), dtype=np.float32)
            table[: self._used] = self._table[: self._used]
            self._table = table
        self._table[self._used : needed] = gate_rows(library, self.packed, self.vectors.of(new), threads)
        known.update(zip(new, range(self._used, needed), strict=True))
        self._used = needed
        rows = [known[token] for token in tokens]
        for token in new:
            if len(_spelled(token)) > LONGEST_SPELLING:  # long words must not fill memory
                del known[token]
        return rows


def _spelled(token: Token) -> str:
    return token if isinstance(token, str) else token[0]


class TokenVectors:
    """Context-free word vectors: word, tag and characters."""

    def __init__(self, tensors: TensorFile, config: Config, vocabulary: Vocabulary):
        self.vocabulary = vocabulary
        self.trained = self.fixed = self.tags = None
        self.characters: CharacterReader | None = None
        first = config.words.dimension
        if first:
            self.trained, self.fixed = (ScaledRows.of(tensors, name) for name in (TRAINED, FIXED))
        self.words = slice(0, first)
        if vocabulary.tags:
            self.tags = tensors.floats("encoder.tags.weight")
        self.tag_columns = slice(first, first := first + (0 if self.tags is None else self.tags.shape[1]))
        if config.characters.encoder != "none":
            names = reader_shapes(config.characters, len(vocabulary.characters) + 2)
            weights = {name: tensors.floats(f"encoder.characters.{name}") for name in names}
            reader = self.characters = READERS[config.characters.encoder](weights)
            first += reader.dimension
        self.character_columns = slice(self.tag_columns.stop, first)
        self.dimension = first

    def of(self, tokens: Sequence[Token]) -> np.ndarray:
        """(tokens, dimension): the vectors of distinct tokens."""
        place, lexicon = self.vocabulary.look_up(list(map(_spelled, tokens)))
        result = np.empty((len(tokens), self.dimension), dtype=np.float32)
        if self.trained is not None:
            result[:, self.words] = self._word_vectors(lexicon.words)[place]
        if self.tags is not None:
            result[:, self.tag_columns] = self.tags[self.vocabulary.tag_ids([tag for _, tag in tokens])]
        if self.characters is not None:
            result[:, self.character_columns] = self.characters(lexicon)[place]
        return result

    def _word_vectors(self, ids: np.ndarray) -> np.ndarray:
        assert self.trained is not None and self.fixed is not None
        trained = len(self.trained.rows)
        result = self.trained[np.where(ids < trained, ids, UNKNOWN)]
        others = np.nonzero(ids >= trained)[0]
        if len(others):
            result[others] = self.fixed[ids[others] - trained]
        return result


@dataclass(frozen=True)
class ScaledRows:
    """Vectors as stored in a file: floats, or integers with a scale per row."""

    rows: np.ndarray
    scale: np.ndarray | None

    @classmethod
    def of(cls, tensors: TensorFile, name: str) -> ScaledRows:
        return cls(tensors.view(name), tensors.view(name + SCALE) if name + SCALE in tensors else None)

    def __getitem__(self, ids: np.ndarray) -> np.ndarray:
        """(ids, dimension), in float32."""
        found = self.rows[ids].astype(np.float32)
        return found if self.scale is None else found * self.scale[ids]
