"""Vectors of words from their characters, as :mod:`hyperspan.nn.layers` computes them, in C."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Protocol

import numpy as np

from hyperspan.config import CharactersConfig
from hyperspan.kernels.choice import encoder_library
from hyperspan.kernels.encode import LstmWeights, align, gate_panels
from hyperspan.kernels.libraries import EncoderLibrary
from hyperspan.text.vocabulary import Lexicon

FILTER_WIDTHS = (2, 3, 4)
"""The widths of the CNN filters, in characters."""


class CharacterReader(Protocol):
    """Computes a vector for every distinct word."""

    dimension: int

    def __call__(self, lexicon: Lexicon) -> np.ndarray:
        """(U, dimension), from the characters of U distinct tokens."""
        ...


class FilterReader:
    """Max-pooled convolutions over a word's characters."""

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
    """The last states of both directions of an LSTM over a word's characters."""

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


def reader_shapes(config: CharactersConfig, characters: int) -> dict[str, tuple[int, ...]]:
    """The shapes of a reader's weights, by their names."""
    d, hidden = config.dimension, config.hidden
    shapes: dict[str, tuple[int, ...]] = {"embedding.weight": (characters, d)}
    if config.encoder == "lstm":
        return shapes | {f"lstm.{name}": shape for name, shape in lstm_shapes(d, hidden).items()}
    for index, width in enumerate(FILTER_WIDTHS):
        shapes |= {f"filters.{index}.weight": (hidden, d, width), f"filters.{index}.bias": (hidden,)}
    return shapes


def lstm_shapes(inputs: int, hidden: int) -> dict[str, tuple[int, ...]]:
    """The shapes of the weights of a bidirectional torch LSTM, by their names."""
    shapes = {"weight_ih": (4 * hidden, inputs), "weight_hh": (4 * hidden, hidden)}
    shapes |= dict.fromkeys(("bias_ih", "bias_hh"), (4 * hidden,))
    return {f"{name}_l0{suffix}": shape for suffix in ("", "_reverse") for name, shape in shapes.items()}


def lstm_weights(weights: Mapping[str, np.ndarray], prefix: str, suffix: str) -> LstmWeights:
    """One direction of such an LSTM."""
    into, back, one, other = (
        weights[f"{prefix}{name}_l0{suffix}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    return LstmWeights(into.T, back.T, one + other)


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
