"""What a stranger may send: it is refused, bounded or given up, and nobody else notices."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from hyperspan.runtime.annotator import Annotator
from hyperspan.serve import answers, errors, service, stream
from hyperspan.serve.settings import Settings
from hyperspan.types import Sentence
from tests.serve.running import Running, running, until
from tests.serve.test_process import Process
from tests.support.process import PATIENCE

JSON_TYPE = {"Content-Type": "application/json"}
LONG_SENTENCE = "IL2" + " x" * 998


def raw(port: int, request: bytes) -> bytes:
    """All that is answered to these bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(request)
        answer = b""
        while part := connection.recv(1 << 16):
            answer += part
        return answer


def head(path: str, *lines: str, host: str = "localhost", kind: str = "application/json") -> bytes:
    given = [f"POST {path} HTTP/1.1", f"Host: {host}", f"Content-Type: {kind}", "Connection: close", *lines]
    return "\r\n".join((*given, "", "")).encode()


# -- who is asked, and how
# -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "status"),
    [
        *((name, 200) for name in ("localhost", "LocalHost:8000", "127.0.0.1:1", "[::1]:8000", "192.168.1.7", "models.example")),
        *((name, 421) for name in ("evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "x")),
    ],
)  # fmt: skip
def test_only_own_names_are_answered(named: Running, host: str, status: int) -> None:
    body = b'{"text": "Ada"}'
    answer = raw(named.port, head("/v1/annotate", f"Content-Length: {len(body)}", host=host) + body)
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    if status == 421:
        message = json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["message"]
        assert host.partition(":")[0] in message and "--allow-host" in message
    page = raw(named.port, f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert page.startswith(b"HTTP/1.1 %d " % status)
    health = raw(named.port, f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    assert health.startswith(b"HTTP/1.1 200 ")


@pytest.fixture(scope="module")
def named(annotator: Annotator) -> Iterator[Running]:
    with running(Settings(allow_hosts=("models.example",)), {"small": annotator}) as one:
        yield one


def test_any_name_is_answered_if_that_is_wanted(annotator: Annotator) -> None:
    with running(Settings(allow_hosts=("*",)), {"small": annotator}) as one:
        assert one.client.get("/v1/models", headers={"Host": "anything.example"}).status_code == 200


@pytest.mark.parametrize("version", ["1.0", "1.1"])
@pytest.mark.parametrize("hosts", [[], ["Host: "], ["Host: :8000"], ["Host: localhost", "Host: evil.example"]])
def test_one_host_must_be_named(named: Running, version: str, hosts: list[str]) -> None:
    for path in ("/v1/models", "/"):
        request = "\r\n".join((f"GET {path} HTTP/{version}", *hosts, "Connection: close", "", ""))
        answer = raw(named.port, request.encode())
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"send the header Host once" in answer or b"Invalid HTTP request" in answer  # which h11 says of some


def test_health_is_reported_without_a_host(named: Running) -> None:
    assert raw(named.port, b"GET /healthz HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 200 ")


def test_two_types_are_refused(named: Running) -> None:
    for path in ("/v1/annotate", "/v1/annotate/stream"):
        answer = raw(named.port, head(path, "Content-Type: text/plain", "Content-Length: 2") + b"{}")
        assert answer.startswith(b"HTTP/1.1 400 ") and b"Content-Type more than once" in answer


def test_two_lengths_are_refused(named: Running) -> None:
    answer = raw(
        named.port, head("/v1/annotate", "Content-Length: 5", "Transfer-Encoding: chunked") + b"0\r\n\r\nGET / HTTP/1.1"
    )
    assert answer.startswith(b"HTTP/1.1 400 ") and b"both Content-Length and Transfer-Encoding" in answer
    assert answer.count(b"HTTP/1.1") == 1  # what follows is not taken for another request


# -- time
# ------------------------------------------------------------------------------------------------------------------


class Cutting:
    """Text that is cut slowly, and how many of its sentences were."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.pieces = 0
        monkeypatch.setattr(service, "iter_sentences", self._cut)

    def _cut(self, text: str, _: str) -> Iterator[Sentence]:
        for start in range(0, len(text), 4):
            self.pieces += 1
            time.sleep(0.02)
            yield Sentence([text[start : start + 3]], offsets=[(start, start + 3)])

    def assert_it_has_stopped(self) -> None:
        cut = self.pieces
        time.sleep(0.3)
        assert 0 < self.pieces <= cut + 1


def test_cutting_text_has_a_deadline(annotator: Annotator, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(Settings(seconds=0.3), {"small": annotator}) as one:
        cutting = Cutting(monkeypatch)
        late = one.post(text="Ada " * 2000)
        assert late.status_code == 504 and "took longer than 0.3 seconds" in late.json()["error"]["message"]
        cutting.assert_it_has_stopped()


def test_cutting_stops_when_the_caller_leaves(annotator: Annotator, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(None, {"small": annotator}) as one:
        cutting = Cutting(monkeypatch)
        for path in ("/v1/annotate", "/v1/annotate/stream"):
            leaving = http.client.HTTPConnection("127.0.0.1", one.port)
            leaving.request("POST", path, json.dumps({"text": "Ada " * 2000}), JSON_TYPE)
            begun = cutting.pieces
            until(lambda begun=begun: cutting.pieces > begun)
            leaving.close()
            until(lambda: one.service.in_flight == 0)
            cutting.assert_it_has_stopped()


def test_health_is_reported_while_the_best_sets_of_long_sentences_are_computed(annotator: Annotator) -> None:
    """The request of two minutes and 3.4 GB is a matter of a second or so; others are answered meanwhile."""
    with running(None, {"small": annotator}) as one:
        answered: list[int] = []

        def ask() -> None:
            answered.append(one.post(text=LONG_SENTENCE, top_k=20).status_code)

        asking = [threading.Thread(target=ask) for _ in range(4)]
        for thread in asking:
            thread.start()
        told = 0
        while any(thread.is_alive() for thread in asking):
            assert one.client.get("/healthz").status_code == 200
            told += 1
        assert answered == [200] * 4 and told > 4


def test_long_answers_are_written_by_other_threads(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of 5 kB has 2 MB of best sets; what takes long is not done where /healthz is answered."""
    names: dict[str, str] = {}
    documents, written = answers.documents, errors.dumps

    def note(name: str, function: Any) -> Any:
        def noted(*arguments: Any) -> Any:
            names[name] = threading.current_thread().name
            return function(*arguments)

        return noted

    monkeypatch.setattr(answers, "documents", note("answer", documents))
    monkeypatch.setattr(errors, "dumps", note("JSON", written))
    monkeypatch.setattr(stream, "dumps", note("line", written))
    every: list[dict[str, Any]] = [{"top_k": 8}, {"candidates": 0.001}, {"threshold": 0.001}]
    for options in every:
        assert server.post(text="a\n" * 200, **options).status_code == 200
        assert server.post("/v1/annotate/stream", text="a\n" * 200, **options).status_code == 200
        assert set(names) == {"answer", "JSON", "line"}
        assert all(name.startswith("hyperspan-") for name in names.values()), (options, names)
        names.clear()


def test_a_line_that_does_not_end_is_given_up(annotator: Annotator) -> None:
    with running(Settings(seconds=0.5), {"small": annotator}) as one:
        connection = socket.create_connection(("127.0.0.1", one.port), timeout=PATIENCE)
        connection.sendall(head("/v1/annotate/stream", "Transfer-Encoding: chunked"))
        received: list[bytes] = []
        reading = threading.Thread(target=lambda: received.append(connection.recv(1 << 16)))
        reading.start()
        while not received:  # never silent, and never done
            connection.sendall(b"1\r\nx\r\n")
            time.sleep(0.05)
        until(lambda: one.service.memory.held == 0)
        assert b"the line did not end within 0.5 seconds" in received[0] + connection.recv(1 << 16)
        connection.close()


# -- memory
# ----------------------------------------------------------------------------------------------------------------


def test_open_lines_of_many_streams_hold_no_more_than_the_limit(annotator: Annotator) -> None:
    settings = Settings(max_body_bytes=100_000, max_held_bytes=300_000)
    with running(settings, {"small": annotator}) as one, ExitStack() as stack:
        begun = [
            stack.enter_context(socket.create_connection(("127.0.0.1", one.port), timeout=PATIENCE)) for _ in range(12)
        ]
        line = b'{"text": "' + b"x" * 90_000
        for connection in begun:
            connection.sendall(head("/v1/annotate/stream", "Transfer-Encoding: chunked"))
            connection.sendall(b"%x\r\n%s\r\n" % (len(line), line))
        until(lambda: one.service.metrics.registry.get_sample_value("hyperspan_shed_total", {"reason": "memory"}) == 9)
        assert one.service.memory.held == 3 * len(line)
        refused = one.post(text="y" * 50_000)
        assert refused.status_code == 503 and "too many large requests are at work" in refused.text
        told = begun[-1].recv(1 << 16)
        while b"overloaded" not in told:
            told += begun[-1].recv(1 << 16)
        begun[-1].sendall(b'12\r\n"}\n{"text": "Ada"}\r\n0\r\n\r\n')  # the rest of that line, and another
        while b"\r\n0\r\n\r\n" not in told:
            told += begun[-1].recv(1 << 16)
        assert b'"line":1,"error"' in told and b'"line":2,"mentions"' in told
        for connection in begun:
            connection.close()
        until(lambda: one.service.memory.held == 0 and one.service.in_flight == 0)


def test_what_a_request_holds_is_given_back(annotator: Annotator) -> None:
    with running(None, {"small": annotator}) as one:
        for body in ({"text": "Ada " * 3000}, {"text": 3}, {"texts": ["Ada"] * 1001}):
            one.client.post("/v1/annotate", json=body)
        lines = b'{"text": "Ada"}\n\n   \nnonsense\n{"text": "' + b"x" * 10_000 + b'"}'
        one.client.post("/v1/annotate/stream", content=lines, headers=JSON_TYPE)
        until(lambda: one.service.in_flight == 0)
        assert one.service.memory.held == 0


# -- what native code raises
# -------------------------------------------------------------------------------------------------


class PanicError(BaseException):
    """As compiled extensions raise it: no Exception."""


def test_a_panic_of_native_code_is_survived(annotator: Annotator, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(None, {"small": annotator}) as one:
        for place, *names in ((annotator.model, "distribution", "quick_distribution"), (service, "iter_sentences")):
            with monkeypatch.context() as patched:
                for name in names:
                    patched.setattr(place, name, panic)
                for text in ("Ada", "Ada " * 2000):  # on the event loop, and in a thread
                    response = one.post(text=text)
                    assert response.status_code == 500 and response.json()["error"]["code"] == "internal_error"
                    assert one.entry(response)["error"] == "PanicError"
                line = one.client.post("/v1/annotate/stream", content=b'{"text": "Ada"}', headers=JSON_TYPE).json()
                assert line["error"]["code"] == "internal_error"
        assert one.post(text="Ada").status_code == 200


def panic(*_: Any) -> None:
    raise PanicError


# -- the process
# -----------------------------------------------------------------------------------------------------------


def test_it_stops_in_time_whatever_it_computes(small_folder: Path, closing: ExitStack) -> None:
    one = closing.enter_context(Process("--model", small_folder, "--port", "0", "--limit", "shutdown_seconds=2"))
    one.wait_until_ready()
    answers: list[int | str] = []

    def ask() -> None:
        try:
            answers.append(one.client.post("/v1/annotate", json={"text": "Ada saw " * 60_000}).status_code)
        except Exception as error:
            answers.append(type(error).__name__)

    asking = [threading.Thread(target=ask) for _ in range(4)]
    for thread in asking:
        thread.start()
    until(lambda: "hyperspan_requests_in_flight 4" in one.client.get("/metrics").text)
    one.popen.send_signal(signal.SIGTERM)
    status, _ = one.end()
    assert status == 0
    for thread in asking:
        thread.join(PATIENCE)
    assert answers == [503] * 4  # what was not yet in the queue included


def test_process_answers_beside_a_large_request_and_logs_json(small_folder: Path, closing: ExitStack) -> None:
    """12 sentences of 500 words are more work than the whole queue may hold."""
    one = closing.enter_context(Process("--model", small_folder, "--port", "0", "--limit", "queued_words=20000"))
    one.wait_until_ready()
    large: list[int] = []

    def ask() -> None:
        body = {"text": ("x " * 499 + ".\n\n") * 12}
        large.append(one.client.post("/v1/annotate", json=body).status_code)

    asking = threading.Thread(target=ask)
    asking.start()
    until(lambda: "hyperspan_queue_words 0" not in one.client.get("/metrics").text)
    small: list[int] = []
    while asking.is_alive():
        small.append(one.client.post("/v1/annotate", json={"text": "Ada left."}).status_code)
    assert large == [200] and len(small) > 3 and set(small) == {200}
    port = int(one.link.rsplit(":")[-1].strip("/"))
    nonsense = (
        b"\x16\x03\x01\r\n\r\n",
        b"GET\x00 /\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
    )
    for noise in (*nonsense, head("/v1/annotate", "Content-Length: 9") + b"x"):
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
            connection.sendall(noise)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1000)
    one.popen.send_signal(signal.SIGTERM)
    status, said = one.end()
    entries = [json.loads(line) for line in said.splitlines()]
    assert status == 0 and all("time" in entry for entry in entries)
    assert any("Invalid HTTP request" in entry.get("message", "") for entry in entries)
