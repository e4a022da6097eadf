"""The states of an LSTM over all spans of at most c words, in both directions, in O(c n) steps of its cell.

The forward LSTM of span [i, j] has read words i to j; it is one step from that of [i, j - 1]. The backward one has read
j down to i, one step from that of [i + 1, j]. So the forward LSTM runs from every start at once, and the backward LSTM
from every end; both take as many steps as there are widths. A word's contribution to the gates is computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from torch import Tensor, nn

from hyperspan.kernels import lstm_c
from hyperspan.kernels.chains import chain_layout
from hyperspan.kernels.choice import choose
from hyperspan.kernels.span_layout import SpanLayout
from hyperspan.kernels.span_lstm_reference import BothDirections, PerDirection, SteppedStates
from hyperspan.kernels.transfer import STREAMS, stream_of
from hyperspan.kernels.word_lstm import unfit

if TYPE_CHECKING:
    from hyperspan.kernels.triton_chains import DeviceLayout
    from hyperspan.kernels.triton_spans import DeviceSpans


def span_layout(lengths: Sequence[int], longest: int, max_width: int, device: torch.device) -> SpanLayout:
    """The layout of a batch's spans, cached for all computations on that batch."""
    return _layout(choose("layout", device.type), tuple(lengths), longest, max_width, device, stream_of(device))


@lru_cache(maxsize=STREAMS)
def _layout(
    made_by: str, lengths: tuple[int, ...], longest: int, max_width: int, device: torch.device, _stream: int
) -> SpanLayout:
    chains = chain_layout(lengths, longest, max_width, device)
    if made_by == "triton":
        from hyperspan.kernels.triton_spans import DeviceSpans

        return DeviceSpans(cast("DeviceLayout", chains), lengths, longest, max_width)
    return SpanLayout(chains, lengths, longest, max_width)


def span_states(
    module: nn.Module,
    weights: tuple[Tensor, Tensor, Tensor],
    words: Tensor,
    row_of: Tensor,
    layout: SpanLayout,
) -> Tensor:
    """(N, d) -> (rows, 2, hidden): the states of the forward rows, and of the backward rows in backward order.

    `weights` are the module's for inputs (2, d, 4 * hidden), bias (2, 1, 4 * hidden) and states (2, hidden, 4 *
    hidden); the gates are in, forget, new, out. `row_of` has the row of `words` for each sentence * n + position.
    """
    inputs, bias, recurrent = weights
    hidden = recurrent.shape[1]
    cannot = unfit(words, hidden) | (set() if layout.on_device else {"triton"})
    chosen = choose("span_lstm", words.device.type, cannot)
    if chosen == "c":
        return lstm_c.run(module, words, inputs, bias, recurrent, _steps(row_of, layout)).transpose(0, 1)
    gates = torch.baddbmm(bias, words.expand(2, -1, -1), inputs)  # (2, N, 4 * hidden)
    if chosen == "triton":
        from hyperspan.kernels.triton_lstm import SpanStates

        spans = cast("DeviceSpans", layout)
        return SpanStates.apply(spans.over(row_of), gates, recurrent, spans.rank, spans.room).transpose(0, 1)
    read = row_of.index_select(0, layout.read.flatten()).view(2, -1)
    kind = BothDirections if chosen == "dense" else PerDirection
    return SteppedStates.apply(gates, recurrent, read, layout.chains, kind).view(-1, 2, hidden)


def _steps(row_of: Tensor, layout: SpanLayout) -> lstm_c.Steps:
    """The steps of the spans' chains, on the CPU."""
    place = layout.read.numpy()
    row = np.broadcast_to(np.arange(place.shape[1]), place.shape)
    return lstm_c.Steps(layout.counts, row, row_of.numpy()[place], place // max(layout.longest, 1))
