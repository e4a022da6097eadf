"""The weights of the fused encoder, and how they are packed for C. No torch."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hyperspan.kernels.encoder_gaps import BESIDE, GapLimits, PartScores

LOG2_E = 1.4426950408889634
GATES = np.array([-LOG2_E, -LOG2_E, -2 * LOG2_E, -LOG2_E], dtype=np.float32)[:, None]
"""The scales of the gates (in, forget, new, out), so that the cell needs only powers of 2."""


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
    gaps: GapLimits | None = None
    """The limits of gaps, for discontinuous models; span outputs are then close, leaving, arriving, open, last and
    gap."""

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

    def __init__(self, model: EncoderWeights, lanes: int, precision: str):
        self.lanes = lanes
        self.precision, self.half = precision, precision == "bfloat16"
        self.types, self.tied = model.types, model.tied
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
        self.gaps = model.gaps
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

    def part_scores(self, lengths: Sequence[int], max_width: int | None) -> PartScores | None:
        """Buffers for the scores of discontinuous mentions; None for a model without them."""
        if self.gaps is None:
            return None
        longest = max(lengths)
        width = min(max_width or longest, longest)
        widths = width, max(min(self.gaps.gap, width - BESIDE), 0), min(self.gaps.later_width, width)
        return PartScores(*(np.empty((len(lengths), longest, one, self.types), dtype=np.float32) for one in widths))

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


ALIGNMENT = 64


def align(array: np.ndarray) -> np.ndarray:
    """A contiguous copy aligned for the widest vectors."""
    size = array.nbytes
    room = np.empty(size + ALIGNMENT, dtype=np.uint8)
    first = -room.ctypes.data % ALIGNMENT
    result = room[first : first + size].view(array.dtype).reshape(array.shape)
    result[...] = array
    return result
