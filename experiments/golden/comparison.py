"""Compare two records: every difference that no line of changes.toml explains."""

from __future__ import annotations

import gzip
import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from experiments.golden.entries import Entry, differences

FOLDER = Path(__file__).parent
RECORD = FOLDER / "record.json.gz"
"""The record in the repository."""
CHANGES = FOLDER / "changes.toml"
"""The intended changes since that record was written."""


@dataclass(frozen=True)
class Record:
    """Entries by path, such as ``bundled/genia/threshold 0.3/nested``."""

    about: dict[str, Any]
    entries: dict[str, Entry]

    @property
    def is_whole(self) -> bool:
        return not self.about["quick"]

    def write(self, path: Path) -> None:
        """Write it as compressed JSON; the same record gives the same bytes."""
        lines = json.dumps({"about": self.about, "entries": self.entries}, ensure_ascii=False, separators=(",", ":"))
        path.write_bytes(gzip.compress(lines.encode(), mtime=0))

    @classmethod
    def read(cls, path: Path) -> Record:
        return cls(**json.loads(gzip.decompress(path.read_bytes())))


@dataclass
class Change:
    """An intended change: a line of changes.toml."""

    path: str
    """A pattern of paths, with * and ?."""
    reason: str
    used: bool = field(default=False, init=False)
    compared: bool = field(default=False, init=False)
    left_out: bool = field(default=False, init=False)
    """Whether it names a path that is not compared."""


def read_changes(path: Path) -> list[Change]:
    """The intended changes of a file."""
    tables = tomllib.loads(path.read_text("utf-8"))
    return [Change(**table) for table in tables.get("change", ())]


def compare(a: Record, b: Record, changes: list[Change]) -> Iterator[str]:
    """A sentence for each path that differs without being intended, and for each intended change that is not there.

    Paths that a quick record leaves out are not compared, and changes that name such paths not called unused.
    """
    whole = a.is_whole and b.is_whole
    for path in {**a.entries, **b.entries}:
        one, other = a.entries.get(path), b.entries.get(path)
        intended = [change for change in changes if fnmatchcase(path, change.path)]
        if (one is None and not a.is_whole) or (other is None and not b.is_whole):
            for change in intended:
                change.left_out = True
            continue
        if one is None or other is None:
            found = ["is missing" if other is None else "is new"]
        else:
            found = list(differences(one, other))
        for change in intended:
            change.compared = True
            change.used |= bool(found)
        if found and not intended:
            yield f"{path}: {found[0]}" + (f" (and {len(found) - 1} more)" if len(found) > 1 else "")
    for change in changes:
        if not change.used and (whole or (change.compared and not change.left_out)):
            yield f"the change {change.path!r} ({change.reason}) is in changes.toml, but nothing there differs: take it out"
