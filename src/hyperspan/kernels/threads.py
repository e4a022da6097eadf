"""How many threads the C kernels use. Needs neither torch nor NumPy."""

from __future__ import annotations

import os
import sys


def thread_count() -> int:
    """The threads of a call: OMP_NUM_THREADS or the CPUs of this process; no more than torch uses, where it is loaded."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    written = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    count = int(written) if written.isdecimal() and int(written) else cpus
    torch = sys.modules.get("torch")
    return min(count, torch.get_num_threads()) if torch is not None else count
