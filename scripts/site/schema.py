"""JSON Schema in Markdown, for the reference pages of the site: types in words and tables of fields."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

Schema = Mapping[str, Any]


def table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table.

    >>> print(table(["a", "b"], [["1", "x | y"]]))
    | a | b |
    |---|---|
    | 1 | x \\| y |
    """
    headings = list(headings)
    lines = [headings, *rows]
    written = ["| " + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in line) + " |" for line in lines]
    return "\n".join([written[0], "|" + "---|" * len(headings), *written[1:]])


def fields_table(schema: Schema, *, defaults: bool) -> str:
    """The fields of an object; with `defaults`, whether each is required or which default it has."""
    required = schema.get("required", ())
    rows = [
        [f"`{name}`", type_of(about), *([_default(about, name in required)] if defaults else []), _meaning(about)]
        for name, about in schema["properties"].items()
    ]
    return table(["field", "type", *(["default"] if defaults else []), "meaning"], rows)


def type_of(schema: Schema) -> str:
    """What a value may be, in words; a named schema is a link to its heading.

    >>> type_of({"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/span"}}, {"type": "null"}]})
    'list of [span](#span), or null'
    """
    if reference := schema.get("$ref"):
        name = name_of(reference)
        return f"[{name}](#{name.lower()})"
    if parts := schema.get("allOf"):
        return type_of(next(part for part in parts if "$ref" in part))
    if choices := schema.get("anyOf"):
        return ", or ".join(dict.fromkeys(map(type_of, choices)))
    if "const" in schema or "enum" in schema:
        return " or ".join(f"`{json.dumps(one)}`" for one in schema.get("enum", [schema.get("const")]))
    kinds = schema.get("type", "any value")
    if not isinstance(kinds, str):
        return ", or ".join(type_of({**schema, "type": kind}) for kind in kinds)
    if kinds == "array":
        return _array(schema)
    if kinds == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"object of {_plural(type_of(schema['additionalProperties']))}"
    if kinds in ("number", "integer"):
        return kinds + _bounds(schema)
    return kinds


def name_of(reference: str) -> str:
    """The last part of a reference such as `#/$defs/span`."""
    return reference.rpartition("/")[2]


def _array(schema: Schema) -> str:
    if parts := schema.get("prefixItems"):
        kinds = list(map(type_of, parts))
        least = schema.get("minItems", len(kinds))
        return " or ".join(f"[{', '.join(kinds[:size])}]" for size in range(least, len(kinds) + 1))
    items = schema.get("items", {})
    if schema.get("minItems") == schema.get("maxItems") == 2:
        return f"[{type_of(items)}, {type_of(items)}]"
    return f"list of {_plural(type_of(items))}"


def _plural(kind: str) -> str:
    word, _, rest = kind.partition(" ")
    return f"{word}s {rest}".rstrip() if word in ("string", "number", "integer", "object", "list") else kind


def _bounds(schema: Schema) -> str:
    """Limits of a number, as far as a reader needs them."""
    if "exclusiveMinimum" in schema and "maximum" in schema:
        return f" in ({schema['exclusiveMinimum']}, {schema['maximum']}]"
    if "minimum" in schema and "maximum" in schema and schema["maximum"] <= 1:
        return f" in [{schema['minimum']}, {schema['maximum']}]"
    return ""


def _default(about: Schema, is_required: bool) -> str:
    if "default" in about:
        return f"`{json.dumps(about['default'])}`"
    return "required" if is_required else ""


def _meaning(about: Schema) -> str:
    return about.get("description", "")
