"""The number of threads that kernels may use. Needs neither torch nor NumPy."""

from __future__ import annotations

import ctypes
import math
import os
import sys
from functools import cache
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
VARIABLE = "OMP_NUM_THREADS"


def cpu_count() -> int:
    """The number of CPUs of this process; in a container with a CPU limit, that limit."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cpus, _limit())


def thread_count() -> int:
    """The value of ``torch.set_num_threads``, or else OMP_NUM_THREADS, but at most the number of CPUs of this process.

    Without torch and without the variable, all CPUs are used.
    """
    torch = sys.modules.get("torch")
    wanted = torch.get_num_threads() if torch and hasattr(torch, "get_num_threads") else _from_environment()
    return min(wanted, cpu_count())


@cache
def _from_environment() -> int:
    first = os.environ.get(VARIABLE, "").split(",")[0].strip()  # a list is for nested teams
    return int(first) if first.isdecimal() and int(first) else sys.maxsize


@cache
def _limit() -> int:
    return cpus_of_cgroup(CGROUPS)


def cpus_of_cgroup(folder: Path) -> int:
    """The limit on CPU time of a container, in CPUs, rounded up; ``sys.maxsize`` if there is none.

    >>> cpus_of_cgroup(Path("no/such/folder")) == sys.maxsize
    True
    """
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):  # version 2, version 1
        try:
            quota, period = " ".join((folder / name).read_text() for name in names).split()
            if int(quota) > 0 and int(period) > 0:
                return max(math.ceil(int(quota) / int(period)), 1)
        except (OSError, ValueError):  # no such file; "max"
            continue
    return sys.maxsize


@cache
def torch_openmp() -> int | None:
    """The function of torch's OpenMP that runs threads, for kernels between torch operations; None if there is none."""
    try:
        function = ctypes.CDLL(sys.modules["torch"]._C.__file__).GOMP_parallel  # it is in a library that this one needs
    except (OSError, AttributeError):
        return None
    return ctypes.cast(function, ctypes.c_void_p).value


def use_threads(count: int) -> None:
    """Limit this process, its child processes and torch to `count` threads."""
    os.environ[VARIABLE] = str(count)
    _from_environment.cache_clear()
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(count)


def _use_one_thread() -> None:
    """Use one thread after a fork: OpenMP's threads do not survive it, and torch would wait for them forever."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_use_one_thread)
