"""LSTMs over many chains of different lengths, in C, with gradients: for training on the CPU.

A chain reads one row of inputs per step, and its state is stored at every step. The functions are those of training.h.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple
from weakref import WeakKeyDictionary, ref

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.functional import pad

from hyperspan.kernels.choice import encoder_library
from hyperspan.kernels.libraries import EncoderLibrary
from hyperspan.kernels.threads import thread_count, torch_openmp


class _LstmStruct(ctypes.Structure):
    """The struct Chains of training.h."""

    _fields_ = (
        *((name, ctypes.c_int64) for name in ("tasks", "steps", "units", "rows", "words")),
        *(
            (name, ctypes.c_void_p)
            for name in (
                *("direction", "first", "counts", "row", "read", "gates", "recurrent", "states", "cells", "activated"),
                *("transposed", "d_states", "d_gates", "d_recurrent"),
            )
        ),
        ("openmp", ctypes.c_void_p),
    )


class Steps(NamedTuple):
    """The steps of all chains of both directions, first steps first, and among those of one step the longest chains
    first."""

    counts: Sequence[int]
    """The number of chains of a direction that take a first, second, … step."""
    row: np.ndarray
    """(2, rows): the row of the state after each step."""
    read: np.ndarray
    """(2, rows): which row of inputs it reads."""
    sentence: np.ndarray
    """(2, rows): the sentence of each step; different sentences never read the same row."""


def run(module: nn.Module, rows: Tensor, inputs: Tensor, bias: Tensor, recurrent: Tensor, steps: Steps) -> Tensor:
    """The states (2, rows, hidden) of both directions, from inputs (N, d) and the module's weights (2, d, 4 * hidden),
    (2, 1, 4 * hidden) and (2, hidden, 4 * hidden); the gates are in, forget, new, out."""
    hidden, library = recurrent.shape[1], encoder_library()
    bias, inputs = (_in_panels(weight, library.lanes) for weight in (bias, inputs))
    gates = torch.baddbmm(bias, rows.expand(2, -1, -1), inputs)  # (2, N, 4 * units)
    deep = _in_panels(pad(recurrent, (0, 0, 0, gates.shape[2] // 4 - hidden)), library.lanes)
    return _States.apply(gates, deep, _Tasks(steps), library, ref(module))[:, :, :hidden]


def _in_panels(weight: Tensor, lanes: int) -> Tensor:
    """(2, depth, 4 * hidden) -> (2, depth, 4 * units): for each group of units their four gates; units are padded with
    0."""
    gates = weight.unflatten(2, (4, -1))
    gates = pad(gates, (0, -gates.shape[3] % lanes)).unflatten(3, (-1, lanes))  # (2, depth, 4, panels, lanes)
    return gates.transpose(2, 3).flatten(2)


class _Tasks:
    """The steps in the kernels' format, divided among threads."""

    def __init__(self, steps: Steps):
        parts = -(-torch.get_num_threads() // 2)  # also with fewer CPUs, so that sums are the same on all machines
        self.rows = steps.row.shape[1]
        self.direction = np.repeat(np.arange(2), parts)
        counts, rows, reads = [], [], []
        every = np.array(steps.counts, dtype=np.int64)
        begin = every.cumsum() - every
        for direction in (0, 1):
            for part in range(parts):
                mine = steps.sentence[direction] % parts == part
                counts.append(np.add.reduceat(mine, begin, dtype=np.int64))
                rows.append(steps.row[direction][mine])
                reads.append(steps.read[direction][mine])
        self.counts = np.stack(counts)  # (tasks, steps)
        self.first = np.concatenate([[0], self.counts.sum(1).cumsum()])
        self.row, self.read = np.concatenate(rows).astype(np.int32), np.concatenate(reads).astype(np.int32)

    def call(self, function: Any, words: int, units: int, tensors: Sequence[Tensor | None]) -> None:
        """Run one of the kernels on the tensors of the struct."""
        arrays = (self.direction, self.first, self.counts, self.row, self.read)
        chains = _LstmStruct(
            *(*self.counts.shape, units, self.rows, words),
            *(array.ctypes.data for array in arrays),
            *(None if tensor is None else tensor.data_ptr() for tensor in tensors),
            openmp=torch_openmp(),
        )
        if function(ctypes.byref(chains), ctypes.c_int64(thread_count())):
            raise MemoryError("no memory to read a batch; train on fewer sentences at once (training.batch_size)")


class _Workspace:
    """Memory for what a training step stores until its backward pass; the module's next step reuses it.

    The system zeroes fresh memory page by page, which takes half as long as the matrix products stored in it.
    """

    pool: ClassVar[WeakKeyDictionary[nn.Module, Tensor]] = WeakKeyDictionary()

    def __init__(self, module: ref[nn.Module], size: int):
        self.module, owner = module, module()
        found = None if owner is None else self.pool.pop(owner, None)
        if found is not None and len(found) < size:
            found = None  # freed before a larger one is allocated
        self.memory = torch.empty(size, dtype=torch.float32, device="cpu") if found is None else found

    def __del__(self) -> None:
        owner = self.module()
        if owner is not None and hasattr(self, "memory"):
            self.pool[owner] = self.memory


class _States(Function):
    """(2, N, 4 * units) gates and (2, units, 4 * units) weights, both in panels -> (2, rows, units)."""

    @staticmethod
    def forward(
        ctx: Any, gates: Tensor, recurrent: Tensor, tasks: _Tasks, library: EncoderLibrary, module: ref[nn.Module]
    ) -> Tensor:
        _, words, columns = gates.shape
        units = columns // 4
        states = gates.new_empty(2, tasks.rows, units)
        keep = any(ctx.needs_input_grad)
        workspace = _Workspace(module, (5 if keep else 1) * states.numel())
        panels = recurrent.unflatten(2, (units // library.lanes, -1)).transpose(1, 2).contiguous()
        tasks.call(library.read, words, units, (gates, panels, states, *_cells_and_gates(workspace, states, keep)))
        if keep:
            ctx.save_for_backward(recurrent, states)
            ctx.tasks, ctx.words, ctx.library, ctx.workspace = tasks, words, library, workspace
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_states: Tensor):
        recurrent, states = ctx.saved_tensors
        tasks, words, library = ctx.tasks, ctx.words, ctx.library
        units, panel = states.shape[2], 4 * library.lanes
        wide = pad(recurrent, (0, 0, 0, -units % panel)).unflatten(1, (-1, panel))  # (2, wide, panel, 4 * units)
        d_gates = d_states.new_zeros(2, words, 4 * units)
        d_panels = d_states.new_zeros(len(tasks.counts), units // library.lanes, units, panel)
        transposed, d_states = wide.transpose(2, 3).contiguous(), d_states.contiguous()
        kept = (states, *_cells_and_gates(ctx.workspace, states, keep=True))
        tasks.call(library.read_backward, words, units, (None, None, *kept, transposed, d_states, d_gates, d_panels))
        d_recurrent = d_panels.unflatten(0, (2, -1)).sum(1).transpose(1, 2).flatten(2)
        return d_gates, d_recurrent, None, None, None


def _cells_and_gates(workspace: _Workspace, states: Tensor, keep: bool) -> tuple[Tensor, Tensor | None]:
    """The cells, as many as states, followed by the activated gates if they are stored."""
    return workspace.memory, workspace.memory[states.numel() :] if keep else None
