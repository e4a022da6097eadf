"""One text for NumPy arrays and torch tensors: arithmetic in log space that gives no NaN at -inf, in values and in
first and second derivatives.

Where both libraries have a function with the same arguments, call it on ``namespace(values)``. Importing this module
does not load torch.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

MINUS_INFINITY = float("-inf")


def is_array(values: Any) -> bool:
    """Whether these are NumPy's, which carry no gradients, and not torch's."""
    return isinstance(values, np.ndarray)


def namespace(values: Any) -> Any:
    """The library of these values: numpy or torch."""
    return np if is_array(values) else sys.modules["torch"]


def replaced(values: Any, mask: Any, by: float) -> Any:
    """The values, with another one where the mask, which may be broadcast, is true."""
    return np.where(mask, values.dtype.type(by), values) if is_array(values) else values.masked_fill(mask, by)


def finite(values: Any) -> Any:
    """Replace -inf by 0, to avoid -inf - -inf."""
    return replaced(values, values == MINUS_INFINITY, 0.0)


def softplus(values: Any) -> Any:
    """log(1 + e^value)

    >>> softplus(np.array([-np.inf, 0.0])).round(3).tolist()
    [0.0, 0.693]
    """
    if is_array(values):  # np.logaddexp has no vector loop
        return np.maximum(values, 0.0) + np.log1p(np.exp(-np.abs(values)))
    from torch.nn.functional import softplus as of_tensor

    return of_tensor(values, threshold=50.0)  # exact: the default threshold stops at 20


def sigmoid(values: Any) -> Any:
    """1 / (1 + e^-value)"""
    if not is_array(values):
        return values.sigmoid()
    small = np.exp(-np.abs(values))
    return np.where(values >= 0, 1.0, small) / (1.0 + small)


def log_add(one: Any, other: Any) -> Any:
    """log(e^one + e^other)"""
    never = (one == MINUS_INFINITY) & (other == MINUS_INFINITY)
    one, other = replaced(one, never, 0.0), replaced(other, never, 0.0)
    if is_array(one):
        total = np.maximum(one, other) + np.log1p(np.exp(-np.abs(one - other)))
    else:
        total = namespace(one).logaddexp(one, other)
    return replaced(total, never, MINUS_INFINITY)


def log_sum(values: Any, axis: int) -> Any:
    """log Σ e^value along an axis; -inf where all are -inf, and where there are none.

    >>> log_sum(np.log([[1.0, 3.0], [0.5, 0.5]]), 1).round(3).tolist()
    [1.386, 0.0]
    """
    if not values.shape[axis]:
        return values.sum(axis) + MINUS_INFINITY
    if is_array(values):
        pivot = finite(values.max(axis, keepdims=True))
        with np.errstate(divide="ignore"):
            return np.log(np.exp(values - pivot).sum(axis)) + pivot.squeeze(axis)
    never = values.detach().amax(axis, keepdim=True) == MINUS_INFINITY
    total = values.masked_fill(never, 0.0).logsumexp(axis)
    return total.masked_fill(never.squeeze(axis), MINUS_INFINITY)


def highest(values: Any, axis: int) -> Any:
    """The maximum along an axis, in the place of :func:`log_sum`."""
    return namespace(values).amax(values, axis)


def inside(lengths: Sequence[int], like: Any, widths: int) -> Any:
    """(B, n, widths, 1): which spans are inside their sentence, where `like` is (B, n, ...)."""
    if not is_array(like):
        from hyperspan.kernels.transfer import spans_inside

        return spans_inside(lengths, like.shape[1], widths, like.device)
    ends = np.arange(like.shape[1])[:, None] + np.arange(widths) + 1  # (n, widths)
    return (ends <= np.array(lengths, dtype=np.int64).reshape(-1, 1, 1))[..., None]


def placed(array: np.ndarray, like: Any) -> Any:
    """A NumPy array as `like` is: itself, or a tensor on the same device."""
    if is_array(like) or not is_array(array):
        return array
    return sys.modules["torch"].from_numpy(array).to(like.device, non_blocking=True)


def to_numpy(values: Any) -> np.ndarray:
    """The values as a NumPy array, without gradients."""
    return values if is_array(values) else values.detach().numpy(force=True)


def nonzero(mask: Any) -> np.ndarray:
    """(found, dimensions): where a mask is true."""
    return np.argwhere(mask) if is_array(mask) else mask.nonzero().cpu().numpy()


def gathered(values: Any, columns: Any) -> Any:
    """The values at index columns, (dimensions, places), each place at most once."""
    if is_array(values):
        return values[tuple(columns)]
    from hyperspan.kernels.autograd import Gather

    return Gather.apply(values, columns)


def put(values: Any, place: tuple[np.ndarray, ...], new: Any) -> Any:
    """The values with new ones at some places, given as index columns."""
    if not is_array(values):
        return values.index_put(tuple(placed(column, values) for column in place), new)
    found = values.copy()
    found[place] = new
    return found


def widened(values: Any, widths: int) -> Any:
    """(B, n, fewer widths, m), or more dimensions, with zeros up to so many widths."""
    missing = widths - values.shape[2]
    if not missing:
        return values
    if is_array(values):
        return np.pad(values, [(0, 0), (0, 0), (0, missing), *[(0, 0)] * (values.ndim - 3)])
    from torch.nn.functional import pad

    return pad(values, (*[0, 0] * (values.ndim - 3), 0, missing))


def index_sum(total: Any, index: Any, values: Any) -> Any:
    """(N,): a total with values added at an index, which may name a place several times."""
    if is_array(total):
        return total + np.bincount(index, values, len(total)).astype(total.dtype)
    return total.index_add(0, index, values)


def in_float64(values: Any) -> Any:
    """The values in float64, on the CPU if their device has no such numbers."""
    if is_array(values):
        return values.astype(np.float64)
    return values.to(float64_device(values.device), namespace(values).float64)


def float64_device(device: Any) -> Any:
    """The device on which torch computes in float64: Apple's GPUs cannot.

    >>> import torch
    >>> float64_device(torch.device("mps")), float64_device(torch.device("cuda"))
    (device(type='cpu'), device(type='cuda'))
    """
    return sys.modules["torch"].device("cpu") if device.type == "mps" else device
