"""What a forked process needs to compute."""

from __future__ import annotations

import functools
import os
import sys


@functools.cache
def use_one_thread_in_forks() -> None:
    """Lets an annotator work in processes that are forked from this one, as those of a `multiprocessing.Pool` may be.

    A fork has none of OpenMP's threads, but OpenMP does not know, and waits for them for ever.
    """

    def use_one_thread() -> None:
        if "torch" in sys.modules:
            sys.modules["torch"].set_num_threads(1)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=use_one_thread)
