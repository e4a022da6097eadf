"""How answers travel: packed, checked anew before they are used again, streams line by line; and the API to read."""

from __future__ import annotations

import gzip
import re

import pytest

from hyperspan.serve.app import STATIC
from tests.serve.running import TEXT, Running
from tests.support.pages import Page


def raw(server: Running, method: str, path: str, **options: object) -> tuple[bytes, dict[str, str]]:
    with server.client.stream(method, path, **options) as response:  # type: ignore[arg-type]
        assert response.status_code == 200
        return b"".join(response.iter_raw()), dict(response.headers)


@pytest.mark.parametrize("path", ["/", "/static/page.js", "/docs", "/openapi.json"])
def test_answers_are_packed_for_who_takes_them_so(server: Running, path: str) -> None:
    plain, headers = raw(server, "GET", path, headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in headers and headers["cache-control"] == "no-cache"
    packed, headers = raw(server, "GET", path)
    assert headers["content-encoding"] == "gzip" and headers["vary"] == "Accept-Encoding"
    assert gzip.decompress(packed) == plain and len(packed) < 0.5 * len(plain)


def test_annotations_are_packed_and_lines_of_streams_are_not(server: Running) -> None:
    body = {"text": 20 * TEXT}
    plain, _ = raw(server, "POST", "/v1/annotate", json=body, headers={"Accept-Encoding": "identity"})
    packed, headers = raw(server, "POST", "/v1/annotate", json=body)
    assert gzip.decompress(packed) == plain and int(headers["content-length"]) == len(packed) < 0.3 * len(plain)
    lines, headers = raw(
        server,
        "POST",
        "/v1/annotate/stream",
        content=f'{{"text": "{20 * "Ada left. "}"}}\n'.encode(),
        headers={"Content-Type": "application/x-ndjson"},
    )
    assert "content-encoding" not in headers and lines.startswith(b"{")


def test_files_of_the_page_are_checked_anew_and_not_sent_again(server: Running) -> None:
    first = server.client.get("/static/picture/text.js")
    again = server.client.get("/static/picture/text.js", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304 and not again.content


def test_the_reference_says_all_that_the_description_says(server: Running) -> None:
    description, page = server.client.get("/openapi.json").json(), server.client.get("/docs").text
    read = Page(page)
    assert "script" not in read.tags and not any(name.startswith("on") for name in read.attributes)
    assert all(address.removeprefix("#") in read.ids for address in read.links if address.startswith("#"))
    assert {one for one in read.links if not one.startswith(("#", "/static/"))} == {"/", "/openapi.json"}
    text = re.sub("<[^>]*>", "", page)
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            assert f"{method.upper()} {path}" in text and operation["summary"] in text
    for name in description["components"]["schemas"]["AnnotateRequest"]["properties"]:
        assert f"<code>{name}</code>" in page
    assert '<a href="/docs">' in (STATIC / "index.html").read_text(encoding="utf-8")
