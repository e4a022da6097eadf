"""Requests to a real server in a process of its own: JSON bodies, streams of lines, and bytes that are hardly HTTP."""

from __future__ import annotations

import functools
import json
import os
import random
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.fuzz.mutate import mutate, mutate_json
from tests.fuzz.samples import TEXTS, TOKENS
from tests.fuzz.target import FoundError, Input, Target, Workplace

PATIENCE = 55.0
"""Seconds after which an answer that has not come is a hang; a little less than the worker has."""
KNOWN = {"start": 0, "end": 3, "label": "person"}
BODIES: dict[str, list[dict[str, Any]]] = {
    "annotate": [
        {"text": TEXTS[0], "threshold": 0.3, "types": ["person"]},
        {"texts": list(TEXTS), "top_k": 3, "probabilities": False},
        {"text": "Ada left Oz.", "require": [KNOWN], "forbid": [KNOWN | {"start": 9, "end": 11, "label": "place"}]},
        {"texts": ["Ada", "Oz"], "threshold": {"person": 0.1, "*": 0.5}, "candidates": 0.05, "model": "tiny"},
        {"text": "a 😀 Ada", "offset_unit": "utf16", "require": [KNOWN | {"start": 5, "end": 8, "document": 0}]},
    ],
    "hypergraph": [{"text": "Ada left Oz.", "types": ["place"]}, {"text": "Ada slept.", "model": "tiny"}],
}
HEAD = b"POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nConnection: close\r\n"
HTTP = (
    *(
        b"\r\n",
        b"\n",
        b"\r\n\r\n",
        b": ",
        b"Content-Length: 5\r\n",
        b"Content-Length: -1\r\n",
        b"Transfer-Encoding: chunked\r\n",
    ),
    *(
        b"Expect: 100-continue\r\n",
        b"Upgrade: websocket\r\n",
        b"Host: evil.example\r\n",
        b"0\r\n\r\n",
        b"ffffffff\r\n",
        b"GET ",
        b"PUT ",
    ),
    *(
        b"HTTP/1.0",
        b"HTTP/9.9",
        b"/static/../app.py",
        b"%2e%2e/",
        b"?threshold=x",
        b"\x00",
        b"\xff",
        b"X: " + b"y" * 70_000,
        b"/metrics",
    ),
    *(
        b"Authorization: Bearer \xe9\r\n",
        b"X-Request-ID: {}\r\n",
        b"Content-Type: text/plain\r\n",
        b"Accept-Encoding: br\r\n",
        b"/",
    ),
)


class Server:
    """`hyperspan serve` with a small model, and what it writes on standard error. It ends with its process group."""

    def __init__(self, model: Path, log: Path):
        self.log = log.open("a+b")  # to append: what is read here must not move where it writes
        command = [
            sys.executable,
            "-m",
            "hyperspan",
            "serve",
            "--model",
            f"tiny={model}",
            "--port",
            "0",
            "--limit",
            "seconds=15",
        ]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.log.fileno(), env=os.environ | {"OMP_NUM_THREADS": "1"}
        )
        assert self.process.stdout is not None
        said = self.process.stdout.readline().decode()
        self.port = int(said.partition("http://127.0.0.1:")[2].partition("/")[0])
        self._read = 0  # bytes of the log that were looked at
        until = time.monotonic() + 60
        while (
            b" 200 " not in self.ask(b"GET /readyz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % self.host)[:20]
        ):
            if time.monotonic() > until:
                raise FoundError("the server did not become ready")
            time.sleep(0.05)

    @property
    def host(self) -> bytes:
        return b"127.0.0.1:%d" % self.port

    def ask(self, request: bytes, patience: float = PATIENCE) -> bytes:
        """What is answered until the server closes the connection; after so many seconds of silence, the caller
        does."""
        answer = bytearray()
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
                connection.sendall(request)
                connection.settimeout(patience)
                try:
                    _receive(connection, answer)
                except TimeoutError:
                    if patience == PATIENCE:
                        raise
                    connection.settimeout(PATIENCE)
                    connection.shutdown(socket.SHUT_WR)
                    _receive(connection, answer)
        except TimeoutError:
            self.process.kill()
            server.cache_clear()
            raise FoundError(f"no answer in {PATIENCE:.0f} seconds") from None
        except ConnectionError:
            pass
        return bytes(answer)

    def check(self) -> None:
        """It runs, and its log is made of records that tell of no mistake of its own."""
        if self.process.poll() is not None:
            server.cache_clear()
            raise FoundError(f"the server ended with {self.process.returncode}")
        self.log.seek(self._read)
        whole, end, _ = self.log.read().rpartition(b"\n")
        self._read += len(whole + end)
        for line in whole.splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                raise FoundError(f"the log has a line that is no record: {line[:60]!r}") from None
            if record.get("status") == 500 or "at" in record:
                raise FoundError(f"answered 500: {record.get('error')} at {record.get('at', ['?'])[-1]}")


def _receive(connection: socket.socket, answer: bytearray) -> None:
    while piece := connection.recv(65_536):
        answer += piece


@functools.cache
def server(shared: Path) -> Server:
    """One server for each process that fuzzes."""
    return Server(Workplace(shared, shared).tiny_model(), shared / f"server-{os.getpid()}.log")


def check_answer(answer: bytes, needed: bool = True) -> None:
    """HTTP that is no 500; and with `needed`, there is one at all."""
    if needed and not answer.startswith(b"HTTP/1.1 "):
        raise FoundError("no answer came")
    if answer.startswith(b"HTTP/1.1 500") or b'"internal_error"' in answer:
        raise FoundError("an answer is 500")


class Bodies(Target):
    """JSON bodies of one address, sent as they should be."""

    def __init__(self, address: str, inputs: int):
        self.address, self.inputs, self.name = address, inputs, f"http-{address}"

    def prepare(self, place: Workplace) -> None:
        server(place.shared)

    def seeds(self) -> Sequence[Input]:
        return [{"body": json.dumps(body).encode()} for body in BODIES[self.address]]

    def mutated(self, chance: random.Random) -> Input:
        body = chance.choice(self.seeds())["body"]
        return {"body": mutate_json(chance, body) if chance.random() < 0.7 else mutate(chance, body, TOKENS["json"])}

    def run(self, given: Input, place: Workplace) -> None:
        asked = server(place.shared)
        head = HEAD % (b"/v1/" + self.address.encode(), asked.host)
        answer = asked.ask(head + b"Content-Length: %d\r\n\r\n" % len(given["body"]) + given["body"])
        asked.check()
        check_answer(answer)


class Streams(Target):
    """Lines of JSON in chunks that end anywhere."""

    name, inputs = "http-stream", 3_000

    def prepare(self, place: Workplace) -> None:
        server(place.shared)

    def seeds(self) -> Sequence[Input]:
        lines = [
            json.dumps(body)
            for body in ({"id": 1, "text": TEXTS[0]}, {"text": "Ada", "top_k": 2}, {"id": "x", "text": "Oz"})
        ]
        return [{"body": "\n".join(lines).encode() + b"\n"}]

    def mutated(self, chance: random.Random) -> Input:
        body = self.seeds()[0]["body"]
        return {"body": mutate_json(chance, body) if chance.random() < 0.6 else mutate(chance, body, TOKENS["json"])}

    def run(self, given: Input, place: Workplace) -> None:
        asked, body = server(place.shared), given["body"]
        size = 1 + zlib.crc32(body) % max(len(body), 1)
        pieces = [body[first : first + size] for first in range(0, len(body), size)]
        chunks = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        answer = asked.ask(
            HEAD % (b"/v1/annotate/stream?threshold=0.5", asked.host) + b"Transfer-Encoding: chunked\r\n\r\n" + chunks
        )
        asked.check()
        check_answer(answer)


class RawRequests(Target):
    """Whole requests, changed anywhere: in the line, the headers, the lengths."""

    name, inputs = "http-raw", 3_000

    def prepare(self, place: Workplace) -> None:
        server(place.shared)

    def seeds(self) -> Sequence[Input]:
        body = b'{"text": "Ada left Oz."}'
        post = HEAD % (b"/v1/annotate", b"HOST") + b"Content-Length: %d\r\n\r\n" % len(body) + body
        stream = (
            HEAD % (b"/v1/annotate/stream", b"HOST") + b"Transfer-Encoding: chunked\r\n\r\n18\r\n%s\r\n0\r\n\r\n" % body
        )
        gets = [
            b"GET %s HTTP/1.1\r\nHost: HOST\r\nConnection: close\r\n\r\n" % path
            for path in (b"/", b"/metrics", b"/v1/models", b"/static/page.js")
        ]
        return [{"request": request} for request in (post, stream, *gets)]

    def mutated(self, chance: random.Random) -> Input:
        return {"request": mutate(chance, chance.choice(self.seeds())["request"], HTTP)}

    def run(self, given: Input, place: Workplace) -> None:
        asked = server(place.shared)
        answer = asked.ask(given["request"].replace(b"HOST", asked.host), patience=0.05)
        asked.check()
        check_answer(answer, needed=False)
