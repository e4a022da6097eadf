"""Bidirectional LSTMs over rows in packed order, by torch's own or, on an NVIDIA GPU, in one launch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence


@cache
def has_triton() -> bool:
    """Whether kernels for NVIDIA GPUs are wanted, HYPERSPAN_TRITON=1, and can be compiled; PyTorch for CUDA brings what they need.

    They are right in Triton's interpreter, but not yet measured on a GPU, so that PyTorch's own are the default.
    """
    if os.environ.get("HYPERSPAN_TRITON") != "1":
        return False
    try:
        import triton  # noqa: F401 # pyright: ignore[reportMissingImports]
    except ImportError:
        return False
    return True


def run_both_ways(layer: nn.LSTM, rows: Tensor, lengths: Sequence[int]) -> Tensor:
    """(N, d) -> (N, 2 * hidden): the states of one bidirectional layer at each row.

    `lengths` are those of the sequences, longest first and none empty; the rows are theirs in packed order: all first ones, then
    all second ones, and so on.
    """
    ordered = np.array(lengths, dtype=np.int64)
    counts = (ordered[None, :] > np.arange(ordered.max(initial=0))[:, None]).sum(1)
    if rows.is_cuda and has_triton():
        return _run_in_one_launch(layer, rows, ordered, counts)
    packed, _ = layer(PackedSequence(rows, torch.from_numpy(counts)))
    return packed.data


def _run_in_one_launch(layer: nn.LSTM, rows: Tensor, lengths: np.ndarray, counts: np.ndarray) -> Tensor:
    from hyperspan.encoders.triton_lstm import ChainLSTM

    reverse, before = (torch.from_numpy(index).to(rows.device, non_blocking=True) for index in _orders(lengths, counts))
    suffixes = ("", "_reverse")
    weights = torch.stack([getattr(layer, f"weight_ih_l0{end}") for end in suffixes]).transpose(1, 2)
    bias = torch.stack([getattr(layer, f"bias_ih_l0{end}") + getattr(layer, f"bias_hh_l0{end}") for end in suffixes])
    recurrent = torch.stack([getattr(layer, f"weight_hh_l0{end}") for end in suffixes]).transpose(1, 2)
    gates = torch.baddbmm(bias[:, None], rows.expand(2, -1, -1), weights)
    read = torch.stack([torch.arange(len(rows), device=rows.device), reverse])
    forward, backward = ChainLSTM.apply(gates, recurrent, read, counts.tolist(), before)
    return torch.cat([forward, backward.index_select(0, reverse)], dim=1)


def _orders(lengths: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(N,): for each row the one that stands as far from the end of its sequence as it from the beginning; and
    (N - sequences,): for each row but the first ones the row before it in its sequence.

    >>> reverse, before = _orders(np.array([3, 1]), np.array([2, 1, 1]))
    >>> reverse.tolist(), before.tolist()
    ([3, 1, 2, 0], [0, 2])
    """
    first = counts.cumsum() - counts
    step = np.repeat(np.arange(len(counts)), counts)
    sequence = np.arange(len(step)) - first[step]
    reverse = first[lengths[sequence] - 1 - step] + sequence
    return reverse, np.arange(counts[:1].sum(), len(step)) - np.repeat(counts[:-1], counts[1:])
