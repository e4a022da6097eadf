"""The state of a request: its deadline, whether its client is connected, and the memory it holds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hyperspan.serve.errors import Problem, overloaded
from hyperspan.serve.metrics import Metrics

_T = TypeVar("_T")


@dataclass(eq=False)
class Call:
    """State shared by the steps of a request; its worker threads ask it whether to continue."""

    seconds: float
    """Its time limit."""
    gone: Callable[[], asyncio.Future[None]]
    """A future that is done when the client has disconnected."""
    record: dict[str, Any] = field(default_factory=dict)
    """Its fields in the log."""
    slot: str | None = None
    """The kind of slot it holds, once it has one."""
    held: int = 0
    """The number of bytes it holds of the memory for bodies."""
    abandoned: bool = False
    """Whether nobody waits for the response any more."""

    def __post_init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Restart its time limit."""
        self.deadline = time.monotonic() + self.seconds

    def check(self) -> None:
        """Raise in a worker thread if the request has timed out or was abandoned."""
        if self.abandoned:
            raise Problem(499, "the caller closed the connection before the answer was there")
        if time.monotonic() > self.deadline:
            raise self.late()

    def late(self) -> Problem:
        return Problem(
            504, f"the request took longer than {self.seconds:g} seconds; send less text at a time, or try again later"
        )

    async def wait_for(self, work: asyncio.Future[_T]) -> _T:
        """The result of a future, which is cancelled on a timeout or if the client disconnects."""
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
    """The bytes held by bodies and lines of all requests together, up to a limit."""

    def __init__(self, limit: int, metrics: Metrics):
        self.limit, self.metrics, self.held = limit, metrics, 0

    def hold(self, call: Call, count: int) -> None:
        if self.held + count > self.limit:
            self.metrics.shed.labels("memory").inc()
            raise overloaded("too many large requests are at work; send the request again later", 5)
        self.held += count
        call.held += count

    def release(self, call: Call, count: int | None = None) -> None:
        """Release bytes that a call holds, by default all."""
        count = call.held if count is None else count
        self.held -= count
        call.held -= count
