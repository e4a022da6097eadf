"""LSTMs over many chains of different lengths in one launch: for NVIDIA GPUs, where a launch costs more than a step.

A chain reads one row of inputs per step, and its state is stored at every step. Chains are sorted longest first. A
program takes a few chains of one direction through all their steps; the recurrent matrix stays in the cache of the GPU.
Two kinds of chains:

- *words*: a sentence each, rows in packed order; the second direction begins with the last word. Rows are also where
  states go.
- *spans*: a start each (second direction: an end), rows as in
  :class:`hyperspan.kernels.lstm.SpanLayout`; words are read through a table.

Products are in 16 bits (11 of them for the significand, as many as tensor cores keep of 32-bit numbers), sums in 32.
States are at most 1; gradients are scaled, row by row, to be at most 1 too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton  # pyright: ignore[reportMissingImports]: comes with PyTorch for CUDA
import triton.language as tl  # pyright: ignore[reportMissingImports]
from torch import Tensor
from torch.amp.autocast_mode import custom_bwd, custom_fwd
from torch.autograd import Function
from torch.autograd.function import once_differentiable

TILE = 8192
"""The size of a tile of the recurrent matrix of one gate."""
CHAINS = 16
"""The number of chains per program: the minimum for tensor cores, so that many programs share the work."""
PORTION = 1024
"""The number of rows per partial sum of outer products."""
# Kernels are compiled once for a model, not again for batches with numbers of rows that 16 divides, or indices that
# stand so.
VARYING = ("count", "words", "rows", "places")
INDICES = ("begin", "table", "first", "steps", "rank", "room")


class LstmChains(NamedTuple):
    """The chains of a batch, as integer tensors on the device."""

    steps: Tensor
    """(chains,): the number of steps of each, in descending order."""
    first: Tensor
    """(most steps,): the first row of each step."""
    begin: Tensor | None
    """(2, chains): the table position where each begins; None for words."""
    table: Tensor
    """The words to read, one after the other, in the second direction backwards; for words the same as `first`."""
    rows: int
    """The number of states of a direction."""


@triton.jit
def _sigmoid(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def _tanh(x):
    return 2.0 / (1.0 + tl.exp(-2.0 * x)) - 1.0


@triton.jit
def _place(begin, table, first, chains, own, direction, step, live, count, over_words: tl.constexpr):
    """The word that each chain reads in a step, and the row of its state."""
    if over_words:
        turned = tl.where(direction == 0, step, own - 1 - step)
        word = tl.load(table + turned, mask=live, other=0) + chains
        return word, word
    at = tl.load(begin + direction * count + chains, mask=live, other=0) + (1 - 2 * direction) * step
    return tl.load(table + at, mask=live, other=0), tl.load(first + step) + chains


@triton.jit(do_not_specialize=VARYING, do_not_specialize_on_alignment=INDICES)
def _forward_kernel(
    gates, recurrent, begin, table, first, steps, states, earlier, cells, kept,
    count, words, rows,
    hidden: tl.constexpr, padded: tl.constexpr, at_once: tl.constexpr, tile: tl.constexpr,
    over_words: tl.constexpr, keep: tl.constexpr,
):  # fmt: skip
    direction = tl.program_id(1).to(tl.int64)
    chains = tl.program_id(0) * at_once + tl.arange(0, at_once)
    own = tl.load(steps + chains, mask=chains < count, other=0)
    # For words, a row holds both directions; weights have torch's layout, contiguous per unit.
    gate_row: tl.constexpr = 8 * hidden if over_words else 4 * hidden
    state_row: tl.constexpr = 2 * hidden if over_words else hidden
    unit_in: tl.constexpr = 1 if over_words else 4 * hidden
    unit_out: tl.constexpr = hidden if over_words else 1
    inner = tl.arange(0, padded)
    gates += direction * (1 if over_words else words) * (4 * hidden)
    recurrent += direction * hidden * 4 * hidden
    states += direction * (1 if over_words else rows) * hidden
    earlier += direction * (1 if over_words else rows) * hidden
    cells += direction * rows * hidden
    kept += direction * rows * 4 * hidden
    previous = chains.to(tl.int64)  # the row of the previous state
    for step in range(tl.load(steps + tl.program_id(0) * at_once)):  # the first chain is the longest
        live = step < own
        word, row = _place(begin, table, first, chains, own, direction, step, live, count, over_words)
        known = (live & (step > 0))[:, None] & (inner < hidden)[None, :]
        before = tl.load(states + previous[:, None] * state_row + inner[None, :], mask=known, other=0.0)
        if keep:
            valid = live[:, None] & (inner < hidden)[None, :]
            tl.store(earlier + row[:, None] * state_row + inner[None, :], before, mask=valid)
        state = before.to(tl.float16)
        for start in range(0, hidden, tile):
            columns = start + tl.arange(0, tile)
            inside = (inner < hidden)[:, None] & (columns < hidden)[None, :]
            matrix = recurrent + inner[:, None] * unit_in + columns[None, :] * unit_out
            into = tl.dot(state, tl.load(matrix, mask=inside, other=0.0))
            forget = tl.dot(state, tl.load(matrix + hidden * unit_out, mask=inside, other=0.0))
            new = tl.dot(state, tl.load(matrix + 2 * hidden * unit_out, mask=inside, other=0.0))
            out = tl.dot(state, tl.load(matrix + 3 * hidden * unit_out, mask=inside, other=0.0))
            here = live[:, None] & (columns < hidden)[None, :]
            source = gates + word[:, None] * gate_row + columns[None, :]
            into = _sigmoid(into + tl.load(source, mask=here, other=0.0))
            forget = _sigmoid(forget + tl.load(source + hidden, mask=here, other=0.0))
            new = _tanh(new + tl.load(source + 2 * hidden, mask=here, other=0.0))
            out = _sigmoid(out + tl.load(source + 3 * hidden, mask=here, other=0.0))
            cell = cells + previous[:, None] * hidden + columns[None, :]
            after = forget * tl.load(cell, mask=here & (step > 0), other=0.0) + into * new
            tl.store(states + row[:, None] * state_row + columns[None, :], out * _tanh(after), mask=here)
            tl.store(cells + row[:, None] * hidden + columns[None, :], after, mask=here)
            if keep:
                target = kept + row[:, None] * (4 * hidden) + columns[None, :]
                tl.store(target, into, mask=here)
                tl.store(target + hidden, forget, mask=here)
                tl.store(target + 2 * hidden, new, mask=here)
                tl.store(target + 3 * hidden, out, mask=here)
        previous = row.to(tl.int64)
        tl.debug_barrier()  # the next step reads the states of all columns


@triton.jit(do_not_specialize=VARYING, do_not_specialize_on_alignment=INDICES)
def _backward_kernel(
    d_states, recurrent, begin, table, first, steps, cells, kept, d_gates, d_cells,
    count, rows,
    hidden: tl.constexpr, padded: tl.constexpr, at_once: tl.constexpr, tile: tl.constexpr, over_words: tl.constexpr,
):  # fmt: skip
    direction = tl.program_id(1).to(tl.int64)
    chains = tl.program_id(0) * at_once + tl.arange(0, at_once)
    own = tl.load(steps + chains, mask=chains < count, other=0)
    # For words, a row holds both directions; weights have torch's layout, contiguous per unit.
    gate_row: tl.constexpr = 8 * hidden if over_words else 4 * hidden
    state_row: tl.constexpr = 2 * hidden if over_words else hidden
    unit_in: tl.constexpr = 1 if over_words else 4 * hidden
    unit_out: tl.constexpr = hidden if over_words else 1
    inner = tl.arange(0, padded)
    recurrent += direction * hidden * 4 * hidden
    d_states += direction * (1 if over_words else rows) * hidden
    d_gates += direction * (1 if over_words else rows) * (4 * hidden)
    cells += direction * rows * hidden
    kept += direction * rows * 4 * hidden
    d_cells += direction * count * hidden  # the gradient from the next step, by chain
    after = chains.to(tl.int64)  # the row of the step after
    last = tl.load(steps + tl.program_id(0) * at_once)  # the first chain is the longest
    for back in range(last):
        step = last - 1 - back
        live, later = step < own, step + 1 < own
        _, row = _place(begin, table, first, chains, own, direction, step, live, count, over_words)
        _, older = _place(begin, table, first, chains, own, direction, tl.maximum(step - 1, 0), live, count, over_words)
        row, older = row.to(tl.int64), older.to(tl.int64)
        source = d_gates + after[:, None] * gate_row + inner[None, :]
        known = later[:, None] & (inner < hidden)[None, :]
        d_into = tl.load(source, mask=known, other=0.0)
        d_forget = tl.load(source + hidden, mask=known, other=0.0)
        d_new = tl.load(source + 2 * hidden, mask=known, other=0.0)
        d_out = tl.load(source + 3 * hidden, mask=known, other=0.0)
        most = tl.maximum(tl.maximum(tl.abs(d_into), tl.abs(d_forget)), tl.maximum(tl.abs(d_new), tl.abs(d_out)))
        scale = tl.maximum(tl.max(most, 1), 1e-30)[:, None]
        d_into, d_forget = (d_into / scale).to(tl.float16), (d_forget / scale).to(tl.float16)
        d_new, d_out = (d_new / scale).to(tl.float16), (d_out / scale).to(tl.float16)
        for start in range(0, hidden, tile):
            columns = start + tl.arange(0, tile)
            inside = (inner < hidden)[:, None] & (columns < hidden)[None, :]
            matrix = recurrent + inner[:, None] * unit_out + columns[None, :] * unit_in
            sent = tl.dot(d_into, tl.load(matrix, mask=inside, other=0.0))
            sent = tl.dot(d_forget, tl.load(matrix + hidden * unit_out, mask=inside, other=0.0), sent)
            sent = tl.dot(d_new, tl.load(matrix + 2 * hidden * unit_out, mask=inside, other=0.0), sent)
            sent = tl.dot(d_out, tl.load(matrix + 3 * hidden * unit_out, mask=inside, other=0.0), sent)
            here = live[:, None] & (columns < hidden)[None, :]
            arriving = sent * scale + tl.load(
                d_states + row[:, None] * state_row + columns[None, :], mask=here, other=0.0
            )
            gate = kept + row[:, None] * (4 * hidden) + columns[None, :]
            into = tl.load(gate, mask=here, other=0.0)
            forget = tl.load(gate + hidden, mask=here, other=0.0)
            new = tl.load(gate + 2 * hidden, mask=here, other=0.0)
            out = tl.load(gate + 3 * hidden, mask=here, other=0.0)
            squashed = _tanh(tl.load(cells + row[:, None] * hidden + columns[None, :], mask=here, other=0.0))
            earlier = cells + older[:, None] * hidden + columns[None, :]
            cell = tl.load(earlier, mask=here & (step > 0), other=0.0)
            carried = d_cells + chains[:, None] * hidden + columns[None, :]
            change = tl.load(carried, mask=here & later[:, None], other=0.0)
            change += arriving * out * (1.0 - squashed * squashed)
            target = d_gates + row[:, None] * gate_row + columns[None, :]
            tl.store(target, change * new * into * (1.0 - into), mask=here)
            tl.store(target + hidden, change * cell * forget * (1.0 - forget), mask=here)
            tl.store(target + 2 * hidden, change * into * (1.0 - new * new), mask=here)
            tl.store(target + 3 * hidden, arriving * squashed * out * (1.0 - out), mask=here)
            tl.store(carried, change * forget, mask=here)
        after = row
        tl.debug_barrier()  # the next product needs the gradients of all gates


@triton.jit(do_not_specialize=VARYING, do_not_specialize_on_alignment=INDICES)
def _word_sums_kernel(
    d_gates, first, rank, room, table, d_words,
    places, words, rows,
    size: tl.constexpr, block: tl.constexpr,
):  # fmt: skip
    """Sum, for each word, the gradients of the spans that read it: those that begin (end) within the maximum width
    before (after) it."""
    place, direction = tl.program_id(0).to(tl.int64), tl.program_id(1).to(tl.int64)
    column = tl.arange(0, block)
    valid = column < size
    turn = 1 - 2 * direction
    d_gates += direction * rows * size
    total = tl.zeros((block,), dtype=tl.float32)
    for step in range(
        tl.load(room + (1 - direction) * places + place)
    ):  # as many as a chain from here the other way takes
        chain = tl.load(rank + direction * places + place - turn * step)
        row = tl.load(first + step) + chain
        total += tl.load(d_gates + row * size + column, mask=valid, other=0.0)
    word = tl.load(table + place)
    tl.store(d_words + (direction * words + word) * size + column, total, mask=valid & (tl.load(room + place) > 0))


_FORWARD: Any = _forward_kernel
_BACKWARD: Any = _backward_kernel
_WORD_SUMS: Any = _word_sums_kernel


class WordStates(Function):
    """(N, d) rows in packed order, and what torch calls weight_ih, weight_hh, bias_ih and bias_hh of the two directions
    -> (N, 2 * hidden)."""

    @staticmethod
    @custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx: Any, chains: LstmChains, rows: Tensor, *weights: Tensor) -> Tensor:
        inputs = torch.cat([weights[0], weights[4]])  # (8 * hidden, d)
        bias = torch.cat([weights[2], weights[6]]) + torch.cat([weights[3], weights[7]])
        recurrent = torch.stack([weights[1], weights[5]]).half()  # (2, 4 * hidden, hidden)
        gates = torch.addmm(bias, rows, inputs.T)  # (N, 8 * hidden)
        size, keep = gates.shape[1] // 8, any(ctx.needs_input_grad)
        states = gates.new_empty(len(rows), 2 * size)
        run = _Run(chains, size, recurrent)
        kept = run.forward(gates, states, keep=keep)
        if keep:
            ctx.save_for_backward(rows, inputs, *kept)
            ctx.run = run
        return states

    @staticmethod
    @once_differentiable
    @custom_bwd(device_type="cuda")
    def backward(ctx: Any, gradient: Tensor):
        rows, inputs, earlier, *kept = ctx.saved_tensors
        size = ctx.run.hidden
        d_gates = rows.new_empty(len(rows), 8 * size)
        ctx.run.backward(gradient, d_gates, *kept)
        d_inputs, d_bias = _outer(d_gates, rows).chunk(2), d_gates.sum(0).chunk(2)
        sides = zip(d_gates.chunk(2, dim=1), earlier.chunk(2, dim=1), strict=True)
        d_recurrent = [_outer(d_side, before) for d_side, before in sides]
        d_weights = [d for side in (0, 1) for d in (d_inputs[side], d_recurrent[side], d_bias[side], d_bias[side])]
        return None, d_gates @ inputs, *d_weights


class SpanStates(Function):
    """(2, N, 4 * hidden) inputs of the gates, (2, hidden, 4 * hidden), and twice (2, B * n): the chains that begin at
    each place, and how many steps they take -> (2, rows, hidden)."""

    @staticmethod
    @custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx: Any, chains: LstmChains, gates: Tensor, recurrent: Tensor, rank: Tensor, room: Tensor) -> Tensor:
        hidden, keep = gates.shape[2] // 4, any(ctx.needs_input_grad)
        states = gates.new_empty(2, chains.rows, hidden)
        run = _Run(chains, hidden, recurrent.half())
        kept = run.forward(gates.contiguous(), states, keep=keep)
        if keep:
            ctx.save_for_backward(rank, room, *kept)
            ctx.run, ctx.shape = run, gates.shape
        return states

    @staticmethod
    @once_differentiable
    @custom_bwd(device_type="cuda")
    def backward(ctx: Any, gradient: Tensor):
        rank, room, earlier, *kept = ctx.saved_tensors
        (_, words, size), chains = ctx.shape, ctx.run.chains
        d_gates = gradient.new_empty(2, chains.rows, size)
        ctx.run.backward(gradient, d_gates, *kept)
        d_words = gradient.new_empty(ctx.shape)
        places = rank.shape[1]
        _WORD_SUMS[(places, 2)](
            d_gates, chains.first, rank, room, chains.table, d_words,
            places, words, chains.rows, size=size, block=triton.next_power_of_2(size),
        )  # fmt: skip
        d_recurrent = torch.stack([_outer(*sides) for sides in zip(earlier, d_gates, strict=True)])
        return None, d_words, d_recurrent, None, None


class _Run:
    """One run of chains through an LSTM and back; the recurrent matrix is (2, 4 * hidden, hidden) for words, the other
    way for spans."""

    def __init__(self, chains: LstmChains, hidden: int, recurrent: Tensor):
        self.chains, self.hidden, self.recurrent = chains, hidden, recurrent

    def forward(self, gates: Tensor, states: Tensor, *, keep: bool) -> tuple[Tensor, ...]:
        """Fill in the states; return the previous states, the cells, and the activated gates."""
        rows = self.chains.rows
        cells = gates.new_empty(2, rows, self.hidden)
        earlier = torch.empty_like(states) if keep else states
        kept = gates.new_empty(2, rows, 4 * self.hidden) if keep else cells
        self._launch(_FORWARD, gates, (states, earlier, cells, kept), gates.shape[-2], keep=keep)
        return earlier, cells, kept

    def backward(self, d_states: Tensor, d_gates: Tensor, cells: Tensor, kept: Tensor) -> None:
        """Fill in the gradients of the gates."""
        carried = d_gates.new_empty(2, len(self.chains.steps), self.hidden)
        self._launch(_BACKWARD, d_states.float().contiguous(), (cells, kept, d_gates, carried))

    def _launch(self, kernel: Any, given: Tensor, tensors: tuple[Tensor, ...], *sizes: int, **constants: bool) -> None:
        chains, padded = self.chains, max(triton.next_power_of_2(self.hidden), 16)
        count = len(chains.steps)
        kernel[(triton.cdiv(count, CHAINS), 2)](
            given, self.recurrent, chains.steps if chains.begin is None else chains.begin, chains.table, chains.first,
            chains.steps, *tensors, count, *sizes, chains.rows,
            hidden=self.hidden, padded=padded, at_once=CHAINS, tile=min(padded, max(TILE // padded, 16)),
            over_words=chains.begin is None, **constants, num_warps=8 if padded <= 128 else 4, num_stages=2,
        )  # fmt: skip


def _outer(left: Tensor, right: Tensor) -> Tensor:
    """(R, p), (R, q) -> (p, q): the sum of the rows' outer products, in portions, since the few tiles of one product
    leave most of a GPU idle."""
    portions = len(left) // PORTION
    if portions < 2:
        return left.T @ right
    whole = portions * PORTION
    halves = [tensor[:whole].unflatten(0, (portions, PORTION)) for tensor in (left, right)]
    total = torch.bmm(halves[0].transpose(1, 2), halves[1]).sum(0)
    return total if whole == len(left) else total.addmm_(left[whole:].T, right[whole:])
