"""Inference over groups of types with joint chains in C, over NumPy arrays: joint.c. No torch.

:mod:`hyperspan.kernels.joint_reference` defines the computation.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hyperspan.kernels.chain_arrays import chain_function, check_memory, listed_mentions
from hyperspan.kernels.libraries import address
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
    failed: np.ndarray
    """The rows whose weights exceed the kernel's range, such as those without a possible choice. Their results are
    meaningless."""


class _JointProblem(ctypes.Structure):
    """The struct Joint of joint_of.h."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in (*JointArrays._fields, "room")),
        *((name, ctypes.c_int64) for name in ("rows", "c", "g")),
        ("log_partition", ctypes.c_void_p),
        *((f"to_{name}", ctypes.c_void_p) for name in JointArrays._fields),
        ("failed", ctypes.c_void_p),
        ("openmp", ctypes.c_void_p),
    )


def run_joint(
    scores: JointArrays, room: np.ndarray, *, with_uses: bool = True, openmp: int | None = None
) -> JointResults:
    """The log-partition of each row and, if requested, the expected uses of its scores, untied."""
    given = _contiguous(scores)
    known = np.ascontiguousarray(room, dtype=np.int64)
    rows, c, g = given.close.shape
    log_partition = np.empty(rows, dtype=given.close.dtype)
    failed = np.empty(rows, dtype=np.uint8)
    # The uses of extend and branch are separate, even if the scores are tied.
    uses = _zeros(given._replace(branch=given.extend)) if with_uses else None
    made = uses or (None,) * len(given)
    problem = _JointProblem(
        *map(address, (*given, known)), rows, c, g, *map(address, (log_partition, *made, failed)), openmp
    )
    threads = max(1, min(thread_count(), 1 + rows * c * 4**g // CHOICES_A_THREAD, rows))
    check_memory(chain_function("joint", given.close)(ctypes.byref(problem), ctypes.c_int64(threads)))
    return JointResults(log_partition, uses, failed.nonzero()[0])


def best_places(scores: JointArrays, room: np.ndarray) -> np.ndarray | None:
    """(mentions, 3): the best mentions as (row, width, type), in that order; widths start at 0. None if a row has no
    possible choice."""
    given = _contiguous(scores)
    known = np.ascontiguousarray(room, dtype=np.int64)
    problem = _JointProblem(*map(address, (*given, known)), *given.close.shape)
    return listed_mentions(chain_function("joint_best", given.close), problem, len(known), 3)


def _zeros(like: JointArrays) -> JointArrays:
    return JointArrays(*(None if array is None else np.zeros(array.shape, array.dtype) for array in like))  # type: ignore[arg-type]


def _contiguous(scores: Sequence[np.ndarray | None]) -> JointArrays:
    return JointArrays(*(None if array is None else np.ascontiguousarray(array) for array in scores))  # type: ignore[arg-type]
