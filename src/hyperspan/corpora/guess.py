"""What a file that no format recognises is nearest to, and the first line of it that is wrong then."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches

from hyperspan.corpora.file_types import HEAD_BYTES, why_not_text
from hyperspan.corpora.json_records import first_record, shown
from hyperspan.corpora.json_values import json_values
from hyperspan.corpora.source import Problems, Source
from hyperspan.errors import HyperspanError, InputError
from hyperspan.types import Document

KEYS = {
    "strings": "text entities mentions annotations",
    "jsonl": "format version id text mentions sentences metadata",
    "prodigy": "text spans tokens answer",
    "doccano": "id text label labels entities relations",
    "w2ner": "sentence ner word",
    "cnn-ner": "tokens entity_mentions entities relations doc_id",
    "gliner": "tokenized_text ner",
    "label-studio": "id data annotations predictions completions",
}
"""The keys of records in formats of JSON."""
OF_LINES, OF_XML = ("columns", "four-lines", "table"), ("genia-xml", "ace")
NAMES = {"table": (".csv", ".tsv"), "columns": (".conll", ".iob", ".iob2", ".bio"), "four-lines": (".data",)}
"""Suffixes that suggest a format of lines."""
Read = Callable[[Source, Problems], Iterator[Document]]


def nearest(source: Source, readers: Mapping[str, Read]) -> str:
    """A clause on the format that a file is nearest to, and the first line that is wrong; empty if it is like none.

    >>> from hyperspan.corpora.columns import read_columns
    >>> lines = Source("a.tsv", stream=io.BytesIO(b"Ada\\tB-PER\\nleft\\tO\\n\\nBo\\tB-PER\\tO\\n"))
    >>> nearest(lines, {"columns": read_columns})
    'the nearest is columns, but a.tsv:4: 3 columns found, but 2 columns with a token expected; correct the line'
    """
    content = source.head()
    if len(content) == HEAD_BYTES:  # the last line may be cut off
        content = content[: content.rfind(b"\n") + 1] or content
    head = content.decode("utf-8", errors="replace").lstrip("\ufeff \t\r\n")

    def tried(name: str) -> tuple[int, str]:
        """How many mentions a reader finds before its first error, and the error."""
        found = 0
        try:
            for document in readers[name](Source(source.name, stream=io.BytesIO(content)), Problems()):
                found += len(document.mentions)
        except HyperspanError as error:
            return found, str(error)
        return found, ""

    if head.startswith(("{", "[")):
        return _nearest_of_json(source.name, content, head)
    known = OF_XML if head.startswith("<") else OF_LINES
    if not head.startswith("<") and (what := why_not_text(content)) is not None:
        return f"it is {what}"
    named = next((name for name in known if source.name.removesuffix(".gz").endswith(NAMES.get(name, ()))), "")
    results = {name: tried(name) for name in known if name in readers}
    name = max(results, key=lambda name: (results[name][0], name == named), default="")
    found, error = results.get(name, (0, ""))
    if error and (found or name == named or head.startswith("<")):
        return f"the nearest is {name}, but {error}"
    if found or (name == named and named == "table"):
        return f"it can be read as {name} (--from {name})"
    return "it looks like text without annotation"


def may_hold_mentions(head: str) -> bool:
    """Whether the first record has a list of lists or objects, which may be its mentions under a name of their own."""
    lists = (value for value in first_record(head).values() if isinstance(value, list) and value)
    return any(all(isinstance(item, list | dict) for item in value) for value in lists)


def _nearest_of_json(name: str, content: bytes, head: str) -> str:
    """What is wrong with the first record: its syntax, or its keys."""
    try:
        for _ in json_values(Source(name, stream=io.BytesIO(content)), Problems()):
            break
    except InputError as error:
        return f"it begins like JSON, but {error}"
    keys = list(first_record(head))

    def alike(usual: str) -> float:
        known = usual.split()
        close = sum(bool(get_close_matches(key, known, 1)) for key in keys if key not in known)
        return sum(key in known for key in keys) + close / 2

    best = max(KEYS, key=lambda format_name: alike(KEYS[format_name]))
    listed = ", ".join(map(shown, keys[:8])) or "none"
    if not alike(KEYS[best]):
        return f"{name}:1: the keys of its first record are {listed}, which no format has"
    return f"the nearest is {best}, but {name}:1: the keys of the first record are {listed}, where {best} has {', '.join(KEYS[best].split())}"
