"""The chains of :mod:`hyperspan.kernels.chain_reference` without packing: a few large operations instead of many small
ones.

On a GPU padding is cheap, but each operation costs a kernel launch. Here a cumulative sum over the padded widths
replaces a loop over blocks.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn.functional import pad, softplus

from hyperspan.kernels.chain_reference import Edges
from hyperspan.kernels.numerics import MINUS_INFINITY, finite


class DenseLogPartition(Function):
    """(B, n, m): the log-partition of each chain, 0 in padding; for tied scores. Its gradients are the posteriors.

    `kernels` is :mod:`hyperspan.kernels.triton_chains`, if Triton computes them.
    """

    @staticmethod
    def forward(
        ctx: Any,
        absent: Tensor,
        present: Tensor,
        extend: Tensor,
        close: Tensor,
        lengths: Tensor,
        kernels: ModuleType | None = None,
    ) -> Tensor:
        ctx.kernels = kernels
        if kernels is not None:
            total = kernels.log_partition(absent, present, extend, close, lengths)
            ctx.save_for_backward(absent, present, extend, close, lengths, total)
            return total
        clean = _without_padding(absent, present, extend, close, lengths)
        pivot, missing, stopped, total = _weights(*clean, lengths)
        ctx.save_for_backward(absent, present, extend, close, lengths, missing, stopped, total)
        return (pivot + total.log()).masked_fill(_room(close, lengths).squeeze(3) <= 0, 0.0)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor):
        absent, present, extend, close, lengths, *weights = ctx.saved_tensors
        kernels = ctx.kernels
        if kernels is not None and not torch.is_grad_enabled():
            return *kernels.posteriors(absent, present, extend, close, lengths, *weights, gradient), None, None
        clean = _without_padding(absent, present, extend, close, lengths)
        close = clean[3]
        if kernels is not None or torch.is_grad_enabled():
            # A second derivative is needed: recompute differentiably from the scores.
            _, *weights = _weights(*clean, lengths)
        missing, stopped, total = weights
        outside = (total == 0) | (_room(close, lengths).squeeze(3) <= 0)
        share = gradient / total.masked_fill(outside, torch.inf)
        stopped = stopped * share[:, :, None]
        reached = stopped.flip(2).cumsum(2).flip(2)  # (B, n, c, m): stopped here or later
        extended = reached[:, :, 1:]
        d_close = stopped + pad(extended * torch.sigmoid(close[:, :, :-1]), (0, 0, 0, 1))
        return missing * share, reached[:, :, 0], extended, d_close, None, None


def log_partition(scores: Edges, lengths: Tensor, kernels: ModuleType | None = None) -> Tensor:
    """(B, n, m): the log-partition of each chain, 0 in padding; for tied scores."""
    return DenseLogPartition.apply(scores.absent, scores.present, scores.extend, scores.close, lengths, kernels)


def marginals(scores: Edges, lengths: Tensor) -> Tensor:
    """(B, n, c, m): the probability of each mention, 0 in padding; for tied scores. No gradient."""
    absent, present, extend, close = _without_padding(
        scores.absent, scores.present, scores.extend, scores.close, lengths
    )
    _, _, stopped, total = _weights(absent, present, extend, close, lengths)
    stopped = stopped / total.masked_fill(total == 0, 1.0)[:, :, None]
    extended = stopped.flip(2).cumsum(2).flip(2)[:, :, 1:]
    return stopped + pad(extended * torch.sigmoid(close[:, :, :-1]), (0, 0, 0, 1))


def best(scores: Edges, lengths: Tensor) -> Tensor:
    """(B, n, m): the best score of each chain if it is present, -inf in padding; for tied scores."""
    extend, close = scores.extend, scores.close
    inside = torch.arange(close.shape[2], device=close.device)[:, None] < _room(close, lengths)  # (B, n, c, 1)
    go = (extend + close[:, :, :-1].clamp(min=0.0)).masked_fill(~inside[:, :, 1:], 0.0)
    longest = close + pad(go.cumsum(2), (0, 0, 1, 0))
    return longest.masked_fill(~inside, MINUS_INFINITY).amax(2) + scores.present


def _room(close: Tensor, lengths: Tensor) -> Tensor:
    """(B, n, 1, 1): the number of words from each start to the end of its sentence."""
    return (lengths[:, None] - torch.arange(close.shape[1], device=close.device))[:, :, None, None]


def _without_padding(
    absent: Tensor, present: Tensor, extend: Tensor, close: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The scores with 0 in padding, which may hold anything, even NaN."""
    room = _room(close, lengths)
    widths = torch.arange(close.shape[2], device=close.device)[:, None]
    outside = room.squeeze(3) <= 0  # (B, n, 1)
    return (
        absent.masked_fill(outside, 0.0),
        present.masked_fill(outside, 0.0),
        extend.masked_fill(widths[1:] >= room, 0.0),
        close.masked_fill(widths >= room, 0.0),
    )


def _weights(
    absent: Tensor, present: Tensor, extend: Tensor, close: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The best score of each chain (B, n, m), and relative to it the weights of being absent, of stopping at each width
    (B, n, c, m), and of all choices."""
    inside = torch.arange(close.shape[2], device=close.device)[:, None] < _room(close, lengths)  # (B, n, c, 1)
    go = (extend + softplus(close[:, :, :-1], threshold=50.0)).masked_fill(~inside[:, :, 1:], 0.0)
    longest = close + pad(go.cumsum(2), (0, 0, 1, 0)) + present[:, :, None]  # (B, n, c, m)
    longest = longest.masked_fill(~inside, MINUS_INFINITY)
    pivot = finite(torch.maximum(absent, longest.amax(2)).detach())
    missing, stopped = (absent - pivot).exp(), (longest - pivot[:, :, None]).exp()
    return pivot, missing, stopped, missing + stopped.sum(2)
