"""Middleware for every request: its id, the API key, the limit on concurrent requests, headers, metrics and the log."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import logging
import re
import time
import uuid
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hyperspan.errors import EXIT_EXCEPTIONS
from hyperspan.serve.errors import Problem, shutting_down
from hyperspan.serve.logs import ACCESS, frames, timestamp
from hyperspan.serve.requests import Call
from hyperspan.serve.service import Service
from hyperspan.serve.settings import is_own, name_of

HEALTH = ("/healthz", "/readyz")
"""Paths answered under any host name: probes come from everywhere, and the responses contain nothing secret."""
OPEN = ("/", "/docs", "/label", *HEALTH)
"""Paths open without a key: the pages, which contain nothing secret, and the health checks."""
CHUNK = 256 * 1024
"""A longer response is sent in parts, each after the client has received the one before."""
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; object-src 'none'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")


class _UnreadAnswerError(Exception):
    """The client does not read the response."""


class RequestMiddleware:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, service: Service, paths: Iterable[str]):
        self.app, self.service = app, service
        self._patterns = {path: compile_path(path)[0] for path in paths}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        route = self._route_of(scope["path"])
        await _Exchange(self.service, route, scope, receive, send).run(self.app)

    def _route_of(self, path: str) -> str:
        """The route of a path, one of few, for logs and metrics."""
        other = "/static" if path.startswith("/static/") else "other"
        return next((route for route, pattern in self._patterns.items() if pattern.match(path)), other)


class _Exchange:
    """One request and its response."""

    def __init__(self, service: Service, route: str, scope: Scope, receive: Receive, send: Send):
        self.service, self.route, self.scope, self.receive, self._send = service, route, scope, receive, send
        self.start = time.monotonic()
        self.headers = Headers(scope=scope)
        given = self.headers.get("x-request-id", "")
        self.id = given if _ID.fullmatch(given) else uuid.uuid4().hex
        self.status = 0
        self._gone: asyncio.Future[None] | None = None
        self.call = Call(service.settings.seconds, self.gone)
        scope.setdefault("state", {})["call"] = self.call

    async def run(self, app: ASGIApp) -> None:
        counted = self.scope["method"] == "POST"  # the others take no time
        try:
            self._admit(counted)
            self.service.in_flight += counted
            try:
                await app(self.scope, self.receive, self.send)
            finally:
                self.service.in_flight -= counted
                self.service.leave(self.call)
        except Problem as problem:
            await self._answer(problem)
        except _UnreadAnswerError:  # the server closes the connection
            self.call.record["error"] = "the client did not read the response"
        except EXIT_EXCEPTIONS:
            raise
        except asyncio.CancelledError:  # uvicorn cancels unfinished requests at the end of its shutdown time
            if self.status or not self.service.draining:
                raise
            await self._answer(shutting_down())
        except BaseException as error:  # native code raises more than Exception
            self.call.record |= {"error": type(error).__name__, "at": frames(error.__traceback__)}
            await self._answer(
                Problem(500, "something went wrong inside the server; its log has more under this request's id")
            )
        finally:
            if self._gone is not None:
                self._gone.cancel()
            self._record()

    def _admit(self, counted: bool) -> None:
        """Refuse requests that are malformed, for another host, without a key, or beyond the limits."""
        if self.route not in HEALTH:
            self._check_host(self.headers.getlist("host"))
        if "content-length" in self.headers and "transfer-encoding" in self.headers:
            raise Problem(
                400,
                "the request has both Content-Length and Transfer-Encoding, which servers read differently; send one of them",
                headers={"Connection": "close"},
            )
        key = self.service.settings.api_key
        if key is not None and self.route not in (*OPEN, "/static") and not self._knows(key):
            raise Problem(
                401,
                "the API key is missing or wrong; send it as Authorization: Bearer KEY, as X-API-Key: KEY, or as the password "
                "of HTTP Basic authentication",
                headers={"WWW-Authenticate": "Bearer"},
            )
        if counted and self.service.draining:
            raise shutting_down()
        if counted:
            self.service.check_slot("streams" if self.route.endswith("/stream") else "requests")

    def _check_host(self, given: list[str]) -> None:
        if len(given) != 1 or not name_of(given[0]):
            said = "more than one host" if len(given) > 1 else "no host"
            raise Problem(400, f"the request names {said}; send the header Host once, with the address of this server")
        [host] = given
        if not is_own(host, self.service.settings.allow_hosts):
            raise Problem(
                421,
                f"the request is for the host {name_of(host)[:60]!r}, which is not a name of this server; use its address or "
                "localhost, or start it with --allow-host NAME",
            )

    def _knows(self, key: str) -> bool:
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else _password(token) if scheme.lower() == "basic" else ""
        shown = (bearer, self.headers.get("x-api-key", ""))  # a proxy may have a password of its own
        return any(hmac.compare_digest(one.encode("latin-1", "replace"), key.encode()) for one in shown)

    def gone(self) -> asyncio.Future[None]:
        """A future that is done when the client has disconnected; call it after the body was read."""
        if self._gone is None:
            self._gone = asyncio.ensure_future(_disconnected(self.receive))
        return self._gone

    # -- responses ---------------------------------------------------------------------------------------------------

    async def _answer(self, problem: Problem) -> None:
        if self.status == 0:  # nothing was sent yet
            with suppress(_UnreadAnswerError):
                await problem.response()(self.scope, self.receive, self.send)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-ID"] = self.id
            headers.setdefault("Cache-Control", "no-store" if self.route.startswith("/v1") else "no-cache")
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
        body: bytes = message.get("body", b"")
        for first in range(0, len(body) - CHUNK, CHUNK):
            part = {"type": "http.response.body", "body": body[first : first + CHUNK], "more_body": True}
            await self._pass_on(part)
        if len(body) > CHUNK:
            message = dict(message) | {"body": body[(len(body) - 1) // CHUNK * CHUNK :]}
        await self._pass_on(message)

    async def _pass_on(self, message: Any) -> None:
        try:
            async with asyncio.timeout(self.service.settings.seconds):
                await self._send(message)
        except TimeoutError:
            raise _UnreadAnswerError from None

    def _record(self) -> None:
        self.status = self.status or 499  # the client was gone
        seconds = time.monotonic() - self.start
        self.service.metrics.requests.labels(self.route, self.status).inc()
        self.service.metrics.seconds.labels(self.route).observe(seconds)
        entry = {"time": timestamp(), "request": self.id, "method": self.scope["method"], "route": self.route}
        entry |= {"status": self.status, "ms": round(1000 * seconds, 1)} | self.call.record
        ACCESS.log(logging.ERROR if self.status == 500 else logging.INFO, "%s", json.dumps(entry))


def _password(token: str) -> str:
    """The password of HTTP Basic authentication; any user name will do."""
    with suppress(ValueError):
        return base64.b64decode(token, validate=True).decode("latin-1").partition(":")[2]
    return ""


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
