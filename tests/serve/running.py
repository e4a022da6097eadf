"""A real server on a free port of this machine, in a thread of the tests."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import httpx2

from hyperspan.labelling.views import LabellingDesk
from hyperspan.runtime.annotator import Annotator
from hyperspan.serve.app import create_app
from hyperspan.serve.logs import ACCESS
from hyperspan.serve.run import Server, address, listen
from hyperspan.serve.service import Service
from hyperspan.serve.settings import Settings
from hyperspan.types import Document, Sentence
from tests.support.models import small_model, watched_model
from tests.support.process import PATIENCE

TEXT = "Ada left the zoo of Oz.  The keeper of the zoo saw Ada!\n\nNobody slept."


class Running:
    """A server that answers, a client that asks it, and the records of its log."""

    def __init__(self, server: Server, url: str):
        self.server, self.url = server, url
        self.client = httpx2.Client(base_url=url, timeout=PATIENCE)
        self.log: list[str] = []

    @property
    def port(self) -> int:
        return httpx2.URL(self.url).port or 80

    @property
    def service(self) -> Service:
        return self.server.service

    def entry(self, response: httpx2.Response) -> dict[str, Any]:
        """What the log says of a request, which it says when the answer is on its way."""
        until = time.monotonic() + 10
        while time.monotonic() < until:
            for written in list(self.log):
                if (entry := json.loads(written))["request"] == response.headers["x-request-id"]:
                    return entry
            time.sleep(0.01)
        raise AssertionError("the request is not in the log")

    def post(self, path: str = "/v1/annotate", **body: Any) -> httpx2.Response:
        return self.client.post(path, json=body)

    def annotate(self, **body: Any) -> list[dict[str, Any]]:
        response = self.post(**body)
        assert response.status_code == 200, response.text
        return response.json()["documents"]


class Gated(Annotator):
    """An annotator that computes nothing before its gate is opened; and how many sentences it was given at a time."""

    def __init__(self) -> None:
        super().__init__(watched_model(self._wait))
        self.gate = threading.Event()
        self.busy = threading.Event()
        self.given: list[list[str]] = []

    def __call__(self, text: str | Document, **options: Any) -> Document:
        self.gate.set()
        try:
            return super().__call__(text, **options)
        finally:
            self.gate.clear()
            self.busy.clear()
            self.given.clear()

    def _wait(self, sentences: Sequence[Sentence]) -> None:
        self.given.append([" ".join(sentence.tokens) for sentence in sentences])
        self.busy.set()
        assert self.gate.wait(PATIENCE)


def until(condition: Callable[[], bool]) -> None:
    """Waits until something is so."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.005)


@contextmanager
def running(
    settings: Settings | None = None,
    annotators: Mapping[str, Annotator] | None = None,
    *,
    ready: bool = True,
    desk: LabellingDesk | None = None,
) -> Iterator[Running]:
    """A server with a small model, or others, from when it is ready until the block is left."""
    settings = settings or Settings()
    app = create_app(settings, annotators if annotators is not None else {"small": Annotator(small_model())}, desk)
    listener = listen("127.0.0.1", 0)
    server = Server(app, settings)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    one = Running(server, address(listener))
    handler = logging.Handler()
    handler.emit = lambda record: one.log.append(record.getMessage())
    ACCESS.addHandler(handler)
    ACCESS.setLevel(logging.INFO)
    thread.start()
    try:
        until(lambda: server.started and (server.service.is_ready or not ready))
        yield one
    finally:
        ACCESS.removeHandler(handler)
        one.client.close()
        server.stop()
        thread.join(PATIENCE)
        assert not thread.is_alive()
