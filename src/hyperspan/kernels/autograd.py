"""What torch needs to differentiate the kernels: values in one pass, derivatives from expected edges."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function

Values = tuple[Tensor | None, ...]
"""The scores of each kind of edge, or their expected numbers; None where no scores are given."""


class LogPartition(Function):
    """Log-partitions, from a kernel that also finds how often each score is expected to be used: their gradient.

    `kernel` computes both without gradients, `formula` in a way that can be differentiated again.
    """

    @staticmethod
    def forward(ctx: Any, kernel: Callable, formula: Callable, *scores: Any) -> Tensor:
        ctx.save_for_backward(*scores)
        ctx.kernel, ctx.formula = kernel, formula
        log_partition, ctx.edges = kernel(scores, any(ctx.needs_input_grad))
        return log_partition

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Values:
        scores, needed = ctx.saved_tensors, ctx.needs_input_grad[2:]
        if torch.is_grad_enabled():  # a second derivative is needed, and the kernel has only the first
            # Views, because the caller's tensors may depend on each other, and only direct gradients count here.
            edges = ctx.formula([None if one is None else one.view_as(one) for one in scores])
            return (
                None,
                None,
                *(_scaled(one, gradient) if need else None for one, need in zip(edges, needed, strict=True)),
            )
        # The edges are scaled in place and returned; a second backward pass computes them again.
        edges = ctx.edges or ctx.kernel(scores, True)[1]
        ctx.edges = None
        return None, None, *(None if one is None else _scale(one, gradient) for one in edges)


def _scaled(edges: Tensor, gradient: Tensor) -> Tensor:
    """Edges (B, n, ..., m) times the gradient (B, n, m) of their unit."""
    return edges * _beside(gradient, edges)


def _beside(gradient: Tensor, edges: Tensor) -> Tensor:
    """The gradient with as many dimensions as edges: those before the last are added."""
    while gradient.dim() < edges.dim():
        gradient = gradient.unsqueeze(-2)
    return gradient


def _scale(edges: Tensor, gradient: Tensor) -> Tensor:
    """The same in place."""
    return edges.mul_(_beside(gradient, edges))


def gradients(total: Callable[[Any], Tensor], scores: Any) -> Any:
    """How fast a total of scores grows with each score, by name; differentiable if gradients are needed."""
    differentiable = scores.needs_gradient
    with torch.inference_mode(False), torch.enable_grad():
        # Views, because the caller's tensors may depend on each other, and only direct gradients count here.
        if differentiable:
            leaves = scores.map(lambda one: one.view_as(one) if one.requires_grad else one.detach().requires_grad_())
        else:
            leaves = scores.map(lambda one: one.detach().clone().requires_grad_())
        given = leaves.tensors()
        found = torch.autograd.grad(
            total(leaves), list(given.values()), create_graph=differentiable, materialize_grads=True
        )
    in_order = iter(found)
    return leaves.map(lambda _: next(in_order))


class Gather(Function):
    """Gather values at index columns, each at most once, so that the backward pass needs no accumulation."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, columns: Tensor) -> Tensor:
        ctx.columns, ctx.shape = columns, values.shape
        return values[tuple(columns)]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor):
        return _Scatter.apply(gradient, ctx.columns, ctx.shape), None


class _Scatter(Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, columns: Tensor, shape: Sequence[int]) -> Tensor:
        ctx.columns = columns
        return values.new_zeros(shape).index_put_(tuple(columns), values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor):
        return Gather.apply(gradient, ctx.columns), None, None
