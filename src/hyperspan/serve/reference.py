"""JSON Schema and OpenAPI in words, as HTML without scripts: for `/docs`, and for reference pages of the site."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from html import escape
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]
Heading: TypeAlias = Callable[[int, str, str], str]
"""How a heading is written, from its level, its title and its id."""

HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>hyperspan: the API</title>
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/text.css">
<link rel="stylesheet" href="/static/page.css">
</head>
<body class="hyperspan-page reference">
"""
ERRORS = """Every error is `{"error": {"code": "…", "message": "…"}}`. The message is one sentence: what was sent, what is
expected and what to do. Rely on the codes, because messages may change. A method that an address does not have gets 405
(`method_not_allowed`), and the header `Allow` lists the methods it has. Bytes that are not HTTP get a plain 400."""
ERROR_SCHEMA = "#/components/schemas/ErrorResponse"
LINES = {"/v1/annotate/stream": "StreamLine"}
"""The schema of each line, where a body is lines of JSON."""
FIRST_FIELDS = ("text", "texts", "id")
"""The fields with which the table of a request begins."""


def reference_page(description: Schema) -> str:
    """The page `/docs` of a server."""
    return "".join(_page(description))


def _page(description: Schema) -> Iterator[str]:
    info = description["info"]
    yield f"{HEAD}<h1>The API of {escape(info['title'])} {escape(info['version'])}</h1>\n<main>"
    yield "".join(_paragraph(paragraph) for paragraph in info["description"].split("\n\n"))
    yield '<p>For programs: <a href="/openapi.json">openapi.json</a>. To try the models: <a href="/">the page</a>.'
    if "security" in description:
        yield " Send the API key as <code>Authorization: Bearer KEY</code>, or as <code>X-API-Key: KEY</code>."
    yield "</p>\n"
    yield from sections(description, _heading)
    yield "</main>\n</body>\n</html>\n"


def _heading(level: int, title: str, anchor: str) -> str:
    return f'<h{level} id="{anchor}">{escape(title)}</h{level}>\n'


def sections(description: Schema, heading: Heading) -> Iterator[str]:
    """What a server answers: its operations, errors and records, each under a heading."""
    schemas = description["components"]["schemas"]
    operations = [(method, path, one) for path, by in description["paths"].items() for method, one in by.items()]
    links = [f"{_link(method, path)} {_prose(one['summary'])}" for method, path, one in operations]
    yield f"<nav><ul>{''.join(f'<li>{link}</li>' for link in links)}</ul></nav>\n"
    for method, path, one in operations:
        yield heading(2, f"{method.upper()} {path}", _anchor(method, path))
        yield from _operation(path, one, schemas)
    yield heading(2, "Errors", "errors")
    yield _paragraph(ERRORS)
    answers = [answer for _, _, one in operations for answer in one["responses"].items()]
    meanings = {status: _prose(answer["description"]) for status, answer in answers if status != "200"}
    yield _table(["Status", "Code and meaning"], sorted(meanings.items()))
    yield heading(2, "Records", "records")
    bodies = {
        name_of(about["schema"]["$ref"]): _link(method, path)
        for method, path, one in operations
        for about in one.get("requestBody", {}).get("content", {}).values()
        if "$ref" in about["schema"]
    }
    for name, schema in sorted(schemas.items()):
        yield heading(3, name, name)
        yield _paragraph(schema.get("description", ""))
        yield f"<p>Its fields: {bodies[name]}.</p>\n" if name in bodies else fields_table(schema)


def _operation(path: str, one: Schema, schemas: Schema) -> Iterator[str]:
    yield _paragraph(f"{one['summary']}.")
    yield _paragraph(one.get("description", ""))
    if parameters := one.get("parameters"):
        required = [entry["name"] for entry in parameters if entry["required"]]
        properties = {entry["name"]: entry["schema"] for entry in parameters}
        yield "<p><b>In the address</b></p>\n" + fields_table({"properties": properties, "required": required})
    for kind, about in one.get("requestBody", {}).get("content", {}).items():
        schema = {"$ref": LINES[path]} if path in LINES else about["schema"]
        what = "Each line of the body" if path in LINES else "Body"
        yield f"<p><b>{what}</b> ({escape(kind)}): {type_of(schema)}</p>\n"
        if path not in LINES and "$ref" in schema:
            yield fields_table(_texts_first(schemas[name_of(schema["$ref"])]))
        for example in about.get("examples", {}).values():
            value = example["value"]
            written = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
            title = _prose(example.get("summary", "a request"))
            yield f"<details><summary>Example: {title}</summary><pre>{escape(written)}</pre></details>\n"
    answers, responses = one["responses"], []
    for status, answer in answers.items():
        if not _is_error(answer):
            content = (f"{escape(kind)}, {type_of(about['schema'])}" for kind, about in answer["content"].items())
            responses.append([status, _prose(answer["description"]), "; ".join(content)])
    yield "<p><b>Answers</b></p>\n" + _table(["Status", "What", "Content"], responses)
    if errors := [status for status, answer in answers.items() if _is_error(answer)]:
        yield f'<p><a href="#errors">Errors</a>: {", ".join(errors)}.</p>\n'


def _texts_first(schema: Schema) -> Schema:
    """A schema with the fields that a caller must know before its options."""
    first = {name: about for name, about in schema["properties"].items() if name in FIRST_FIELDS}
    return {**schema, "properties": first | schema["properties"]}


def _is_error(answer: Schema) -> bool:
    return any(about["schema"].get("$ref") == ERROR_SCHEMA for about in answer["content"].values())


def fields_table(schema: Schema) -> str:
    """The fields of an object, with their types, defaults and meanings; of another value its type."""
    properties, required = schema.get("properties"), schema.get("required", ())
    if not properties:
        return f"<p>{type_of(schema)}</p>\n"
    rows = []
    for name, about in properties.items():
        default = f"<code>{escape(json.dumps(about['default']))}</code>" if "default" in about else ""
        cells = [
            type_of(about),
            default or ("required" if name in required else ""),
            _prose(about.get("description", "")),
        ]
        rows.append([f"<code>{escape(name)}</code>", *cells])
    return _table(["Field", "Type", "Default", "What"], rows)


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = "".join(f'<th scope="col">{heading}' for heading in headings)
    body = "".join(f"<tr>{''.join(f'<td>{cell}' for cell in row)}\n" for row in rows)
    return f'<div class="wide"><table><thead><tr>{head}</thead><tbody>\n{body}</tbody></table></div>\n'


def type_of(schema: Schema) -> str:
    """What a value may be, in words; a named schema is a link to its heading.

    >>> type_of({"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/span"}}, {"type": "null"}]})
    'list of <a href="#span">span</a>, or null'
    """
    if reference := schema.get("$ref"):
        return f'<a href="#{name_of(reference)}">{name_of(reference)}</a>'
    if parts := schema.get("allOf"):
        return type_of(next(part for part in parts if "$ref" in part))
    if choices := schema.get("anyOf"):
        return ", or ".join(dict.fromkeys(map(type_of, choices)))
    if "const" in schema or "enum" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " or ".join(f"<code>{escape(json.dumps(one))}</code>" for one in values)
    kinds = schema.get("type", "any value")
    if not isinstance(kinds, str):
        return ", or ".join(type_of({**schema, "type": kind}) for kind in kinds)
    if kinds == "array":
        return _array(schema)
    if kinds == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"object of {_plural(type_of(schema['additionalProperties']))}"
    return kinds + (_bounds(schema) if kinds in ("number", "integer") else "")


def _array(schema: Schema) -> str:
    if parts := schema.get("prefixItems"):
        kinds = list(map(type_of, parts))
        sizes = range(schema.get("minItems", len(kinds)), len(kinds) + 1)
        return " or ".join(f"[{', '.join(kinds[:size])}]" for size in sizes)
    items = type_of(schema.get("items", {}))
    return (
        f"[{items}, {items}]" if schema.get("minItems") == schema.get("maxItems") == 2 else f"list of {_plural(items)}"
    )


def _plural(kind: str) -> str:
    word, _, rest = kind.partition(" ")
    return f"{word}s {rest}".rstrip() if word in ("string", "number", "integer", "object", "list") else kind


def _bounds(schema: Schema) -> str:
    """Limits of a number, as far as a reader needs them."""
    if "exclusiveMinimum" in schema and "maximum" in schema:
        return f" in ({schema['exclusiveMinimum']}, {schema['maximum']}]"
    if "minimum" in schema and schema.get("maximum", 2) <= 1:
        return f" in [{schema['minimum']}, {schema['maximum']}]"
    return ""


def name_of(reference: str) -> str:
    """The last part of a reference such as `#/$defs/span`."""
    return reference.rpartition("/")[2]


def _link(method: str, path: str) -> str:
    return f'<a href="#{_anchor(method, path)}"><code>{method.upper()} {escape(path)}</code></a>'


def _anchor(method: str, path: str) -> str:
    return re.sub(r"\W+", "-", f"{method}{path}").strip("-")


def _paragraph(text: str) -> str:
    return f"<p>{_prose(text)}</p>\n" if text else ""


def _prose(text: str) -> str:
    """A sentence as HTML, with `…` as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
