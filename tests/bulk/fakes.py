"""An annotator without a model, and what tests of bulk jobs read and write with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from attrs import evolve

from hyperspan.errors import InputError
from hyperspan.types import Document, Mention


class PanicError(BaseException):
    """What native code raises is not always an Exception: pyo3's PanicException is none."""


CRASHES: dict[str, BaseException] = {
    "crash": RuntimeError("out of cheese"),
    "memory": MemoryError("no cheese"),
    "disk": OSError(5, "Input/output error"),
    "recursion": RecursionError("too much cheese"),
    "panic": PanicError("not a char boundary"),
}
"""What a text with one of these words raises."""


class FakeAnnotator:
    """Finds the first word of every text; refuses texts with "long", and fails on texts with a word of CRASHES.

    On those with "split" it does so while they are split.
    """

    labels = ("first",)
    model = None
    reads_tags = False

    def __init__(self) -> None:
        self.on_words: Callable[[int], None] | None = None
        self.asked: list[str] = []

    def wanted(self, threshold: object, types: object, top_k: int) -> None: ...

    def split(self, document: Document) -> Document:
        if "long" in document.text:
            raise InputError("the sentence has too many words")
        if "split" in document.text:
            crash(document.text)
        return document

    def pipe(self, documents: Iterable[Document], **_: Any) -> Iterator[Document]:
        for document in documents:
            self.asked.append(document.text)
            crash(document.text)
            if self.on_words:
                self.on_words(len(document.text.split()))
            first = document.text.partition(" ")[0]
            mentions = [Mention(0, len(first), "first", probability=0.5)] if first else []
            yield evolve(document, mentions=mentions, sentences=())


def crash(text: str) -> None:
    """Raises what the first word of CRASHES in a text says."""
    for word, error in CRASHES.items():
        if word in text:
            raise error


def write_jsonl(path: Path, records: Iterable[Any]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def lines_in(folder: Path) -> list[Any]:
    """The records of all files of a folder, in the order of their names."""
    files = sorted(folder.glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_bytes().splitlines()]


def texts_in(output: Path) -> list[str]:
    return [record["text"] for record in lines_in(output / "documents")]


def manifest_of(output: Path) -> dict[str, Any]:
    return json.loads((output / "manifest.json").read_bytes())


def contents(output: Path) -> dict[str, bytes]:
    """Every file that a job leaves, but for its lock; of the manifest all but what it calls itself."""
    files = (file for file in output.rglob("*") if file.is_file() and file.name != ".lock")
    found = {str(file.relative_to(output)): file.read_bytes() for file in files}
    if "manifest.json" in found:
        found["manifest.json"] = found["manifest.json"].replace(manifest_of(output)["job"].encode(), b"")
    return found
