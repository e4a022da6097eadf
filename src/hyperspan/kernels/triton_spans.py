"""The positions of the spans of a batch, computed on an NVIDIA GPU: see
:class:`hyperspan.kernels.span_layout.SpanLayout`."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from hyperspan.kernels.chain_layout import widest_first
from hyperspan.kernels.span_layout import SpanLayout
from hyperspan.kernels.transfer import to_device
from hyperspan.kernels.triton_chains import DeviceLayout
from hyperspan.kernels.triton_lstm import LstmChains


class DeviceSpans(SpanLayout):
    """The same positions, from arrays for starts and ends only."""

    on_device = True
    chains: DeviceLayout

    def __init__(self, chains: DeviceLayout, lengths: tuple[int, ...], longest: int, max_width: int):
        self.chains, self.counts, self.longest = chains, chains.counts, longest
        position = np.arange(longest)
        inside = position < np.array(lengths, dtype=np.int64)[:, None]
        room = np.where(inside, (position + 1).clip(max=max_width), 0).ravel()  # (B * n,): to the left of an end
        order = widest_first(room)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        with torch.inference_mode(False):
            ends, rank, room = to_device((order[: chains.chains], rank, room), chains.place.device)
            self.begin = torch.stack([chains.place, ends])
            """(2, chains): the start or end of each chain, as sentence * n + position."""
            self.rank = torch.stack([chains.rank, rank])
            """(2, B * n): the chain of each start and end."""
            self.room = torch.stack([chains.room, room])
            """(2, B * n): the number of steps of that chain."""
            self.start, self.width = chains.start, chains.width

    def over(self, table: Tensor) -> LstmChains:
        """The chains, reading the words in this table: the row of each sentence * n + position."""
        chains = self.chains
        return LstmChains(chains.steps[: chains.chains], chains.first, self.begin, table, len(self.start))

    @cached_property
    def end(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """(rows,): sentence * n + last word."""
        with torch.inference_mode(False):
            return self.start + self.width

    @cached_property
    def backward_row(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """(rows,): the backward LSTM's row for each row's span."""
        with torch.inference_mode(False):
            return self.chains.first.index_select(0, self.width) + self.rank[1].index_select(0, self.end)

    @cached_property
    def read(self) -> Tensor:  # pyright: ignore[reportIncompatibleVariableOverride]
        """(2, rows): the word that each step reads, forward and backward."""
        with torch.inference_mode(False):
            return torch.stack([self.end, self.begin[1].index_select(0, self.chains.chain) - self.width])
