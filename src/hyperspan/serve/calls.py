"""A request at work: until when it may take, whether anybody still waits for it, and how much memory it holds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hyperspan.serve.metrics import Metrics
from hyperspan.serve.problems import Problem, overloaded

_T = TypeVar("_T")


@dataclass(eq=False)
class Call:
    """What the steps of a request share; threads that work for it ask it whether to go on."""

    seconds: float
    """How long it may take."""
    gone: Callable[[], asyncio.Future[None]]
    """What is done when its caller has closed the connection."""
    record: dict[str, Any] = field(default_factory=dict)
    """What the log says of it."""
    slot: str | None = None
    """Which kind of slot it takes, once it has one."""
    held: int = 0
    """Bytes that it holds of the memory for bodies."""
    abandoned: bool = False
    """Whether nobody waits for the answer any more."""

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Gives it its time again."""
        self.deadline = time.monotonic() + self.seconds

    def check(self) -> None:
        """Ends the work of a thread for a request that has taken too long or was abandoned."""
        if self.abandoned:
            raise Problem(499, "the caller closed the connection before the answer was there")
        if time.monotonic() > self.deadline:
            raise self.late()

    def late(self) -> Problem:
        return Problem(
            504, f"the request took longer than {self.seconds:g} seconds; send less text at a time, or try again later"
        )

    async def wait_for(self, work: asyncio.Future[_T]) -> _T:
        """The result of some work, which is cancelled when the time is over or the caller is gone."""
        gone = self.gone()
        try:
            left = max(self.deadline - time.monotonic(), 0)
            await asyncio.wait({work, gone}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
        finally:
            if not work.done():
                self.abandoned = True
                work.cancel()
        if gone.done():
            raise Problem(499, "the caller closed the connection before the answer was there")
        raise self.late()


class Memory:
    """The bytes that bodies and lines of all requests hold together, and no more than a limit."""

    def __init__(self, limit: int, metrics: Metrics):
        self.limit, self.metrics, self.held = limit, metrics, 0

    def hold(self, call: Call, count: int) -> None:
        if self.held + count > self.limit:
            self.metrics.shed.add(1, "memory")
            raise overloaded("too many large requests are at work; send the request again later", 5)
        self.held += count
        call.held += count

    def release(self, call: Call, count: int | None = None) -> None:
        """Gives back what a call holds, all of it if nothing else is said."""
        count = call.held if count is None else count
        self.held -= count
        call.held -= count
