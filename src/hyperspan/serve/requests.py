"""A request: its deadline, whether its client is connected, the memory it holds, and its body.

Bodies are read with limits on size, time and values, parsed as JSON, and validated.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from pydantic import BaseModel
from starlette.requests import ClientDisconnect, Request

from hyperspan.serve.errors import Problem, overloaded
from hyperspan.serve.metrics import Metrics
from hyperspan.serve.schema import check

if TYPE_CHECKING:
    from hyperspan.serve.service import Service

MOST_VALUES = 20_000
"""The maximum number of values in the JSON of a body or a line: enough for all limits, and quick to parse.

While it is parsed and checked, no other thread runs.
"""
_INSIDE = re.compile(rb'(?:[^"\\]++|\\.){1,1000}+', re.DOTALL)
"""A part of the inside of a string."""
_Checked = TypeVar("_Checked", bound=BaseModel)
JSON_TYPES = ("application/json",)
LINES_TYPES = (
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/x-jsonlines",
    *JSON_TYPES,
)
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


def check_type(request: Request, allowed: tuple[str, ...]) -> None:
    """Refuse a body not declared as JSON. Pages of other origins cannot declare it without a preflight request."""
    if len(request.headers.getlist("content-type")) > 1:
        raise Problem(400, "the request has the header Content-Type more than once; send it once")
    given = request.headers.get("content-type")
    if given is None or given.partition(";")[0].strip().lower() not in allowed:
        said = "without a type" if given is None else f"as {given[:60]!r}"
        raise Problem(
            415, f"the body is sent {said}, but must be {allowed[0]}; send the header Content-Type: {allowed[0]}"
        )


async def read(
    request: Request, service: Service, call: Call, kind: type[_Checked], most_values: int = MOST_VALUES
) -> _Checked:
    """The body of a request, parsed and validated."""
    check_type(request, JSON_TYPES)
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared[:20]) > service.settings.max_body_bytes:
        _too_large(service)
    parts = bytearray()
    try:
        async with asyncio.timeout_at(asyncio.get_running_loop().time() + call.deadline - time.monotonic()):
            await _receive(request, service, call, parts)
    except TimeoutError:
        raise Problem(
            408,
            f"the body did not come within {service.settings.seconds:g} seconds; send it faster, or in smaller parts",
        ) from None
    service.acquire_slot("requests", call)
    return await service.offload(len(parts), call, lambda: check(kind, parse(bytes(parts), most_values)))


async def skip(request: Request, service: Service, call: Call) -> None:
    """Receive a body that is of no use, so that its sender can read the response, up to the limit of a body."""
    left = service.settings.max_body_bytes
    try:
        async with asyncio.timeout(call.seconds):
            async for part in request.stream():
                if (left := left - len(part)) < 0:
                    _too_large(service)
    except (TimeoutError, ClientDisconnect):
        raise Problem(408, f"the body did not come within {call.seconds:g} seconds; send it faster") from None


async def _receive(request: Request, service: Service, call: Call, parts: bytearray) -> None:
    while True:
        message = await request.receive()
        await service.turn()
        if message["type"] == "http.disconnect":
            raise Problem(499, "the caller closed the connection before the body was there")
        body = message.get("body", b"")
        if len(parts) + len(body) > service.settings.max_body_bytes:
            _too_large(service)
        service.memory.hold(call, len(body))
        parts += body
        if not message.get("more_body", False):
            return


def _too_large(service: Service) -> NoReturn:
    limit = service.settings.max_body_bytes
    raise Problem(413, f"the body has more than the {limit:,} bytes that are taken; send less text at a time")


def parse(body: bytes, most_values: int = MOST_VALUES) -> Any:
    """Parse standard JSON; raise a Problem with the position of an error."""
    _check_values(body, most_values)
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_no_number)
    except UnicodeDecodeError as error:
        raise Problem(400, f"what was sent is not UTF-8 text, at byte {error.start}; encode it as UTF-8") from None
    except json.JSONDecodeError as error:
        raise Problem(
            400, f"what was sent is not JSON: {error.msg}, at character {error.pos}; check how it was made"
        ) from None
    except RecursionError:
        raise Problem(400, "what was sent is nested too deeply; send what /openapi.json describes") from None
    except ValueError:  # a number with thousands of digits
        raise Problem(
            400, "what was sent has a number that cannot be read; send what /openapi.json describes"
        ) from None


def _no_number(name: str) -> NoReturn:
    raise Problem(400, f"what was sent is not JSON: it has no {name}; leave it out, or write a number")


def _check_values(body: bytes, most: int) -> None:
    """Refuse more values than any request needs, before they are created.

    Each value after the first has a comma or colon.
    """
    if body.count(b",") + body.count(b":") <= most:  # including those in texts
        return
    too_many = body.count(b'"') - body.count(b'\\"') > 4 * most  # approximately, strings
    if too_many or _count_outside_strings(body, most) > most:
        raise Problem(413, f"what was sent has more than {most:,} values; send less at a time")


def _count_outside_strings(body: bytes, most: int) -> int:
    """The number of commas and colons, counted string by string, so that other threads can run."""
    count = place = 0
    while 0 <= place < len(body) and count <= most:
        quote = body.find(b'"', place)
        until = quote if quote >= 0 else len(body)
        count += body.count(b",", place, until) + body.count(b":", place, until)
        place = _end_of_string(body, until + 1)
    return count


def _end_of_string(body: bytes, place: int) -> int:
    """The position after the closing quotation mark of a string, or the end if there is none."""
    while place < len(body):
        inside = _INSIDE.match(body, place)
        end = inside.end() if inside else place
        if body[end : end + 1] == b'"':
            return end + 1
        place = end if end > place else len(body)
    return len(body)
