"""Bidirectional LSTMs over the words of a batch, and over all spans of at most c words.

The forward LSTM of span [i, j] has read words i to j; it is one step from that of [i, j - 1]. The backward one has read
j down to i, one step from that of [i + 1, j]. So the forward LSTM runs from every start at once, and the backward LSTM
from every end; both take as many steps as there are widths, which are O(c n) steps of the cell. A word's contribution
to the gates is computed once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn.utils.rnn import PackedSequence

from hyperspan.kernels import lstm_c
from hyperspan.kernels.choice import choose
from hyperspan.kernels.transfer import STREAMS, stream_of, to_device

if TYPE_CHECKING:
    from hyperspan.kernels.triton_lstm import LstmChains
    from hyperspan.kernels.triton_spans import DeviceSpans

TRITON_UNITS = 512
"""The largest number of units per direction that the Triton kernels support."""


def unfit(rows: Tensor, hidden: int) -> set[str]:
    """The implementations that do not support these rows with `hidden` units per direction."""
    found = set()
    if rows.dtype != torch.float32 or torch.is_autocast_enabled("cpu"):  # which would convert it to 16 bits
        found.add("c")
    if rows.dtype == torch.float64 or hidden > TRITON_UNITS:
        found.add("triton")
    return found


# -- words ------------------------------------------------------------------------------------------------------------


def word_states(layer: nn.LSTM, rows: Tensor, lengths: Sequence[int]) -> Tensor:
    """(N, d) -> (N, 2 * hidden): the states of one bidirectional layer at each row.

    `lengths` are those of the sequences, longest first and none empty; the rows are theirs in packed order: all first
    ones, then all second ones, and so on.
    """
    chosen = choose("word_lstm", rows.device.type, unfit(rows, layer.hidden_size))
    if chosen == "triton":
        return run_in_one_launch(layer, rows, tuple(lengths))
    ordered = np.array(lengths, dtype=np.int64)
    counts = (ordered[None, :] > np.arange(ordered.max(initial=0))[:, None]).sum(1)
    if chosen == "c":
        return _run_in_c(layer, rows, ordered, counts)
    packed, _ = layer(PackedSequence(rows, torch.from_numpy(counts)))
    return packed.data


def _run_in_c(layer: nn.LSTM, rows: Tensor, lengths: np.ndarray, counts: np.ndarray) -> Tensor:
    order = np.stack([np.arange(len(rows)), _reversed(lengths, counts)])
    sentence = np.arange(len(rows)) - np.repeat(counts.cumsum() - counts, counts)
    steps = lstm_c.Steps(counts.tolist(), order, order, np.stack([sentence, sentence]))
    return torch.cat(lstm_c.run(layer, rows, *_weights(layer), steps).unbind(), dim=1)


def _weights(layer: nn.LSTM) -> tuple[Tensor, Tensor, Tensor]:
    """(2, d, 4 * hidden), (2, 1, 4 * hidden), (2, hidden, 4 * hidden): for inputs, bias and recurrent, of both
    directions."""
    inputs, recurrent, one, other = (
        [getattr(layer, f"{name}_l0{suffix}") for suffix in ("", "_reverse")]
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    # Added before stacking: otherwise the gradients of both would share memory and be clipped twice.
    bias = torch.stack([first + second for first, second in zip(one, other, strict=True)])
    return torch.stack(inputs).transpose(1, 2), bias[:, None], torch.stack(recurrent).transpose(1, 2)


def run_in_one_launch(layer: nn.LSTM, rows: Tensor, lengths: tuple[int, ...]) -> Tensor:
    """The same with the Triton kernels."""
    from hyperspan.kernels.triton_lstm import WordStates

    names = [f"{name}_l0{end}" for end in ("", "_reverse") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    return WordStates.apply(
        _chains(lengths, rows.device, stream_of(rows.device)), rows, *(getattr(layer, name) for name in names)
    )


@lru_cache(maxsize=2 * STREAMS)
def _chains(lengths: tuple[int, ...], device: torch.device, _stream: int) -> LstmChains:
    """A chain for each sequence, cached for all layers that run over a batch."""
    from hyperspan.kernels.triton_lstm import LstmChains

    steps = np.array(lengths, dtype=np.int64)
    first = np.bincount(steps)[::-1].cumsum()[::-1][1:].cumsum()  # the ends of the blocks of rows
    with torch.inference_mode(False):
        known, begin = to_device((steps, np.concatenate([[0], first[:-1]])), device)
        return LstmChains(known, begin, None, begin, sum(lengths))


def _reversed(lengths: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(N,): for each row, the row at the mirrored position of its sequence.

    >>> _reversed(np.array([3, 1]), np.array([2, 1, 1])).tolist()
    [3, 1, 2, 0]
    """
    first = counts.cumsum() - counts
    step = np.repeat(np.arange(len(counts)), counts)
    sequence = np.arange(len(step)) - first[step]
    return first[lengths[sequence] - 1 - step] + sequence


# -- spans ------------------------------------------------------------------------------------------------------------


class SortedPlaces(NamedTuple):
    """The starts of the spans of a batch, or their ends, as sentence * n + position."""

    room: np.ndarray  # (B * n,): how many widths fit to the right of a start, or to the left of an end
    order: np.ndarray  # (B * n,): the places, those with the most room first
    rank: np.ndarray  # (B * n,): where each stands in that order

    @classmethod
    def sort(cls, room: np.ndarray) -> SortedPlaces:
        """The places with this room. The sort is stable; 16-bit numbers sort fastest."""
        order = np.argsort(-(room.astype(np.int16) if room.max(initial=0) < 2**15 else room), kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        return cls(room, order, rank)


def sorted_places(lengths: Sequence[int], n: int, max_width: int) -> tuple[SortedPlaces, SortedPlaces, np.ndarray]:
    """The starts and the ends of the spans of a batch, and the number of starts (or ends) with room for each width."""
    ends, position = np.array(lengths, dtype=np.int64)[:, None], np.arange(n)
    from_start = (ends - position).clip(0, max_width).ravel()
    to_end = np.where(position < ends, (position + 1).clip(max=max_width), 0).ravel()
    counts = np.bincount(from_start, minlength=max_width + 1)[::-1].cumsum()[::-1][1:]
    return SortedPlaces.sort(from_start), SortedPlaces.sort(to_end), counts[counts > 0]


class PaddedIndex(NamedTuple):
    """The entries of a padded tensor that rows fill, and the row of each entry; padding has the row after the last."""

    shape: tuple[int, ...]
    entries: Tensor
    rows: Tensor

    @classmethod
    def of(cls, entries: np.ndarray, shape: tuple[int, ...], device: torch.device) -> PaddedIndex:
        rows = np.full(math.prod(shape), len(entries))
        rows[entries] = np.arange(len(entries))
        return cls(shape, *to_device([entries, rows], device))

    def fill(self, rows: Tensor) -> Tensor:
        """(rows, d) -> (*shape, d), 0 in padding."""
        return _Fill.apply(rows, self.entries, self.rows).unflatten(0, self.shape)


class _Fill(Function):
    """Both ways gather, which is faster than adding into place."""

    @staticmethod
    def forward(ctx: Any, given: Tensor, entries: Tensor, rows: Tensor) -> Tensor:
        ctx.entries = entries
        return torch.cat([given, given.new_zeros(1, given.shape[1])]).index_select(0, rows)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor):
        return gradient.index_select(0, ctx.entries), None, None


class SpanLayout:
    """The rows of the spans of a batch, without padding.

    Rows are ordered by width, and those of one width by their start (for the backward LSTM: by their end), the one with
    the most room first. So the rows of one width are a block, and continue the first rows of the block before it.
    """

    on_device: ClassVar[bool] = False
    """Whether the positions were computed on a GPU, for GPU kernels."""
    counts: list[int]
    """The number of rows of each width."""
    start: Tensor
    """(rows,): sentence * n + first word."""
    end: Tensor
    """(rows,): sentence * n + last word."""
    width: Tensor
    """(rows,): the number of words of a span minus one."""
    read: Tensor
    """(2, rows): the word that each step reads, forward and backward."""
    backward_row: Tensor
    """(rows,): the backward LSTM's row for each row's span."""

    def __init__(self, lengths: Sequence[int], longest: int, max_width: int, device: torch.device):
        starts, ends, counts = sorted_places(lengths, longest, max_width)
        self.longest, self.counts = longest, counts.tolist()
        rows, block = np.arange(counts.sum()), counts.cumsum() - counts
        width = np.repeat(np.arange(len(counts)), counts)
        chain = rows - block[width]
        start, last = starts.order[chain], ends.order[chain]
        end = start + width
        backward_row = block[width] + ends.rank[end]
        previous = rows[self.longer] - np.repeat(counts[:-1], counts[1:])
        step = (start * (max_width - 1) + width - 1)[self.longer]
        with torch.inference_mode(False):
            self.start, self.end, self.width, self.read, self.backward_row, self._previous = to_device(
                [start, end, width, np.stack([end, last - width]), backward_row, previous], device
            )
            shape = (len(lengths), longest)
            self._widths = PaddedIndex.of(start * max_width + width, (*shape, max_width), device)
            self._steps = PaddedIndex.of(step, (*shape, max_width - 1), device)

    @property
    def longer(self) -> slice:
        """The rows of spans of two words and more."""
        return slice(self.counts[0] if self.counts else 0, None)

    def previous(self, rows: Tensor) -> Tensor:
        """(rows, d) -> (rows of two words and more, d): the row of each of these spans without its last word."""
        return rows.index_select(0, self._previous)

    def to_padded(self, rows: Tensor) -> Tensor:
        """(rows, d) -> (B, n, c, d): by sentence, first word and words minus one; 0 where there is no such span."""
        return self._widths.fill(rows)

    def steps_to_padded(self, rows: Tensor) -> Tensor:
        """(rows of two words and more, d) -> (B, n, c - 1, d): the edge that leads to each row; 0 in padding."""
        return self._steps.fill(rows)


def span_layout(lengths: Sequence[int], longest: int, max_width: int, device: torch.device) -> SpanLayout:
    """The layout of a batch's spans, cached for all computations on that batch."""
    return _layout(choose("layout", device.type), tuple(lengths), longest, max_width, device, stream_of(device))


@lru_cache(maxsize=STREAMS)
def _layout(
    made_by: str, lengths: tuple[int, ...], longest: int, max_width: int, device: torch.device, _stream: int
) -> SpanLayout:
    if made_by == "triton":
        from hyperspan.kernels.triton_spans import DeviceSpans

        return DeviceSpans(lengths, longest, max_width, device)
    return SpanLayout(lengths, longest, max_width, device)


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
    return _step_by_step(gates, recurrent, read, layout.counts).transpose(0, 1)


def _step_by_step(gates: Tensor, recurrent: Tensor, read: Tensor, counts: Sequence[int]) -> Tensor:
    """(2, N, 4 * hidden), (2, hidden, 4 * hidden), (2, rows) -> (2, rows, hidden): all spans of a width at a time."""
    inputs = torch.stack([words.index_select(0, rows) for words, rows in zip(gates, read, strict=True)])
    state = cell = gates.new_zeros(2, counts[0] if counts else 0, recurrent.shape[1])
    states: list[Tensor] = []
    for step in inputs.split(list(counts), dim=1):  # (2, count, 4 * hidden)
        count = step.shape[1]
        into, forget, new, out = torch.baddbmm(step, state[:, :count], recurrent).chunk(4, dim=2)
        cell = forget.sigmoid() * cell[:, :count] + into.sigmoid() * new.tanh()
        state = out.sigmoid() * cell.tanh()
        states.append(state)
    return torch.cat(states, dim=1) if states else state


def _steps(row_of: Tensor, layout: SpanLayout) -> lstm_c.Steps:
    """The steps of the spans' chains, on the CPU."""
    place = layout.read.numpy()
    row = np.broadcast_to(np.arange(place.shape[1]), place.shape)
    return lstm_c.Steps(layout.counts, row, row_of.numpy()[place], place // max(layout.longest, 1))
