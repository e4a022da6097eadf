"""The packed order of the chains of a batch, without padding.

Chains (see :mod:`hyperspan.kernels.chain_reference`) are sorted by the number of widths they have room for, widest
first, and rows are width-major. The rows of one width are then a block, its chains are the first rows of the block
before it, and no row is padding.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function


class ChainLayout:
    """The position of each (sentence, start, width) of a batch in the packed order.

    `counts[w]` is the number of chains with room for width w; a packed tensor has ``sum(counts)`` rows, one block of
    `counts[w]` rows for each w, and m columns.
    """

    def __init__(self, lengths: Sequence[int], n: int, max_width: int, device: torch.device):
        _, order, counts = sorted_chains(lengths, n, max_width)
        self.counts: list[int] = counts.tolist()
        self.chains = self.counts[0] if self.counts else 0
        self.longer = slice(self.chains, None)
        """The rows of width 1 and more."""

        rows = np.arange(counts.sum())
        width = np.repeat(np.arange(len(counts)), counts)
        chain = rows - np.repeat(counts.cumsum() - counts, counts)
        place = order[chain]
        row = width + place * max_width
        extend_row = (row - place - 1)[self.longer]
        self.widths, self.starts = width, place
        """(rows,) arrays: the width of each row minus 1, and sentence * n + start."""
        self.chain = _tensor(chain, device)
        """(rows,) the chain of each row; a chain's number is its place in block 0."""
        self.place = _tensor(order[: self.chains], device)
        """(chains,) sentence * n + start of each chain."""
        self._chain_index = _index(order[: self.chains], (len(lengths), n), device)
        self._width_index = _index(row, (len(lengths), n, max_width), device)
        self._extend_index = _index(extend_row, (len(lengths), n, max_width - 1), device)
        self.going_on = _tensor(rows[self.longer] - np.repeat(counts[:-1], counts[1:]), device)
        """(rows of width 1 and more,): the row that each of them continues."""

    def pack_chains(self, tensor: Tensor) -> Tensor:
        """(B, n, m) -> (chains, m)."""
        return _Pack.apply(tensor.flatten(0, 1), self._chain_index)

    def pack_widths(self, tensor: Tensor) -> Tensor:
        """(B, n, c, m) -> (rows, m)."""
        return _Pack.apply(tensor.flatten(0, 2), self._width_index)

    def pack_extensions(self, tensor: Tensor) -> Tensor:
        """(B, n, c - 1, m) -> (rows of width 1 and more, m): the edge that leads to each row."""
        return _Pack.apply(tensor.flatten(0, 2), self._extend_index)

    def unpack_chains(self, packed: Tensor) -> Tensor:
        """(chains, m) -> (B, n, m), 0 in padding."""
        return _Unpack.apply(packed, self._chain_index).unflatten(0, self._chain_index.shape)

    def unpack_widths(self, packed: Tensor) -> Tensor:
        """(rows, m) -> (B, n, c, m), 0 in padding."""
        return _Unpack.apply(packed, self._width_index).unflatten(0, self._width_index.shape)

    def unpack_extensions(self, packed: Tensor) -> Tensor:
        """(rows of width 1 and more, m) -> (B, n, c - 1, m), 0 in padding."""
        return _Unpack.apply(packed, self._extend_index).unflatten(0, self._extend_index.shape)

    def per_row(self, per_chain: Tensor) -> Tensor:
        """(chains, m) -> (rows, m): each chain's value on all of its rows."""
        return per_chain.index_select(0, self.chain)

    def shorter(self, rows: Tensor) -> Tensor:
        """(rows, m) -> (rows of width 1 and more, m): for each row, the value one width before it."""
        return rows.index_select(0, self.going_on)

    def add_to_shorter(self, rows: Tensor, steps: Tensor) -> Tensor:
        """(rows, m): the rows, with the value of each step added to the row that it leaves."""
        return _AddToShorter.apply(rows, steps, self)

    def running_sum(self, steps: Tensor) -> Tensor:
        """(rows of width 1 and more, m): the sum of a chain's steps up to each row."""
        return _ChainSums.apply(steps, self.counts[1:], False)

    def remaining_sum(self, rows: Tensor) -> Tensor:
        """(rows of width 1 and more, m): the sum over each row and the longer ones of its chain."""
        return _ChainSums.apply(rows, self.counts[1:], True)

    def reduce(self, rows: Tensor, how: Literal["add", "maximum"]) -> Tensor:
        """(rows, m) -> (chains, m): the sum or the maximum over the widths of each chain. No gradient."""
        result = rows.detach()[: self.chains].clone()
        for block in _blocks(rows, self.counts)[1:]:
            (head,) = _blocks(result, [len(block)])
            getattr(np if isinstance(head, np.ndarray) else torch, how)(head, block, out=head)
        return result


def sorted_chains(lengths: Sequence[int], n: int, max_width: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(B * n,): the number of widths that fit at each sentence * n + start, and those positions, widest first; and the
    number of chains with room for each width."""
    room = (np.array(lengths, dtype=np.int64)[:, None] - np.arange(n)).clip(0, max_width).ravel()
    longer_than = np.bincount(room, minlength=max_width + 1)[::-1].cumsum()[::-1][1:]
    return room, widest_first(room), longer_than[longer_than > 0]


def widest_first(room: np.ndarray) -> np.ndarray:
    """A stable sort of positions, most room first. 16-bit numbers sort fastest."""
    return np.argsort(-(room.astype(np.int16) if room.max(initial=0) < 2**15 else room), kind="stable")


class Index(NamedTuple):
    """The rows of a padded tensor to keep, in packed order, and the inverse; the row after the last represents
    padding."""

    shape: tuple[int, ...]
    kept: Tensor
    back: Tensor


def _index(kept: np.ndarray, shape: tuple[int, ...], device: torch.device) -> Index:
    back = np.full(math.prod(shape), len(kept))
    back[kept] = np.arange(len(kept))
    return Index(shape, _tensor(kept, device), _tensor(back, device))


def _tensor(array: np.ndarray, device: torch.device) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(device, non_blocking=True)


class _Pack(Function):
    @staticmethod
    def forward(ctx, padded: Tensor, index: Index) -> Tensor:
        ctx.index = index
        return padded.index_select(0, index.kept)

    @staticmethod
    def backward(ctx, gradient: Tensor):
        return _Unpack.apply(gradient, ctx.index), None


class _Unpack(Function):
    @staticmethod
    def forward(ctx, packed: Tensor, index: Index) -> Tensor:
        ctx.index = index
        return torch.cat([packed, packed.new_zeros(1, packed.shape[1])]).index_select(0, index.back)

    @staticmethod
    def backward(ctx, gradient: Tensor):
        return _Pack.apply(gradient, ctx.index), None


def _blocks(packed: Tensor, counts: list[int]) -> list[Any]:
    """Views of the rows of each width. On the CPU they are NumPy arrays, whose small operations take a third of torch's
    time."""
    array = packed.detach().numpy() if packed.device.type == "cpu" else packed.detach()
    return [array[end - count : end] for end, count in zip(itertools.accumulate(counts), counts, strict=True)]


class _ChainSums(Function):
    """Block w gets the sum of blocks 0..w over its chains; the backward pass, its transpose, sums blocks w and
    later."""

    @staticmethod
    def forward(ctx, rows: Tensor, counts: list[int], backwards: bool) -> Tensor:
        ctx.counts, ctx.backwards = counts, backwards
        result = rows.clone()
        blocks = _blocks(result, counts)
        for before, block in itertools.pairwise(blocks[::-1] if backwards else blocks):
            size = min(len(before), len(block))
            block[:size] += before[:size]
        return result

    @staticmethod
    def backward(ctx, gradient: Tensor):
        return _ChainSums.apply(gradient, ctx.counts, not ctx.backwards), None, None


class _AddToShorter(Function):
    @staticmethod
    def forward(ctx, rows: Tensor, steps: Tensor, layout: ChainLayout) -> Tensor:
        ctx.layout = layout
        result = rows.clone()
        for block, leaving in zip(_blocks(result, layout.counts), _blocks(steps, layout.counts[1:]), strict=False):
            block[: len(leaving)] += leaving
        return result

    @staticmethod
    def backward(ctx, gradient: Tensor):
        return gradient, ctx.layout.shorter(gradient), None
