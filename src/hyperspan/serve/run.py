"""Running the application: the socket, the log, and an orderly end."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
import sys
import time
from types import FrameType
from typing import Any

import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from hyperspan.errors import InputError
from hyperspan.serve.app import create_app
from hyperspan.serve.engine import LOG, Engine
from hyperspan.serve.frame import ACCESS
from hyperspan.serve.settings import Settings

HEAD_SECONDS = 15.0
"""How long a caller may take to say what he wants, before the body."""
LOOPBACK = ("127.", "::1", "localhost")


def serve(settings: Settings, host: str = "127.0.0.1", port: int = 8000) -> None:
    """Serves until the process is told to stop; prints the address on standard output."""
    app = create_app(settings)
    listener = listen(host, port)
    if settings.api_key is None and not host.startswith(LOOPBACK):
        print(
            f"hyperspan: warning: anybody who reaches {host} can use this server, because it asks for no key; set --api-key",
            file=sys.stderr,
        )
    _log_to_standard_error()
    print(f"hyperspan: serving at {address(listener)} (stop with Ctrl-C)", flush=True)
    server = Server(app, settings)
    server.run(sockets=[listener])
    if server.engine.failure is not None:
        raise server.engine.failure


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens, or a sentence that says why it cannot."""
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
            f"the address {host}:{port} cannot be used ({reason}); choose another with --host and --port, or --port 0 for any free one"
        ) from None
    return listener


def address(listener: socket.socket) -> str:
    """Where a browser finds the server."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


class Server(uvicorn.Server):
    """Stops in order: it says that it is not ready and refuses new work, finishes what it has accepted, and only then closes."""

    def __init__(self, app: FastAPI, settings: Settings):
        config = uvicorn.Config(
            app,
            http=Protocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=max(1, round(settings.shutdown_seconds)),
        )
        super().__init__(config)
        self.engine: Engine = app.state.engine
        self._until: float | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal begins the end, another one hurries it."""
        if self.engine.draining and sig == signal.SIGINT:
            self.should_exit = self.force_exit = True
        self.stop()

    def stop(self) -> None:
        self.engine.draining = True

    async def on_tick(self, counter: int) -> bool:
        if self.engine.failure is not None:
            self.should_exit = True
        if self.engine.draining:
            self._until = self._until or time.monotonic() + self.engine.settings.shutdown_seconds
            if self.engine.in_flight == 0 or time.monotonic() > self._until:
                self.should_exit = True
        return await super().on_tick(counter)


class Protocol(H11Protocol):
    """HTTP/1.1 that does not wait forever for callers who begin a request and do not go on."""

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


def _log_to_standard_error() -> None:
    """One JSON record a line, of requests and of what uvicorn has to say."""
    for logger, formatter in ((ACCESS, logging.Formatter("%(message)s")), (logging.getLogger("uvicorn"), _AsJSON())):
        handler = logging.StreamHandler()
        handler.setFormatter(formatter)
        logger.handlers, logger.propagate = [handler], False
    ACCESS.setLevel(logging.INFO)
    LOG.disabled = True  # the command says itself what it ended for
    logging.getLogger("uvicorn").setLevel(logging.WARNING)


class _AsJSON(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else None
        entry = {"time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S"), "level": record.levelname.lower()}
        return json.dumps(entry | {"message": record.getMessage().strip()} | ({"error": error} if error else {}))
