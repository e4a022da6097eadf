"""Bidirectional LSTMs over rows in packed order: in C on a CPU, in one launch on an NVIDIA GPU, or by torch's own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from hyperspan.encoders import cpu_lstm
from hyperspan.structures.gpu import has_triton, to_device

if TYPE_CHECKING:
    from hyperspan.encoders.triton_lstm import Chains

TRITON_UNITS = 512
"""Units of a direction that the kernels in Triton can hold."""


def triton_runs(rows: Tensor, hidden: int) -> bool:
    """Whether the kernels of :mod:`hyperspan.encoders.triton_lstm` are for these rows, and an LSTM of so many units a direction."""
    return rows.is_cuda and has_triton() and hidden <= TRITON_UNITS and rows.dtype != torch.float64


def run_both_ways(layer: nn.LSTM, rows: Tensor, lengths: Sequence[int]) -> Tensor:
    """(N, d) -> (N, 2 * hidden): the states of one bidirectional layer at each row.

    `lengths` are those of the sequences, longest first and none empty; the rows are theirs in packed order: all first ones, then
    all second ones, and so on.
    """
    if triton_runs(rows, layer.hidden_size):
        return _run_in_one_launch(layer, rows, tuple(lengths))
    ordered = np.array(lengths, dtype=np.int64)
    counts = (ordered[None, :] > np.arange(ordered.max(initial=0))[:, None]).sum(1)
    if cpu_lstm.usable(rows):
        return _run_in_c(layer, rows, ordered, counts)
    packed, _ = layer(PackedSequence(rows, torch.from_numpy(counts)))
    return packed.data


def _run_in_c(layer: nn.LSTM, rows: Tensor, lengths: np.ndarray, counts: np.ndarray) -> Tensor:
    order = np.stack([np.arange(len(rows)), _reversed(lengths, counts)])
    sentence = np.arange(len(rows)) - np.repeat(counts.cumsum() - counts, counts)
    steps = cpu_lstm.Steps(counts.tolist(), order, order, np.stack([sentence, sentence]))
    return torch.cat(cpu_lstm.run(layer, rows, *_weights(layer), steps).unbind(), dim=1)


def _weights(layer: nn.LSTM) -> tuple[Tensor, Tensor, Tensor]:
    """(2, d, 4 * hidden), (2, 1, 4 * hidden), (2, hidden, 4 * hidden): for inputs, bias and recurrent, of both directions."""
    inputs, recurrent, one, other = (
        [getattr(layer, f"{name}_l0{suffix}") for suffix in ("", "_reverse")]
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    # Added before they are stacked: the other way round the gradients of both would be one memory, and be clipped twice.
    bias = torch.stack([first + second for first, second in zip(one, other, strict=True)])
    return torch.stack(inputs).transpose(1, 2), bias[:, None], torch.stack(recurrent).transpose(1, 2)


def _run_in_one_launch(layer: nn.LSTM, rows: Tensor, lengths: tuple[int, ...]) -> Tensor:
    from hyperspan.encoders.triton_lstm import WordStates

    names = [f"{name}_l0{end}" for end in ("", "_reverse") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    return WordStates.apply(_chains(lengths, rows.device), rows, *(getattr(layer, name) for name in names))


@lru_cache(maxsize=4)
def _chains(lengths: tuple[int, ...], device: torch.device) -> Chains:
    """A chain for each sequence; made once for all layers that run over a batch."""
    from hyperspan.encoders.triton_lstm import Chains

    steps = np.array(lengths, dtype=np.int64)
    first = np.bincount(steps)[::-1].cumsum()[::-1][1:].cumsum()  # the ends of the blocks of rows
    with torch.inference_mode(False):
        known, begin = to_device((steps, np.concatenate([[0], first[:-1]])), device)
        return Chains(known, begin, None, begin, sum(lengths))


def _reversed(lengths: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(N,): for each row the one that stands as far from the end of its sequence as it from the beginning.

    >>> _reversed(np.array([3, 1]), np.array([2, 1, 1])).tolist()
    [3, 1, 2, 0]
    """
    first = counts.cumsum() - counts
    step = np.repeat(np.arange(len(counts)), counts)
    sequence = np.arange(len(step)) - first[step]
    return first[lengths[sequence] - 1 - step] + sequence
