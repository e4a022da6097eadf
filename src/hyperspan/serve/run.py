"""Run the application: the socket, the log, and an orderly shutdown."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import secrets
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.h11_impl import H11Protocol

from hyperspan.errors import InputError
from hyperspan.labelling.views import LabellingDesk
from hyperspan.serve.app import create_app
from hyperspan.serve.logs import LOG, log_to_standard_error
from hyperspan.serve.service import Service
from hyperspan.serve.settings import Settings, is_loopback, name_of

HEAD_SECONDS = 15.0
"""The time limit for the head of a request, before the body."""
SWITCH_SECONDS = 0.001
"""How long a thread runs Python code while another waits, such as the event loop; the default is 5 ms."""
COLLECTION_SECONDS = 300.0
"""How long cyclic garbage is kept while there is always a request at work: a few kB for each request."""
LAST_SHARE = 0.15
"""The share of the shutdown time kept for answering abandoned requests."""


def serve(settings: Settings, host: str = "127.0.0.1", port: int = 8000) -> None:
    """Serve until the process is stopped; print the address on standard output."""
    is_local = is_loopback(host)
    names = {name_of(host)} if is_local else {name_of(host), socket.gethostname().lower()}
    settings = replace(settings, allow_hosts=(*settings.allow_hosts, *names))
    app = create_app(settings)
    listener = listen(host, port, "--host and --port")
    log_to_standard_error()
    if settings.api_key is None and not is_local:
        LOG.warning(
            "anybody who reaches %s can use this server, because it asks for no key; set --api-key or HYPERSPAN_API_KEY",
            host,
        )
    print(f"hyperspan: serving at {address(listener)} (stop with Ctrl-C)", flush=True)
    run(Server(app, settings), listener)


def label(desk: LabellingDesk, port: int = 0, on_link: Callable[[str], None] = print) -> None:
    """Serve a labelling session to this machine until the process is stopped.

    `on_link` is called with the address, which includes the token.
    """
    token = secrets.token_urlsafe(24)
    settings = Settings(api_key=token)
    listener = listen("127.0.0.1", port)
    log_to_standard_error(logging.WARNING)
    app = create_app(settings, {desk.drafter.name: desk.drafter.annotator}, desk)
    on_link(f"{address(listener)}label?token={token}")
    run(Server(app, settings), listener, desk.close)


def run(server: Server, listener: socket.socket, on_end: Callable[[], None] = lambda: None) -> None:
    """Serve until the process is stopped, then call `on_end`."""
    sys.setswitchinterval(SWITCH_SECONDS)
    leave_collections_to_the_server()
    try:
        server.run(sockets=[listener])
    finally:
        on_end()
    if server.service.failure is not None:
        raise server.service.failure
    if server.service.is_busy:  # with abandoned work: only the end of the process stops a thread
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def leave_collections_to_the_server() -> None:
    """No longer look through all objects for cyclic garbage at any time: it halts every thread for a second while the
    millions of mentions of large answers are in memory.
    """
    youngest, middle, _ = gc.get_threshold()
    gc.set_threshold(youngest, middle, 2**31 - 1)


def listen(host: str, port: int, options: str = "--port") -> socket.socket:
    """Open a listening socket, or raise an error that names the options for another address."""
    listener: socket.socket | None = None
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
        listener.listen(2048)
    except (OSError, OverflowError, UnicodeError) as error:
        if listener is not None:
            listener.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"the address {host}:{port} cannot be used ({reason}); choose another with {options}, or --port 0 for any free one"
        ) from None
    return listener


def address(listener: socket.socket) -> str:
    """The address of the server for a browser."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


class Server(uvicorn.Server):
    """Shut down in order: report not ready and refuse new work, finish accepted work, then close."""

    def __init__(self, app: Starlette, settings: Settings):
        config = uvicorn.Config(
            app,
            http=Protocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        super().__init__(config)
        self.service: Service = app.state.service
        self._until: float | None = None
        self._collected, self._collected_after = time.monotonic(), 0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal starts the shutdown, a second one speeds it up."""
        if self.service.draining and sig == signal.SIGINT:
            self.should_exit = self.force_exit = True
        self.stop()

    def stop(self) -> None:
        self.service.draining = True

    async def on_tick(self, counter: int) -> bool:
        if counter % 10 == 0:
            self._collect_garbage()
        if self.service.failure is not None:
            self.should_exit = True
        if self.service.draining:
            now, seconds = time.monotonic(), self.service.settings.shutdown_seconds
            self._until = self._until or now + seconds - max(1, LAST_SHARE * seconds)
            if now > self._until:
                self.service.abort()
            if self.service.in_flight == 0 or now > self._until:
                self.should_exit = True
        return await super().on_tick(counter)

    def _collect_garbage(self) -> None:
        """Collect the garbage of answered requests when none is at work, or after a long time."""
        answered, now = self.server_state.total_requests, time.monotonic()
        is_due = self.service.in_flight == 0 or now > self._collected + COLLECTION_SECONDS
        if is_due and answered != self._collected_after:
            gc.collect()
            self._collected, self._collected_after = now, answered


class Protocol(H11Protocol):
    """HTTP/1.1 with a time limit for clients that start a request and do not continue."""

    _head: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_waiting()
        elif self._head is None:
            self._wait_for_head()

    def send_400_response(self, msg: str) -> None:
        """Respond to bytes that are not HTTP. A request in progress is abandoned as if its client had disconnected."""
        cycle = self.cycle
        if cycle is not None and not cycle.response_complete:
            cycle.disconnected = True
            cycle.message_event.set()
            if cycle.response_started:
                self.transport.close()
                return
        super().send_400_response(msg)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        self._head = self.loop.call_later(HEAD_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._head is not None:
            self._head.cancel()
            self._head = None

    def _give_up(self) -> None:
        self._head = None
        if self.cycle is None or self.cycle.response_complete:
            self.transport.close()
