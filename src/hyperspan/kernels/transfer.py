"""Transfers between the host and a GPU: arrays in one copy, with as few synchronisations as possible."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

STAGED = 2**16
"""The number of bytes that CUDA copies at once from any memory; larger asynchronous copies need pinned memory."""

STREAMS = 4
"""The number of threads that may each work on their own batch and reuse its cached layouts."""


def is_asynchronous(device: torch.device) -> bool:
    """Whether a device computes asynchronously, as GPUs do: reading a number from it then waits for all previous work.

    >>> is_asynchronous(torch.device("cpu"))
    False
    """
    return device.type != "cpu"


def stream_of(device: torch.device) -> int:
    """The stream in which this thread submits work to a GPU; 0 on a CPU. Results of another stream may not be ready."""
    return torch.cuda.current_stream(device).cuda_stream if device.type == "cuda" else 0


def to_device(arrays: Sequence[np.ndarray], device: torch.device | str) -> list[Tensor]:
    """Copy integer arrays to 64-bit tensors on a device; for a GPU in a single asynchronous copy.

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


def spans_inside(lengths: Sequence[int], n: int, widths: int, device: torch.device) -> Tensor:
    """(B, n, widths, 1): which spans are inside their sentence, computed once for all computations on a batch."""
    return _spans_inside(tuple(lengths), n, widths, device, stream_of(device))


@lru_cache(maxsize=4 * STREAMS)
def _spans_inside(lengths: tuple[int, ...], n: int, widths: int, device: torch.device, _stream: int) -> Tensor:
    with torch.inference_mode(False):
        (ends,) = to_device([np.array(lengths, dtype=np.int64)], device)
        start, width = torch.arange(n, device=device), torch.arange(widths, device=device)
        room = ends[:, None] - start  # (B, n)
        return (width < room[:, :, None]).unsqueeze(3)
