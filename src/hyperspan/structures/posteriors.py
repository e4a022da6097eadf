"""Posteriors and entropy as gradients of a log-partition, for structures whose recursion is all that is written down."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from hyperspan.kernels.numerics import finite


def with_posteriors(
    log_partition: Callable[..., Tensor], scores: Sequence[Tensor]
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """A log-partition (B,) and its gradients: how often each score is expected to be used.

    Both are differentiable where the scores are followed by autograd, and come out in any mode, inference mode included.

    >>> _, (probability, _) = with_posteriors(torch.logaddexp, [torch.zeros(1), torch.zeros(1)])
    >>> probability
    tensor([0.5000])
    """
    followed = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in scores)
    with torch.inference_mode(False), torch.enable_grad():
        # A view of its own for each: scores that were computed from one another must not share their gradients.
        own = [
            tensor.view_as(tensor) if followed and tensor.requires_grad else tensor.detach().clone().requires_grad_()
            for tensor in scores
        ]
        total = log_partition(*own)
        gradients = (
            torch.autograd.grad(total.sum(), own, create_graph=followed, allow_unused=True)
            if total.requires_grad
            else [None] * len(own)
        )
    expected = tuple(
        torch.zeros_like(tensor) if gradient is None else gradient
        for tensor, gradient in zip(scores, gradients, strict=True)
    )
    return (total if followed else total.detach()), expected


def entropy_of(log_partition: Callable[..., Tensor], scores: Sequence[Tensor]) -> Tensor:
    """(B,): the entropy in nats, log Z less the expected score; in float64, as the two nearly cancel for large scores."""
    exact = [tensor.double() for tensor in scores]
    total, posteriors = with_posteriors(log_partition, exact)
    entropy = finite(total)
    for tensor, expected in zip(exact, posteriors, strict=True):
        # Scores that are never used may be -inf, or NaN in padding.
        used = torch.where(expected == 0, 0.0, tensor)
        entropy = entropy - (used * expected).flatten(1).sum(1)
    return entropy.clamp(min=0.0).to(scores[0].dtype)
