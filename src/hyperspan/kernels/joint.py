"""Inference over groups of types whose chains at one word depend on each other: one interface, and which implementation runs.

What is computed stands in :mod:`hyperspan.kernels.joint_reference`.
"""

from __future__ import annotations

from torch import Tensor

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
    if chosen == "dense":
        return ExplicitLogPartition.apply(room, *scores)
    return reference_log_partition(scores, room)


def uses(scores: GroupScores, room: Tensor) -> Uses:
    """How often each score is used on average; 0 in padding. No gradient."""
    return reference_uses(scores, room)
