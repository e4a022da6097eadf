"""The chains of :mod:`hyperspan.kernels.chain_reference` for NVIDIA GPUs: their layout and their log-partitions, in one
launch each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
import triton  # pyright: ignore[reportMissingImports]: comes with PyTorch for CUDA
import triton.language as tl  # pyright: ignore[reportMissingImports]
from torch import Tensor

from hyperspan.kernels.chain_layout import ChainLayout, Index, sorted_chains
from hyperspan.kernels.transfer import to_device

ENTRIES = 512
"""The number of entries of a padded tensor per program of the layout."""
LARGEST = 8192
"""The largest widths × types, rounded up to powers of 2, that a program holds in registers."""
# Compile kernels once per model, without specialising on divisibility by 16 or on alignment.
VARYING = ("entries", "widths", "chains", "rows", "n", "types")
INDICES = (
    *("first", "rank", "room", "width_back", "width_kept", "extend_back", "extend_kept", "going_on"),
    *("chain", "start", "width"),
)
SCORES = (
    *("absent", "present", "extend", "close", "lengths", "partition", "gradient"),
    *("d_absent", "d_present", "d_extend", "d_close"),
)


@triton.jit(do_not_specialize=VARYING, do_not_specialize_on_alignment=INDICES)
def _layout_kernel(
    first, rank, room, width_back, width_kept, extend_back, extend_kept, going_on, chain, start, width,
    entries, widths, chains, rows,
    at_once: tl.constexpr,
):  # fmt: skip
    entry = tl.program_id(0) * at_once + tl.arange(0, at_once)
    there = entry < entries
    place, wide = entry // widths, entry % widths
    own = tl.load(rank + place, mask=there, other=0)
    free = tl.load(room + place, mask=there, other=0)
    inside = there & (wide < free)
    row = tl.load(first + wide, mask=inside, other=0) + own
    tl.store(width_back + entry, tl.where(inside, row, rows), mask=there)
    tl.store(width_kept + row, entry, mask=inside)
    tl.store(chain + row, own, mask=inside)
    tl.store(start + row, place, mask=inside)
    tl.store(width + row, wide, mask=inside)
    more = there & (wide + 1 < free)  # the chain continues to the next row
    after = tl.load(first + wide + 1, mask=more, other=0) + own - chains
    edge = place * (widths - 1) + wide
    tl.store(extend_back + edge, tl.where(more, after, rows - chains), mask=there & (wide + 1 < widths))
    tl.store(extend_kept + after, edge, mask=more)
    tl.store(going_on + after, row, mask=more)


@triton.jit
def _chain_scores(extend, close, place, free, widths, types, tall: tl.constexpr, broad: tl.constexpr):
    """(tall, broad): the log-weight of each longest mention of a chain, the mask of valid entries, and the `close`
    scores."""
    wide, kind = tl.arange(0, tall)[:, None], tl.arange(0, broad)[None, :]
    inside = (wide < free) & (kind < types)
    own = (place * widths + wide) * types + kind
    stop = tl.load(close + own, mask=inside, other=0.0)
    later = inside & (wide > 0)
    came = tl.load(extend + own - place * types - types, mask=later, other=0.0)
    before = tl.load(close + own - types, mask=later, other=0.0)
    softplus = tl.maximum(before, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(before)))
    go = tl.cumsum(tl.where(later, came + softplus, 0.0), 0)
    return tl.where(inside, stop + go, float("-inf")), inside, stop


@triton.jit(do_not_specialize=VARYING, do_not_specialize_on_alignment=SCORES)
def _partition_kernel(
    absent, present, extend, close, lengths, partition,
    n, widths, types,
    tall: tl.constexpr, broad: tl.constexpr,
):  # fmt: skip
    place = tl.program_id(0).to(tl.int64)
    free = tl.minimum(tl.load(lengths + place // n) - place % n, widths)
    longest, _, _ = _chain_scores(extend, close, place, free, widths, types, tall, broad)
    kind = tl.arange(0, broad)
    known = (kind < types) & (free > 0)
    missing = tl.load(absent + place * types + kind, mask=known, other=0.0)
    longest += tl.load(present + place * types + kind, mask=known, other=0.0)[None, :]
    pivot = tl.maximum(missing, tl.max(longest, 0))
    pivot = tl.where(pivot == float("-inf"), 0.0, pivot)
    total = tl.exp(missing - pivot) + tl.sum(tl.exp(longest - pivot[None, :]), 0)
    tl.store(partition + place * types + kind, tl.where(free > 0, pivot + tl.log(total), 0.0), mask=kind < types)


@triton.jit(do_not_specialize=VARYING, do_not_specialize_on_alignment=SCORES)
def _posterior_kernel(
    absent, present, extend, close, lengths, partition, gradient, d_absent, d_present, d_extend, d_close,
    n, widths, types,
    tall: tl.constexpr, broad: tl.constexpr,
):  # fmt: skip
    place = tl.program_id(0).to(tl.int64)
    free = tl.minimum(tl.load(lengths + place // n) - place % n, widths)
    longest, inside, stop = _chain_scores(extend, close, place, free, widths, types, tall, broad)
    kind = tl.arange(0, broad)
    known = (kind < types) & (free > 0)
    own = place * types + kind
    longest += tl.load(present + own, mask=known, other=0.0)[None, :]
    share = tl.load(gradient + own, mask=known, other=0.0)
    total = tl.load(partition + own, mask=known, other=0.0)
    total = tl.where(total == float("-inf"), float("inf"), total)  # nothing is possible: no posteriors
    stopped = tl.where(inside, tl.exp(longest - total[None, :]) * share[None, :], 0.0)
    reached = tl.cumsum(stopped, 0, reverse=True)  # stopped here or later
    missing = tl.exp(tl.load(absent + own, mask=known, other=0.0) - total) * share
    tl.store(d_absent + own, tl.where(free > 0, missing, 0.0), mask=kind < types)
    tl.store(d_present + own, tl.sum(stopped, 0), mask=kind < types)
    wide = tl.arange(0, tall)[:, None]
    entry = (place * widths + wide) * types + kind[None, :]
    there = (wide < widths) & (kind < types)[None, :]
    noted = (reached - stopped) / (1.0 + tl.exp(-stop))  # continued, and a mention ends here
    tl.store(d_close + entry, tl.where(inside, stopped + noted, 0.0), mask=there)
    tl.store(d_extend + entry - (place + 1) * types, reached, mask=there & (wide > 0))


_LAYOUT: Any = _layout_kernel
_PARTITION: Any = _partition_kernel
_POSTERIORS: Any = _posterior_kernel


class DeviceLayout(ChainLayout):
    """The same layout, computed on the device from one array per chain instead of many per row."""

    def __init__(self, lengths: Sequence[int], n: int, max_width: int, device: torch.device):
        room, order, counts = sorted_chains(lengths, n, max_width)
        self.counts = counts.tolist()
        self.chains = self.counts[0] if self.counts else 0
        self.longer = slice(self.chains, None)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        arrays = (counts.cumsum() - counts, order[: self.chains], np.minimum(rank, self.chains), room, -np.sort(-room))
        self.first, self.place, self.rank, self.room, self.steps = to_device(arrays, device)
        """The first row of each width; the positions of chains and the inverse; the number of widths that fit at each
        position and chain."""
        entries, rows, steps = len(room) * max_width, int(counts.sum()), int(counts[1:].sum())
        edges = len(room) * (max_width - 1)
        made = torch.empty(entries + edges + 4 * rows + 2 * steps, dtype=torch.int64, device=device)
        parts = made.split([entries, rows, edges, steps, steps, rows, rows, rows])
        width_back, width_kept, extend_back, extend_kept, self.going_on, self.chain, self.start, self.width = parts
        """The last two are (rows,): sentence * n + start, and the width minus 1."""
        if entries:
            _LAYOUT[(triton.cdiv(entries, ENTRIES),)](
                self.first, self.rank, self.room, *parts, entries, max_width, self.chains, rows, at_once=ENTRIES
            )
        shape = (len(lengths), n)
        self._chain_index = Index(shape, self.place, self.rank)
        self._width_index = Index((*shape, max_width), width_kept, width_back)
        self._extend_index = Index((*shape, max_width - 1), extend_kept, extend_back)

    @cached_property
    def starts(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.start.cpu().numpy()

    @cached_property
    def widths(self) -> np.ndarray:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.width.cpu().numpy()


def fits(close: Tensor) -> bool:
    """Whether a program can hold a chain of each type."""
    return triton.next_power_of_2(close.shape[2]) * triton.next_power_of_2(close.shape[3]) <= LARGEST


def log_partition(absent: Tensor, present: Tensor, extend: Tensor, close: Tensor, lengths: Tensor) -> Tensor:
    """(B, n, m): the log-partition of each chain, 0 in padding; for tied scores. No gradient."""
    partition = torch.empty_like(absent, memory_format=torch.contiguous_format)
    _launch(_PARTITION, absent, present, extend, close, lengths, partition)
    return partition


def posteriors(
    absent: Tensor, present: Tensor, extend: Tensor, close: Tensor, lengths: Tensor, partition: Tensor, gradient: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of the scores, from those of the log-partitions (B, n, m)."""
    scores = (absent, present, extend, close)
    found = tuple(torch.empty_like(tensor, memory_format=torch.contiguous_format) for tensor in scores)
    _launch(_POSTERIORS, *scores, lengths, partition, gradient, *found)
    return found  # pyright: ignore[reportReturnType]: one for each of the scores


def _launch(kernel: Any, *tensors: Tensor) -> None:
    """A program for each start of a batch; the fourth tensor is (B, n, c, m)."""
    batch, n, widths, types = tensors[3].shape
    if batch * n:
        tall, broad = triton.next_power_of_2(widths), triton.next_power_of_2(types)
        warps = 4 if tall * broad > 256 else 1
        kernel[(batch * n,)](
            *(tensor.contiguous() for tensor in tensors), n, widths, types, tall=tall, broad=broad, num_warps=warps
        )
