"""Defer Ctrl-C to the end of a step, so that a run saves its state between two steps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def deferred_interrupt() -> Iterator[Callable[[], bool]]:
    """A context in which the first Ctrl-C only makes the yielded function return true; a second one stops immediately.

    >>> with deferred_interrupt() as interrupted:
    ...     signal.raise_signal(signal.SIGINT)
    ...     interrupted()
    True

    Only the main thread receives signals; in others the function never returns true.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.getsignal(signal.SIGINT)
    came = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal came
        came = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield lambda: came
    finally:
        signal.signal(signal.SIGINT, before)
