"""The OpenAPI description of the API, with examples, generated from the schemas that validate requests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.routing import Route

from hyperspan import __version__
from hyperspan.serve.inception import InceptionRequest
from hyperspan.serve.label_studio import PredictRequest, SetupRequest
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

Spans are half-open, `[start, end)`. Offsets count characters of the text, as Unicode code points or as UTF-16 units (`offset_unit`)."""
_TEXT = "Mutant Rel proteins bind the IL-2 promoter in Jurkat T cells."
EXAMPLES = {
    "annotate": {
        "text": {"summary": "The most probable mentions of a text", "value": {"text": _TEXT, "model": "genia"}},
        "thresholds": {
            "summary": "Every mention above a threshold per label, and the three most probable sets",
            "value": {
                "text": _TEXT,
                "model": "genia",
                "threshold": {"protein": 0.3, "*": 0.5},
                "top_k": 3,
                "candidates": 0.05,
            },
        },
        "constraints": {
            "summary": "Required and forbidden mentions, with offsets in UTF-16 units",
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
    "stream": {"lines": {"value": '{"id": 1, "text": "c-Rel binds."}\n{"id": 2, "text": "Nothing does."}\n'}},
}
_ERRORS = {
    400: "`bad_request`: the body is not JSON in UTF-8; or the request has both `Content-Length` and `Transfer-Encoding`, "
    "no `Host` or several, or several `Content-Type`.",
    401: "`unauthorized`: the API key is missing or wrong.",
    404: "`not_found`: no such address or model.",
    408: "`request_timeout`: the body did not arrive in time.",
    413: "`too_large`: the request exceeds a limit on size.",
    415: "`unsupported_media_type`: `Content-Type` is missing or is not JSON.",
    421: "`misdirected_request`: the header `Host` is not a name of this server.",
    422: "`invalid_value`: a value of a wrong type or out of range, an unknown field or label, a span that cuts a word.",
    500: "`internal_error`: an error of the server. Its log has details under the id of the request.",
    503: "`overloaded`, `not_ready` or `shutting_down`: try again after the seconds in the header `Retry-After`.",
    504: "`time_limit`: the request took too long.",
}
_ANSWERED_LINES = (
    "One line per line of the request, in the same order: an AnnotatedText, or `error`. Both have `line`, its number, and "
    "the `id` of the line if it has one."
)
_OF_BODIES = (400, 401, 404, 408, 413, 415, 421, 422, 500, 503, 504)
_STRING = {"type": "string"}
_REQUESTS = (AnnotateRequest, HypergraphRequest, StreamLine, PredictRequest, SetupRequest, InceptionRequest)
_RESPONSES = (AnnotateResponse, HypergraphResponse, AnnotatedText, ModelsResponse, ErrorResponse)


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
            "basic": {"type": "http", "scheme": "basic"},
        }
        security = {"security": [{"bearer": []}, {"key": []}, {"basic": []}]}
    info = {"title": "hyperspan", "description": ABOUT, "version": __version__}
    return {"openapi": "3.1.0", "info": info, "paths": _paths(routes), "components": components, **security}


def _paths(routes: Iterable[Route]) -> dict[str, Any]:
    operations = _operations()
    described = [route for route in routes if route.name in operations]
    return {route.path: {_method(route): operations[route.name]} for route in described}


def _method(route: Route) -> str:
    return "post" if "POST" in (route.methods or ()) else "get"


def _operations() -> dict[str, Any]:
    """The described operations, by route name. Those of the labelling page are its own affair."""
    annotate = _operation("Annotate one text or several", _json(AnnotateResponse), _OF_BODIES, "The annotated texts.")
    annotate["description"] = "The answer has the same mentions and probabilities as the Python library."
    drawn = _json(HypergraphResponse)
    hypergraph = _operation("Draw the hypergraph of a short sentence", drawn, _OF_BODIES, "The picture.")
    hypergraph["description"] = (
        "The picture shows the hypergraph of the model for this sentence, and the hyperpath of its most probable mentions."
    )
    stream = _operation(
        "Annotate any number of texts, one line of JSON each",
        {"application/x-ndjson": {"schema": _STRING}},
        (400, 401, 404, 415, 421, 422, 500, 503),
        _ANSWERED_LINES,
    )
    stream["description"] = (
        "Each line of the body is a StreamLine. Answers come while the request is still being sent, in the order of the "
        "lines. An invalid line gets an error, and the next line is read. Send the body as `application/x-ndjson`."
    )
    text, listed = {"text/plain": {"schema": _STRING}}, _json(ModelsResponse)
    return {
        "annotate": annotate | _body(_json(AnnotateRequest), "annotate"),
        "hypergraph": hypergraph | _body(_json(HypergraphRequest), "hypergraph"),
        "stream": stream
        | _body({"application/x-ndjson": {"schema": _STRING}}, "stream")
        | {"parameters": _parameters(StreamQuery)},
        "models": _operation(
            "List the models and the limits of the server", listed, (401, 421, 503), "Models and limits."
        ),
        "healthz": _operation("Check that the process runs", text, (), "It runs."),
        "readyz": _operation("Check that models are loaded and requests are accepted", text, (503,), "It is ready."),
        "metrics": _operation("Read metrics in the text format of Prometheus", text, (401, 421), "The metrics."),
    } | _tool_operations()


def _tool_operations() -> dict[str, Any]:
    """What annotation tools call: their protocols say what the answers hold."""
    tool = {"application/json": {"schema": {"type": "object"}}}
    few, body = (401, 421, 503), _OF_BODIES
    options = "The same address after `/label-studio/OPTIONS` takes a model and its options, as in `/label-studio/genia&threshold=0.3`."
    predict = _operation("Predict regions for tasks of Label Studio", tool, body, "`results`, one entry per task.")
    predict["description"] = options
    inception = _operation("Predict annotations for INCEpTION", tool, body, "`document`, with the annotations.")
    inception["description"] = options.replace("label-studio", "inception")
    untrained = _operation("Say that nothing is trained here", tool, (401, 408, 421, 503), "`job` is null.")
    return {
        "health": _operation("Tell Label Studio that models are loaded", tool, few, "`status` is `UP`."),
        "setup": _operation(
            "Connect a project of Label Studio", tool, body, "`model_version`; `note` on missing labels."
        )
        | {"requestBody": {"required": True, "content": _json(SetupRequest)}},
        "predict": predict | {"requestBody": {"required": True, "content": _json(PredictRequest)}},
        "versions": _operation("List the only version of the model", tool, few, "`versions`."),
        "train": untrained,
        "webhook": untrained,
        "/inception/predict": inception | {"requestBody": {"required": True, "content": _json(InceptionRequest)}},
        "/inception/train": untrained,
    }


def _operation(summary: str, content: dict[str, Any], errors: tuple[int, ...], description: str) -> dict[str, Any]:
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
