"""Inference over groups of types whose chains at one word depend on each other: the common interface.

:mod:`hyperspan.kernels.joint_reference` defines the computation.
"""

from __future__ import annotations

import torch
from torch import Tensor

from hyperspan.kernels import joint_arrays, joint_c
from hyperspan.kernels.choice import choose
from hyperspan.kernels.joint_reference import (
    ExplicitLogPartition,
    GroupScores,
    Uses,
    choice_probabilities,
    choices_of,
    conditional,
    highest,
    inward,
    start_scores,
)
from hyperspan.kernels.joint_reference import log_partition as reference_log_partition
from hyperspan.kernels.joint_reference import uses as reference_uses

__all__ = [
    "GroupScores",
    "Uses",
    "choice_probabilities",
    "choices_of",
    "conditional",
    "highest_sums",
    "inward",
    "log_partition",
    "start_scores",
    "uses",
]


def log_partition(scores: GroupScores, room: Tensor) -> Tensor:
    """(R,): the log-partition of the group's mentions from each word; 0 in padding. Twice differentiable."""
    chosen = _chosen(scores)
    if chosen == "c":
        return joint_c.log_partition(scores, room)
    if scores.close.device.type != "cpu":  # few large operations suit GPUs
        return ExplicitLogPartition.apply(room, *scores)
    return reference_log_partition(scores, room)


def uses(scores: GroupScores, room: Tensor) -> Uses:
    """The expected uses of each score; 0 in padding. No gradient."""
    if _chosen(scores) == "c":
        return joint_c.uses(scores, room)
    return reference_uses(scores, room)


def highest_sums(scores: GroupScores, room: Tensor) -> Tensor:
    """(R, c + 1, 2^g): the highest sum of what follows at each width, by active types: β_0, …, β_c. No gradient."""
    if _chosen(scores) == "c":
        return joint_c.highest_sums(scores, room)
    return torch.stack(list(inward(scores, room, highest))[::-1], dim=1)


def _chosen(scores: GroupScores) -> str:
    return choose("joint", scores.close.device.type, ("c",) if scores.close.shape[2] > joint_arrays.MOST_TYPES else ())
