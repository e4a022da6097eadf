"""Inference over chains in C, in one pass over the scores, for torch: :mod:`hyperspan.kernels.chain_arrays` with
gradients."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from hyperspan.kernels.chain_arrays import best_places, chain_function, check_memory, run_chains
from hyperspan.kernels.chain_layout import ChainLayout
from hyperspan.kernels.chain_reference import Edges
from hyperspan.kernels.chain_reference import log_partition as reference_log_partition
from hyperspan.kernels.encode import ScoreArrays
from hyperspan.kernels.threads import torch_openmp

Tensors = tuple[Tensor | None, ...]
"""absent, present, extend, close and branch, or one value for each."""


class _Tensors(NamedTuple):
    """The same, by name."""

    absent: Tensor
    present: Tensor
    extend: Tensor
    close: Tensor
    branch: Tensor | None


def log_partition(scores: Edges, lengths: Sequence[int]) -> Tensor:
    """(B, n, m): the log-partition of each chain, 0 in padding; twice differentiable."""
    return _LogPartition.apply(lengths, *_tensors(scores))


@torch.no_grad()
def marginals(scores: Edges, lengths: Sequence[int]) -> Tensor:
    """(B, n, c, m): the probability of each mention, 0 in padding. No gradient."""
    _, (*_, close, branch) = _run(lengths, _tensors(scores), with_posteriors=True)
    assert close is not None
    if branch is not None:
        close[:, :, :-1] += branch
    return close


@torch.no_grad()
def best_rows(scores: Edges, lengths: Sequence[int]) -> np.ndarray | None:
    """(mentions, 4): the best mentions as (sentence, start, end, type); None where no set is possible."""
    return best_places(_arrays(_tensors(scores)), lengths)


def _tensors(scores: Edges) -> Tensors:
    return scores.absent, scores.present, scores.extend, scores.close, scores.branch


class _LogPartition(Function):
    @staticmethod
    def forward(ctx, lengths: Sequence[int], *tensors: Any) -> Tensor:
        ctx.save_for_backward(*tensors)
        ctx.lengths = lengths
        log_partition, ctx.posteriors = _run(lengths, tensors, with_posteriors=any(ctx.needs_input_grad))
        return log_partition

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensors:
        lengths, tensors = ctx.lengths, ctx.saved_tensors
        if torch.is_grad_enabled():  # a second derivative is needed, and the kernel has only the first
            return None, *_differentiable_backward(list(lengths), tensors, gradient)
        # The posteriors are scaled in place and returned; a second backward pass recomputes them.
        posteriors = ctx.posteriors or _run(lengths, tensors, with_posteriors=True)[1]
        ctx.posteriors = None
        for posterior in posteriors:
            if posterior is not None:
                _scale(posterior, gradient)
        return None, *posteriors


def _run(lengths: Sequence[int], tensors: Sequence[Any], *, with_posteriors: bool) -> tuple[Tensor, Tensors]:
    """The log-partition of each chain, and the posteriors of the edges in the place of their scores (or Nones)."""
    found = run_chains(_arrays(tensors), lengths, with_edges=with_posteriors, openmp=torch_openmp())
    edges = found.edges or (None,) * len(tensors)
    return torch.from_numpy(found.log_partition), tuple(
        None if array is None else torch.from_numpy(array) for array in edges
    )


def _arrays(tensors: Sequence[Any]) -> ScoreArrays:
    return ScoreArrays(*(None if tensor is None else tensor.detach().numpy() for tensor in tensors))  # type: ignore[arg-type]


def _scale(posterior: Tensor, gradient: Tensor) -> None:
    """Multiply the posteriors (B, n, ..., m) in place by the gradient (B, n, m) of their chain."""
    if posterior.numel() == 0:
        return
    if gradient.stride()[1:] == (0, 0):  # one factor per sentence, as in the gradient of log_partition
        posterior.mul_(gradient[:, :1, :1].reshape(-1, *[1] * (posterior.dim() - 1)))
        return
    gradient = gradient.contiguous()
    widths = posterior.shape[2] if posterior.dim() == 4 else 1
    sizes = (ctypes.c_int64(size) for size in (gradient.shape[0] * gradient.shape[1], widths, gradient.shape[2]))
    pointers = (ctypes.c_void_p(tensor.data_ptr()) for tensor in (posterior, gradient))
    check_memory(chain_function("scale", posterior.detach().numpy())(*pointers, *sizes))


def _differentiable_backward(lengths: list[int], tensors: Sequence[Any], gradient: Tensor) -> Tensors:
    # Views, because the caller's tensors may depend on each other, and only direct gradients count here.
    tensors = [None if tensor is None else tensor.view_as(tensor) for tensor in tensors]
    scores = _Tensors(*tensors)
    _, n, c, _ = scores.close.shape
    log_partition = reference_log_partition(ChainLayout(lengths, n, c, scores.close.device), scores)
    varied = [tensor for tensor in tensors if tensor is not None and tensor.requires_grad]
    found = iter(torch.autograd.grad(log_partition, varied, gradient, create_graph=True))
    return tuple(next(found) if tensor is not None and tensor.requires_grad else None for tensor in tensors)
