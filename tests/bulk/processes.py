"""Processes that a test has started, by their ids; nothing else is ever to be killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path


def below(ancestor: int) -> dict[int, str]:
    """The processes that descend from one, and how they were called."""
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            names[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    found: dict[int, str] = {}
    for process in parents:
        above = process
        while above in parents and above != ancestor:
            above = parents[above]
        if above == ancestor and process != ancestor:
            found[process] = names.get(process, "")
    return found


def named(ancestor: int, beginning: str) -> list[int]:
    """Those below a process that are called so."""
    return sorted(process for process, name in below(ancestor).items() if name.startswith(beginning))


def state_of(process: int) -> str:
    """Its state as the system calls it: T if it is stopped, Z if it has ended and its parent has not looked yet."""
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def is_running(process: int) -> bool:
    """Whether it is there, and not only its entry, which its parent has not looked at yet."""
    return state_of(process) not in ("", "Z")


def with_variable(name: str, value: str) -> list[int]:
    """All processes but this one that were started with a variable of the environment, whoever is their parent."""
    wanted, found = f"{name}={value}".encode(), list[int]()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if wanted in (folder / "environ").read_bytes().split(b"\0") and int(folder.name) != os.getpid():
                found.append(int(folder.name))
    return found


def kill_all(members: Callable[[], Iterable[int]]) -> set[int]:
    """Kill processes that may start others meanwhile; none has time to say goodbye. Returns those that there were."""
    stopped: set[int] = set()
    while new := set(filter(is_running, members())) - stopped:
        _signal(new, signal.SIGSTOP)  # what is stopped starts nothing
        stopped |= new
    _signal(stopped, signal.SIGKILL)
    return stopped


def have_ended(processes: Iterable[int], seconds: float) -> bool:
    """Whether processes end within some time."""
    waiting, deadline = list(processes), time.monotonic() + seconds
    while (waiting := list(filter(is_running, waiting))) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not waiting


def _signal(processes: Iterable[int], number: signal.Signals) -> None:
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, number)
