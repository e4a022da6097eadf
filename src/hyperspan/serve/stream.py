"""Lines of JSON in, lines of JSON out, in the same order, any number of them.

So many lines are at work at a time, and no more are read until the first of them is answered and taken: a caller who sends faster
than the model works, or who does not read, has to wait.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from hyperspan.errors import HyperspanError
from hyperspan.serve.bodies import parse
from hyperspan.serve.engine import Call, Engine
from hyperspan.serve.problems import Problem, dumps
from hyperspan.serve.schema import StreamLine, check, is_id

AT_WORK = 64
"""Lines of a stream that are at work at the same time."""


@dataclass(frozen=True)
class Line:
    """A line as it came, with its number from 1; or what is wrong with it."""

    number: int
    content: bytes
    problem: Problem | None = None


class Lines(Response):
    """The answer to a stream, which is sent while the request is still read."""

    media_type = "application/x-ndjson"

    def __init__(self, engine: Engine, call: Call, options: Mapping[str, Any]):
        super().__init__()
        self.engine, self.call, self.options = engine, call, options
        del self.headers["content-length"]
        self._never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._room = asyncio.Event()
        self._held = 0  # bytes of lines at work

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
        await send(start)  # not before there is something to read, for callers that wait for 100 Continue
        while task is not None:
            await send({"type": "http.response.body", "body": await task, "more_body": True})
            task = await pending.get()
        await send({"type": "http.response.body", "body": b""})

    async def _read(
        self, receive: Receive, pending: asyncio.Queue[asyncio.Task[bytes] | None], tasks: set[asyncio.Task[Any]]
    ) -> None:
        """Sets lines to work, and returns when the caller is gone."""
        async for line in self._lines(receive, tasks):
            self._held += len(line.content)
            task = asyncio.create_task(self._answered(line))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            await pending.put(task)
            while self._held > self.engine.settings.max_body_bytes:
                self._room.clear()
                await self._room.wait()
        await pending.put(None)
        while (await receive())["type"] != "http.disconnect":
            pass

    async def _answered(self, line: Line) -> bytes:
        record: dict[str, Any] = {"line": line.number}
        try:
            if line.problem is not None:
                raise line.problem
            given = parse(line.content)
            if isinstance(given, dict) and "id" in given and is_id(given["id"]):
                record = {"id": given["id"], **record}
            asked = check(StreamLine, {**self.options, **given} if isinstance(given, dict) else given)
            call = Call(time.monotonic() + self.engine.settings.seconds, lambda: self._never, self.call.record)
            [document] = await self.engine.annotate([asked.text], asked, call, wait=True)
            record |= document
        except Problem as problem:
            record["error"] = problem.content()
        except HyperspanError as error:
            record["error"] = Problem(422, str(error)).content()
        except Exception as error:
            self.call.record["error"] = type(error).__name__
            record["error"] = Problem(500, "something went wrong inside the server; its log has more").content()
        finally:
            self._held -= len(line.content)
            self._room.set()
        return dumps(record) + b"\n"

    async def _lines(self, receive: Receive, tasks: set[asyncio.Task[Any]]) -> AsyncIterator[Line]:
        """The lines of the body; those that are too long, or the end of what the server takes, as problems."""
        number, rest, skipping, more = 0, b"", False, True
        limit = self.engine.settings.max_body_bytes
        while more:
            message = await self._next(receive, tasks)
            if isinstance(message, Problem):
                yield Line(number + 1, b"", message)
                return
            if message["type"] == "http.disconnect":
                raise ConnectionError
            more = message.get("more_body", False)
            *whole, rest = (rest + message.get("body", b"")).split(b"\n")
            for content in whole if more or not rest else (*whole, rest):
                number += 1
                if skipping:
                    skipping = False
                elif len(content) > limit:
                    yield Line(number, b"", _too_long(limit))
                elif content.strip():
                    yield Line(number, content)
            if more and len(rest) > limit:
                if not skipping:
                    yield Line(number + 1, b"", _too_long(limit))
                rest, skipping = b"", True

    async def _next(self, receive: Receive, tasks: set[asyncio.Task[Any]]) -> Any:
        """The next piece of the body, or why no more is read. Who waits for answers may take his time."""
        coming = asyncio.ensure_future(receive())
        idle_since = time.monotonic()
        try:
            while True:
                if self.engine.draining:
                    return Problem(
                        503, "the server is shutting down; send this line and those after it later", "shutting_down"
                    )
                done, _ = await asyncio.wait({coming}, timeout=0.25)
                if done:
                    return coming.result()
                if tasks:
                    idle_since = time.monotonic()
                elif time.monotonic() - idle_since > self.engine.settings.seconds:
                    return Problem(
                        408, f"nothing came for {self.engine.settings.seconds:g} seconds; send the rest again"
                    )
        finally:
            coming.cancel()


def _too_long(limit: int) -> Problem:
    return Problem(413, f"the line has more than the {limit:,} bytes that are taken; send less text in a line")
