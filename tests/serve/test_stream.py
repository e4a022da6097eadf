"""Lines in, lines out: in order, without an end, and no faster than they are read."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from hyperspan.runtime.annotator import Annotator
from hyperspan.serve import stream
from hyperspan.serve.settings import Settings
from tests.serve.running import Gated, Running, running, until
from tests.support.process import PATIENCE


def lines(server: Running, content: Any, query: str = "") -> list[dict[str, Any]]:
    response = server.client.post(
        f"/v1/annotate/stream{query}", content=content, headers={"content-type": "application/x-ndjson"}
    )
    assert response.status_code == 200 and response.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in response.content.splitlines()]


def test_lines_come_back_in_order(server: Running, annotator: Annotator) -> None:
    texts = [f"Ada left Oz {'and slept ' * (n % 7)}in {n}." for n in range(150)]
    given = "\n".join(json.dumps({"id": n, "text": text}) for n, text in enumerate(texts))
    found = lines(server, given.encode())
    assert [(one["id"], one["line"]) for one in found] == [(n, n + 1) for n in range(150)]
    for one, document in zip(found, annotator.pipe(texts), strict=True):
        assert {(m["start"], m["end"], m["label"]) for m in one["mentions"]} == {
            (m.start, m.end, m.label) for m in document.mentions
        }
    assert lines(server, b"") == [] and lines(server, b"\n\n") == []


def test_a_bad_line_does_not_stop_the_stream(server: Running) -> None:
    given = [
        b'{"text": "Ada"}',
        b"",
        b"nonsense",
        b'{"id": "x", "text": 3}',
        b"[]",
        b"\xff",
        b'{"text": "Oz", "model": "no"}',
    ]
    given += [
        b'{"id": 7, "text": "Oz", "forbid": [{"start": 0, "end": 1, "label": "place"}]}',
        b'{"text": "Oz", "colour": 1}',
        b'{"text": "Oz", "id": [1]}',
        b'{"text": "Oz", "id": 1e999}',
    ]
    found = lines(server, b"\n".join([*given, b'{"id": null, "text": "Oz"}']))
    said = [(one["line"], one.get("id", "-"), one.get("error", {}).get("code")) for one in found]
    assert said == [
        (1, "-", None),
        (3, "-", "bad_request"),
        (4, "x", "invalid_value"),
        (5, "-", "invalid_value"),
        (6, "-", "bad_request"),
        (7, "-", "not_found"),
        (8, 7, "invalid_value"),
        (9, "-", "invalid_value"),
        (10, "-", "invalid_value"),
        (11, "-", "invalid_value"),
        (12, None, None),
    ]


def test_options_of_all_lines_and_of_one(server: Running) -> None:
    query = "?threshold=0.5&threshold=person=0.01&types=person&top_k=2&candidates=0.05&offset_unit=utf16&model=other"
    plain, own = lines(
        server, b'{"text": "\xf0\x9f\xa6\x81 Ada"}\n{"text": "Ada", "top_k": 0, "probabilities": false}\n', query
    )
    assert plain["mentions"][-1]["start"] == 3 and len(plain["alternatives"][0]["sets"]) == 2 and plain["candidates"]
    assert "alternatives" not in own and "probability" not in own["mentions"][0]
    for wrong, status, sentence in (
        ("?top_k=x", 422, "the field top_k is 'x'"),
        ("?top_k=101", 422, "top_k is 101, and the limit is 100"),
        ("?threshold=high", 422, "the threshold 'high' is not a probability; write for example 0.5, or protein=0.3"),
        ("?threshold=7", 422, "must be a number above 0 and at most 1"),
        ("?colour=red", 422, "the parameter 'colour' is not known; known are model, threshold"),
        ("?model=third", 404, "there is no model 'third'"),
        ("?types=gene", 422, "'gene' is not among those of the model"),
    ):
        response = server.client.post(
            f"/v1/annotate/stream{wrong}", content=b'{"text": "Ada"}', headers={"content-type": "application/x-ndjson"}
        )
        assert response.status_code == status and sentence in response.json()["error"]["message"]
    form = server.client.post("/v1/annotate/stream", data={"text": "Ada"})
    assert form.status_code == 415 and "must be application/x-ndjson" in form.text


def test_lines_that_are_too_long(annotator: Annotator) -> None:
    long = json.dumps({"text": "Ada " * 60_000}).encode()
    with running(Settings(max_body_bytes=1000), {"small": annotator}) as one:
        found = lines(
            one, b"\n".join([b'{"text": "Ada"}', long, b'{"text": "Oz"}', b'{"text": "' + b"x" * 1100 + b'"}'])
        )
        assert [(line["line"], line.get("error", {}).get("code")) for line in found] == [
            (1, None),
            (2, "too_large"),
            (3, None),
            (4, "too_large"),
        ]
        assert [line["line"] for line in lines(one, long)] == [1]


def test_an_answer_comes_while_the_request_goes_on(server: Running) -> None:
    place = ("127.0.0.1", server.port)
    with socket.create_connection(place, timeout=PATIENCE) as connection:
        connection.sendall(
            b"POST /v1/annotate/stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n"
        )
        assert connection.recv(1000).startswith(b"HTTP/1.1 100")
        received = b""
        for number in range(1, 4):
            line = json.dumps({"text": "Ada", "id": number}).encode() + b"\n"
            connection.sendall(b"%x\r\n%s\r\n" % (len(line), line))
            while f'"id":{number},'.encode() not in received:
                received += connection.recv(10_000)
        connection.sendall(b"0\r\n\r\n")
        while b"\r\n0\r\n\r\n" not in received:
            received += connection.recv(10_000)


def test_no_more_is_read_than_can_be_worked_on(gated_server: tuple[Running, Gated]) -> None:
    one, gated = gated_server
    line = b'{"text": "Ada left.", "id": "%s"}\n' % (b"x" * 2000)
    sent = 0
    with socket.create_connection(("127.0.0.1", one.port), timeout=PATIENCE) as connection:

        def send() -> None:
            nonlocal sent
            connection.sendall(
                b"POST /v1/annotate/stream HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n"
            )
            while not gated.gate.is_set() and sent < 20_000:
                connection.sendall(b"%x\r\n%s\r\n" % (len(line), line))
                sent += 1
            connection.sendall(b"0\r\n\r\n")

        caller = threading.Thread(target=send)
        caller.start()
        gated.busy.wait(PATIENCE)
        last = -1
        while sent != last:  # until the caller is held back
            last = sent
            time.sleep(0.2)
        assert sent < 10_000
        assert one.service.batcher is not None and one.service.batcher.queued <= 3 * stream.AT_WORK
        gated.gate.set()
        received = bytearray()
        while not received.endswith(b"\r\n0\r\n\r\n"):
            received += connection.recv(1 << 20)
        caller.join(PATIENCE)
    assert received.count(b'"mentions"') == sent and b'"error"' not in received


@pytest.fixture
def gated_server() -> Iterator[tuple[Running, Gated]]:
    gated = Gated()
    with running(Settings(max_queued_words=100), {"small": gated}) as one:
        yield one, gated
        gated.gate.set()


def test_who_leaves_and_when_the_server_stops(gated_server: tuple[Running, Gated]) -> None:
    one, gated = gated_server

    def begun() -> http.client.HTTPConnection:
        caller = http.client.HTTPConnection("127.0.0.1", one.port, timeout=PATIENCE)
        caller.putrequest("POST", "/v1/annotate/stream")
        caller.putheader("Transfer-Encoding", "chunked")
        caller.putheader("Content-Type", "application/x-ndjson")
        caller.endheaders(b'10\r\n{"text": "Ada"}\n\r\n')
        return caller

    leaving = begun()
    gated.busy.wait(PATIENCE)
    until(lambda: one.service.in_flight == 1)
    leaving.close()
    until(lambda: one.service.in_flight == 0)
    staying = begun()
    until(lambda: one.service.in_flight == 1 and one.service.batcher is not None and one.service.batcher.jobs == 1)
    one.server.stop()
    gated.gate.set()
    first, last = map(json.loads, staying.getresponse().read().splitlines())
    assert first["mentions"] and last["line"] == 2 and last["error"]["code"] == "shutting_down"
    staying.close()


def test_a_stream_on_which_nothing_comes_is_closed(annotator: Annotator) -> None:
    with running(Settings(seconds=2), {"small": annotator}) as one:
        idle = http.client.HTTPConnection("127.0.0.1", one.port, timeout=PATIENCE)
        idle.putrequest("POST", "/v1/annotate/stream")
        idle.putheader("Transfer-Encoding", "chunked")
        idle.putheader("Content-Type", "application/x-ndjson")
        idle.endheaders(b'10\r\n{"text": "Ada"}\n\r\n')
        first, last = map(json.loads, idle.getresponse().read().splitlines())
        assert first["mentions"] and last["error"]["code"] == "request_timeout"
        idle.close()
