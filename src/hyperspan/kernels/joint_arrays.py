"""Inference over groups of types with joint chains in C, over NumPy arrays: joint.c. No torch.

:mod:`hyperspan.kernels.joint_reference` defines the computation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hyperspan.kernels.libraries import BatchStruct, ScoresStruct, address, call, check_memory
from hyperspan.kernels.threads import thread_count

MOST_TYPES = 8
"""The largest group that joint.c supports."""
CHOICES_A_THREAD = 200_000
"""The number of local choices (4^g per row and width) per thread."""


class JointArrays(NamedTuple):
    """The scores of one group of g types, as in :class:`hyperspan.kernels.joint_reference.GroupScores`, or their
    expected uses."""

    absent: np.ndarray  # (R, g)
    present: np.ndarray  # (R, g)
    extend: np.ndarray  # (R, c - 1, g)
    close: np.ndarray  # (R, c, g)
    branch: np.ndarray | None  # (R, c - 1, g)
    together: np.ndarray | None  # (R, c, g, g)
    within: np.ndarray | None  # (R, c, g, g)


class JointResults(NamedTuple):
    """The results of one pass over the scores; 0 in padding."""

    log_partition: np.ndarray  # (R,)
    uses: JointArrays | None
    """The gradient of the log-partition: the uses of `branch` count towards `extend` and `close` if it is None."""
    failed: np.ndarray
    """The rows whose weights exceed the kernel's range, such as those without a possible choice. Their results are
    meaningless."""


def run_joint(
    scores: JointArrays, room: np.ndarray, *, with_uses: bool = True, openmp: int | None = None
) -> JointResults:
    """The log-partition of each row and, if requested, the expected uses of its scores."""
    given = _Call(scores, room, openmp)
    log_partition, failed = np.zeros(len(room)), np.zeros(len(room), dtype=np.uint8)
    uses = JointArrays(*(None if array is None else np.zeros_like(array) for array in given.scores))  # type: ignore[arg-type]
    found = ScoresStruct.of(**uses._asdict()) if with_uses else ScoresStruct()
    given.run("joint", address(log_partition), found, address(failed))
    total = log_partition.astype(scores.close.dtype)
    return JointResults(total, uses if with_uses else None, failed.nonzero()[0])


def highest_sums(scores: JointArrays, room: np.ndarray) -> np.ndarray:
    """(R, c + 1, 2^g): the highest sum of what follows at each width, by active types; NaN where a score is NaN or
    +inf."""
    given = _Call(scores, room, None)
    rows, c, g = scores.close.shape
    tables = np.zeros((rows, c + 1, 2**g))
    given.run("joint_highest", address(tables))
    return tables


class _Call:
    """The arguments that all functions of joint_rows.h share."""

    def __init__(self, scores: JointArrays, room: np.ndarray, openmp: int | None):
        rows, c, g = scores.close.shape
        self.scores = JointArrays(*(None if one is None else np.ascontiguousarray(one) for one in scores))  # type: ignore[arg-type]
        self.types = np.arange(g, dtype=np.int32)
        threads = max(1, min(thread_count(), 1 + rows * c * 4**g // CHOICES_A_THREAD, rows))
        self.batch = BatchStruct.of(np.ascontiguousarray(room, dtype=np.int64), (rows, 1, c, g), threads, openmp)

    def run(self, name: str, *more: Any) -> None:
        given, types = ScoresStruct.of(**self.scores._asdict()), address(self.types)
        check_memory(call(name, self.scores.close, self.batch, given, types, len(self.types), *more))
