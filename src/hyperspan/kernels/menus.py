"""The menus of discontinuous mentions in C, over NumPy arrays: menus.h. No torch.

:mod:`hyperspan.structures.gaps` defines menus and is the reference.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hyperspan.kernels.chains import ENTRIES_A_THREAD
from hyperspan.kernels.libraries import BatchStruct, ScoresStruct, address, call, check_memory
from hyperspan.kernels.threads import thread_count


class MenuResults(NamedTuple):
    """The weights of the menus of a batch."""

    gap_items: np.ndarray
    """(parts - 1, B, n, g, m): the menus of gaps that begin at a word, by the number of parts that may still come,
    fewest first."""
    part_items: np.ndarray
    """(parts - 2, B, n, 2 c', m): the menus of parts, as the last and if others follow, if two or more may come; for
    one they are `last`."""
    more: np.ndarray  # (B, n, c, m): the second item of each event, mentions of more parts
    events: np.ndarray  # (B, n, c, m)
    shares: np.ndarray | None
    """(2, B, n, c, m): the probability of the two items of each event, given the event; None if `best`."""


class _MenuStruct(ctypes.Structure):
    """The struct MenuArrays of menus.h."""

    _fields_ = tuple((name, ctypes.c_void_p) for name in (*MenuResults._fields[:-1], "alone", "goes_on"))


def run_menus(scores: Sequence[np.ndarray], lengths: Sequence[int], parts: int, *, best: bool) -> MenuResults:
    """The menus of a batch: sums over all choices, or the best of them.

    `scores` are close, open, gap and last of DiscontinuousScores, the last -inf where a part would reach beyond its
    sentence.
    """
    given = [np.ascontiguousarray(array) for array in scores]
    close, _, gap, last = given
    sentences, n, _, m = close.shape
    gap_items = np.empty((parts - 1, *gap.shape), dtype=close.dtype)
    part_items = np.empty((max(parts - 2, 0), sentences, n, 2 * last.shape[2], m), dtype=close.dtype)
    shares = None if best else np.empty((2, *close.shape), dtype=close.dtype)
    found = MenuResults(gap_items, part_items, np.empty_like(close), np.empty_like(close), shares)
    threads = min(thread_count(), 1 + close.size // ENTRIES_A_THREAD)
    sizes = {"gaps": gap.shape[2], "later": last.shape[2], "parts": parts}
    batch = BatchStruct.of(np.array(lengths, dtype=np.int64), close.shape, threads, **sizes)
    struct = ScoresStruct.of((None, None, None, close), open=given[1], gap=gap, last=last)
    halves = (None, None) if shares is None else shares
    check_memory(call("menus", close, batch, struct, int(best), _MenuStruct(*map(address, (*found[:-1], *halves)))))
    return found
