"""The fused encoder of a segmental model in C, over NumPy arrays: from word vectors to the scores of hyperedges. No
torch.

It is several times as fast as running its parts (the word LSTM, the span LSTM and the scorer's linear layers) one after
the other. Those run in training, on other devices, and if nothing was compiled.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hyperspan.errors import InputError
from hyperspan.kernels.choice import dtypes
from hyperspan.kernels.libraries import BatchStruct, EncoderLibrary, ScoresStruct, address

DTYPES = ("float32", "bfloat16")
BLOCK = 24
"""The number of sentences in a block, which one thread processes; a multiple of the rows multiplied at once."""
BESIDE = 2
"""The number of words around a gap, one on each side, that its span includes."""
LOG2_E = 1.4426950408889634
GATES = np.array([-LOG2_E, -LOG2_E, -2 * LOG2_E, -LOG2_E], dtype=np.float32)[:, None]
"""The scales of the gates (in, forget, new, out), so that the cell needs only powers of 2."""
ALIGNMENT = 64
"""The bytes of the widest vectors."""


@dataclass(frozen=True)
class InferenceOptions:
    """Options that trade accuracy for speed in inference."""

    dtype: str = "float32"
    """The number type of products in the encoder in C; "bfloat16" is faster on processors that support it, and
    slightly less exact."""
    skip: float = math.inf
    """Skip words where T → X scores this much more than T → I for all types."""


def check_dtype(dtype: str, device: str) -> None:
    """Raise an error if this number type is not supported."""
    if dtype not in DTYPES:
        raise InputError(f"there is no dtype {dtype!r}; choose one of {', '.join(DTYPES)}")
    if dtype not in dtypes(device):
        raise InputError(
            f"the dtype {dtype} needs the kernels for the CPU, compiled when hyperspan was installed, and a processor "
            "with avx512_bf16; leave it at float32"
        )


# -- weights ----------------------------------------------------------------------------------------------------------


class LstmWeights(NamedTuple):
    """One direction of an LSTM; the gates are in, forget, new, out."""

    inputs: np.ndarray  # (d, 4 * hidden)
    recurrent: np.ndarray  # (hidden, 4 * hidden)
    bias: np.ndarray  # (4 * hidden,)


class EncoderWeights(NamedTuple):
    """The weights of the fused encoder, in its order; float32."""

    layers: Sequence[LstmWeights]
    """Forward and backward, layer by layer."""
    spans: Sequence[LstmWeights]
    """The two LSTMs over spans."""
    start: np.ndarray  # (2 * hidden, 2 * types)
    start_bias: np.ndarray  # (2 * types,)
    from_spans: np.ndarray  # (2, span hidden, outputs)
    part_bias: np.ndarray  # (outputs,)
    tied: bool
    interactions: bool

    @property
    def types(self) -> int:
        return len(self.start_bias) // 2


class EncoderStruct(ctypes.Structure):
    """The struct Model of encode.c."""

    _fields_ = (
        *(
            (name, ctypes.c_int64)
            for name in (
                *("layers", "input_values", "hidden", "span_hidden", "types", "tied", "interactions"),
                *("start_columns", "part_columns"),
            )
        ),
        *((name, ctypes.c_void_p) for name in ("inputs", "recurrent", "bias", "start")),
        ("from_spans", ctypes.c_void_p * 2),
        *((name, ctypes.c_void_p) for name in ("start_bias", "part_bias")),
    )


class PackedWeights:
    """A model's weights in the order in which the kernels read them."""

    def __init__(self, model: EncoderWeights, lanes: int, dtype: str):
        self.lanes = lanes
        self.dtype, self.half = dtype, dtype == "bfloat16"
        self._kept: list[Any] = []  # keeps alive what the struct points to
        hidden, span_hidden = len(model.layers[0].recurrent), len(model.spans[0].recurrent)
        self.gates = 8 * self._padded(hidden)
        """The number of gates of both directions of the first layer."""
        both = [hidden, hidden]
        inputs, recurrent, bias = [], [], []
        for index, lstm in enumerate((*model.layers, *model.spans)):
            depth = [len(lstm.inputs)] if index < 2 else both
            inputs.append(self._gates(self._pad_blocks(lstm.inputs, depth, pad=index >= 2)))
            recurrent.append(self._gates(self._pad_blocks(lstm.recurrent, [len(lstm.recurrent)])))
            bias.append(self._gate_bias(lstm.bias))
        start = self._columns(self._pad_blocks(model.start, both))
        from_spans = [self._columns(self._pad_blocks(part, [span_hidden])) for part in model.from_spans]
        self.struct = EncoderStruct(
            *(len(model.layers) // 2, len(model.layers[0].inputs), self._padded(hidden), self._padded(span_hidden)),
            *(model.types, model.tied, model.interactions),
            *(self._padded(2 * model.types), self._padded(model.from_spans.shape[2])),
            *(self._pointers(arrays) for arrays in (inputs, recurrent, bias)),
            self._keep(start),
            (ctypes.c_void_p * 2)(*map(self._keep, from_spans)),
            self._keep(model.start_bias.copy()),
            self._keep(model.part_bias.copy()),
        )

    def _padded(self, size: int) -> int:
        return -(-size // self.lanes) * self.lanes

    def _keep(self, array: np.ndarray) -> int:
        aligned = align(array)
        self._kept.append(aligned)
        return aligned.ctypes.data

    def _pointers(self, arrays: Sequence[np.ndarray]) -> int:
        array = (ctypes.c_void_p * len(arrays))(*map(self._keep, arrays))
        self._kept.append(array)
        return ctypes.addressof(array)

    def _pad_blocks(self, weight: np.ndarray, sizes: Sequence[int], *, pad: bool = True) -> np.ndarray:
        """(sum of sizes, columns) -> each part of the depth padded with 0 to a multiple of the lanes."""
        if not pad or not any(size % self.lanes for size in sizes):
            return weight
        result = np.zeros((sum(map(self._padded, sizes)), weight.shape[1]), dtype=np.float32)
        to = first = 0
        for size in sizes:
            result[to : to + size] = weight[first : first + size]
            to, first = to + self._padded(size), first + size
        return result

    def _gates(self, weight: np.ndarray) -> np.ndarray:
        """(depth, 4 * units) -> (panels, depth, 4, lanes), scaled."""
        return self._elements(gate_panels(weight, self.lanes))

    def _gate_bias(self, bias: np.ndarray) -> np.ndarray:
        """(4 * units,) -> (panels, 4, lanes), scaled."""
        return gate_panels(bias[None], self.lanes)[:, 0]

    def _columns(self, weight: np.ndarray) -> np.ndarray:
        """(depth, columns) -> (panels, depth, 1, lanes)."""
        depth, columns = weight.shape
        padded = np.zeros((depth, self._padded(columns)), dtype=np.float32)
        padded[:, :columns] = weight
        return self._elements(padded.reshape(depth, -1, self.lanes).transpose(1, 0, 2)[:, :, None])

    def _elements(self, weight: np.ndarray) -> np.ndarray:
        """(panels, depth, vectors, lanes): unchanged, or as bfloat16 with pairs of the depth interleaved."""
        if not self.half:
            return weight
        panels, depth, vectors, lanes = weight.shape
        even = np.zeros((panels, depth + depth % 2, vectors, lanes), dtype=np.float32)
        even[:, :depth] = weight
        pairs = even.reshape(panels, -1, 2, vectors, lanes).transpose(0, 1, 3, 4, 2)
        return bfloat16(np.ascontiguousarray(pairs))


def gate_panels(weight: np.ndarray, lanes: int) -> np.ndarray:
    """(depth, 4 * units) -> (panels, depth, 4, lanes): the four gates of as many units as a vector has lanes,
    scaled."""
    depth, units = len(weight), weight.shape[1] // 4
    panels = -(-units // lanes)
    scaled = np.zeros((depth, 4, panels * lanes), dtype=np.float32)
    np.multiply(weight.reshape(depth, 4, units), GATES, out=scaled[:, :, :units])
    return scaled.reshape(depth, 4, panels, lanes).transpose(2, 0, 1, 3)


def bfloat16(array: np.ndarray) -> np.ndarray:
    """Round float32 to bfloat16, stored as integers: to nearest, ties to even; NaN stays NaN."""
    bits = array.view(np.uint32)
    rounded = ((bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return np.where(np.isnan(array), np.uint16(0x7FC0), rounded)


def align(array: np.ndarray) -> np.ndarray:
    """A contiguous copy aligned for the widest vectors."""
    size = array.nbytes
    room = np.empty(size + ALIGNMENT, dtype=np.uint8)
    first = -room.ctypes.data % ALIGNMENT
    result = room[first : first + size].view(array.dtype).reshape(array.shape)
    result[...] = array
    return result


# -- one pass ---------------------------------------------------------------------------------------------------------


class KnownTokens(NamedTuple):
    """Words given by the gate contributions of their tokens, computed by :func:`gate_rows`."""

    table: np.ndarray  # (tokens, gates), float32
    tokens: np.ndarray  # (N,): the token of each word, int32


def gate_rows(library: EncoderLibrary, packed: PackedWeights, vectors: np.ndarray, threads: int) -> np.ndarray:
    """(tokens, gates): the contributions of vectors to the gates of both directions of the first layer."""
    result = np.empty((len(vectors), packed.gates), dtype=np.float32)
    run, addresses = library.gate_rows[packed.dtype], (vectors.ctypes.data, result.ctypes.data)
    count = ctypes.c_int64(len(vectors))
    if run(ctypes.byref(packed.struct), count, *map(ctypes.c_void_p, addresses), ctypes.c_int64(threads)):
        raise MemoryError(f"no memory for {len(vectors):,} words; give fewer at once")
    return result


def encode(
    library: EncoderLibrary,
    packed: PackedWeights,
    words: np.ndarray | KnownTokens,
    given: Sequence[int],
    scores: Mapping[str, np.ndarray],
    options: InferenceOptions,
    temperature: float,
    threads: int,
    openmp: int | None = None,
) -> None:
    """Compute the scores of sentences of the given lengths, divided by the temperature, into arrays by name.

    They are those of :class:`hyperspan.structures.EdgeScores` or of :class:`hyperspan.structures.DiscontinuousScores`,
    all contiguous; 0 in padding. `words` are vectors, (N, d), or tokens, in packed order: all first words, longest
    sentence first, then all second words.
    """
    lengths = np.array(given, dtype=np.int64)
    place = np.argsort(-lengths, kind="stable")  # as in the batch
    lengths, close = lengths[place], scores["close"]
    blocks = _blocks(lengths, close.shape[2], threads)
    struct = _WordsStruct(
        *(len(blocks) - 1, address(place), address(blocks)),
        *((None, *map(address, words)) if isinstance(words, KnownTokens) else (address(words), None, None)),
        *(1.0 / temperature, options.skip),
    )
    sizes = {"gaps": scores["gap"].shape[2], "later": scores["last"].shape[2]} if "gap" in scores else {}
    batch = BatchStruct.of(lengths, close.shape, threads, openmp, **sizes)
    run = library.encode[options.dtype]
    if run(*map(ctypes.byref, (packed.struct, batch, struct, ScoresStruct.of((), **scores)))):
        raise MemoryError(f"no memory for sentences of {close.shape[1]:,} words; give fewer or shorter ones at once")


class _WordsStruct(ctypes.Structure):
    """The struct Words of encode.c."""

    _fields_ = (
        ("blocks", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in ("place", "blocks_from", "vectors", "table", "tokens")),
        *((name, ctypes.c_float) for name in ("scale", "skip")),
    )


def _blocks(lengths: np.ndarray, width: int, threads: int) -> np.ndarray:
    """(blocks + 1,): the first sentence of each block. Blocks are equal work, and all threads get equally many."""
    if len(lengths) == 1:
        return np.array([0, 1], dtype=np.int64)
    cost = (lengths * (4 + np.minimum(lengths, width))).cumsum()
    rounds = -(-len(lengths) // (BLOCK * threads))
    wanted = min(rounds * threads, len(lengths))
    inner = np.searchsorted(cost, cost[-1] * np.arange(1, wanted) / wanted) + 1
    starts = {0, *inner.tolist(), len(lengths)}  # no np.unique: it imports numpy.ma, which a fork may interrupt
    return np.array(sorted(starts), dtype=np.int64)
