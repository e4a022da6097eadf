"""The description of the interface, with examples."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from hyperspan import __version__
from hyperspan.serve.schema import (
    AnnotatedText,
    AnnotateRequest,
    ErrorResponse,
    HypergraphRequest,
    StreamLine,
)

ABOUT = """Finds mentions that overlap: nested, crossing, of the same type, of any length, each with its exact probability.

Spans are half-open, `[start, end)`, in characters of the text, which `offset_unit` counts by code points or by UTF-16 units."""
_TEXT = "Mutant Rel proteins bind the IL-2 promoter in Jurkat T cells."
EXAMPLES = {
    "annotate": {
        "text": {"summary": "The most probable mentions of a text", "value": {"text": _TEXT}},
        "thresholds": {
            "summary": "Every mention that is probable enough, by label, and the three best sets",
            "value": {"text": _TEXT, "threshold": {"protein": 0.3, "*": 0.5}, "top_k": 3, "candidates": 0.05},
        },
        "pins": {
            "summary": "What is known of a text, for a caller that counts UTF-16 units",
            "value": {
                "texts": [_TEXT],
                "require": [{"start": 7, "end": 10, "label": "protein"}],
                "forbid": [{"document": 0, "start": 29, "end": 33, "label": "protein"}],
                "offset_unit": "utf16",
            },
        },
    },
    "hypergraph": {"sentence": {"value": {"text": "c-Rel binds the IL-2 promoter.", "types": ["DNA", "protein"]}}},
    "stream": {"lines": {"value": '{"id": 1, "text": "c-Rel binds."}\n{"id": 2, "text": "Nothing does."}\n'}},
}
_SAID = {
    400: "The body is not JSON in UTF-8.",
    401: "The API key is missing or wrong.",
    404: "There is no such model.",
    408: "The body did not come in time.",
    413: "The body, its texts or its characters are too many.",
    415: "The body is not sent as JSON.",
    421: "The header Host is not a name of this server.",
    422: "A value is not one that can be used.",
    500: "Something went wrong inside.",
    503: "There is too much work, or the models are not there; Retry-After says when to come back.",
    504: "It took too long.",
}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route may answer besides what it is for."""
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{ErrorResponse.__name__}"}}}
    return {status: {"description": _SAID[status], "content": content} for status in statuses}


def body(model: type[BaseModel], examples: str) -> dict[str, Any]:
    """The body of a request, which the routes read and check themselves."""
    content = {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}, "examples": EXAMPLES[examples]}
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


def lines() -> dict[str, Any]:
    """The body of a stream: a string whose lines are JSON."""
    content = {"schema": {"type": "string"}, "examples": EXAMPLES["stream"]}
    return {"requestBody": {"required": True, "content": {"application/x-ndjson": content}}}


def lines_answered() -> dict[int | str, dict[str, Any]]:
    """The answer to a stream: a record of `AnnotatedText`, with its line and id, or of an error, for each line."""
    said = "A line for each line: AnnotatedText with `line` and `id`, or `error`, `line` and `id`."
    return {200: {"description": said, "content": {"application/x-ndjson": {"schema": {"type": "string"}}}}}


def describe(app: FastAPI, with_key: bool) -> dict[str, Any]:
    """The whole description; made once."""
    if app.openapi_schema is None:
        schema = get_openapi(title="hyperspan", version=__version__, description=ABOUT, routes=app.routes)
        own = (AnnotateRequest, HypergraphRequest, StreamLine, AnnotatedText, ErrorResponse)
        _, defined = models_json_schema(
            [(model, "validation") for model in own], ref_template="#/components/schemas/{model}"
        )
        components = schema.setdefault("components", {})
        components["schemas"] = components.get("schemas", {}) | defined["$defs"]
        if with_key:
            components["securitySchemes"] = {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            }
            schema["security"] = [{"bearer": []}, {"key": []}]
        app.openapi_schema = schema
    return app.openapi_schema
