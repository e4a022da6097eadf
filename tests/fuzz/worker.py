"""A process that uses inputs, and the process that watches it: what hangs or crashes there ends nothing here."""

from __future__ import annotations

import faulthandler
import gc
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.fuzz.target import FoundError, Input, Target, Workplace

GROWTH = 1_500_000_000
"""Bytes of address space that an input may take beyond what the imported libraries have."""
SECONDS = 20.0
"""An input that is computed with for longer hangs, however busy the machine is."""
WAITING = 4
"""So does one that takes this many times as long without being computed with."""
INSIDE = f"{os.sep}hyperspan{os.sep}"
CONTEXT = get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.fuzz.targets", "tests.support.preloaded"])


@dataclass(frozen=True)
class Failure:
    """What went wrong, and for which input."""

    target: str
    index: int
    kind: str
    """The exception, and where in hyperspan; the same for failures of one cause."""
    details: str


def generator(seed: int, target: str, index: int) -> random.Random:
    """What decides on one input, whatever else is run."""
    return random.Random(f"{seed}/{target}/{index}")


def use(target: Target, given: Input, shared: Path) -> tuple[str, str] | None:
    """Uses an input in a folder of its own: None, or what went wrong and its traceback."""
    folder = Path(tempfile.mkdtemp(dir=shared))
    try:
        target.run(given, Workplace(folder, shared))
    except BaseException as error:  # a panic of compiled code is no Exception
        if isinstance(error, KeyboardInterrupt):
            raise
        return _kind(error), "".join(traceback.format_exception(error))[-6_000:]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return None


def _kind(error: BaseException) -> str:
    """The same for failures of one cause: what it is, and where in hyperspan."""
    if isinstance(error, FoundError):
        what = re.sub(r"\d+", "N", str(error))
        return what if error.__cause__ is None else f"{what}, raised in {_place(error.__cause__)}"
    return f"{type(error).__name__} in {_place(error)}"


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    last = next((frame for frame in reversed(frames) if INSIDE in frame.filename), frames[-1])
    return f"{last.filename.rpartition(INSIDE)[2] or last.filename}:{last.name}"


# -- in the worker
# -------------------------------------------------------------------------------------------------------


def _work(orders: Connection, clock: Any, shared: Path, trace: Path) -> None:
    """Limits itself, and obeys orders until there is nobody to give them."""
    os.setpgid(0, 0)  # so that whatever it starts ends with it
    stream = trace.open("w")
    for number in (1, 2):
        os.dup2(stream.fileno(), number)
    faulthandler.enable(stream)
    faulthandler.register(signal.SIGUSR1, stream)
    import torch

    torch.set_num_threads(1)
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + GROWTH
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        while True:
            target, seed, indices = orders.recv()
            _obey(target, seed, indices, orders, clock, shared)
    except BaseException:  # nobody is left to give orders, or a target is wrong
        traceback.print_exc(file=stream)
    finally:
        stream.flush()
        os.killpg(0, signal.SIGKILL)


def _obey(target: Target, seed: int, indices: Sequence[int], orders: Connection, clock: Any, shared: Path) -> None:
    """Uses some inputs of a target, and says what failed."""
    for index in indices:
        clock[0] = index
        asked = target.mutated(generator(seed, target.name, index))
        target.prepare(Workplace(shared, shared))
        clock[1], clock[2] = time.monotonic(), time.process_time()
        failed = use(target, asked, shared)
        clock[1] = 0.0
        if failed is not None:
            orders.send(Failure(target.name, index, *failed))
    orders.send(None)


# -- outside
# -------------------------------------------------------------------------------------------------------------


class Worker:
    """A worker process, begun anew whenever it had to be ended."""

    def __init__(self, shared: Path, seconds: float = SECONDS):
        self.shared, self.seconds = shared, seconds
        self.process: Any = None
        self.ended_by = ""

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def _begin(self) -> None:
        self.pipe, other = CONTEXT.Pipe()
        self.clock = CONTEXT.RawArray("d", 3)  # the index of an input, when it was begun, and the CPU time until then
        handle, name = tempfile.mkstemp(dir=self.shared, prefix="trace-")
        os.close(handle)
        self.trace = Path(name)
        self.process = CONTEXT.Process(target=_work, args=(other, self.clock, self.shared, self.trace))
        self.process.start()
        other.close()

    def end(self) -> None:
        """Ends the process and all that it has started."""
        if self.process is not None:
            for kill in (os.killpg, os.kill):
                try:
                    kill(self.process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            self.process.join()
            self.process = None

    def run(self, target: Target, seed: int, indices: Sequence[int]) -> list[Failure]:
        """The failures among some inputs of a target."""
        waiting, found = list(indices), list[Failure]()
        while waiting:
            if self.process is None:
                self._begin()
            self.pipe.send((target, seed, waiting))
            found += self._watch()
            if self.process is not None:
                break
            index = int(self.clock[0])
            found.append(Failure(target.name, index, self.ended_by, self.trace.read_text(errors="replace")[-6_000:]))
            waiting = waiting[waiting.index(index) + 1 :]  # go on after the one that ended the process
        return found

    def _watch(self) -> list[Failure]:
        """What fails until the order is done, or until the process hangs or dies, which ends it."""
        found: list[Failure] = []
        while True:
            if self._hangs():
                os.kill(self.process.pid, signal.SIGUSR1)  # which writes down where it is
                time.sleep(0.3)
                return self._ended("hangs", found)
            try:
                if self.pipe.poll(0.1):
                    said = self.pipe.recv()
                    if said is None:
                        return found
                    found.append(said)
            except (EOFError, ConnectionError):
                return self._ended("the process died", found)

    def _hangs(self) -> bool:
        begun, before = self.clock[1], self.clock[2]  # read once: the worker sets them when an input is done
        waited = time.monotonic() - begun if begun else 0.0
        if waited < self.seconds:
            return False
        try:
            times = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        except OSError:  # it has just died
            return False
        computed = sum(map(int, times)) / os.sysconf("SC_CLK_TCK")
        return waited > WAITING * self.seconds or computed - before > self.seconds

    def _ended(self, what: str, found: list[Failure]) -> list[Failure]:
        self.end()
        self.ended_by = what
        return found


def check_platform() -> None:
    if not sys.platform.startswith("linux"):
        raise SystemExit("fuzzing needs Linux: it limits the memory of processes and reads /proc")
