"""The page reference/json-lines.md of the site, from the JSON Schema of hyperspan's JSON Lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

from hyperspan.serve.reference import Schema, fields_table, name_of

INTRO = """# JSON Lines

hyperspan's own corpus format has one JSON object per line, and each is one document. It holds everything that a document can
hold, so no conversion into it loses anything. All commands read it, and most write it. For the other formats, and for
conversion between them, see [Formats](formats.md).

A text and its mentions are enough:"""
FULL = "With sentences, tokens, part-of-speech tags and probabilities (shown on several lines here):"
RULES = """- Files are UTF-8, one document per line. `.jsonl.gz` is compressed with gzip.
- Spans are half-open, `[start, end)`, counted from 0. They count Unicode code points in a document's mentions, and tokens in a
  sentence's mentions.
- Mentions are a set: they may overlap in any way, and their order means nothing.
- If you give `sentences`, you need not repeat the mentions in them: mentions of the document are found again by their
  offsets, if they begin and end where tokens do.
- An unknown field is an error, with the file and the line.
- A line of at most 128 MiB is read ([limits](../reliability.md#limits)).
- The JSON Schema of a line is
  [`jsonl.schema.json`](https://github.com/hyperspan-nlp/hyperspan/blob/main/src/hyperspan/corpora/jsonl.schema.json) in the
  package `hyperspan.corpora`. This page is generated from it."""
WIDTH = 76
"""Columns of an example."""
OBJECTS = ("sentence", "mention", "scope")
"""The objects inside a document, in the order of the page."""
NOTES = {
    "scope": "The value of `annotated`, for [partial annotation](../how-to/partial-annotation.md). Without `annotated`, "
    "everything is annotated."
}


def schema() -> dict[str, Any]:
    """The JSON Schema of a line."""
    return json.loads(files("hyperspan.corpora").joinpath("jsonl.schema.json").read_text(encoding="utf-8"))


def json_lines_page() -> str:
    """The whole page, as Markdown."""
    return "\n\n".join(_parts(schema())) + "\n"


def _parts(document: Schema) -> Iterator[str]:
    short, full = document["examples"]
    yield INTRO
    yield f"```json\n{json.dumps(short)}\n```"
    yield FULL
    yield f"```json\n{_lines(full)}\n```"
    yield RULES
    yield from _object("Document", document, document["$defs"])
    for name in OBJECTS:
        yield from _object(name.capitalize(), document["$defs"][name], document["$defs"])


def _object(name: str, one: Schema, definitions: Schema) -> Iterator[str]:
    yield f"## {name}"
    yield one["description"]
    if note := NOTES.get(name.lower()):
        yield note
    properties = {field: _inlined(about, definitions) for field, about in one["properties"].items()}
    yield fields_table({"properties": properties, "required": one.get("required", ())})


def _inlined(about: Any, definitions: Schema) -> Any:
    """A schema in which references are only to objects with a heading of their own."""
    if isinstance(about, list):
        return [_inlined(one, definitions) for one in about]
    if not isinstance(about, dict):
        return about
    if "$ref" in about and name_of(about["$ref"]) not in OBJECTS:
        about = definitions[name_of(about["$ref"])] | {key: value for key, value in about.items() if key != "$ref"}
    return {key: _inlined(value, definitions) for key, value in about.items()}


def _lines(value: Any, indent: str = "") -> str:
    """JSON over as many lines as it needs to fit the width of a page.

    >>> print(_lines({"a": [1, 2], "b": ["x" * 40, "y" * 40]}))
    {
      "a": [1, 2],
      "b": [
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
      ]
    }
    """
    written, inner = json.dumps(value), indent + "  "
    if len(indent) + len(written) <= WIDTH or not isinstance(value, (dict, list)):
        return written
    if isinstance(value, list):
        return "[\n" + ",\n".join(inner + _lines(one, inner) for one in value) + f"\n{indent}]"
    fields = [f"{inner}{json.dumps(key)}: {_lines(one, inner)}" for key, one in value.items()]
    return "{\n" + ",\n".join(fields) + f"\n{indent}}}"
