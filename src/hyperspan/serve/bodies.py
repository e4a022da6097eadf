"""The bodies of requests, read up to a limit and within a time, and parsed as JSON."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from starlette.requests import Request

from hyperspan.serve.engine import Call, Engine
from hyperspan.serve.problems import Problem, overloaded

MOST_BUFFERED = 16
"""So many bodies of the largest size are held at the same time, and no more."""
JSON_TYPES = ("application/json",)
LINES_TYPES = (
    "application/x-ndjson",
    "application/ndjson",
    "application/jsonl",
    "application/x-jsonlines",
    *JSON_TYPES,
)


def check_type(request: Request, allowed: tuple[str, ...]) -> None:
    """Refuses a body that says it is something else; one that says nothing is taken at its word."""
    given = request.headers.get("content-type")
    if given is not None and given.partition(";")[0].strip().lower() not in allowed:
        raise Problem(
            415,
            f"the body is sent as {given[:60]!r}, but must be {allowed[0]}; send the header Content-Type: {allowed[0]}",
        )


async def read_json(request: Request, engine: Engine, call: Call) -> Any:
    """The body of a request, as JSON."""
    check_type(request, JSON_TYPES)
    with _held(engine) as parts:
        declared = request.headers.get("content-length", "0")
        if declared.isdecimal() and int(declared[:20]) > engine.settings.max_body_bytes:
            _too_large(engine)
        try:
            async with asyncio.timeout_at(asyncio.get_running_loop().time() + call.deadline - time.monotonic()):
                await _receive(request, engine, parts)
        except TimeoutError:
            raise Problem(
                408,
                f"the body did not come within {engine.settings.seconds:g} seconds; send it faster, or in smaller pieces",
            ) from None
        engine.take_place("requests", call)
        return await engine.elsewhere(len(parts), parse, bytes(parts))


async def _receive(request: Request, engine: Engine, parts: bytearray) -> None:
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise Problem(499, "the caller closed the connection before the body was there")
        body = message.get("body", b"")
        parts += body
        engine.buffered += len(body)
        if len(parts) > engine.settings.max_body_bytes:
            _too_large(engine)
        if engine.buffered > MOST_BUFFERED * engine.settings.max_body_bytes:
            engine.metrics.shed.add(1, "memory")
            raise overloaded("too many large requests are at work; send the request again later", 5)
        if not message.get("more_body", False):
            return


@contextmanager
def _held(engine: Engine) -> Iterator[bytearray]:
    """A buffer whose bytes are counted as long as it is being filled and parsed."""
    parts = bytearray()
    try:
        yield parts
    finally:
        engine.buffered -= len(parts)


def _too_large(engine: Engine) -> NoReturn:
    limit = engine.settings.max_body_bytes
    raise Problem(413, f"the body has more than the {limit:,} bytes that are taken; send less text at a time")


def parse(body: bytes) -> Any:
    """JSON as the standard has it, or a problem that says where it is not."""
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
