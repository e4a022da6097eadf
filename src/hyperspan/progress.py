"""Progress lines for logs: one a minute where no terminal shows progress bars."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

MINUTE = 60.0


def _to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


@contextmanager
def print_every_minute(
    state: Callable[[], str],
    write: Callable[[str], None] = _to_stderr,
    printed: Callable[[], float] = lambda: 0.0,
) -> Iterator[None]:
    """Writes `state()` once a minute while the block runs.

    `printed` returns when the caller last printed a line itself, by :func:`time.monotonic`; the minute counts from
    there.
    """
    ended = threading.Event()

    def report() -> None:
        last = time.monotonic()
        while not ended.wait(MINUTE / 20):
            if time.monotonic() - max(last, printed()) >= MINUTE:
                write(state())
                last = time.monotonic()

    thread = threading.Thread(target=report, name="hyperspan-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
