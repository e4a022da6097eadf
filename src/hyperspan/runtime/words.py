"""What words contribute to the first layer: their vectors, from word, tag and characters, computed in C as in
:mod:`hyperspan.nn.layers`, once per token, and cached."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hyperspan.config import Config
from hyperspan.kernels.choice import encoder_library
from hyperspan.kernels.encode import KnownTokens, LstmWeights, PackedWeights, align, gate_panels, gate_rows
from hyperspan.kernels.libraries import EncoderLibrary
from hyperspan.runtime.layers import FILTER_WIDTHS, WordLayers
from hyperspan.runtime.tensors import FIXED, SCALE, TRAINED, floats
from hyperspan.text.vocabulary import UNKNOWN, Lexicon, Vocabulary
from hyperspan.text.words import LONGEST_SPELLING
from hyperspan.types import Sentence

REMEMBERED_BYTES = 32_000_000
"""The size of the token cache; it is emptied when full, so that an endless stream does not fill memory."""


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

    def __init__(self, tensors: Mapping[str, np.ndarray], config: Config, vocabulary: Vocabulary):
        self.vocabulary = vocabulary
        layers = WordLayers.of(config, vocabulary)
        self.dimension, self.columns = layers.dimension, layers.columns
        self.trained = self.fixed = self.tags = None
        self.characters: FilterReader | LstmReader | None = None
        if layers.words is not None:
            self.trained, self.fixed = (
                ScaledRows(tensors[name], tensors.get(name + SCALE)) for name in (TRAINED, FIXED)
            )
        if layers.tags is not None:
            self.tags = floats(tensors, "encoder.tags.weight")
        if layers.characters is not None:
            weights = {name: floats(tensors, f"encoder.characters.{name}") for name in layers.characters.shapes()}
            self.characters = READERS[config.characters.encoder](weights)

    def of(self, tokens: Sequence[Token]) -> np.ndarray:
        """(tokens, dimension): the vectors of distinct tokens."""
        place, lexicon = self.vocabulary.look_up(list(map(_spelled, tokens)))
        result = np.empty((len(tokens), self.dimension), dtype=np.float32)
        if self.trained is not None:
            result[:, self.columns["words"]] = self._word_vectors(lexicon.words)[place]
        if self.tags is not None:
            result[:, self.columns["tags"]] = self.tags[self.vocabulary.tag_ids([tag for _, tag in tokens])]
        if self.characters is not None:
            result[:, self.columns["characters"]] = self.characters(lexicon)[place]
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

    def __getitem__(self, ids: np.ndarray) -> np.ndarray:
        """(ids, dimension), in float32."""
        found = self.rows[ids].astype(np.float32)
        return found if self.scale is None else found * self.scale[ids]


# -- vectors of words from their characters ----------------------------------------------------------------------------


class FilterReader:
    """Max-pooled convolutions over the characters of each of U distinct words: (U, dimension)."""

    def __init__(self, weights: Mapping[str, np.ndarray]):
        embedding = weights["embedding.weight"]  # (characters, d)
        self.tables, self.biases = [], []
        for index in range(len(FILTER_WIDTHS)):
            filters = weights[f"filters.{index}.weight"]  # (filters, d, width)
            self.tables.append(np.ascontiguousarray(np.einsum("cd,fdw->wcf", embedding, filters)))
            self.biases.append(weights[f"filters.{index}.bias"])
        self.filters, self.characters = len(self.biases[0]), len(embedding)
        self.dimension = self.filters * len(FILTER_WIDTHS)

    def __call__(self, lexicon: Lexicon) -> np.ndarray:
        count = len(lexicon.counts)
        first = np.concatenate([[0], lexicon.counts.cumsum()]).astype(np.int64)
        ids = lexicon.characters.astype(np.int32)
        result = np.empty((count, self.dimension), dtype=np.float32)
        for index, (table, bias) in enumerate(zip(self.tables, self.biases, strict=True)):
            encoder_library().filter(
                *(ctypes.c_int64(count), _pointer(first), _pointer(ids)),
                *(
                    ctypes.c_int64(FILTER_WIDTHS[index]),
                    ctypes.c_int64(self.characters),
                    _pointer(table),
                    _pointer(bias),
                ),
                *(ctypes.c_int64(self.filters), ctypes.c_int64(self.dimension)),
                _pointer(result[:, index * self.filters :]),
            )
        return result


class LstmReader:
    """The last states of both directions of an LSTM over the characters of each of U distinct words: (U, dimension)."""

    def __init__(self, weights: Mapping[str, np.ndarray]):
        embedding = weights["embedding.weight"]
        self.hidden = len(weights["lstm.weight_hh_l0"][0])
        self.dimension = 2 * self.hidden
        self.directions = [lstm_weights(weights, "lstm.", suffix) for suffix in ("", "_reverse")]
        # (characters, 4 * hidden). Not by BLAS, whose rounding depends on the number of threads: annotating a text
        # again, on whatever machine, should give the same probabilities.
        self.added = [np.einsum("cd,dg->cg", embedding, one.inputs) + one.bias for one in self.directions]
        self._packed: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}

    def _weights(self, library: EncoderLibrary) -> list[tuple[np.ndarray, np.ndarray]]:
        """For each direction, the gate contributions of characters, (characters, panels, 4, lanes), and the recurrent
        weights."""
        lanes = library.lanes
        if lanes not in self._packed:
            self._packed[lanes] = [
                (
                    np.ascontiguousarray(gate_panels(added, lanes).swapaxes(0, 1)),
                    align(gate_panels(np.pad(one.recurrent, ((0, -self.hidden % lanes), (0, 0))), lanes)),
                )
                for one, added in zip(self.directions, self.added, strict=True)
            ]
        return self._packed[lanes]

    def __call__(self, lexicon: Lexicon) -> np.ndarray:
        library = encoder_library()
        place, padded, counts = lexicon.spellings()  # longest first
        count, longest = padded.shape
        units = -(-self.hidden // library.lanes) * library.lanes
        lengths = counts.astype(np.int64)
        back = (lengths[:, None] - 1 - np.arange(longest)).clip(min=0)
        result = np.empty((count, self.dimension), dtype=np.float32)
        for direction, (table, recurrent) in enumerate(self._weights(library)):
            read = np.take_along_axis(padded, back, 1) if direction else padded
            steps = np.ascontiguousarray(read.T, dtype=np.int32)  # (longest, U)
            states = np.empty((count, units), dtype=np.float32)
            failed = library.spell(
                *(ctypes.c_int64(count), ctypes.c_int64(longest), _pointer(lengths), _pointer(steps)),
                *(_pointer(table), _pointer(recurrent), ctypes.c_int64(units), _pointer(states)),
            )
            if failed:
                raise MemoryError(f"no memory for {count:,} spellings; give fewer words at once")
            columns = slice(direction * self.hidden, (direction + 1) * self.hidden)
            result[:, columns] = states[place, : self.hidden]
        return result


READERS = {"cnn": FilterReader, "lstm": LstmReader}
"""Readers by characters.encoder."""


def lstm_weights(weights: Mapping[str, np.ndarray], prefix: str, suffix: str) -> LstmWeights:
    """One direction of a torch LSTM."""
    into, back, one, other = (
        weights[f"{prefix}{name}_l0{suffix}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    return LstmWeights(into.T, back.T, one + other)


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
