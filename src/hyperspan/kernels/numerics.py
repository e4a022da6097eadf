"""Log-space arithmetic with -inf that produces no NaN, in values or gradients."""

from __future__ import annotations

from torch import Tensor

MINUS_INFINITY = float("-inf")


def finite(tensor: Tensor) -> Tensor:
    """Replace -inf by 0, to avoid -inf - -inf."""
    return tensor.masked_fill(tensor == MINUS_INFINITY, 0.0)


def log_sum(tensor: Tensor, dimension: int) -> Tensor:
    """logsumexp whose gradient is 0, not NaN as in torch, where everything is -inf."""
    impossible = tensor.detach().amax(dimension, keepdim=True) == MINUS_INFINITY
    total = tensor.masked_fill(impossible, 0.0).logsumexp(dimension)
    return total.masked_fill(impossible.squeeze(dimension), MINUS_INFINITY)
