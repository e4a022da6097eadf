"""What travels between a program and a GPU: arrays in one go, and as few questions as possible."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

STAGED = 2**16
"""Bytes that CUDA takes at once from any memory; to be read while the program goes on, more must be in memory that
stays in place."""

STREAMS = 4
"""So many threads may each work on a batch of their own, and find again what they have made for it."""


def is_asynchronous(device: torch.device) -> bool:
    """Whether a device computes while the program goes on, as GPUs do: then reading a number from it waits for all
    before it.

    >>> is_asynchronous(torch.device("cpu"))
    False
    """
    return device.type != "cpu"


def stream_of(device: torch.device) -> int:
    """The stream in which this thread gives work to a GPU; 0 on a CPU. What was made in another one may not be there
    yet."""
    return torch.cuda.current_stream(device).cuda_stream if device.type == "cuda" else 0


def to_device(arrays: Sequence[np.ndarray], device: torch.device | str) -> list[Tensor]:
    """Arrays of whole numbers as tensors of 64 bits on a device; for a GPU in a single copy that nobody waits for.

    >>> [tensor.tolist() for tensor in to_device([np.arange(2), np.ones((1, 2), dtype=np.int32)], "cpu")]
    [[0, 1], [[1, 1]]]
    """
    if torch.device(device).type != "cuda":
        return [torch.from_numpy(np.ascontiguousarray(array, dtype=np.int64)).to(device) for array in arrays]
    size = sum(array.size for array in arrays)
    wide = any(array.itemsize > 4 for array in arrays)
    together = torch.empty(size, dtype=torch.int64 if wide else torch.int32, pin_memory=8 * size > STAGED)
    buffer, first = together.numpy(), 0
    for array in arrays:
        buffer[first : first + array.size] = array.ravel()
        first += array.size
    parts = together.to(device, non_blocking=True).long().split([array.size for array in arrays])
    return [part.view(array.shape) for part, array in zip(parts, arrays, strict=True)]
