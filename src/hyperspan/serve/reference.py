"""The OpenAPI description as a page without scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any

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


def reference_page(description: Mapping[str, Any]) -> str:
    """The whole page."""
    return "".join(_page(description))


def _page(description: Mapping[str, Any]) -> Iterator[str]:
    info, schemas = description["info"], description["components"]["schemas"]
    operations = [(method, path, one) for path, by in description["paths"].items() for method, one in by.items()]
    yield f"{HEAD}<h1>The API of {escape(info['title'])} {escape(info['version'])}</h1>\n<main>"
    yield "".join(f"<p>{_prose(paragraph)}</p>" for paragraph in info["description"].split("\n\n"))
    yield '<p>For programs: <a href="/openapi.json">openapi.json</a>. To try the models: <a href="/">the page</a>.'
    if "security" in description:
        yield " Send the API key as <code>Authorization: Bearer KEY</code>, or as <code>X-API-Key: KEY</code>."
    yield "</p>\n<nav><ul>"
    for method, path, one in operations:
        yield f'<li><a href="#{_anchor(path)}"><code>{method.upper()} {escape(path)}</code></a> {_prose(one["summary"])}</li>'
    yield "</ul></nav>\n"
    for method, path, one in operations:
        yield from _operation(method, path, one, schemas)
    yield "<h2>Records</h2>\n"
    shown = _reachable([one for _, _, one in operations], schemas)
    for name in sorted(shown):
        yield f'<section><h3 id="{name}">{name}</h3>'
        yield f"<p>{_prose(schemas[name].get('description', ''))}</p>{_fields(schemas[name])}</section>\n"
    yield "</main>\n</body>\n</html>\n"


def _operation(method: str, path: str, one: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[str]:
    yield f'<section><h2 id="{_anchor(path)}"><code>{method.upper()} {escape(path)}</code></h2><p>{_prose(one["summary"])}.</p>'
    if about := one.get("description"):
        yield f"<p>{_prose(about)}</p>"
    if parameters := one.get("parameters"):
        rows = ((entry["name"], entry["schema"], entry["required"]) for entry in parameters)
        yield f"<h3>In the address</h3>{_table(rows)}"
    for kind, about in one.get("requestBody", {}).get("content", {}).items():
        yield f"<h3>Body <small>{escape(kind)}, {_type(about['schema'])}</small></h3>"
        if reference := about["schema"].get("$ref"):
            yield _fields(schemas[_name(reference)])
        for example in about.get("examples", {}).values():
            value = example["value"]
            written = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
            yield f"<details><summary>Example: {_prose(example.get('summary', 'a request'))}</summary><pre>{escape(written)}</pre></details>"
    yield '<h3>Answers</h3><div class="wide"><table><thead><tr><th scope="col">Status<th scope="col">What<th scope="col">Content</thead><tbody>'
    for status, answer in one["responses"].items():
        content = "; ".join(f"{escape(kind)}, {_type(about['schema'])}" for kind, about in answer["content"].items())
        yield f"<tr><td>{status}<td>{_prose(answer['description'])}<td>{content}"
    yield "</tbody></table></div></section>\n"


def _fields(schema: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    rows = ((name, about, name in required) for name, about in schema.get("properties", {}).items())
    return _table(rows) if schema.get("properties") else f"<p>{_type(schema)}</p>"


def _table(rows: Iterable[tuple[str, Mapping[str, Any], bool]]) -> str:
    found = '<div class="wide"><table><thead><tr><th scope="col">Field<th scope="col">Type<th scope="col">Default<th scope="col">What</thead><tbody>'
    for name, about, required in rows:
        default = f"<code>{escape(json.dumps(about['default']))}</code>" if "default" in about else ""
        given = default or ("required" if required else "")
        found += f"<tr><td><code>{escape(name)}</code><td>{_type(about)}<td>{given}<td>{_prose(about.get('description', ''))}"
    return f"{found}</tbody></table></div>"


def _type(schema: Mapping[str, Any]) -> str:
    """The type of a value, in words."""
    if reference := schema.get("$ref"):
        return f'<a href="#{_name(reference)}">{_name(reference)}</a>'
    if choices := schema.get("anyOf") or schema.get("allOf"):
        return " or ".join(dict.fromkeys(map(_type, choices)))
    if "const" in schema or "enum" in schema:
        return " or ".join(
            f"<code>{escape(json.dumps(one))}</code>" for one in schema.get("enum", [schema.get("const")])
        )
    if schema.get("type") == "array":
        inner = [_type(one) for one in schema.get("prefixItems", ())]
        return f"[{', '.join(inner)}]" if inner else f"list of {_type(schema.get('items', {}))}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"{_type(schema['additionalProperties'])} by name"
    return escape(str(schema.get("type", "any value")))


def _reachable(part: Any, schemas: Mapping[str, Any]) -> set[str]:
    """The names of the schemas that a part of the description refers to, directly or indirectly."""
    found: set[str] = set()
    waiting = [part]
    while waiting:
        new = {*re.findall(r'"#/components/schemas/(\w+)"', json.dumps(waiting.pop()))} - found
        found |= new
        waiting += [schemas[name] for name in new]
    return found


def _name(reference: str) -> str:
    return reference.rpartition("/")[2]


def _anchor(path: str) -> str:
    return re.sub(r"\W+", "-", path).strip("-")


def _prose(text: str) -> str:
    """A sentence as HTML, with `…` as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
