"""Long work where no terminal shows how far it is: a line every minute, so that a log is never silent for long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

MINUTE = 60.0


@contextmanager
def every_minute(
    state: Callable[[], str], console: Console, printed: Callable[[], float] = lambda: 0.0
) -> Iterator[None]:
    """While this lasts, prints what `state` returns whenever a minute has passed; not on a terminal, which has bars.

    Nothing is printed within a minute after something else was, at the time of :func:`time.monotonic` that `printed` returns.
    """
    if console.is_terminal:
        yield
        return
    ended = threading.Event()

    def tell() -> None:
        last = time.monotonic()
        while not ended.wait(MINUTE / 20):
            if time.monotonic() - max(last, printed()) >= MINUTE:
                console.print(state(), markup=False, highlight=False, soft_wrap=True)
                last = time.monotonic()

    thread = threading.Thread(target=tell, name="hyperspan-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
