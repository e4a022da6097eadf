"""The page reference/rest.md of the site, from the OpenAPI document that the server makes of itself."""

from __future__ import annotations

from typing import Any

from hyperspan.serve.app import Routes
from hyperspan.serve.reference import sections
from hyperspan.serve.service import Service
from hyperspan.serve.settings import Settings

INTRO = """# REST API

`hyperspan serve` answers these requests. This page is generated from the OpenAPI document of the server, which every server
has at `/openapi.json` for programs and at `/docs` for people. [Serve models over HTTP](../how-to/serve.md) explains how to
start a server, its limits and its deployment.

- **Base URL:** `http://127.0.0.1:8000` by default; `--host` and `--port` change it.
- **Authentication:** with `--api-key`, send `Authorization: Bearer KEY` or `X-API-Key: KEY`. `/`, `/docs`, `/static/`,
  `/healthz` and `/readyz` need no key.
- **Bodies** are JSON in UTF-8 and must have a `Content-Type`: `application/json`, and for streams `application/x-ndjson`.
- **Offsets** are half-open, `[start, end)`, and count Unicode code points, or UTF-16 units with `"offset_unit": "utf16"`.
- **Compression:** answers are compressed with gzip if the request has `Accept-Encoding: gzip`. Streams are not.
- **Request ids:** the header `X-Request-ID` of a request is returned with the answer and is in the log."""


def description() -> dict[str, Any]:
    """The OpenAPI document of a server with all routes. No model is loaded for it."""
    return Routes(Service(Settings(api_key="key"))).description


def rest_page() -> str:
    """The whole page: headings in Markdown, so that the site lists them, and tables in HTML."""
    return "\n\n".join([INTRO, *sections(description(), heading)]) + "\n"


def heading(level: int, title: str, anchor: str) -> str:
    """
    >>> heading(2, "GET /v1/models", "get-v1-models")
    '## GET /v1/models {#get-v1-models}'
    """
    return f"{'#' * level} {title} {{#{anchor}}}"
