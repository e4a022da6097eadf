"""Inference over the chains of a segmental hypergraph in C, over NumPy arrays: chains.c. No torch.

:mod:`hyperspan.kernels.chain_reference` defines chains.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hyperspan.kernels import libraries
from hyperspan.kernels.encode import ScoreArrays
from hyperspan.kernels.libraries import address
from hyperspan.kernels.threads import thread_count

ENTRIES_A_THREAD = 20_000
"""The number of entries of `close` per thread."""


class ChainResults(NamedTuple):
    """The results of one pass over the scores; 0 in padding."""

    log_partition: np.ndarray  # (B, n, m): of each chain
    edges: ScoreArrays | None
    """The probability of each hyperedge in the place of its score. Tied scores have no `branch`: its probability counts
    towards `extend` and `close`."""


class _ChainProblem(ctypes.Structure):
    """The struct Problem of chains_of.h."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("absent", "present", "extend", "close", "branch", "lengths")),
        *((name, ctypes.c_int64) for name in ("batch", "n", "c", "m")),
        ("log_partition", ctypes.c_void_p),
        *((name, ctypes.c_void_p) for name in ("p_absent", "p_present", "p_extend", "p_close", "p_branch")),
        ("openmp", ctypes.c_void_p),
    )


def run_chains(
    scores: ScoreArrays, lengths: Sequence[int], *, with_edges: bool = True, openmp: int | None = None
) -> ChainResults:
    """The log-partition of each chain and, if requested, the probabilities of its edges."""
    given = _contiguous(scores)
    log_partition = np.empty_like(given.absent)
    made = [None if array is None or not with_edges else np.empty_like(array) for array in given]
    known = np.array(lengths, dtype=np.int64)
    problem = _ChainProblem(
        *map(address, (*given, known)), *given.close.shape, *map(address, (log_partition, *made)), openmp
    )
    threads = min(thread_count(), 1 + given.close.size // ENTRIES_A_THREAD)
    check_memory(chain_function("chains", given.close)(ctypes.byref(problem), ctypes.c_int64(threads)))
    return ChainResults(log_partition, ScoreArrays(*made) if with_edges else None)  # type: ignore[arg-type]


def best_places(scores: ScoreArrays, lengths: Sequence[int], leads: np.ndarray | None = None) -> np.ndarray | None:
    """(mentions, 4): the best mentions as (sentence, start, end, type), in that order; None where no set is possible.

    `leads` (B, n, m), if given, receives how much more the best alternative with mentions scores in each chain than
    none.
    """
    given, known = _contiguous(scores), np.array(lengths, dtype=np.int64)
    problem = _ChainProblem(*map(address, (*given, known)), *given.close.shape, address(leads))
    return listed_mentions(chain_function("best", given.close), problem, sum(lengths), 4)


def listed_mentions(best: Any, problem: ctypes.Structure, words: int, columns: int) -> np.ndarray | None:
    """(mentions, columns): the best mentions, as a function of chains.c lists them; None where no set is possible."""
    best.restype = ctypes.c_int64
    space = max(words, 1)  # one mention per word: trained models find far fewer
    while True:
        mentions = np.empty((space, columns), dtype=np.int32)
        found = best(ctypes.byref(problem), ctypes.c_void_p(mentions.ctypes.data), ctypes.c_int64(space))
        if found <= space:
            break
        space = found
    check_memory(found == -2)
    return None if found < 0 else mentions[:found]


def chain_function(name: str, like: np.ndarray) -> Any:
    """A function of chains.c for this dtype."""
    return getattr(libraries.compiled().library, f"{name}_{'float' if like.dtype == np.float32 else 'double'}")


def check_memory(status: int) -> None:
    """Raise an error unless a function of chains.c had enough memory."""
    if status:
        raise MemoryError("no memory for one row of scores; use a smaller max_width")


def _contiguous(scores: ScoreArrays) -> ScoreArrays:
    return ScoreArrays(*(None if array is None else np.ascontiguousarray(array) for array in scores))  # type: ignore[arg-type]
