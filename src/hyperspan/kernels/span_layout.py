"""The packed order of the spans of a batch for the two span LSTMs.

Rows are ordered as in :mod:`hyperspan.kernels.chain_layout`: a block for each width, and in it the starts (for the
backward LSTM: the ends) with the most room first, so that the previous states are always the first rows of the block
before.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from hyperspan.kernels.chain_layout import ChainLayout


class SpanLayout:
    """The positions of the spans of a batch, by start and by end."""

    on_device: ClassVar[bool] = False
    """Whether the positions were computed on a GPU, for GPU kernels."""
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

    def __init__(self, chains: ChainLayout, lengths: tuple[int, ...], longest: int, max_width: int):
        device = chains.chain.device
        self.chains, self.longest = chains, longest
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
            self.backward_row = tensor(offset + rank[end])
