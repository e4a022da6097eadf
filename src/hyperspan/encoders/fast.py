"""The encoder and the scores on the CPU, in C: word vectors -> scores of hyperedges, several times as fast as in PyTorch.

What it computes is what :mod:`hyperspan.encoders.words`, :mod:`hyperspan.encoders.spans` and the scorer compute; they do it
in training, on other devices, with a hidden layer before the scores, and where nothing was compiled.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn

from hyperspan.batch import Batch
from hyperspan.encoders import native
from hyperspan.encoders.layers import SpanLinear
from hyperspan.encoders.spans import SpanLSTM
from hyperspan.encoders.words import WordEncoder
from hyperspan.errors import InputError
from hyperspan.structures import EdgeScores

if TYPE_CHECKING:
    from hyperspan.models.recognizer import Recognizer

AT_ONCE = 24
"""So many sentences make a block, which one thread reads; a multiple of the rows that are multiplied at once."""
ENTRIES = 200_000
"""Sentences × words × widths of a batch: enough that every thread has blocks of many sentences, and still a few MB."""
LOG2_E = 1.4426950408889634
GATES = torch.tensor([-LOG2_E, -LOG2_E, -2 * LOG2_E, -LOG2_E], device="cpu")[:, None]
"""What the gates (in, forget, new, out) are scaled by, so that a power of 2 is all that the cell still needs."""


class _Model(ctypes.Structure):
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


class _Problem(ctypes.Structure):
    """The struct Problem of encode.c."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("sentences", "longest", "width", "blocks")),
        *((name, ctypes.c_void_p) for name in ("lengths", "place", "blocks_from", "words")),
        ("scale", ctypes.c_float),
        *((name, ctypes.c_void_p) for name in ("absent", "present", "extend", "close", "branch")),
        ("skip", ctypes.c_float),
    )


PRECISIONS = ("float32", "bfloat16")


def check_precision(precision: str, device: str) -> None:
    """Raises an error where products of this precision cannot be had."""
    if precision not in PRECISIONS:
        raise InputError(f"there is no precision {precision!r}; choose one of {', '.join(PRECISIONS)}")
    if precision != "float32" and (device != "cpu" or native.library is None or precision not in native.library.encode):
        raise InputError(
            f"the precision {precision} needs the kernels for the CPU, compiled when hyperspan was installed, and a processor "
            "with avx512_bf16; leave it at float32"
        )


def serves(model: Recognizer) -> bool:
    """Whether a model's scores can be computed here: on the CPU, and for use, not for training."""
    return (
        native.library is not None
        and not model.training
        and model.config.model.kind == "segmental"
        and model.config.encoder.kind == "neural"
        and model.config.encoder.layers > 0
        and model.config.model.scorer_hidden == 0
        and model.device.type == "cpu"
        and model.spans is not None
        and model.spans.bias.dtype == torch.float32
        and model.precision in native.library.encode
    )


def usable(model: Recognizer, batch: Batch) -> bool:
    """Whether the scores of a batch can be computed here, now: no gradients are wanted of them."""
    return serves(model) and not torch.is_grad_enabled() and batch.longest > 0


def edge_scores(model: Recognizer, batch: Batch, temperature: float = 1.0) -> EdgeScores:
    """The scores of all hyperedges of a batch, divided by the temperature."""
    assert native.library is not None
    packed = _packed(model)
    assert isinstance(model.words, WordEncoder)
    vectors = model.words.vectors(batch).contiguous()
    count, longest, m = len(batch.lengths), batch.longest, len(model.labels)
    width = min(model.max_width or longest, longest)
    lengths = np.array(batch.lengths, dtype=np.int64)
    place = np.argsort(-lengths, kind="stable")  # as in the batch
    lengths = lengths[place]
    threads, tied = torch.get_num_threads(), model.config.model.tied
    blocks = _blocks(lengths, width, threads)
    absent, present, close, extend, branch = (
        torch.empty(count, longest, *widths, m, device="cpu")  # wherever tensors are made by default
        for widths in ((), (), (width,), (width - 1,), (width - 1,))
    )
    problem = _Problem(
        *(count, longest, width, len(blocks) - 1),
        *(array.ctypes.data for array in (lengths, place, blocks)),
        vectors.data_ptr(),
        1.0 / temperature,
        *(tensor.data_ptr() for tensor in (absent, present, extend, close)),
        None if tied else branch.data_ptr(),
        model.skip,
    )
    encode = native.library.encode[model.precision]
    if encode(ctypes.byref(packed.struct), ctypes.byref(problem), ctypes.c_int64(threads)):
        raise MemoryError(f"no memory for sentences of {longest:,} words; give fewer or shorter ones at once")
    return EdgeScores(absent, present, extend, close, None if tied else branch)


def _blocks(lengths: np.ndarray, width: int, threads: int) -> np.ndarray:
    """(blocks + 1,): the first sentence of each block. Blocks are about as much work each, and all threads have as many."""
    cost = (lengths * (4 + np.minimum(lengths, width))).cumsum()
    rounds = -(-len(lengths) // (AT_ONCE * threads))
    wanted = min(rounds * threads, len(lengths))
    inner = np.searchsorted(cost, cost[-1] * np.arange(1, wanted) / wanted) + 1
    return np.unique(np.concatenate([[0], inner, [len(lengths)]])).astype(np.int64)


class _Packed:
    """A model's weights in the order in which the kernels read them."""

    def __init__(self, model: Recognizer, lanes: int):
        self.lanes = lanes
        self.half = model.precision == "bfloat16"
        self.kept: list[Any] = []  # what the struct points to
        words, spans, first, parts = model.words, model.spans, model.scorer.start, model.scorer.parts
        assert isinstance(words, WordEncoder) and isinstance(spans, SpanLSTM)
        assert isinstance(first, nn.Linear) and isinstance(parts, SpanLinear)
        hidden, span_hidden = words.dimension // 2, spans.hidden
        inputs, recurrent, bias = [], [], []
        size = None
        for layer in words.layers:
            assert isinstance(layer, nn.LSTM)
            for suffix in ("", "_reverse"):
                into, back, one, other = (
                    getattr(layer, f"{name}_l0{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
                )
                inputs.append(self.gates(_apart(into.T, size, self.padded(hidden)) if size else into.T))
                recurrent.append(self.gates(_apart(back.T, [hidden], self.padded(hidden))))
                bias.append(self.gate_bias(one + other))
            size = [hidden, hidden]
        both = [hidden, hidden]
        for direction in (0, 1):
            inputs.append(self.gates(_apart(spans.inputs[direction], both, self.padded(hidden))))
            recurrent.append(self.gates(_apart(spans.recurrent[direction], [span_hidden], self.padded(span_hidden))))
            bias.append(self.gate_bias(spans.bias[direction, 0]))
        start = self.columns(_apart(first.weight.T, both, self.padded(hidden)))
        from_spans = [
            self.columns(_apart(parts.from_spans[direction], [span_hidden], self.padded(span_hidden)))
            for direction in (0, 1)
        ]
        self.struct = _Model(
            *(len(words.layers), words.layers[0].input_size, self.padded(hidden), self.padded(span_hidden)),  # type: ignore[arg-type]
            *(len(model.labels), model.config.model.tied, model.config.model.interactions),
            *(self.padded(2 * len(model.labels)), self.padded(parts.from_spans.shape[2])),
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


def _apart(weight: Tensor, sizes: Sequence[int], padded: int) -> Tensor:
    """(sum of sizes, columns) -> (number of sizes * padded, columns): each part of the depth filled up with 0."""
    return torch.cat([nn.functional.pad(part, (0, 0, 0, padded - len(part))) for part in weight.split(list(sizes))])


_kept: WeakKeyDictionary[Recognizer, tuple[Any, _Packed]] = WeakKeyDictionary()


def _packed(model: Recognizer) -> _Packed:
    """The packed weights of a model, packed again whenever one of them has changed."""
    assert native.library is not None
    assert isinstance(model.words, WordEncoder) and model.spans is not None
    state = [*model.words.layers.parameters(), *model.spans.parameters(), *model.scorer.parameters()]
    # Tensors made in inference mode do not count their changes, so that nothing can be kept of them.
    known = not any(tensor.is_inference() for tensor in state)
    key = known and (model.precision, native.library, [(tensor.data_ptr(), tensor._version) for tensor in state])
    found, packed = _kept.get(model, (None, None))
    if packed is None or not known or found != key:
        with torch.inference_mode(False), torch.no_grad():
            packed = _Packed(model, native.library.lanes)
        _kept[model] = (key, packed)
    return packed
