"""How work grows with its size, as a ratio of two sizes, since times themselves depend on the machine."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

TRIES = 20
"""Other work on the machine makes single measurements wrong, so that one good ratio of several is enough."""


def grows_linearly(work: Callable[[int], object], size: int, most: float = 2.6) -> bool:
    """Whether work of twice the size takes about twice the CPU time of this thread."""
    gc.disable()
    try:
        return any(_seconds(work, 2 * size) <= most * max(_seconds(work, size), 1e-9) for _ in range(TRIES))
    finally:
        gc.enable()


def _seconds(work: Callable[[int], object], size: int) -> float:
    start = time.thread_time()
    work(size)
    return time.thread_time() - start


def lines_run(work: Callable[[], object]) -> int:
    """The number of lines of Python that something runs."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
