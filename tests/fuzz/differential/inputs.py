"""What one input is, drawn from samples by its seed and index alone. Imports nothing of hyperspan, so that both sides
draw the same."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.mutate import mutate, mutate_json

Files = dict[str, bytes]
"""The files of a corpus by name."""
OPTIONS: Mapping[str, Mapping[str, Mapping[str, Sequence[Any]]]] = {
    "read": {
        "brat": {"marks": (True, False)},
        "four-lines": {"prefix": ("G#", "")},
        "genia-xml": {
            "types": ("five", "raw"),
            "tokenizer": ("split", "words", "letters"),
            "coordination": ("parts", "span"),
        },
        "ace": {"label": ("type", "subtype"), "mention_types": ("NAM", "NAM,NOM", "NICKNAME")},
        "strings": {"complete": (True, False)},
        "table": {
            "text": ("text", "other"),
            "mention": ("mention", "other"),
            "label": ("label", "other"),
            "start": ("start", "other"),
            "end": ("end", "other"),
            "id": ("id", "other"),
            "entities": ("entities", "other"),
            "inclusive": (True, False),
        },
        "conll2003": {
            "scheme": ("IOB1", "IOB2", "BIOES", "BILOU"),
            "repair": (True, False),
            "token_column": (0, 1, -1, 9),
            "pos_column": (0, 1, 5),
            "chunk_column": (1, 2, 5),
            "tag_columns": ("-1", "1,2", "3", (-1, -2)),
        },
        "columns": {
            "scheme": ("IOB1", "IOB2", "BIOES", "BILOU"),
            "repair": (True, False),
            "token_column": (0, 1, -1, 9),
            "pos_column": (0, 1, 5),
            "tag_columns": ("-1", "1,2", "3", (2, 1)),
        },
        "label-studio": {
            "results": ("annotations", "predictions"),
            "annotation": ("first", "all"),
            "offset_unit": ("auto", "codepoint", "utf16"),
            "text_key": ("text", "words", ""),
            "marks": (True, False),
            "continues": ("CONTINUES", "GOES_ON"),
        },
        "docbin": {"spans_key": ("sc", "other")},
        "doccano": {"marks": (True, False)},
    },
    "write": {
        "brat": {"marks": (True, False)},
        "four-lines": {"prefix": ("G#", "")},
        "conll2003": {"scheme": ("IOB1", "IOB2", "BIOES", "BILOU")},
        "columns": {
            "scheme": ("IOB1", "IOB2", "BIOES", "BILOU"),
            "layers": (1, 2, 5, 0),
            "first_layer": ("outermost", "innermost"),
            "pos": (True, False),
        },
        "w2ner": {"lines": (True, False)},
        "cnn-ner": {"style": ("cnn_ner", "spert")},
        "gliner": {"lines": (True, False)},
        "doccano": {"key": ("label", "labels", "entities"), "marks": (True, False)},
        "label-studio": {
            "results": ("annotations", "predictions"),
            "from_name": ("label", "ner"),
            "to_name": ("text", "words"),
            "marks": (True, False),
            "continues": ("CONTINUES", "GOES_ON"),
        },
        "docbin": {"spans_key": ("sc", "other")},
        "csv": {"guard": (True, False)},
        "tsv": {"guard": (True, False)},
    },
}
"""Values of the options of formats. A test compares their names with those of the formats."""
SLOW = "docbin"
"""spaCy takes ten times as long as any other format, so its inputs are fewer."""


@dataclass(frozen=True)
class Material:
    """What inputs are made of."""

    samples: dict[str, list[Files]]
    """Valid corpora by format."""
    packed: list[Files]
    """The same in archives."""
    tokens: dict[str, list[bytes]]
    """Bytes that mean something in a format."""
    writers: list[str]
    suffixes: dict[str, str]
    """What the name of a written file ends in; nothing for a folder."""

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), default=_as_text), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Material:
        given = json.loads(path.read_text(encoding="utf-8"), object_hook=_as_bytes)
        return cls(**given)


def _as_text(data: bytes) -> dict[str, str]:
    return {"bytes": data.decode("latin-1")}


def _as_bytes(found: dict[str, Any]) -> Any:
    return found["bytes"].encode("latin-1") if found.keys() == {"bytes"} else found


@dataclass(frozen=True)
class DrawnInput:
    """A corpus to read, and how to write what was read."""

    kind: str
    """The format that is tried, after "read", "detect", "archive" or "write"."""
    files: Files
    read_as: str | None
    on_error: str
    read_options: dict[str, Any] = field(default_factory=dict)
    write_as: str | None = None
    write_options: dict[str, Any] = field(default_factory=dict)
    lossy: str | None = None
    target: str = ""
    """The name of what is written."""


def draw(material: Material, seed: int, index: int) -> DrawnInput:
    """The input with this index."""
    chance = random.Random(f"{seed}/differential/{index}")
    on_error = chance.choice(("raise", "skip"))
    what = chance.choices(("read", "write", "detect", "archive"), (45, 40, 10, 5))[0]
    if what == "archive":
        files = dict(chance.choice(material.packed))
        if chance.random() < 0.5:
            files = _damaged(chance, files, (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b\x08", b"ustar", b"\xff" * 8))
        return DrawnInput("archive", files, chance.choice((None, "jsonl", "brat")), on_error)
    name = _format(chance, sorted(material.samples))
    if what == "write":
        return _drawn_write(chance, material, name)
    damaged = chance.random() < 0.85
    files = chance.choice(material.samples[name])
    if damaged:
        files = _damaged(chance, files, material.tokens[name], material.samples[name])
    if what == "detect":
        if len(files) == 1 and chance.random() < 0.3:
            (data,) = files.values()
            files = {f"corpus{chance.choice(sorted(filter(None, material.suffixes.values())))}": data}
        return DrawnInput(f"detect {name}", files, None, on_error)
    return DrawnInput(f"read {name}", files, name, on_error, _options(chance, "read", name))


def _drawn_write(chance: random.Random, material: Material, name: str) -> DrawnInput:
    """What is written is mostly any content of hyperspan's own format, which holds everything."""
    if chance.random() < 0.6:
        name = "jsonl"
    files = chance.choice(material.samples[name])
    if chance.random() < 0.6:
        files = _damaged(chance, files, material.tokens[name])
    writer = _format(chance, material.writers)
    return DrawnInput(
        f"write {writer}",
        files,
        name,
        "skip",
        write_as=writer,
        write_options=_options(chance, "write", writer),
        lossy=chance.choice((None, "outermost", "innermost")),
        target=f"written{material.suffixes[writer]}",
    )


def _format(chance: random.Random, names: Sequence[str]) -> str:
    return chance.choices(names, [1 if name == SLOW else 4 for name in names])[0]


def _options(chance: random.Random, verb: str, name: str) -> dict[str, Any]:
    """Often none, sometimes one or two."""
    known = OPTIONS[verb].get(name, {})
    count = min(len(known), chance.choices((0, 1, 2), (5, 3, 2))[0])
    return {option: chance.choice(known[option]) for option in chance.sample(sorted(known), count)}


def _damaged(chance: random.Random, files: Files, tokens: Sequence[bytes], others: Sequence[Files] = ()) -> Files:
    """The files with one of them changed: JSON mostly in its values, everything else as bytes."""
    changed = dict(files)
    name = chance.choice(sorted(changed))
    if ".json" in name and chance.random() < 0.6:
        changed[name] = mutate_json(chance, changed[name])
    else:
        changed[name] = mutate(chance, changed[name], tokens, [data for other in others for data in other.values()])
    return changed
