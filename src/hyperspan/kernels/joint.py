"""Inference over groups of types whose chains at one word depend on each other: one interface, and which implementation runs.

What is computed stands in :mod:`hyperspan.kernels.joint_reference`.
"""

from __future__ import annotations

from torch import Tensor

from hyperspan.kernels import joint_c
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
    "highest",
    "inward",
    "log_partition",
    "start_scores",
    "uses",
]


def log_partition(scores: GroupScores, room: Tensor) -> Tensor:
    """(R,): log of the sum over all that the types can have from each word; 0 in padding. Differentiable, also twice."""
    chosen = choose("joint", scores.close.device.type)
    if chosen == "c":
        return joint_c.log_partition(scores, room)
    if chosen == "dense":
        return ExplicitLogPartition.apply(room, *scores)
    return reference_log_partition(scores, room)


def uses(scores: GroupScores, room: Tensor) -> Uses:
    """How often each score is used on average; 0 in padding. No gradient."""
    if choose("joint", scores.close.device.type) == "c":
        return joint_c.uses(scores, room)
    return reference_uses(scores, room)
