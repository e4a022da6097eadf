"""Progress lines for logs: one a minute where no terminal shows progress bars."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

MINUTE = 60.0


@contextmanager
def print_every_minute(
    state: Callable[[], str], console: Console, printed: Callable[[], float] = lambda: 0.0
) -> Iterator[None]:
    """Prints `state()` once a minute while the block runs; prints nothing on a terminal, which shows progress bars.

    `printed` returns when the caller last printed a line itself, by :func:`time.monotonic`; the minute counts from there.
    """
    if console.is_terminal:
        yield
        return
    ended = threading.Event()

    def report() -> None:
        last = time.monotonic()
        while not ended.wait(MINUTE / 20):
            if time.monotonic() - max(last, printed()) >= MINUTE:
                console.print(state(), markup=False, highlight=False, soft_wrap=True)
                last = time.monotonic()

    thread = threading.Thread(target=report, name="hyperspan-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
