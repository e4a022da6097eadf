"""The page reference/rest.md of the site, from the OpenAPI document that the server makes of itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from hyperspan.serve.app import Routes
from hyperspan.serve.service import Service
from hyperspan.serve.settings import Settings
from scripts.site.schema import Schema, fields_table, name_of, table, type_of

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
ERRORS = """## Errors

Every error is `{"error": {"code": "…", "message": "…"}}`. The message is one sentence: what was sent, what is expected
and what to do. Rely on the codes, because messages may change. A method that an address does not have gets 405
(`method_not_allowed`), and the header `Allow` lists the methods it has. Bytes that are not HTTP get a plain 400."""
FIRST = ("/v1/annotate", "/v1/annotate/stream", "/v1/models", "/v1/hypergraph")
"""What most readers look for; other paths follow in the order of the document."""
FIRST_FIELDS = ("text", "texts", "id")
LINES = {"/v1/annotate/stream": "StreamLine"}
"""The schema of each line, where a body is lines of JSON."""
ERROR_SCHEMA = "#/components/schemas/ErrorResponse"


def description() -> dict[str, Any]:
    """The OpenAPI document of a server with all routes. No model is loaded for it."""
    return Routes(Service(Settings(api_key="key"))).description


def rest_page() -> str:
    """The whole page, as Markdown."""
    return "\n\n".join(_parts(description())) + "\n"


def _parts(document: Schema) -> Iterator[str]:
    schemas = document["components"]["schemas"]
    yield INTRO
    operations = [(method, path, one) for path, by in document["paths"].items() for method, one in by.items()]
    operations.sort(key=lambda given: FIRST.index(given[1]) if given[1] in FIRST else len(FIRST))
    yield table(
        ["operation", "purpose"],
        ([_link(method, path), one["summary"]] for method, path, one in operations),
    )
    for method, path, one in operations:
        yield from _operation(method, path, one, schemas)
    yield ERRORS
    yield table(["status", "code and meaning"], _errors(document))
    yield "## Schemas"
    bodies = {
        name_of(about["schema"]["$ref"]): _link(method, path)
        for method, path, one in operations
        for about in one.get("requestBody", {}).get("content", {}).values()
        if "$ref" in about["schema"]
    }
    asked = _reachable([one.get("requestBody") for _, _, one in operations] + list(LINES.values()), schemas)
    for name, schema in sorted(schemas.items()):
        yield f"### {name}"
        if about := schema.get("description"):
            yield about
        if name in bodies:
            yield f"Its fields: {bodies[name]}."
        elif schema.get("properties"):
            yield _fields(schema, defaults=name in asked)


def _operation(method: str, path: str, one: Schema, schemas: Schema) -> Iterator[str]:
    yield f"## {method.upper()} {path}"
    yield f"{one['summary']}."
    if about := one.get("description"):
        yield about
    for place, name in (("path", "Path"), ("query", "Query")):
        if here := [entry for entry in one.get("parameters", ()) if entry["in"] == place]:
            required = [entry["name"] for entry in here if entry["required"]]
            properties = {entry["name"]: entry["schema"] for entry in here}
            yield f"**{name} parameters**"
            yield fields_table({"properties": properties, "required": required}, defaults=True)
    for kind, about in one.get("requestBody", {}).get("content", {}).items():
        yield from _body(kind, about, LINES.get(path), schemas)
    yield from _answers(one["responses"])


def _body(kind: str, about: Schema, line: str | None, schemas: Schema) -> Iterator[str]:
    if line:
        yield f"**Each line of the body** (`{kind}`): [{line}](#{line.lower()})"
    else:
        schema = schemas[name_of(about["schema"]["$ref"])]
        yield f"**Request body** (`{kind}`): {schema['description']}"
        if schema.get("properties"):
            yield _fields(schema, defaults=True)
    for example in list(about.get("examples", {}).values())[:1]:
        value = example["value"]
        yield f"```json\n{value.rstrip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}\n```"


def _answers(responses: Schema) -> Iterator[str]:
    """Answers of their own in a table; errors, which mean the same everywhere, as a list of statuses."""
    own = {status: answer for status, answer in responses.items() if not _is_error(answer)}
    yield "**Responses**"
    yield table(
        ["status", "meaning", "content"],
        ([status, answer["description"], _content(answer)] for status, answer in own.items()),
    )
    if errors := [status for status in responses if status not in own]:
        yield f"[Errors](#errors): {', '.join(errors)}."


def _content(answer: Schema) -> str:
    return "; ".join(f"`{kind}`: {type_of(about['schema'])}" for kind, about in answer["content"].items())


def _is_error(answer: Schema) -> bool:
    return any(about["schema"].get("$ref") == ERROR_SCHEMA for about in answer["content"].values())


def _errors(document: Schema) -> list[list[str]]:
    """A row for each status of an error, from all operations."""
    operations = [one for by in document["paths"].values() for one in by.values()]
    found = {
        status: answer["description"]
        for one in operations
        for status, answer in one["responses"].items()
        if status != "200"
    }
    return [[status, about] for status, about in sorted(found.items())]


def _reachable(part: Any, schemas: Schema) -> set[str]:
    """The names of the schemas that a part of the document names or refers to, directly or by others."""
    found: set[str] = set()
    waiting = [part]
    while waiting:
        names = set(re.findall(r'"(?:#/components/schemas/)?(\w+)"', json.dumps(waiting.pop())))
        new = (names & schemas.keys()) - found
        found |= new
        waiting += [schemas[name] for name in new]
    return found


def _fields(schema: Schema, *, defaults: bool) -> str:
    """The fields of a schema, its texts before its options."""
    first = {name: schema["properties"][name] for name in FIRST_FIELDS if name in schema["properties"]}
    return fields_table({**schema, "properties": first | schema["properties"]}, defaults=defaults)


def _link(method: str, path: str) -> str:
    """A link to the heading of an operation, whose anchor is as Python-Markdown makes it."""
    return f"[`{method.upper()} {path}`](#{method}-{re.sub(r'[^a-z0-9_-]', '', path.lower())})"
