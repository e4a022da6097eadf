"""Annotate a stream: lines of JSON in, lines of JSON out, in the same order, without a limit on their number.

At most AT_WORK lines are processed at a time, and no more are read until the first response is sent and received: a
client that sends faster than the model works, or that does not read, has to wait.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hyperspan.errors import EXIT_EXCEPTIONS, HyperspanError
from hyperspan.serve.errors import Problem, dumps
from hyperspan.serve.requests import Call, parse
from hyperspan.serve.schema import StreamLine, check, is_id
from hyperspan.serve.service import Service, answer_size

AT_WORK = 64
"""The maximum number of lines of a stream processed concurrently."""
AHEAD = 256 * 1024
"""The bytes of lines in progress from which on no more lines of a stream are read."""


@dataclass(frozen=True)
class StreamedLine:
    """A line as received, with its number from 1; or its error."""

    number: int
    content: bytes
    problem: Problem | None = None


class LineStream(Response):
    """The response to a stream, sent while the request is still read."""

    media_type = "application/x-ndjson"

    def __init__(self, service: Service, call: Call, options: Mapping[str, Any]):
        super().__init__()
        self.service, self.call, self.options = service, call, options
        del self.headers["content-length"]
        self._never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._room = asyncio.Event()
        self._at_work = 0  # bytes of lines

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        pending: asyncio.Queue[asyncio.Task[bytes] | None] = asyncio.Queue(AT_WORK)
        tasks: set[asyncio.Task[Any]] = set()
        reader = asyncio.create_task(self._read(receive, pending, tasks))
        writer = asyncio.create_task(self._write(send, pending))
        try:
            await asyncio.wait({reader, writer}, return_when=asyncio.FIRST_COMPLETED)
            if writer.done():
                writer.result()
            else:
                self.call.record["error"] = type(reader.exception() or ConnectionError()).__name__
        finally:
            for task in (reader, writer, *tasks):
                task.cancel()
            await asyncio.gather(reader, writer, *tasks, return_exceptions=True)

    async def _write(self, send: Send, pending: asyncio.Queue[asyncio.Task[bytes] | None]) -> None:
        start = {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        task = await pending.get()
        await send(start)  # not before there is something to read, for clients that wait for 100 Continue
        while task is not None:
            await send({"type": "http.response.body", "body": await task, "more_body": True})
            task = await pending.get()
        await send({"type": "http.response.body", "body": b""})

    async def _read(
        self, receive: Receive, pending: asyncio.Queue[asyncio.Task[bytes] | None], tasks: set[asyncio.Task[Any]]
    ) -> None:
        """Start processing lines; return when the client has disconnected."""
        async for line in self._lines(receive, tasks):
            self._at_work += len(line.content)
            task = asyncio.create_task(self._answered(line))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            await pending.put(task)
            await self.service.turn()
            while self._at_work > AHEAD:
                self._room.clear()
                await self._room.wait()
        await pending.put(None)
        while (await receive())["type"] != "http.disconnect":
            pass

    async def _answered(self, line: StreamedLine) -> bytes:
        async with self.service.lines:
            return await self._answer(line)

    async def _answer(self, line: StreamedLine) -> bytes:
        record: dict[str, Any] = {"line": line.number}
        size = 0
        try:
            if line.problem is not None:
                raise line.problem
            call = self._call()
            given = await self.service.offload(len(line.content), call, parse, line.content)
            if isinstance(given, dict) and "id" in given and is_id(given["id"]):
                record = {"id": given["id"], **record}
            asked = check(StreamLine, {**self.options, **given} if isinstance(given, dict) else given)
            size = answer_size([asked.text], asked)
            [document] = await self.service.annotate([asked.text], asked, call, wait=True)
            record |= document
        except Problem as problem:
            record["error"] = problem.content()
        except HyperspanError as error:
            record["error"] = Problem(422, str(error)).content()
        except (*EXIT_EXCEPTIONS, asyncio.CancelledError):
            raise
        except BaseException as error:  # native code raises more than Exception
            self.call.record["error"] = type(error).__name__
            record["error"] = Problem(500, "something went wrong inside the server; its log has more").content()
        finally:
            self._at_work -= len(line.content)
            self.service.memory.release(self.call, len(line.content))
            self._room.set()
        return await self.service.offload(size, self._call(), dumps, record) + b"\n"

    def _call(self) -> Call:
        """The call of a line, with the time limit of a request; when the client disconnects, its task is cancelled."""
        return Call(self.service.settings.seconds, lambda: self._never, self.call.record)

    async def _lines(self, receive: Receive, tasks: set[asyncio.Task[Any]]) -> AsyncIterator[StreamedLine]:
        """The lines of the body; refused lines, and the end of what the server accepts, are problems."""
        line, more = _OpenLine(self.service, self.call), True
        while more:
            message = await self._next(receive, tasks, line)
            if isinstance(message, Problem):
                yield StreamedLine(line.number, b"", message)
                return
            if message["type"] == "http.disconnect":
                raise ConnectionError
            more = message.get("more_body", False)
            *parts, rest = message.get("body", b"").split(b"\n")
            for part in parts:
                for found in (line.add(part), line.end()):
                    if found:
                        yield found
            for found in (line.add(rest), None if more else line.end()):
                if found:
                    yield found

    async def _next(self, receive: Receive, tasks: set[asyncio.Task[Any]], line: _OpenLine) -> Any:
        """The next part of the body, or why no more is read. A client may pause between lines, but not within one."""
        seconds, start = self.service.settings.seconds, time.monotonic()
        idle_since = start
        while not self.service.draining:
            if line.is_open and line.waited + time.monotonic() - start > seconds:
                return Problem(408, f"the line did not end within {seconds:g} seconds; send it faster")
            with suppress(TimeoutError):
                async with asyncio.timeout(0.25):
                    message = await receive()
                line.waited += time.monotonic() - start
                await self.service.turn()
                return message
            now = time.monotonic()
            if tasks:
                idle_since = now
            elif now - idle_since > seconds:
                return Problem(408, f"nothing came for {seconds:g} seconds; send the rest again")
        return Problem(503, "the server is shutting down; send this line and those after it later", "shutting_down")


class _OpenLine:
    """The line being received, which holds memory until it is refused or answered."""

    def __init__(self, service: Service, call: Call):
        self.memory, self.call, self.limit = service.memory, call, service.settings.max_body_bytes
        self.number = 0
        self._begin()

    def _begin(self) -> None:
        self.number += 1
        self.waited = 0.0
        """The seconds since it began in which more could have arrived."""
        self._content = bytearray()
        self._is_refused = False

    @property
    def is_open(self) -> bool:
        return bool(self._content) or self._is_refused

    def add(self, part: bytes) -> StreamedLine | None:
        """Add received bytes; return the line, once, if it is too long."""
        if not part or self._is_refused:
            return None
        if not self.is_open:
            self.waited = 0.0
        try:
            if len(self._content) + len(part) > self.limit:
                taken = f"the {self.limit:,} bytes that are taken"
                raise Problem(413, f"the line has more than {taken}; send less text in a line")
            self.memory.hold(self.call, len(part))
        except Problem as problem:
            self.memory.release(self.call, len(self._content))
            self._content, self._is_refused = bytearray(), True
            return StreamedLine(self.number, b"", problem)
        self._content += part
        return None

    def end(self) -> StreamedLine | None:
        """The whole line, unless it is empty or was refused; the next one begins."""
        number, content = self.number, bytes(self._content)
        self._begin()
        if content.strip():
            return StreamedLine(number, content)
        self.memory.release(self.call, len(content))
        return None
