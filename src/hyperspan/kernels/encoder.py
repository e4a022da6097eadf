"""The fused encoder of a segmental model on the CPU, in one call: from word vectors to the scores of hyperedges.

It is several times as fast as its parts, the LSTM over words, the LSTM over spans and the linear layers of the scorer, one
after the other. Those are its reference: they run in training, on other devices, with a hidden layer before the scores, and
where nothing was compiled.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from hyperspan.errors import InputError
from hyperspan.kernels.choice import choose, encoder_library, precisions
from hyperspan.kernels.libraries import EncoderLibrary

PRECISIONS = ("float32", "bfloat16")
BLOCK = 24
"""Sentences of a block, which one thread reads; a multiple of the rows that are multiplied at once."""
LOG2_E = 1.4426950408889634
GATES = torch.tensor([-LOG2_E, -LOG2_E, -2 * LOG2_E, -LOG2_E], device="cpu")[:, None]
"""What the gates (in, forget, new, out) are scaled by, so that a power of 2 is all that the cell still needs."""


@dataclass(frozen=True)
class InferenceOptions:
    """What is traded for speed in inference."""

    precision: str = "float32"
    """Of products in the fused encoder; "bfloat16" is quicker where the processor has it, and a little less exact."""
    skip: float = math.inf
    """Words where T → X scores this much more than T → I for all types are passed over."""


def check_precision(precision: str, device: str) -> None:
    """Raises an error where products of this precision cannot be had."""
    if precision not in PRECISIONS:
        raise InputError(f"there is no precision {precision!r}; choose one of {', '.join(PRECISIONS)}")
    if precision not in precisions(device):
        raise InputError(
            f"the precision {precision} needs the kernels for the CPU, compiled when hyperspan was installed, and a processor "
            "with avx512_bf16; leave it at float32"
        )


class SpanWeights(Protocol):
    """The LSTM over spans."""

    @property
    def inputs(self) -> Tensor: ...  # (2, 2 * hidden, 4 * span hidden)
    @property
    def recurrent(self) -> Tensor: ...  # (2, span hidden, 4 * span hidden)
    @property
    def bias(self) -> Tensor: ...  # (2, 1, 4 * span hidden)


class SpanProjection(Protocol):
    """From the states of spans to scores."""

    @property
    def from_spans(self) -> Tensor: ...  # (2, span hidden, outputs)
    @property
    def bias(self) -> Tensor: ...  # (outputs,)


class EncoderParts(NamedTuple):
    """The parts of a model that the fused encoder computes, in its order."""

    layers: Sequence[nn.LSTM]
    spans: SpanWeights
    start: nn.Linear
    parts: SpanProjection
    types: int
    tied: bool
    interactions: bool

    def weights(self) -> list[Tensor]:
        """Everything that is learnt."""
        spans, start, parts = self.spans, self.start, self.parts
        own = [spans.inputs, spans.recurrent, spans.bias, start.weight, start.bias, parts.from_spans, parts.bias]
        return [*(weight for layer in self.layers for weight in layer.parameters()), *own]


Scores = tuple[Tensor, Tensor, Tensor, Tensor, Tensor | None]
"""absent, present, extend, close and branch, as in :class:`hyperspan.structures.EdgeScores`."""


class FusedEncoder:
    """Computes a model's scores in one call, where that can be done."""

    def __init__(self, parts: EncoderParts):
        self.parts = parts
        self._packed: tuple[Any, _Packed] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"parts": self.parts, "_packed": None}  # what is packed for C stays in this process

    def scores(
        self,
        vectors: Callable[[], Tensor],
        lengths: Sequence[int],
        max_width: int | None,
        options: InferenceOptions,
        temperature: float = 1.0,
    ) -> Scores | None:
        """The scores of a batch, divided by the temperature; None where the parts must do it, one after the other.

        `vectors` gives (N, d), the vectors of words in packed order.
        """
        bias = self.parts.spans.bias
        chosen = choose("encoder", bias.device.type, {"c"} if bias.dtype != torch.float32 else ())
        if chosen != "c" or torch.is_grad_enabled() or not any(lengths):
            return None
        library = encoder_library()
        if options.precision not in library.encode:
            return None
        width = min(max_width or max(lengths), max(lengths))
        return self._encode(library, vectors().contiguous(), lengths, width, options, temperature)

    def _encode(
        self,
        library: EncoderLibrary,
        vectors: Tensor,
        given: Sequence[int],
        width: int,
        options: InferenceOptions,
        temperature: float,
    ) -> Scores:
        packed, tied = self._weights(library, options.precision), self.parts.tied
        count, longest, m = len(given), max(given), self.parts.types
        lengths = np.array(given, dtype=np.int64)
        place = np.argsort(-lengths, kind="stable")  # as in the batch
        lengths = lengths[place]
        threads = torch.get_num_threads()
        blocks = _blocks(lengths, width, threads)
        absent, present, close, extend, branch = (
            torch.empty(count, longest, *widths, m, device="cpu")  # wherever tensors are made by default
            for widths in ((), (), (width,), (width - 1,), (width - 1,))
        )
        problem = _EncoderProblem(
            *(count, longest, width, len(blocks) - 1),
            *(array.ctypes.data for array in (lengths, place, blocks)),
            vectors.data_ptr(),
            1.0 / temperature,
            *(tensor.data_ptr() for tensor in (absent, present, extend, close)),
            None if tied else branch.data_ptr(),
            options.skip,
        )
        encode = library.encode[options.precision]
        if encode(ctypes.byref(packed.struct), ctypes.byref(problem), ctypes.c_int64(threads)):
            raise MemoryError(f"no memory for sentences of {longest:,} words; give fewer or shorter ones at once")
        return absent, present, extend, close, None if tied else branch

    def _weights(self, library: EncoderLibrary, precision: str) -> _Packed:
        """The weights in the order of the kernels, packed again whenever one of them has changed."""
        state = self.parts.weights()
        # Tensors made in inference mode do not count their changes, so that nothing can be kept of them.
        known = not any(tensor.is_inference() for tensor in state)
        key = known and (precision, library, [(tensor.data_ptr(), tensor._version) for tensor in state])
        kept = self._packed  # read once: another thread may pack for another variant or precision meanwhile
        if kept is None or not known or kept[0] != key:
            with torch.inference_mode(False), torch.no_grad():
                self._packed = kept = (key, _Packed(self.parts, library.lanes, precision))
        return kept[1]


class _EncoderStruct(ctypes.Structure):
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


class _EncoderProblem(ctypes.Structure):
    """The struct Problem of encode.c."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("sentences", "longest", "width", "blocks")),
        *((name, ctypes.c_void_p) for name in ("lengths", "place", "blocks_from", "words")),
        ("scale", ctypes.c_float),
        *((name, ctypes.c_void_p) for name in ("absent", "present", "extend", "close", "branch")),
        ("skip", ctypes.c_float),
    )


def _blocks(lengths: np.ndarray, width: int, threads: int) -> np.ndarray:
    """(blocks + 1,): the first sentence of each block. Blocks are about as much work each, and all threads have as many."""
    cost = (lengths * (4 + np.minimum(lengths, width))).cumsum()
    rounds = -(-len(lengths) // (BLOCK * threads))
    wanted = min(rounds * threads, len(lengths))
    inner = np.searchsorted(cost, cost[-1] * np.arange(1, wanted) / wanted) + 1
    return np.unique(np.concatenate([[0], inner, [len(lengths)]])).astype(np.int64)


class _Packed:
    """A model's weights in the order in which the kernels read them."""

    def __init__(self, model: EncoderParts, lanes: int, precision: str):
        self.lanes = lanes
        self.half = precision == "bfloat16"
        self.kept: list[Any] = []  # what the struct points to
        layers, spans, first, parts = model.layers, model.spans, model.start, model.parts
        hidden, span_hidden = layers[0].hidden_size, spans.recurrent.shape[1]
        inputs, recurrent, bias = [], [], []
        size = None
        for layer in layers:
            for suffix in ("", "_reverse"):
                into, back, one, other = (
                    getattr(layer, f"{name}_l0{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
                )
                inputs.append(self.gates(_pad_blocks(into.T, size, self.padded(hidden)) if size else into.T))
                recurrent.append(self.gates(_pad_blocks(back.T, [hidden], self.padded(hidden))))
                bias.append(self.gate_bias(one + other))
            size = [hidden, hidden]
        both = [hidden, hidden]
        for direction in (0, 1):
            inputs.append(self.gates(_pad_blocks(spans.inputs[direction], both, self.padded(hidden))))
            recurrent.append(
                self.gates(_pad_blocks(spans.recurrent[direction], [span_hidden], self.padded(span_hidden)))
            )
            bias.append(self.gate_bias(spans.bias[direction, 0]))
        start = self.columns(_pad_blocks(first.weight.T, both, self.padded(hidden)))
        from_spans = [
            self.columns(_pad_blocks(parts.from_spans[direction], [span_hidden], self.padded(span_hidden)))
            for direction in (0, 1)
        ]
        self.struct = _EncoderStruct(
            *(len(layers), layers[0].input_size, self.padded(hidden), self.padded(span_hidden)),
            *(model.types, model.tied, model.interactions),
            *(self.padded(2 * model.types), self.padded(parts.from_spans.shape[2])),
            *(self.pointers(tensors) for tensors in (inputs, recurrent, bias)),
            self.keep(start),
            (ctypes.c_void_p * 2)(*map(self.keep, from_spans)),
            self.keep(first.bias.detach().clone()),
            self.keep(parts.bias.detach().clone()),
        )

    def padded(self, size: int) -> int:
        return -(-size // self.lanes) * self.lanes

    def keep(self, tensor: Tensor) -> int:
        self.kept.append(tensor)
        return tensor.data_ptr()

    def pointers(self, tensors: Sequence[Tensor]) -> int:
        array = (ctypes.c_void_p * len(tensors))(*map(self.keep, tensors))
        self.kept.append(array)
        return ctypes.addressof(array)

    def gates(self, weight: Tensor) -> Tensor:
        """(depth, 4 * units) -> (panels, depth, 4, lanes), scaled."""
        scaled = weight.unflatten(1, (4, -1)) * GATES
        scaled = nn.functional.pad(scaled, (0, self.padded(scaled.shape[2]) - scaled.shape[2]))
        return self.elements(scaled.unflatten(2, (-1, self.lanes)).permute(2, 0, 1, 3))

    def gate_bias(self, bias: Tensor) -> Tensor:
        """(4 * units,) -> (panels, 4, lanes), scaled."""
        scaled = bias.unflatten(0, (4, -1)) * GATES
        scaled = nn.functional.pad(scaled, (0, self.padded(scaled.shape[1]) - scaled.shape[1]))
        return scaled.unflatten(1, (-1, self.lanes)).transpose(0, 1).contiguous()

    def columns(self, weight: Tensor) -> Tensor:
        """(depth, columns) -> (panels, depth, lanes)."""
        padded = nn.functional.pad(weight, (0, self.padded(weight.shape[1]) - weight.shape[1]))
        return self.elements(padded.unflatten(1, (-1, self.lanes)).transpose(0, 1)[:, :, None])

    def elements(self, weight: Tensor) -> Tensor:
        """(panels, depth, vectors, lanes): as it is, or with each two of the depth side by side, in 16 bits."""
        if not self.half:
            return weight.contiguous()
        even = nn.functional.pad(weight, (0, 0, 0, 0, 0, weight.shape[1] % 2)).unflatten(1, (-1, 2))
        return even.movedim(2, -1).to(torch.bfloat16).contiguous()


def _pad_blocks(weight: Tensor, sizes: Sequence[int], padded: int) -> Tensor:
    """(sum of sizes, columns) -> (number of sizes * padded, columns): each part of the depth filled up with 0."""
    return torch.cat([nn.functional.pad(part, (0, 0, 0, padded - len(part))) for part in weight.split(list(sizes))])
