"""Arithmetic with -inf, the logarithm of 0, that neither makes NaN nor passes it back."""

from __future__ import annotations

from torch import Tensor

MINUS_INFINITY = float("-inf")


def finite(tensor: Tensor) -> Tensor:
    """The tensor with 0 in place of -inf, to be subtracted without making -inf - -inf."""
    return tensor.masked_fill(tensor == MINUS_INFINITY, 0.0)


def log_sum(tensor: Tensor, dimension: int) -> Tensor:
    """log of the sum of exp, whose gradient is 0, not NaN as torch's is, where everything is -inf."""
    impossible = tensor.detach().amax(dimension, keepdim=True) == MINUS_INFINITY
    total = tensor.masked_fill(impossible, 0.0).logsumexp(dimension)
    return total.masked_fill(impossible.squeeze(dimension), MINUS_INFINITY)
