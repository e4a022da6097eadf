"""The fused encoder of a torch model on the CPU, in one call: from word vectors to the scores of hyperedges.

The reference runs its parts one after the other. The parts run in training, on other devices, with a hidden layer
before the scores, and if nothing was compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor, nn

from hyperspan.kernels.choice import choose, encoder_library
from hyperspan.kernels.encode import EncoderWeights, GapLimits, InferenceOptions, LstmWeights, PackedWeights, encode
from hyperspan.kernels.libraries import EncoderLibrary
from hyperspan.kernels.threads import thread_count, torch_openmp


class SpanWeights(Protocol):
    """The LSTM over spans."""

    @property
    def inputs(self) -> Tensor: ...  # (2, 2 * hidden, 4 * span hidden)
    @property
    def recurrent(self) -> Tensor: ...  # (2, span hidden, 4 * span hidden)
    @property
    def bias(self) -> Tensor: ...  # (2, 1, 4 * span hidden)


class SpanProjection(Protocol):
    """The linear layer from span states to scores."""

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
    tied: bool
    interactions: bool
    gaps: GapLimits | None = None
    """The limits of gaps, for discontinuous models."""

    def tensors(self) -> list[Tensor]:
        """All parameters."""
        spans, start, parts = self.spans, self.start, self.parts
        own = [spans.inputs, spans.recurrent, spans.bias, start.weight, start.bias, parts.from_spans, parts.bias]
        return [*(weight for layer in self.layers for weight in layer.parameters()), *own]

    def weights(self) -> EncoderWeights:
        """The parameters as arrays."""
        layers = [
            LstmWeights(into.detach().numpy().T, back.detach().numpy().T, (one + other).detach().numpy())
            for layer in self.layers
            for into, back, one, other in (
                [getattr(layer, f"{name}_l0{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
                for suffix in ("", "_reverse")
            )
        ]
        inputs, recurrent, bias = (
            tensor.detach().numpy() for tensor in (self.spans.inputs, self.spans.recurrent, self.spans.bias)
        )
        spans = [LstmWeights(inputs[way], recurrent[way], bias[way, 0]) for way in (0, 1)]
        start, parts = self.start, self.parts
        return EncoderWeights(
            layers,
            spans,
            *(start.weight.detach().numpy().T, start.bias.detach().numpy()),
            *(parts.from_spans.detach().numpy(), parts.bias.detach().numpy()),
            self.tied,
            self.interactions,
            self.gaps,
        )


class FusedScores(NamedTuple):
    """Scores as in :class:`hyperspan.structures.EdgeScores` and, for discontinuous mentions, in DiscontinuousScores."""

    absent: Tensor
    present: Tensor
    extend: Tensor
    close: Tensor
    branch: Tensor | None = None
    open: Tensor | None = None
    gap: Tensor | None = None
    last: Tensor | None = None


class FusedEncoder:
    """Computes a model's scores in one call, where supported."""

    def __init__(self, parts: EncoderParts):
        self.parts = parts
        self._packed: tuple[Any, PackedWeights] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"parts": self.parts, "_packed": None}  # weights packed for C stay in this process

    def scores(
        self,
        vectors: Callable[[], Tensor],
        lengths: Sequence[int],
        max_width: int | None,
        options: InferenceOptions,
        temperature: float = 1.0,
    ) -> FusedScores | None:
        """The scores of a batch, divided by the temperature; None if the parts must run one after the other.

        `vectors` returns (N, d), the word vectors in packed order.
        """
        bias = self.parts.spans.bias
        chosen = choose("encoder", bias.device.type, {"c"} if bias.dtype != torch.float32 else ())
        if chosen != "c" or torch.is_grad_enabled() or not any(lengths):
            return None
        library = encoder_library()
        if options.precision not in library.encode:
            return None
        packed, rows = self._weights(library, options.precision), vectors().contiguous().numpy()
        parts = packed.part_scores(lengths, max_width)
        edges = encode(
            *(library, packed, rows, lengths, max_width, options, temperature, thread_count(), torch_openmp()), parts
        )
        given = (*edges, *((None,) * 3 if parts is None else parts))
        return FusedScores(*(array if array is None else torch.from_numpy(array) for array in given))  # type: ignore[arg-type]

    def _weights(self, library: EncoderLibrary, precision: str) -> PackedWeights:
        """The weights in the order of the kernels, repacked whenever one of them changes."""
        state = self.parts.tensors()
        # Tensors made in inference mode have no version counter, so nothing derived from them can be cached.
        known = not any(tensor.is_inference() for tensor in state)
        key = known and (precision, library, [(tensor.data_ptr(), tensor._version) for tensor in state])
        kept = self._packed  # read once: another thread may pack for another variant or precision meanwhile
        if kept is None or not known or kept[0] != key:
            self._packed = kept = (key, PackedWeights(self.parts.weights(), library.lanes, precision))
        return kept[1]
