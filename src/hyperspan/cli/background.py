"""``python -m hyperspan.cli.background train …``: a command at low priority, for as long as the process that started it lives.

Its standard input is a pipe from that process. When the pipe is closed, the process has ended, however it did, and so
does this.
"""

from __future__ import annotations

import os
import threading

from hyperspan.cli import main

NICENESS = 10


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    main()
