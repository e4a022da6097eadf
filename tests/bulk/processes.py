"""Processes that a test has started, by their ids; nothing else is ever to be killed."""

from __future__ import annotations

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


def is_running(process: int) -> bool:
    """Whether it is there, and not only its entry, which its parent has not looked at yet."""
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
