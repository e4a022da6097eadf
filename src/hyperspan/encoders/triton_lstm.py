"""LSTMs over many chains of different lengths in one launch: for NVIDIA GPUs, where a launch costs more than a step.

A chain reads one row of inputs a step, and its state is kept at every step. Rows stand as in
:mod:`hyperspan.structures.chains`: a block for each step, and in it the longest chains first. A program takes a few chains of one
direction through all their steps; the recurrent matrix stays in the cache of the GPU.
"""

from __future__ import annotations

from typing import Any

import torch
import triton  # pyright: ignore[reportMissingImports]: comes with PyTorch for CUDA
import triton.language as tl  # pyright: ignore[reportMissingImports]
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

CHAINS, WIDTH, DEPTH = 16, 32, 32
"""Chains of a program, and the tile of the recurrent matrix that it multiplies at once."""


@triton.jit
def _sigmoid(x):
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def _tanh(x):
    return 2.0 / (1.0 + tl.exp(-2.0 * x)) - 1.0


@triton.jit
def _forward_kernel(
    gates, recurrent, read, first, counts, steps, states, cells, kept,
    words, rows,
    hidden: tl.constexpr, at_once: tl.constexpr, tile_width: tl.constexpr, tile_depth: tl.constexpr, keep: tl.constexpr,
):  # fmt: skip
    block, direction = tl.program_id(0), tl.program_id(1)
    chains = block * at_once + tl.arange(0, at_once)
    gates += direction * words * 4 * hidden
    recurrent += direction * hidden * 4 * hidden
    read += direction * rows
    states += direction * rows * hidden
    cells += direction * rows * hidden
    kept += direction * rows * 4 * hidden
    before = tl.load(first)  # the first row of the step before
    for step in range(tl.load(steps + block)):
        base = tl.load(first + step)
        live = chains < tl.load(counts + step)
        row = (base + chains).to(tl.int64)
        previous = (before + chains).to(tl.int64)
        word = tl.load(read + row, mask=live, other=0)
        for start in range(0, hidden, tile_width):
            columns = start + tl.arange(0, tile_width)
            here = live[:, None] & (columns < hidden)[None, :]
            source = gates + word[:, None] * (4 * hidden) + columns[None, :]
            into = tl.load(source, mask=here, other=0.0)
            forget = tl.load(source + hidden, mask=here, other=0.0)
            new = tl.load(source + 2 * hidden, mask=here, other=0.0)
            out = tl.load(source + 3 * hidden, mask=here, other=0.0)
            after = tl.zeros((at_once, tile_width), dtype=tl.float32)
            if step > 0:
                for deep in range(0, hidden, tile_depth):
                    inner = deep + tl.arange(0, tile_depth)
                    known = live[:, None] & (inner < hidden)[None, :]
                    state = tl.load(states + previous[:, None] * hidden + inner[None, :], mask=known, other=0.0)
                    tile = recurrent + inner[:, None] * (4 * hidden) + columns[None, :]
                    inside = (inner < hidden)[:, None] & (columns < hidden)[None, :]
                    into += tl.dot(state, tl.load(tile, mask=inside, other=0.0))
                    forget += tl.dot(state, tl.load(tile + hidden, mask=inside, other=0.0))
                    new += tl.dot(state, tl.load(tile + 2 * hidden, mask=inside, other=0.0))
                    out += tl.dot(state, tl.load(tile + 3 * hidden, mask=inside, other=0.0))
                after = tl.load(cells + previous[:, None] * hidden + columns[None, :], mask=here, other=0.0)
            into, forget, new, out = _sigmoid(into), _sigmoid(forget), _tanh(new), _sigmoid(out)
            after = forget * after + into * new
            target = row[:, None] * hidden + columns[None, :]
            tl.store(states + target, out * _tanh(after), mask=here)
            tl.store(cells + target, after, mask=here)
            if keep:
                target = kept + row[:, None] * (4 * hidden) + columns[None, :]
                tl.store(target, into, mask=here)
                tl.store(target + hidden, forget, mask=here)
                tl.store(target + 2 * hidden, new, mask=here)
                tl.store(target + 3 * hidden, out, mask=here)
        before = base
        tl.debug_barrier()  # the next step reads the states of all columns


@triton.jit
def _backward_kernel(
    d_states, recurrent, first, counts, steps, cells, kept, d_gates, d_state, d_cell,
    rows, total,
    hidden: tl.constexpr, at_once: tl.constexpr, tile_width: tl.constexpr, tile_depth: tl.constexpr,
):  # fmt: skip
    block, direction = tl.program_id(0), tl.program_id(1)
    chains = block * at_once + tl.arange(0, at_once)
    recurrent += direction * hidden * 4 * hidden
    d_states += direction * rows * hidden
    cells += direction * rows * hidden
    kept += direction * rows * 4 * hidden
    d_gates += direction * rows * 4 * hidden
    d_state += direction * total * hidden  # what the step after sends back, by chain
    d_cell += direction * total * hidden
    last = tl.load(steps + block)
    for back in range(last):
        step = last - 1 - back
        live = chains < tl.load(counts + step)
        row = (tl.load(first + step) + chains).to(tl.int64)
        previous = (tl.load(first + tl.maximum(step - 1, 0)) + chains).to(tl.int64)
        for start in range(0, hidden, tile_width):
            columns = start + tl.arange(0, tile_width)
            here = live[:, None] & (columns < hidden)[None, :]
            chain = chains[:, None] * hidden + columns[None, :]
            source = kept + row[:, None] * (4 * hidden) + columns[None, :]
            into = tl.load(source, mask=here, other=0.0)
            forget = tl.load(source + hidden, mask=here, other=0.0)
            new = tl.load(source + 2 * hidden, mask=here, other=0.0)
            out = tl.load(source + 3 * hidden, mask=here, other=0.0)
            squashed = _tanh(tl.load(cells + row[:, None] * hidden + columns[None, :], mask=here, other=0.0))
            older = tl.zeros((at_once, tile_width), dtype=tl.float32)
            if step > 0:
                older = tl.load(cells + previous[:, None] * hidden + columns[None, :], mask=here, other=0.0)
            arriving = tl.load(d_states + row[:, None] * hidden + columns[None, :], mask=here, other=0.0)
            arriving += tl.load(d_state + chain, mask=here, other=0.0)
            change = arriving * out * (1.0 - squashed * squashed) + tl.load(d_cell + chain, mask=here, other=0.0)
            target = d_gates + row[:, None] * (4 * hidden) + columns[None, :]
            tl.store(target, change * new * into * (1.0 - into), mask=here)
            tl.store(target + hidden, change * older * forget * (1.0 - forget), mask=here)
            tl.store(target + 2 * hidden, change * into * (1.0 - new * new), mask=here)
            tl.store(target + 3 * hidden, arriving * squashed * out * (1.0 - out), mask=here)
            tl.store(d_cell + chain, change * forget, mask=here)
        tl.debug_barrier()  # the product needs the gradients of all gates
        if step > 0:
            for start in range(0, hidden, tile_width):
                columns = start + tl.arange(0, tile_width)
                here = live[:, None] & (columns < hidden)[None, :]
                sent = tl.zeros((at_once, tile_width), dtype=tl.float32)
                for deep in range(0, 4 * hidden, tile_depth):
                    inner = deep + tl.arange(0, tile_depth)
                    known = live[:, None] & (inner < 4 * hidden)[None, :]
                    gate = tl.load(d_gates + row[:, None] * (4 * hidden) + inner[None, :], mask=known, other=0.0)
                    inside = (inner < 4 * hidden)[:, None] & (columns < hidden)[None, :]
                    tile = tl.load(recurrent + columns[None, :] * (4 * hidden) + inner[:, None], mask=inside, other=0.0)
                    sent += tl.dot(gate, tile)
                tl.store(d_state + chains[:, None] * hidden + columns[None, :], sent, mask=here)
            tl.debug_barrier()


_FORWARD: Any = _forward_kernel
_BACKWARD: Any = _backward_kernel


class ChainLSTM(Function):
    """(D, N, 4 * hidden) inputs of the gates, (D, hidden, 4 * hidden), (D, rows) the input that each row reads, and the
    number of chains that have each step -> (D, rows, hidden)."""

    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, recurrent: Tensor, read: Tensor, counts: list[int], going_on: Tensor
    ) -> Tensor:
        directions, words, size = gates.shape
        hidden, rows = size // 4, read.shape[1]
        gates, recurrent, read = gates.float().contiguous(), recurrent.float().contiguous(), read.contiguous()
        plan = _plan(counts, gates.device)
        keep = any(ctx.needs_input_grad[:2])
        states = gates.new_empty(directions, rows, hidden)
        cells = torch.empty_like(states)
        kept = gates.new_empty(directions, rows, size) if keep else states
        if rows:
            _FORWARD[(len(plan[2]), directions)](
                gates, recurrent, read, *plan, states, cells, kept, words, rows,
                hidden=hidden, at_once=CHAINS, tile_width=WIDTH, tile_depth=DEPTH, keep=keep,
            )  # fmt: skip
        if keep:
            ctx.save_for_backward(recurrent, read, states, cells, kept, going_on, *plan)
            ctx.shape, ctx.counts = gates.shape, counts
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor):
        recurrent, read, states, cells, kept, going_on, *plan = ctx.saved_tensors
        directions, words, size = ctx.shape
        chains = ctx.counts[0] if ctx.counts else 0
        d_gates = torch.empty_like(kept)
        carried = gradient.new_zeros(2, directions, chains, size // 4)
        if len(going_on) or chains:
            _BACKWARD[(len(plan[2]), directions)](
                gradient.float().contiguous(), recurrent, *plan, cells, kept, d_gates, carried[0], carried[1],
                read.shape[1], chains, hidden=size // 4, at_once=CHAINS, tile_width=WIDTH, tile_depth=DEPTH,
            )  # fmt: skip
        d_recurrent = torch.bmm(states[:, going_on].transpose(1, 2), d_gates[:, chains:])
        d_inputs = gradient.new_zeros(directions * words, size)
        offsets = torch.arange(directions, device=read.device)[:, None] * words
        d_inputs.index_add_(0, (read + offsets).flatten(), d_gates.view(-1, size))
        return d_inputs.view(ctx.shape), d_recurrent, None, None, None


def _plan(counts: list[int], device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """The first row and the number of chains of each step, and the number of steps of each block of chains."""
    sizes = torch.tensor(counts, dtype=torch.int32)
    first = sizes.cumsum(0, dtype=torch.int32) - sizes
    starts = torch.arange(0, counts[0] if counts else 0, CHAINS, dtype=torch.int32)
    steps = (sizes[None, :] > starts[:, None]).sum(1, dtype=torch.int32)
    return first.to(device), sizes.to(device), steps.to(device)
