"""Inference over groups of types in C, for torch: :mod:`hyperspan.kernels.joint_arrays` with gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from hyperspan.kernels import joint_arrays, joint_reference
from hyperspan.kernels.joint_arrays import JointArrays, run_joint
from hyperspan.kernels.joint_reference import GroupScores, Uses, differentiable_backward, scaled
from hyperspan.kernels.threads import torch_openmp


def log_partition(scores: GroupScores, room: Tensor) -> Tensor:
    """(R,): the log-partition of the group's mentions from each word; 0 in padding. Twice differentiable."""
    if not torch.is_grad_enabled():  # otherwise the gradient would be prepared
        return _run(scores, room, with_uses=False)[0]
    return _JointLogPartition.apply(room, *scores)


@torch.no_grad()
def uses(scores: GroupScores, room: Tensor) -> Uses:
    """The expected uses of each score; 0 in padding. No gradient."""
    found = _run(scores, room, with_uses=True)[1]
    assert found is not None
    return found


def highest_sums(scores: GroupScores, room: Tensor) -> Tensor:
    """(R, c + 1, 2^g), in float64: the highest sum of what follows at each width, by active types."""
    return torch.from_numpy(joint_arrays.highest_sums(_arrays(scores), room.numpy()))


class _JointLogPartition(Function):
    @staticmethod
    def forward(ctx: Any, room: Tensor, *tensors: Any) -> Tensor:
        ctx.save_for_backward(room, *tensors)
        total, ctx.uses = _run(GroupScores(*tensors), room, with_uses=any(ctx.needs_input_grad))
        return total

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        room, *tensors = ctx.saved_tensors
        if torch.is_grad_enabled():  # a second derivative is needed, and the kernel has only the first
            return None, *differentiable_backward(room, tensors, gradient)
        scores = GroupScores(*tensors)
        found = ctx.uses or uses(scores, room)
        ctx.uses = None
        return None, *scaled(found, gradient)


def _run(scores: GroupScores, room: Tensor, *, with_uses: bool) -> tuple[Tensor, Uses | None]:
    """The log-partition of each row and, if requested, the expected uses; the reference computes rows beyond the
    kernel's range."""
    found = run_joint(_arrays(scores), room.numpy(), with_uses=with_uses, openmp=torch_openmp())
    total = torch.from_numpy(found.log_partition)
    counted = _tensors(found.uses) if found.uses is not None else None
    if len(found.failed):
        rows = torch.from_numpy(found.failed)
        with torch.no_grad():
            some = scores.rows(rows)
            total[rows] = joint_reference.log_partition(some, room[rows])
            if counted is not None:
                for one, again in zip(counted, joint_reference.uses(some, room[rows]), strict=True):
                    if one is not None and again is not None:
                        one[rows] = again
    return total, counted


def _arrays(scores: GroupScores) -> JointArrays:
    return JointArrays(*(None if one is None else one.detach().numpy() for one in scores))  # type: ignore[arg-type]


def _tensors(arrays: Sequence[np.ndarray | None]) -> Uses:
    return Uses(*(None if array is None else torch.from_numpy(array) for array in arrays))  # type: ignore[arg-type]
