"""The rows of the spans of a batch, computed on an NVIDIA GPU in one launch: see
:class:`hyperspan.kernels.lstm.SpanLayout`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
import triton  # pyright: ignore[reportMissingImports]: comes with PyTorch for CUDA
import triton.language as tl  # pyright: ignore[reportMissingImports]
from torch import Tensor

from hyperspan.kernels.lstm import PaddedIndex, SpanLayout, sorted_places
from hyperspan.kernels.transfer import to_device
from hyperspan.kernels.triton_lstm import LstmChains

ENTRIES = 512
"""The number of entries of a padded tensor per program."""
# Compile the kernel once per model, without specialising on divisibility by 16 or on alignment.
VARYING = ("entries", "widths", "chains", "rows")
INDICES = (
    *("first", "rank", "room", "width_rows", "width_entries", "step_rows", "step_entries", "previous"),
    *("chain", "start", "width"),
)


@triton.jit(do_not_specialize=VARYING, do_not_specialize_on_alignment=INDICES)
def _layout_kernel(
    first, rank, room, width_rows, width_entries, step_rows, step_entries, previous, chain, start, width,
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
    tl.store(width_rows + entry, tl.where(inside, row, rows), mask=there)
    tl.store(width_entries + row, entry, mask=inside)
    tl.store(chain + row, own, mask=inside)
    tl.store(start + row, place, mask=inside)
    tl.store(width + row, wide, mask=inside)
    more = there & (wide + 1 < free)  # a wider span begins here
    after = tl.load(first + wide + 1, mask=more, other=0) + own - chains
    edge = place * (widths - 1) + wide
    tl.store(step_rows + edge, tl.where(more, after, rows - chains), mask=there & (wide + 1 < widths))
    tl.store(step_entries + after, edge, mask=more)
    tl.store(previous + after, row, mask=more)


_LAYOUT: Any = _layout_kernel


class DeviceSpans(SpanLayout):
    """The same rows, from one number for each start and end instead of many for each row."""

    on_device = True

    def __init__(self, lengths: Sequence[int], longest: int, max_width: int, device: torch.device):
        starts, ends, counts = sorted_places(lengths, longest, max_width)
        self.longest, self.counts = longest, counts.tolist()
        chains = self.longer.start
        block, steps = counts.cumsum() - counts, -np.sort(-starts.room)
        sides = [np.stack(pair) for pair in zip(starts, ends, strict=True)]
        with torch.inference_mode(False):
            self.first, self._chain_steps, self.room, order, self.rank = to_device(
                [block, steps[:chains], *sides], device
            )
            """The first row of each width; the number of steps of each chain; and (2, B * n) of starts and ends: how
            many widths fit, and the chain."""
            self.begin = order[:, :chains].contiguous()
            """(2, chains): the start or end of each chain, as sentence * n + position."""
            rows, edges = int(counts.sum()), int(counts[1:].sum())
            shape = (len(lengths), longest)
            entries, all_edges = len(starts.room) * max_width, len(starts.room) * (max_width - 1)
            sizes = [entries, rows, all_edges, edges, edges, rows, rows, rows]
            parts = torch.empty(sum(sizes), dtype=torch.int64, device=device).split(sizes)
            width_rows, width_entries, step_rows, step_entries, self._previous = parts[:5]
            self._chain, self.start, self.width = parts[5:]
            if entries:
                _LAYOUT[(triton.cdiv(entries, ENTRIES),)](
                    self.first, self.rank[0], self.room[0], *parts, entries, max_width, chains, rows, at_once=ENTRIES
                )
            self._widths = PaddedIndex((*shape, max_width), width_entries, width_rows)
            self._steps = PaddedIndex((*shape, max_width - 1), step_entries, step_rows)

    def over(self, table: Tensor) -> LstmChains:
        """The chains, reading the words in this table: the row of each sentence * n + position."""
        return LstmChains(self._chain_steps, self.first, self.begin, table, len(self.start))

    @cached_property
    def end(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """(rows,): sentence * n + last word."""
        with torch.inference_mode(False):
            return self.start + self.width

    @cached_property
    def backward_row(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """(rows,): the backward LSTM's row for each row's span."""
        with torch.inference_mode(False):
            return self.first.index_select(0, self.width) + self.rank[1].index_select(0, self.end)

    @cached_property
    def read(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """(2, rows): the word that each step reads, forward and backward."""
        with torch.inference_mode(False):
            return torch.stack([self.end, self.begin[1].index_select(0, self._chain) - self.width])
