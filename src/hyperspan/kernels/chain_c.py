"""Inference over chains in C, in one pass over the scores: libchains.so."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from hyperspan.kernels import libraries
from hyperspan.kernels.chain_layout import ChainLayout
from hyperspan.kernels.chain_reference import Edges
from hyperspan.kernels.chain_reference import log_partition as reference_log_partition

ENTRIES_A_THREAD = 20_000
"""Entries of `close` for each thread."""
Tensors = tuple[Tensor | None, ...]
"""absent, present, extend, close and branch, or something for each of them."""


class _Tensors(NamedTuple):
    """The same, by name."""

    absent: Tensor
    present: Tensor
    extend: Tensor
    close: Tensor
    branch: Tensor | None


class _ChainProblem(ctypes.Structure):
    """The struct Problem of chains_of.h."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("absent", "present", "extend", "close", "branch", "lengths")),
        *((name, ctypes.c_int64) for name in ("batch", "n", "c", "m")),
        ("log_partition", ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in ("p_absent", "p_present", "p_extend", "p_close", "p_branch")),
    )


def log_partition(scores: Edges, lengths: Sequence[int]) -> Tensor:
    """(B, n, m): the log-partition of each chain, 0 in padding; differentiable, also twice."""
    return _LogPartition.apply(_on_cpu(lengths), *_tensors(scores))


@torch.no_grad()
def marginals(scores: Edges, lengths: Sequence[int]) -> Tensor:
    """(B, n, c, m): the probability of each mention, 0 in padding. No gradient."""
    _, (*_, close, branch) = _run(_on_cpu(lengths), _tensors(scores), with_posteriors=True)
    assert close is not None
    if branch is not None:
        close[:, :, :-1] += branch
    return close


@torch.no_grad()
def best_mentions(scores: Edges, lengths: Sequence[int]) -> list[list[int]] | None:
    """The best mentions, [sentence, start, end, type], in that order; None where no set is possible."""
    given: list[Any] = [None if tensor is None else tensor.contiguous() for tensor in _tensors(scores)]
    on_cpu = _on_cpu(lengths)
    pointers = [None if tensor is None else tensor.data_ptr() for tensor in (*given, on_cpu)]
    problem = _ChainProblem(*pointers, *scores.close.shape)
    best = _function("best", scores.close)
    best.restype = ctypes.c_int64
    found, space = 0, max(sum(lengths), 1)  # a mention a word: trained models find far fewer
    while True:
        mentions = torch.empty(space, 4, dtype=torch.int32, device="cpu")
        found = best(ctypes.byref(problem), ctypes.c_void_p(mentions.data_ptr()), ctypes.c_int64(space))
        if found <= space:
            break
        space = found
    _check(found == -2)
    return None if found < 0 else mentions[:found].tolist()


def _on_cpu(lengths: Sequence[int]) -> Tensor:
    return torch.tensor(lengths, dtype=torch.long, device="cpu")  # wherever tensors are made by default


def _tensors(scores: Edges) -> Tensors:
    return scores.absent, scores.present, scores.extend, scores.close, scores.branch


class _LogPartition(Function):
    @staticmethod
    def forward(ctx, lengths: Tensor, *tensors: Any) -> Tensor:
        ctx.save_for_backward(lengths, *tensors)
        log_partition, ctx.posteriors = _run(lengths, tensors, with_posteriors=any(ctx.needs_input_grad))
        return log_partition

    @staticmethod
    def backward(ctx, gradient: Tensor) -> Tensors:
        lengths, *tensors = ctx.saved_tensors
        if torch.is_grad_enabled():  # a second derivative is wanted, and the kernel knows only the first
            return None, *_differentiable_backward(lengths.tolist(), tensors, gradient)
        # The posteriors are scaled in place and given away; whoever asks again has them computed again.
        posteriors = ctx.posteriors or _run(lengths, tensors, with_posteriors=True)[1]
        ctx.posteriors = None
        for posterior in posteriors:
            if posterior is not None:
                _scale(posterior, gradient)
        return None, *posteriors


def _run(lengths: Tensor, tensors: Sequence[Any], *, with_posteriors: bool) -> tuple[Tensor, Tensors]:
    """The log-partition of each chain, and the posteriors of the edges in the place of their scores (or Nones)."""
    given: list[Any] = [None if tensor is None else tensor.contiguous() for tensor in tensors]
    absent, close = given[0], given[3]
    log_partition = torch.empty_like(absent)
    posteriors = [None if tensor is None or not with_posteriors else torch.empty_like(tensor) for tensor in given]
    inputs = [None if tensor is None else tensor.data_ptr() for tensor in (*given, lengths)]
    outputs = [None if tensor is None else tensor.data_ptr() for tensor in (log_partition, *posteriors)]
    problem = _ChainProblem(*inputs, *close.shape, *outputs)
    threads = min(torch.get_num_threads(), 1 + close.numel() // ENTRIES_A_THREAD)
    _check(_function("chains", close)(ctypes.byref(problem), ctypes.c_int64(threads)))
    return log_partition, tuple(posteriors)


def _scale(posterior: Tensor, gradient: Tensor) -> None:
    """Multiplies the posteriors (B, n, ..., m), in place, with the gradient (B, n, m) of their chain."""
    if posterior.numel() == 0:
        return
    if gradient.stride()[1:] == (0, 0):  # one factor a sentence, as the gradient of log_partition is
        posterior.mul_(gradient[:, :1, :1].reshape(-1, *[1] * (posterior.dim() - 1)))
        return
    gradient = gradient.contiguous()
    widths = posterior.shape[2] if posterior.dim() == 4 else 1
    sizes = (ctypes.c_int64(size) for size in (gradient.shape[0] * gradient.shape[1], widths, gradient.shape[2]))
    pointers = (ctypes.c_void_p(tensor.data_ptr()) for tensor in (posterior, gradient))
    _check(_function("scale", posterior)(*pointers, *sizes))


def _function(name: str, like: Tensor) -> Any:
    return getattr(libraries.chains().library, f"{name}_{'float' if like.dtype == torch.float32 else 'double'}")


def _check(status: int) -> None:
    if status:
        raise MemoryError("no memory for one row of scores; use a smaller max_width")


def _differentiable_backward(lengths: list[int], tensors: Sequence[Any], gradient: Tensor) -> Tensors:
    # Views, because the caller's tensors may depend on each other, and only the direct way to each counts here.
    tensors = [None if tensor is None else tensor.view_as(tensor) for tensor in tensors]
    scores = _Tensors(*tensors)
    _, n, c, _ = scores.close.shape
    log_partition = reference_log_partition(ChainLayout(lengths, n, c, scores.close.device), scores)
    varied = [tensor for tensor in tensors if tensor is not None and tensor.requires_grad]
    found = iter(torch.autograd.grad(log_partition, varied, gradient, create_graph=True))
    return tuple(next(found) if tensor is not None and tensor.requires_grad else None for tensor in tensors)
