"""``python -m hyperspan.cli.background train …``: run a command at low priority until its parent process ends.

Standard input is a pipe from the parent. The pipe closes when the parent ends, for any reason, and then this process
exits.
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
