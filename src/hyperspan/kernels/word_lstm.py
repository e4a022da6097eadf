"""Bidirectional LSTMs over the words of a batch, in the row order of a packed sequence."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from hyperspan.kernels import lstm_c
from hyperspan.kernels.choice import choose
from hyperspan.kernels.transfer import STREAMS, stream_of, to_device

if TYPE_CHECKING:
    from hyperspan.kernels.triton_lstm import LstmChains

TRITON_UNITS = 512
"""The largest number of units per direction that the Triton kernels support."""


def unfit(rows: Tensor, hidden: int) -> set[str]:
    """The LSTM implementations that do not support these rows with `hidden` units per direction."""
    found = set()
    if rows.dtype != torch.float32 or torch.is_autocast_enabled("cpu"):  # which would convert it to 16 bits
        found.add("c")
    if rows.dtype == torch.float64 or hidden > TRITON_UNITS:
        found.add("triton")
    return found


def word_states(layer: nn.LSTM, rows: Tensor, lengths: Sequence[int]) -> Tensor:
    """(N, d) -> (N, 2 * hidden): the states of one bidirectional layer at each row.

    `lengths` are those of the sequences, longest first and none empty; the rows are theirs in packed order: all first
    ones, then all second ones, and so on.
    """
    chosen = choose("word_lstm", rows.device.type, unfit(rows, layer.hidden_size))
    if chosen == "triton":
        return run_in_one_launch(layer, rows, tuple(lengths))
    ordered = np.array(lengths, dtype=np.int64)
    counts = (ordered[None, :] > np.arange(ordered.max(initial=0))[:, None]).sum(1)
    if chosen == "c":
        return _run_in_c(layer, rows, ordered, counts)
    packed, _ = layer(PackedSequence(rows, torch.from_numpy(counts)))
    return packed.data


def _run_in_c(layer: nn.LSTM, rows: Tensor, lengths: np.ndarray, counts: np.ndarray) -> Tensor:
    order = np.stack([np.arange(len(rows)), _reversed(lengths, counts)])
    sentence = np.arange(len(rows)) - np.repeat(counts.cumsum() - counts, counts)
    steps = lstm_c.Steps(counts.tolist(), order, order, np.stack([sentence, sentence]))
    return torch.cat(lstm_c.run(layer, rows, *_weights(layer), steps).unbind(), dim=1)


def _weights(layer: nn.LSTM) -> tuple[Tensor, Tensor, Tensor]:
    """(2, d, 4 * hidden), (2, 1, 4 * hidden), (2, hidden, 4 * hidden): for inputs, bias and recurrent, of both
    directions."""
    inputs, recurrent, one, other = (
        [getattr(layer, f"{name}_l0{suffix}") for suffix in ("", "_reverse")]
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    )
    # Added before stacking: otherwise the gradients of both would share memory and be clipped twice.
    bias = torch.stack([first + second for first, second in zip(one, other, strict=True)])
    return torch.stack(inputs).transpose(1, 2), bias[:, None], torch.stack(recurrent).transpose(1, 2)


def run_in_one_launch(layer: nn.LSTM, rows: Tensor, lengths: tuple[int, ...]) -> Tensor:
    """The same with the Triton kernels."""
    from hyperspan.kernels.triton_lstm import WordStates

    names = [f"{name}_l0{end}" for end in ("", "_reverse") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    return WordStates.apply(
        _chains(lengths, rows.device, stream_of(rows.device)), rows, *(getattr(layer, name) for name in names)
    )


@lru_cache(maxsize=2 * STREAMS)
def _chains(lengths: tuple[int, ...], device: torch.device, _stream: int) -> LstmChains:
    """A chain for each sequence, cached for all layers that run over a batch."""
    from hyperspan.kernels.triton_lstm import LstmChains

    steps = np.array(lengths, dtype=np.int64)
    first = np.bincount(steps)[::-1].cumsum()[::-1][1:].cumsum()  # the ends of the blocks of rows
    with torch.inference_mode(False):
        known, begin = to_device((steps, np.concatenate([[0], first[:-1]])), device)
        return LstmChains(known, begin, None, begin, sum(lengths))


def _reversed(lengths: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(N,): for each row, the row at the mirrored position of its sequence.

    >>> _reversed(np.array([3, 1]), np.array([2, 1, 1])).tolist()
    [3, 1, 2, 0]
    """
    first = counts.cumsum() - counts
    step = np.repeat(np.arange(len(counts)), counts)
    sequence = np.arange(len(step)) - first[step]
    return first[lengths[sequence] - 1 - step] + sequence
