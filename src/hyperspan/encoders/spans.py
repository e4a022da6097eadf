"""h^s: a vector for every span of at most c words, from a bidirectional LSTM in O(c n) steps of its cell.

The forward LSTM of span [i, j] has read words i to j; it is one step from that of [i, j - 1]. The backward one has read j
down to i, one step from that of [i + 1, j]. So the forward LSTM runs from every start at once, and the backward LSTM from
every end; both take as many steps as there are widths. What a word contributes to the gates is multiplied out once.

Rows stand as in :mod:`hyperspan.structures.chains`: a block for each width, and in it the starts (for the backward LSTM:
the ends) with the most room first, so that the states to go on from are always the first rows of the block before.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.amp.autocast_mode import custom_bwd, custom_fwd
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from hyperspan.batching import Batch
from hyperspan.encoders.recurrent import has_triton
from hyperspan.structures.chains import ChainLayout, chain_layout


class SpanLayout:
    """Where the spans of a batch stand, from the side of their starts and of their ends."""

    def __init__(self, lengths: tuple[int, ...], longest: int, max_width: int, device: torch.device):
        self.chains: ChainLayout = chain_layout(lengths, longest, max_width, device)
        self.counts = self.chains.counts
        counts = np.array(self.counts, dtype=np.int64)
        start, width = self.chains.starts, self.chains.widths  # (rows,): sentence * n + first word; one less than words
        offset = np.repeat(counts.cumsum() - counts, counts)
        end = start + width
        position = np.arange(longest)
        inside = position < np.array(lengths, dtype=np.int64)[:, None]
        room = np.where(inside, (position + 1).clip(max=max_width), 0).ravel()  # (B * n,): to the left of an end
        order = np.argsort(-room, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        ends = order[np.arange(len(start)) - offset]  # (rows,): the end of each row of the backward LSTM

        def tensor(array: np.ndarray) -> Tensor:
            return torch.from_numpy(array).to(device, non_blocking=True)

        with torch.inference_mode(False):
            self.start, self.end, self.width = tensor(start), tensor(end), tensor(width)
            self.read = tensor(np.stack([end, ends - width]))
            """(2, rows): the word that each step reads, forward and backward."""
            self.backward_row = tensor(offset + rank[end])
            """(rows,): where the backward LSTM has the span of a row."""


@lru_cache(maxsize=2)
def span_layout(lengths: tuple[int, ...], longest: int, max_width: int, device: torch.device) -> SpanLayout:
    """The layout of a batch's spans, made once for all who work on that batch."""
    return SpanLayout(lengths, longest, max_width, device)


class SpanLSTM(nn.Module):
    """The two LSTMs over spans, run side by side as one of twice the size."""

    def __init__(self, dimension: int, hidden: int):
        super().__init__()
        self.hidden = hidden
        self.inputs = nn.Parameter(torch.empty(2, dimension, 4 * hidden))
        self.recurrent = nn.Parameter(torch.empty(2, hidden, 4 * hidden))
        self.bias = nn.Parameter(torch.zeros(2, 1, 4 * hidden))
        for weight in (self.inputs, self.recurrent):
            nn.init.uniform_(weight, -(hidden**-0.5), hidden**-0.5)
        with torch.no_grad():
            self.bias[:, :, hidden : 2 * hidden] = 1.0  # remember, at first

    def forward(self, words: Tensor, batch: Batch, layout: SpanLayout) -> Tensor:
        """(N, dimension) -> (rows, 2, hidden): the states of the forward rows, and of the backward rows in their own order."""
        gates = torch.baddbmm(self.bias, words.expand(2, -1, -1), self.inputs)  # (2, N, 4 * hidden)
        read = batch.row_of.index_select(0, layout.read.flatten()).view(2, -1)
        if words.is_cuda and has_triton():
            from hyperspan.encoders.triton_lstm import ChainLSTM

            return ChainLSTM.apply(gates, self.recurrent, read, layout.counts, layout.chains.going_on).transpose(0, 1)
        states = _SpanStates.apply(gates, self.recurrent, read, layout.chains)
        return states.view(-1, 2, self.hidden)


class _SpanStates(Function):
    """Runs both LSTMs over all widths -> (rows, 2 * hidden).

    Gates stand in the order in, forget, new, out; in each of them first the forward LSTM, then the backward one. So the chains
    of a width and their states are one matrix, and the two recurrent matrices one with two blocks.
    """

    @staticmethod
    @custom_fwd(device_type="cuda", cast_inputs=torch.bfloat16)  # within autocast alone
    def forward(ctx: Any, gates: Tensor, recurrent: Tensor, read: Tensor, layout: ChainLayout) -> Tensor:
        rows, size = read.shape[1], gates.shape[2]
        together = gates.new_empty(rows, 4, 2, size // 4)
        for direction in (0, 1):
            together[:, :, direction] = gates[direction].index_select(0, read[direction]).view(rows, 4, size // 4)
        steps = together.view(rows, 2 * size).split(layout.counts)
        matrix = _blocks(recurrent)
        cell = _fused_cell if gates.is_cuda else _cell
        states: list[Tensor] = []
        cells: list[Tensor] = []
        kept: list[Tensor] = []  # the activated gates
        for step, count in zip(steps, layout.counts, strict=True):
            recur = states[-1][:count] @ matrix if states else None
            state, after, activated = cell(step, recur, cells[-1][:count] if cells else None)
            states.append(state)
            cells.append(after)
            kept.append(activated)
        result = torch.cat(states) if states else gates.new_zeros(0, size // 2)
        if any(ctx.needs_input_grad[:2]):
            ctx.save_for_backward(matrix, read, result, *cells, *kept)
            ctx.layout, ctx.shape = layout, gates.shape
        return result

    @staticmethod
    @once_differentiable
    @custom_bwd(device_type="cuda")
    def backward(ctx: Any, gradient: Tensor):
        matrix, read, states, *saved = ctx.saved_tensors
        counts, (_, words, size) = ctx.layout.counts, ctx.shape
        cells, kept = saved[: len(counts)], saved[len(counts) :]
        cell_backward = _fused_cell_backward if gradient.is_cuda else _cell_backward
        transposed = matrix.T.contiguous()
        d_states = gradient.clone().split(counts)  # what flows back from wider spans is added to it
        d_after = gradient.new_zeros(ctx.layout.chains, size // 2)
        d_steps: list[Tensor] = []
        for width in range(len(counts) - 1, -1, -1):
            count = counts[width]
            before = cells[width - 1][:count] if width else None
            d_step, d_before = cell_backward(d_states[width], d_after[:count], kept[width], cells[width], before)
            d_steps.append(d_step)
            if width:
                d_states[width - 1][:count].addmm_(d_step, transposed)
                d_after[:count] = d_before
        d_gates = torch.cat(d_steps[::-1]) if d_steps else gradient.new_zeros(0, 2 * size)
        d_matrix = torch.zeros_like(matrix)
        if len(counts) > 1:
            d_matrix = states.index_select(0, ctx.layout.going_on).T @ d_gates[ctx.layout.longer]
        d_inputs = gradient.new_zeros(2, words, size)
        by_direction = d_gates.view(-1, 4, 2, size // 4)
        for direction in (0, 1):
            d_inputs[direction].index_add_(0, read[direction], by_direction[:, :, direction].flatten(1))
        return d_inputs, _from_blocks(d_matrix), None, None


def _blocks(recurrent: Tensor) -> Tensor:
    """(2, hidden, 4 * hidden) -> (2 * hidden, 8 * hidden): what each direction's state adds to the gates of that direction."""
    hidden = recurrent.shape[1]
    matrix = recurrent.new_zeros(2, hidden, 4, 2, hidden)
    for direction in (0, 1):
        matrix[direction, :, :, direction] = recurrent[direction].view(hidden, 4, hidden)
    return matrix.view(2 * hidden, 8 * hidden)


def _from_blocks(matrix: Tensor) -> Tensor:
    """The inverse of :func:`_blocks`."""
    hidden = matrix.shape[0] // 2
    parts = matrix.view(2, hidden, 4, 2, hidden)
    return torch.stack([parts[direction, :, :, direction].reshape(hidden, 4 * hidden) for direction in (0, 1)])


def _cell(step: Tensor, recurrent: Tensor | None, before: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """One step of an LSTM: the two parts of the sums of its gates and the cell before -> state, cell, activated gates."""
    hidden = step.shape[1] // 4
    if recurrent is not None:
        step += recurrent
    step[:, : 2 * hidden].sigmoid_()
    step[:, 2 * hidden : 3 * hidden].tanh_()
    step[:, 3 * hidden :].sigmoid_()
    into, forget, new, out = step.chunk(4, dim=1)
    after = into * new
    if before is not None:
        after.addcmul_(forget, before)
    return out * after.tanh(), after, step


def _cell_backward(
    d_state: Tensor, d_after: Tensor, gates: Tensor, after: Tensor, before: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The gradients of the sums of the gates and of the cell before."""
    into, forget, new, out = gates.chunk(4, dim=1)
    squashed = after.tanh()
    d_cell = (d_state * out * (1 - squashed * squashed)).add_(d_after)
    d_gates = torch.empty_like(gates)
    d_into, d_forget, d_new, d_out = d_gates.chunk(4, dim=1)
    torch.mul(d_cell * new, into * (1 - into), out=d_into)
    if before is not None:
        torch.mul(d_cell * before, forget * (1 - forget), out=d_forget)
    else:
        d_forget.zero_()
    torch.mul(d_cell * into, 1 - new * new, out=d_new)
    torch.mul(d_state * squashed, out * (1 - out), out=d_out)
    return d_gates, d_cell * forget


def _fused_cell(step: Tensor, recurrent: Tensor | None, before: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """:func:`_cell` in one CUDA kernel of torch's."""
    recurrent = torch.zeros_like(step) if recurrent is None else recurrent
    before = step.new_zeros(len(step), step.shape[1] // 4) if before is None else before
    return torch.ops.aten._thnn_fused_lstm_cell(step, recurrent, before)


def _fused_cell_backward(
    d_state: Tensor, d_after: Tensor, gates: Tensor, after: Tensor, before: Tensor | None
) -> tuple[Tensor, Tensor]:
    """:func:`_cell_backward` in one CUDA kernel of torch's."""
    before = torch.zeros_like(after) if before is None else before
    return torch.ops.aten._thnn_fused_lstm_cell_backward_impl(d_state, d_after, before, after, gates, False)[:2]
