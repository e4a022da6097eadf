"""The OpenAPI description of the interface, with examples, made of the schemas that requests are checked with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.routing import Route

from hyperspan import __version__
from hyperspan.serve.label_schema import (
    ConflictResponse,
    DecisionRequest,
    DecisionResponse,
    LabelItem,
    LabelRequest,
    LabelSessionResponse,
    UndoRequest,
)
from hyperspan.serve.schema import (
    AnnotatedText,
    AnnotateRequest,
    AnnotateResponse,
    ErrorResponse,
    HypergraphRequest,
    HypergraphResponse,
    ModelsResponse,
    StreamLine,
    StreamQuery,
)

ABOUT = """Finds mentions that overlap: nested, crossing, of the same type, of any length, each with its exact probability.

Spans are half-open, `[start, end)`, in characters of the text, which `offset_unit` counts by code points or by UTF-16 units."""
_TEXT = "Mutant Rel proteins bind the IL-2 promoter in Jurkat T cells."
EXAMPLES = {
    "annotate": {
        "text": {"summary": "The most probable mentions of a text", "value": {"text": _TEXT, "model": "genia"}},
        "thresholds": {
            "summary": "Every mention that is probable enough, by label, and the three best sets",
            "value": {
                "text": _TEXT,
                "model": "genia",
                "threshold": {"protein": 0.3, "*": 0.5},
                "top_k": 3,
                "candidates": 0.05,
            },
        },
        "constraints": {
            "summary": "What is known of a text, for a caller that counts UTF-16 units",
            "value": {
                "texts": [_TEXT],
                "model": "genia",
                "require": [{"start": 7, "end": 10, "label": "protein"}],
                "forbid": [{"document": 0, "start": 29, "end": 33, "label": "protein"}],
                "offset_unit": "utf16",
            },
        },
    },
    "hypergraph": {
        "sentence": {"value": {"text": "c-Rel binds the IL-2 promoter.", "model": "genia", "types": ["DNA", "protein"]}}
    },
    "decision": {
        "accept": {"value": {"revision": 1, "action": "accept", "mention": {"start": 0, "end": 2, "label": "DNA"}}},
        "complete": {"summary": "The sentence is right as shown", "value": {"revision": 2, "action": "complete"}},
    },
    "undo": {"last": {"value": {}}},
    "label": {"new": {"value": {"label": "virus"}}},
    "stream": {"lines": {"value": '{"id": 1, "text": "c-Rel binds."}\n{"id": 2, "text": "Nothing does."}\n'}},
}
_ERRORS = {
    400: "The body is not JSON in UTF-8.",
    401: "The API key is missing or wrong.",
    404: "There is no such model.",
    409: "The sentence has changed since it was shown; `item` is how it is now.",
    408: "The body did not come in time.",
    413: "The body, its texts or its characters are too many.",
    415: "The body is not sent as JSON.",
    421: "The header Host is not a name of this server.",
    422: "A value is not one that can be used.",
    500: "Something went wrong inside.",
    503: "There is too much work, or the models are not there; Retry-After says when to come back.",
    504: "It took too long.",
}
_ANSWERED_LINES = "A line for each line: AnnotatedText with `line` and `id`, or `error`, `line` and `id`."
_OF_BODIES = (400, 401, 404, 408, 413, 415, 421, 422, 500, 503, 504)
_STRING = {"type": "string"}
_REQUESTS: tuple[type[BaseModel], ...] = (
    *(AnnotateRequest, HypergraphRequest, StreamLine, DecisionRequest, UndoRequest, LabelRequest),
)
_RESPONSES: tuple[type[BaseModel], ...] = (
    *(AnnotateResponse, HypergraphResponse, AnnotatedText, ModelsResponse, ErrorResponse),
    *(LabelSessionResponse, LabelItem, DecisionResponse, ConflictResponse),
)


def describe(routes: Iterable[Route], *, with_key: bool) -> dict[str, Any]:
    """The whole description of a server with these routes, each named after its operation."""
    _, defined = models_json_schema(
        [*((model, "validation") for model in _REQUESTS), *((model, "serialization") for model in _RESPONSES)],
        ref_template="#/components/schemas/{model}",
    )
    components: dict[str, Any] = {"schemas": defined["$defs"]}
    security: dict[str, Any] = {}
    if with_key:
        components["securitySchemes"] = {
            "bearer": {"type": "http", "scheme": "bearer"},
            "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
        }
        security = {"security": [{"bearer": []}, {"key": []}]}
    info = {"title": "hyperspan", "description": ABOUT, "version": __version__}
    return {"openapi": "3.1.0", "info": info, "paths": _paths(routes), "components": components, **security}


def _paths(routes: Iterable[Route]) -> dict[str, Any]:
    operations = _operations()
    described = [route for route in routes if route.name in operations]
    return {route.path: {_method(route): operations[route.name]} for route in described}


def _method(route: Route) -> str:
    return "post" if "POST" in (route.methods or ()) else "get"


def _operations() -> dict[str, Any]:
    """What is described, by the names of the routes."""
    annotate = _operation("The mentions of one text or several", _json(AnnotateResponse), _OF_BODIES)
    drawn = "The hypergraph of a model for a short sentence, with the hyperpath of its most probable mentions"
    hypergraph = _operation(drawn, _json(HypergraphResponse), _OF_BODIES)
    stream = _operation(
        "The mentions of any number of texts, a line of JSON each",
        {"application/x-ndjson": {"schema": _STRING}},
        (400, 401, 404, 415, 421, 422, 500, 503),
        _ANSWERED_LINES,
    )
    text = {"text/plain": {"schema": _STRING}}
    return {
        "annotate": annotate | _body(_json(AnnotateRequest), "annotate"),
        "hypergraph": hypergraph | _body(_json(HypergraphRequest), "hypergraph"),
        "stream": stream
        | _body({"application/x-ndjson": {"schema": _STRING}}, "stream")
        | {"parameters": _parameters(StreamQuery)},
        "models": _operation("What is served", _json(ModelsResponse), (401, 421, 503)),
        "healthz": _operation("Whether the server runs", text),
        "readyz": _operation("Whether the models are loaded and requests are taken", text, (503,)),
        "metrics": _operation("For Prometheus", text, (401, 421)),
        **_labelling(),
    }


def _labelling() -> dict[str, Any]:
    """What is described of a server that labels."""
    item = {"parameters": [{"name": "item", "in": "path", "required": True, "schema": _STRING}]}
    decision = _operation("Takes a decision about a sentence", _json(DecisionResponse), _OF_BODIES)
    decision["responses"]["409"] = {"description": _ERRORS[409], "content": _json(ConflictResponse)}
    session = _json(LabelSessionResponse)
    return {
        "label_session": _operation("The session: its labels, progress and queue", session, (401, 421, 500)),
        "label_item": _operation("A sentence with its draft", _json(LabelItem), (401, 404, 421, 500)) | item,
        "label_decision": decision | _body(_json(DecisionRequest), "decision") | item,
        "label_undo": _operation("Takes back the last decision", _json(DecisionResponse), _OF_BODIES)
        | _body(_json(UndoRequest), "undo"),
        "label_label": _operation("Adds a label", session, _OF_BODIES) | _body(_json(LabelRequest), "label"),
    }


def _operation(
    summary: str, content: dict[str, Any], errors: tuple[int, ...] = (), description: str = "The answer."
) -> dict[str, Any]:
    failures = {str(status): {"description": _ERRORS[status], "content": _json(ErrorResponse)} for status in errors}
    return {"summary": summary, "responses": {"200": {"description": description, "content": content}, **failures}}


def _json(model: type[BaseModel]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}}


def _body(content: dict[str, Any], examples: str) -> dict[str, Any]:
    described = {kind: {**about, "examples": EXAMPLES[examples]} for kind, about in content.items()}
    return {"requestBody": {"required": True, "content": described}}


def _parameters(query: type[BaseModel]) -> list[dict[str, Any]]:
    properties = query.model_json_schema()["properties"]
    return [{"name": name, "in": "query", "required": False, "schema": schema} for name, schema in properties.items()]
