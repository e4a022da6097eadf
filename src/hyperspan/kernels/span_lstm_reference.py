"""The two span LSTMs in PyTorch, one step of all spans at a time: the reference, and a dense version for GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.amp.autocast_mode import custom_bwd, custom_fwd
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from hyperspan.kernels.chain_layout import ChainLayout

# From an activation's value and gradient to the gradient of its input, in one pass.
_SIGMOID_BACKWARD = torch.ops.aten.sigmoid_backward.grad_input
_TANH_BACKWARD, _TANH_BACKWARD_OUT = torch.ops.aten.tanh_backward.default, torch.ops.aten.tanh_backward.grad_input


class SteppedStates(Function):
    """Run both LSTMs over all widths -> (rows, 2 * hidden).

    The gate layout and the matrix products differ between the reference and the dense implementation: see
    :class:`PerDirection`, :class:`BothDirections`.
    """

    @staticmethod
    @custom_fwd(device_type="cuda", cast_inputs=torch.bfloat16)  # within autocast alone
    def forward(
        ctx: Any,
        gates: Tensor,
        recurrent: Tensor,
        read: Tensor,
        layout: ChainLayout,
        kind: type[PerDirection | BothDirections],
    ) -> Tensor:
        size = gates.shape[2]
        directions = kind(recurrent)
        steps = directions.gather(gates, read).split(layout.counts)
        states: list[Tensor] = []
        cells: list[Tensor] = []
        kept: list[Tensor] = []  # the activated gates
        for step, count in zip(steps, layout.counts, strict=True):
            recur = directions.multiply(states[-1][:count]) if states else None
            state, after, activated = directions.cell(step, recur, cells[-1][:count] if cells else None)
            states.append(state)
            cells.append(after)
            kept.append(activated)
        result = torch.cat(states) if states else gates.new_zeros(0, size // 2)
        if any(ctx.needs_input_grad[:2]):
            ctx.save_for_backward(recurrent, read, result, *cells, *kept)
            ctx.layout, ctx.shape, ctx.kind = layout, gates.shape, kind
        return result

    @staticmethod
    @once_differentiable
    @custom_bwd(device_type="cuda")
    def backward(ctx: Any, gradient: Tensor):
        recurrent, read, states, *saved = ctx.saved_tensors
        counts, (_, words, size) = ctx.layout.counts, ctx.shape
        cells, kept = saved[: len(counts)], saved[len(counts) :]
        directions = ctx.kind(recurrent)
        d_states = gradient.clone().split(counts)  # gradients from wider spans are added to it
        d_after = gradient.new_zeros(ctx.layout.chains, size // 2)
        d_steps: list[Tensor] = []
        for width in range(len(counts) - 1, -1, -1):
            count = counts[width]
            before = cells[width - 1][:count] if width else None
            d_step, d_before = directions.cell_backward(
                d_states[width], d_after[:count], kept[width], cells[width], before
            )
            d_steps.append(d_step)
            if width:
                directions.add_backwards(d_states[width - 1][:count], d_step)
                d_after[:count] = d_before
        d_gates = torch.cat(d_steps[::-1]) if d_steps else gradient.new_zeros(0, 2 * size)
        d_recurrent = torch.zeros_like(recurrent)
        if len(counts) > 1:
            before = states.index_select(0, ctx.layout.going_on)
            d_recurrent = directions.outer(before, d_gates[ctx.layout.longer])
        d_inputs = gradient.new_zeros(2, words, size)
        for direction, d_words in enumerate(directions.split_directions(d_gates)):
            d_inputs[direction].index_add_(0, read[direction], d_words)
        return d_inputs, d_recurrent, None, None, None


class PerDirection:
    """Each direction separately, for CPUs: gates are laid out as (rows, direction, gate, unit); gates are in, forget,
    new, out.

    The cell, which ignores directions, sees twice as many rows.
    """

    def __init__(self, recurrent: Tensor):
        self.recurrent, self.hidden = recurrent, recurrent.shape[1]

    def gather(self, gates: Tensor, read: Tensor) -> Tensor:
        """(2, N, 4 * hidden), and the words that rows read -> (rows, 8 * hidden)."""
        together = gates.new_empty(read.shape[1], 2, 4 * self.hidden)
        for direction in (0, 1):
            together[:, direction] = gates[direction].index_select(0, read[direction])
        return together.flatten(1)

    def multiply(self, states: Tensor) -> Tensor:
        """(count, 2 * hidden) -> (count, 8 * hidden)."""
        result = states.new_empty(len(states), 8 * self.hidden)
        for direction, (one, into) in enumerate(zip(states.chunk(2, 1), result.chunk(2, 1), strict=True)):
            torch.mm(one, self.recurrent[direction], out=into)
        return result

    def add_backwards(self, d_states: Tensor, d_step: Tensor) -> None:
        """Add the gradient of (count, 8 * hidden) to that of the previous states, (count, 2 * hidden)."""
        for direction, (one, d_one) in enumerate(zip(d_states.chunk(2, 1), d_step.chunk(2, 1), strict=True)):
            one.addmm_(d_one, self.recurrent[direction].T)

    def outer(self, states: Tensor, d_gates: Tensor) -> Tensor:
        """(rows, 2 * hidden), (rows, 8 * hidden) -> (2, hidden, 4 * hidden)."""
        pairs = zip(states.chunk(2, 1), d_gates.chunk(2, 1), strict=True)
        return torch.stack([one.T @ d_one for one, d_one in pairs])

    def split_directions(self, d_gates: Tensor) -> Sequence[Tensor]:
        """(rows, 8 * hidden) -> twice (rows, 4 * hidden)."""
        return d_gates.chunk(2, 1)

    def cell(self, step: Tensor, recurrent: Tensor | None, before: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """As :func:`_cell`, for rows of both directions."""
        given = [None if tensor is None else tensor.view(-1, 4 * self.hidden) for tensor in (step, recurrent)]
        cells = None if before is None else before.view(-1, self.hidden)
        state, after, activated = _cell(given[0], given[1], cells)  # type: ignore[arg-type]: a step is always there
        return state.view(len(step), -1), after.view(len(step), -1), activated.view(len(step), -1)

    def cell_backward(
        self, d_state: Tensor, d_after: Tensor, gates: Tensor, after: Tensor, before: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """As :func:`_cell_backward`, for rows of both directions."""
        d_state, d_after, cells = (tensor.view(-1, self.hidden) for tensor in (d_state, d_after, after))
        cells_before = None if before is None else before.view(-1, self.hidden)
        d_gates, d_before = _cell_backward(d_state, d_after, gates.view(-1, 4 * self.hidden), cells, cells_before)
        return d_gates.view(len(gates), -1), d_before.view(len(gates), -1)


class BothDirections:
    """Both directions as one LSTM of twice the size, for GPUs, where multiplying zeros is cheaper than another launch.

    Gates are laid out as (rows, gate, direction, unit), so that the two recurrent matrices form one block-diagonal
    matrix.
    """

    def __init__(self, recurrent: Tensor):
        self.hidden = recurrent.shape[1]
        matrix = recurrent.new_zeros(2, self.hidden, 4, 2, self.hidden)
        for direction in (0, 1):
            matrix[direction, :, :, direction] = recurrent[direction].view(self.hidden, 4, self.hidden)
        self.matrix = matrix.view(2 * self.hidden, 8 * self.hidden)
        fused = recurrent.is_cuda
        self.cell, self.cell_backward = (_fused_cell, _fused_cell_backward) if fused else (_cell, _cell_backward)

    def gather(self, gates: Tensor, read: Tensor) -> Tensor:
        rows = read.shape[1]
        together = gates.new_empty(rows, 4, 2, self.hidden)
        for direction in (0, 1):
            together[:, :, direction] = gates[direction].index_select(0, read[direction]).view(rows, 4, self.hidden)
        return together.flatten(1)

    def multiply(self, states: Tensor) -> Tensor:
        return states @ self.matrix

    def add_backwards(self, d_states: Tensor, d_step: Tensor) -> None:
        d_states.addmm_(d_step, self.matrix.T)

    def outer(self, states: Tensor, d_gates: Tensor) -> Tensor:
        parts = (states.T @ d_gates).view(2, self.hidden, 4, 2, self.hidden)
        return torch.stack([parts[side, :, :, side].reshape(self.hidden, 4 * self.hidden) for side in (0, 1)])

    def split_directions(self, d_gates: Tensor) -> Sequence[Tensor]:
        parts = d_gates.view(-1, 4, 2, self.hidden)
        return [parts[:, :, direction].flatten(1) for direction in (0, 1)]


def _cell(step: Tensor, recurrent: Tensor | None, before: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """One step of an LSTM: the two parts of the sums of its gates and the cell before -> state, cell, activated
    gates."""
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
    d_cell = _TANH_BACKWARD(d_state * out, squashed).add_(d_after)
    d_gates = torch.empty_like(gates)
    d_into, d_forget, d_new, d_out = d_gates.chunk(4, dim=1)
    _SIGMOID_BACKWARD(d_cell * new, into, grad_input=d_into)
    if before is not None:
        _SIGMOID_BACKWARD(d_cell * before, forget, grad_input=d_forget)
    else:
        d_forget.zero_()
    _TANH_BACKWARD_OUT(d_cell * into, new, grad_input=d_new)
    _SIGMOID_BACKWARD(squashed.mul_(d_state), out, grad_input=d_out)
    return d_gates, d_cell.mul_(forget)


def _fused_cell(step: Tensor, recurrent: Tensor | None, before: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """:func:`_cell` in one CUDA kernel of torch."""
    recurrent = torch.zeros_like(step) if recurrent is None else recurrent
    before = step.new_zeros(len(step), step.shape[1] // 4) if before is None else before
    return torch.ops.aten._thnn_fused_lstm_cell(step, recurrent, before)


def _fused_cell_backward(
    d_state: Tensor, d_after: Tensor, gates: Tensor, after: Tensor, before: Tensor | None
) -> tuple[Tensor, Tensor]:
    """:func:`_cell_backward` in one CUDA kernel of torch."""
    before = torch.zeros_like(after) if before is None else before
    return torch.ops.aten._thnn_fused_lstm_cell_backward_impl(d_state, d_after, before, after, gates, False)[:2]
