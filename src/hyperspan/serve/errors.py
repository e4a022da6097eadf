"""Errors of a server: a status, a code for programs and a message for people; and JSON responses.

Responses are compressed with gzip for clients that accept it; not streams, whose lines are sent immediately.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from typing import Any

from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import Response

CODES = {
    400: "bad_request",
    401: "unauthorized",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    421: "misdirected_request",
    422: "invalid_value",
    499: "client_gone",
    500: "internal_error",
    503: "overloaded",
    504: "time_limit",
}
"""The code of each status, stable for programs."""
TOGETHER = 100
"""The number of records serialised at a time."""


class Problem(Exception):  # noqa: N818
    """A request answered with an error: a status, a code and a message."""

    def __init__(
        self,
        status: int,
        message: str,
        code: str | None = None,
        headers: dict[str, str] | None = None,
        more: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code or CODES[status]
        self.headers, self.more = headers or {}, more or {}
        """Headers of the response, and its content in addition to the error."""

    def content(self) -> dict[str, str]:
        """The content of "error" in every error response."""
        return {"code": self.code, "message": self.message}

    def response(self) -> Response:
        return JSON({"error": self.content()} | self.more, self.status, self.headers)


def overloaded(message: str, seconds: float = 1.0, code: str = "overloaded") -> Problem:
    """A request that may be repeated after some seconds."""
    return Problem(503, message, code, {"Retry-After": str(max(1, min(round(seconds), 60)))})


def shutting_down() -> Problem:
    return overloaded("the server is shutting down; send the request to another one, or later", 5, "shutting_down")


class JSON(Response):
    """Compact JSON as UTF-8; unpaired surrogates, which UTF-8 cannot encode, are escaped."""

    media_type = "application/json"

    def __init__(self, content: Any, status_code: int = 200, headers: dict[str, str] | None = None) -> None:
        super().__init__(dumps(content), status_code, headers)


def dumps(content: Any) -> bytes:
    """Serialise to JSON, in parts if it is large, since no other thread runs while a part is written.

    >>> dumps({"text": "é"}), dumps(["\\ud83d"])
    (b'{"text":"\xc3\xa9"}', b'["\\\\ud83d"]')
    """
    return b"".join(_parts(content))


def _parts(content: Any) -> Iterator[bytes]:
    if isinstance(content, dict) and any(isinstance(value, (dict, list)) for value in content.values()):
        yield b"{"
        for index, (name, value) in enumerate(content.items()):
            yield b"," * (index > 0) + _written(name) + b":"
            yield from _parts(value)
        yield b"}"
    elif isinstance(content, list) and content and isinstance(content[0], dict):
        is_flat = not any(isinstance(value, (dict, list)) for value in content[0].values())
        together = TOGETHER if is_flat else 1
        yield b"["
        for first in range(0, len(content), together):
            yield b"," * (first > 0)
            if is_flat:
                yield _written(content[first : first + together])[1:-1]
            else:
                yield from _parts(content[first])
        yield b"]"
    else:
        yield _written(content)


def _written(content: Any) -> bytes:
    try:
        return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


LEAST_BYTES = 1_000
"""A shorter response is not compressed: it fits into one packet anyway."""
LEVEL = 4
"""Text shrinks to a quarter or less, in a third of the time of the default level."""
PACKED = (Middleware(GZipMiddleware, minimum_size=LEAST_BYTES, compresslevel=LEVEL),)
"""The middleware of routes whose responses are always short enough to be compressed at once."""


def packed_json(content: Any, headers: Mapping[str, str]) -> Response:
    """A JSON response, compressed if the request's headers allow it; for large ones, call this in another thread."""
    answer = JSON(content)
    if "gzip" in headers.get("accept-encoding", "") and len(answer.body) >= LEAST_BYTES:
        answer.body = gzip.compress(answer.body, LEVEL, mtime=0)
        answer.headers["Content-Encoding"] = "gzip"
        answer.headers["Content-Length"] = str(len(answer.body))
        answer.headers.add_vary_header("Accept-Encoding")
    return answer
