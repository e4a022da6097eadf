"""An annotator without a model, and what tests of bulk jobs read and write with it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve

from hyperspan.errors import InputError
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.options import DecodingOptions
from hyperspan.structures.places import Places
from hyperspan.text.tokens import Tokenizer
from hyperspan.types import Document, Sentence


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


class FakeModel:
    """What an annotator asks of a model; fails on texts with a word of CRASHES."""

    labels, tokenizer, max_width, context, batch_entries = ("first",), Tokenizer(), None, 0, 10_000

    def __init__(self) -> None:
        self.asked: list[str] = []

    def inference(self) -> AbstractContextManager[None]:
        return nullcontext()

    def distribution(self, sentences: Sequence[Sentence]) -> FirstWords:
        texts = [" ".join(sentence.tokens) for sentence in sentences]
        self.asked += texts
        for text in texts:
            crash(text)
        return FirstWords(sentences)

    quick_distribution = distribution


class FirstWords:
    """A distribution in which the first word of a text is a mention, of one with "apart" with the last one."""

    types = 1

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self.sentences, self.lengths = sentences, list(map(len, sentences))

    def places(self, *_: Any) -> list[Places]:
        rows: list[tuple[int, int, int, int]] = []
        parts: list[Any] = []
        for number, sentence in enumerate(self.sentences):
            if sentence.tokens and sentence.offsets[0][0] == 0:
                last, apart = len(sentence), "apart" in sentence.tokens
                rows.append((number, 0, last if apart else 1, 0))
                parts.append(((0, 1), (last - 1, last)) if apart else ())
        return [Places(np.array(rows).reshape(-1, 4), np.full(len(rows), 0.5), parts)]


class FakeAnnotator(Annotator):
    """Refuses texts with "long", and fails on those with "split" and a word of CRASHES while they are split. Words are
    what stands between spaces.
    """

    def __init__(self, **options: Any) -> None:
        model: Any = FakeModel()
        super().__init__(model, **options)
        self.asked: list[str] = model.asked

    @property
    def reads_tags(self) -> bool:
        return False

    def options(self, *_: Any, **options: Any) -> DecodingOptions:
        return DecodingOptions((0,))

    def split(self, given: str | Document) -> Document:
        assert isinstance(given, Document)
        if "long" in given.text:
            raise InputError("the sentence has too many words")
        if "split" in given.text:
            crash(given.text)
        words = list(re.finditer("[^ ]+", given.text))
        return evolve(given, sentences=[Sentence([word[0] for word in words], offsets=[word.span() for word in words])])


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


def plan_of(output: Path) -> tuple[list[Any], list[Any]]:
    """The inputs and the shards of a job's plan."""
    _, *lines = map(json.loads, (output / "plan.jsonl").read_bytes().splitlines())
    return [line for line in lines if "input" in line], [line for line in lines if "shard" in line]


def contents(output: Path) -> dict[str, bytes]:
    """Every file that a job leaves, but for its lock; of manifest and plan all but what the job calls itself."""
    files = (file for file in output.rglob("*") if file.is_file() and file.name != ".lock")
    found = {str(file.relative_to(output)): file.read_bytes() for file in files}
    for name in {"manifest.json", "plan.jsonl"} & found.keys():
        found[name] = found[name].replace(manifest_of(output)["job"].encode(), b"")
    return found
