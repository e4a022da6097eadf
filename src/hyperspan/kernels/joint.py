"""Inference over groups of types whose chains at one word depend on each other: the common interface.

:mod:`hyperspan.kernels.joint_reference` defines the computation.
"""

from __future__ import annotations

import numpy as np
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
    "best_mentions",
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
    """(R,): the log-partition of the group's mentions from each word; 0 in padding. Twice differentiable."""
    chosen = _chosen(scores)
    if chosen == "c":
        return joint_c.log_partition(scores, room)
    if chosen == "dense":
        return ExplicitLogPartition.apply(room, *scores)
    return reference_log_partition(scores, room)


def uses(scores: GroupScores, room: Tensor) -> Uses:
    """The expected uses of each score; 0 in padding. No gradient."""
    if _chosen(scores) == "c":
        return joint_c.uses(scores, room)
    return reference_uses(scores, room)


def best_mentions(scores: GroupScores, room: Tensor) -> np.ndarray | None:
    """(mentions, 3): the best mentions of all rows as (row, width, type); widths start at 0.

    None if no kernel supports this or there is no possible choice: then use :func:`inward` with :func:`highest`.
    """
    return joint_c.best_mentions(scores, room) if _chosen(scores) == "c" else None


def _chosen(scores: GroupScores) -> str:
    return choose("joint", scores.close.device.type, ("c",) if scores.close.shape[2] > joint_arrays.MOST_TYPES else ())
