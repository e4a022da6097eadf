"""What the server refuses, with which status, and in which words."""

from __future__ import annotations

import http.client
import json
import re
import socket
from pathlib import Path
from typing import Any

import pytest

from hyperspan.runtime.annotator import Annotator
from hyperspan.serve.settings import Settings
from tests.serve.running import Running, running, until
from tests.support.process import PATIENCE

KNOWN = {"start": 0, "end": 3, "label": "person"}
DEEP = "[" * 100_000


def message_of(response: Any) -> str:
    content = response.json()
    assert set(content) == {"error"} and set(content["error"]) == {"code", "message"}
    said = content["error"]["message"]
    assert "\n" not in said and "Traceback" not in said and str(Path.cwd()) not in said and ".py" not in said
    return said


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        ("", 400, "is not JSON: Expecting value"),
        ("{", 400, "is not JSON"),
        ('{"text": "a"} trailing', 400, "Extra data, at character 14"),
        (b'{"text": "\xff"}', 400, "is not UTF-8 text, at byte 10"),
        ('{"text": "a", "threshold": NaN}', 400, "it has no NaN"),
        ('{"text": "a", "threshold": -Infinity}', 400, "it has no -Infinity"),
        ('{"text": "a", "top_k": 1' + "0" * 5000 + "}", 400, "a number that cannot be read"),
        (DEEP, 400, "is nested too deeply"),
        ("[]", 422, "is a list, but must be an object"),
        ("null", 422, "is null, but must be an object"),
        ("3", 422, "is a number, but must be an object"),
        ("{}", 422, 'both "text" and "texts" or neither'),
        ({"text": "a", "texts": ["b"]}, 422, 'both "text" and "texts" or neither'),
        ({"text": 3}, 422, "the field text is 3: must be a string"),
        ({"texts": "a"}, 422, "the field texts is 'a'"),
        ({"texts": ["a", None]}, 422, "the field texts[1] is None: must be a string"),
        ({"text": "a", "colour": 1}, 422, "the field 'colour' is not known; known are model, threshold"),
        ({"text": "a", "threshold": 0}, 422, "must be a number above 0 and at most 1"),
        ({"text": "a", "threshold": True}, 422, "must be a number above 0 and at most 1"),
        ({"text": "a", "threshold": "0.5"}, 422, "must be a number above 0 and at most 1"),
        (
            '{"text": "a", "threshold": 1e999}',
            422,
            "the field threshold is inf: must be a number above 0 and at most 1",
        ),
        ({"text": "a", "threshold": {"person": 2}}, 422, "'person' is 2, but must be a number above 0 and at most 1"),
        ({"text": "a", "threshold": {"gene": 0.5}}, 422, "'gene' is not among those of the model; it knows"),
        ({"text": "a", "threshold": 1e-9}, 422, "from a probability of 1e-09 on, and the limit is 0.001"),
        ({"text": "a", "candidates": 1e-9}, 422, "from a probability of 1e-09 on, and the limit is 0.001"),
        ({"text": "a", "types": ["gene"]}, 422, "'gene' is not among those of the model"),
        ({"text": "a", "types": "person"}, 422, "the field types is 'person'"),
        ({"text": "a", "top_k": -1}, 422, "the field top_k is -1"),
        ({"text": "a", "top_k": 1.5}, 422, "the field top_k is 1.5"),
        ({"text": "a", "top_k": 101}, 422, "top_k is 101, and the limit is 100"),
        ({"text": "a", "top_k": 10**30}, 422, "the field top_k is 1000000000"),
        ({"text": "a", "probabilities": "yes"}, 422, "the field probabilities is 'yes'"),
        ({"text": "a", "offset_unit": "byte"}, 422, "the field offset_unit is 'byte'"),
        ({"text": "a", "model": "third"}, 404, "there is no model 'third'; there are small, other"),
        ({"text": "Ada", "require": [{"start": 0, "label": "person"}]}, 422, "require[0].end is missing"),
        ({"text": "Ada", "require": [KNOWN | {"colour": 1}]}, 422, "'require[0].colour' is not known; leave it out"),
        ({"text": "Ada", "require": [KNOWN | {"end": 2}]}, 422, "whole words there are at 0:3"),
        ({"text": "Ada", "require": [KNOWN | {"end": 0}]}, 422, "0 <= start < end is needed"),
        ({"text": "Ada", "require": [KNOWN | {"start": -1}]}, 422, "the field require[0].start is -1"),
        ({"text": "Ada", "require": [KNOWN | {"end": 2**60}]}, 422, "the field require[0].end is"),
        ({"text": "Ada", "require": [KNOWN | {"end": 99}]}, 422, "reaches beyond the text"),
        ({"text": "Ada", "require": [KNOWN | {"document": 1}]}, 422, "in document 1, but there are 1, counted from 0"),
        ({"text": "Ada", "require": [KNOWN], "forbid": [KNOWN]}, 422, "both required and forbidden"),
        ({"text": "Ada", "forbid": [KNOWN | {"label": "gene"}]}, 422, "a label that is not among those"),
        ({"text": "Ada", "forbid": [KNOWN] * 1001}, 413, "more than 1,000 mentions are required and forbidden"),
        ({"texts": ["a"] * 1001}, 413, "1,001 texts, and the limit is 1,000"),
        ({"text": "a " * 250_001}, 413, "500,002 characters of text, and the limit is 500,000"),
        (b'{"texts":[' + b"0," * 1_900_000 + b"0]}", 413, "more than 20,000 values; send less at a time"),
        (b"{" + b",".join(b'"%x":0' % n for n in range(390_000)) + b"}", 413, "more than 20,000 values"),
        (b'{"text":"a","forbid":[' + b"{}," * 1_200_000 + b"{}]}", 413, "more than 20,000 values"),
        (b'{"texts":[' + b'"",' * 1_200_000 + b'""]}', 413, "more than 20,000 values"),
        (b'{"text": "' + b'\\",:' * 400_000, 400, "is not JSON: Unterminated string"),
        ('{"text": "a", "\\ud800": 1}', 422, r"the field '\ud800' is not known; known are model"),
        ('{"text": "Ada", "require": [{"\\ud800": 1}]}', 422, r"the name '\ud800', in which half of a character"),
        ({"text": "Oz! " * 300, "top_k": 100}, 413, "the 100 best sets of 300 sentences are more than the 20,000"),
    ],
    ids=lambda value: re.sub(r"\W+", "-", str(value))[:40],
)
def test_bad_bodies(server: Running, body: Any, status: int, sentence: str) -> None:
    content = body if isinstance(body, (str, bytes)) else json.dumps(body)
    response = server.client.post("/v1/annotate", content=content, headers={"content-type": "application/json"})
    assert (response.status_code, sentence in message_of(response)) == (status, True), response.text


def test_wrong_addresses_methods_and_types(server: Running) -> None:
    for method, path, status in (
        ("GET", "/nothing", 404),
        ("GET", "/static/../app.py", 404),
        ("GET", "/static/%2e%2e/app.py", 404),
        ("GET", "/redoc", 404),
        ("POST", "/v1/annotate/", 404),
        ("GET", "/v1/annotate", 405),
        ("DELETE", "/v1/models", 405),
        ("POST", "/", 405),
    ):
        response = server.client.request(method, path)
        assert response.status_code == status and message_of(response)
    assert server.client.get("/v1/annotate").headers["allow"] == "POST"
    form = server.client.post("/v1/annotate", data={"text": "Ada"})
    assert form.status_code == 415 and "send the header Content-Type: application/json" in message_of(form)
    untyped = server.client.post("/v1/annotate", content=b'{"text": "Ada"}')
    assert untyped.status_code == 415 and "the body is sent without a type" in message_of(untyped)
    untyped = server.client.post("/v1/annotate/stream", content=b'{"text": "Ada"}')
    assert untyped.status_code == 415 and "Content-Type: application/x-ndjson" in message_of(untyped)
    named = {"content-type": "application/json; charset=utf-8"}
    assert server.client.post("/v1/annotate", content=b'{"text": "Ada"}', headers=named).status_code == 200


def test_large_bodies_are_refused_whether_or_not_they_say_so(annotator: Annotator) -> None:
    with running(Settings(max_body_bytes=100_000), {"small": annotator}) as one:
        large = json.dumps({"text": "a" * 10_000_000}).encode()
        json_type = {"content-type": "application/json"}
        told = one.client.post("/v1/annotate", content=large, headers=json_type)
        assert told.status_code == 413 and "more than the 100,000 bytes" in message_of(told)
        chunked = one.client.post(
            "/v1/annotate", content=(large[i : i + 50_000] for i in range(0, len(large), 50_000)), headers=json_type
        )
        assert chunked.status_code == 413
        assert one.post(text="Ada").status_code == 200
        until(lambda: one.service.memory.held == 0 and one.service.in_flight == 0)


def test_the_api_key(annotator: Annotator) -> None:
    with running(Settings(api_key="open sesame"), {"small": annotator}) as one:
        for headers in (
            {},
            {"Authorization": "Bearer open"},
            {"Authorization": "Basic open sesame"},
            {"X-API-Key": "open sesame!"},
        ):
            for path in ("/v1/models", "/metrics", "/openapi.json", "/nothing"):
                response = one.client.get(path, headers=headers)
                assert response.status_code == 401 and "API key is missing or wrong" in message_of(response)
                assert response.headers["www-authenticate"] == "Bearer"
            assert one.client.post("/v1/annotate", json={"text": "Ada"}, headers=headers).status_code == 401
        for headers in ({"Authorization": "Bearer open sesame"}, {"X-API-Key": "open sesame"}):
            assert one.client.get("/v1/models", headers=headers).status_code == 200
            assert one.client.post("/v1/annotate", json={"text": "Ada"}, headers=headers).status_code == 200
            assert "securitySchemes" in one.client.get("/openapi.json", headers=headers).text
        for path in ("/healthz", "/readyz", "/"):
            assert one.client.get(path).status_code != 401
        assert not any("sesame" in entry for entry in one.log)


def test_what_goes_wrong_inside_stays_there(
    server: Running, annotator: Annotator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a secret of /home/somebody")

    for name in ("distribution", "quick_distribution"):
        monkeypatch.setattr(annotator.model, name, fail)
    response = server.post(text="Ada")
    assert response.status_code == 500 and "inside the server" in message_of(response)
    assert "secret" not in response.text and "RuntimeError" not in response.text
    entry = server.entry(response)
    assert entry["error"] == "RuntimeError" and any("fail" in place for place in entry["at"])
    assert "secret" not in str(entry)
    line = server.client.post(
        "/v1/annotate/stream", content=b'{"text": "Ada"}\n', headers={"content-type": "application/json"}
    ).json()
    assert line["error"]["code"] == "internal_error" and "secret" not in str(line)


def test_requests_that_are_no_http_are_survived(server: Running) -> None:
    place = ("127.0.0.1", server.port)
    for noise in (b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"POST /v1/annotate HTTP/1.1\r\nContent-Length: x\r\n\r\n"):
        with socket.create_connection(place, timeout=PATIENCE) as connection:
            connection.sendall(noise)
            connection.shutdown(socket.SHUT_WR)
            assert b"Traceback" not in connection.recv(1000)
    half = http.client.HTTPConnection(*place, timeout=PATIENCE)  # sends half a body and goes away
    half.putrequest("POST", "/v1/annotate")
    half.putheader("Content-Length", "100")
    half.endheaders(b'{"text":')
    half.close()
    assert server.post(text="Ada").status_code == 200
