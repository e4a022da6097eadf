"""The log of a labelling session: append-only JSON Lines, on disk before anything relies on them.

The first line describes the session; every other line is an event: a decision, an undo, a new label, the order of the
sentences. Drafts and rounds are not in it. A line truncated by a crash is dropped when the log is opened again.
Only one process at a time can open a log.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from hyperspan.errors import InputError
from hyperspan.files import lock, sync_folder

FORMAT, VERSION = "hyperspan-labelling", 1
KEYS = ("model", "annotator", "labels", "texts", "tokens", "tokenizer")
"""The keys of a header, in addition to format and version."""
BEGINNING = json.dumps({"format": FORMAT}, separators=(",", ":")).removesuffix("}").encode()
NO_LOG = "{} is not the log of a labelling session; choose another output"
Event = dict[str, Any]


class EventLog:
    """An open log: its `header`, its `events`, and a lock that lasts until it is closed or its process ends.

    A new log has no header until it begins.
    """

    def __init__(self, path: Path):
        self.path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:
            raise InputError(f"{path.parent} is not a directory; create it first to write {path.name} there") from None
        try:
            lock(
                self._file,
                f"another process labels into {path.name.removesuffix('.log')} already; use the page that it has opened, "
                "end it, or choose another output",
            )
            lines, self._size = _whole_lines(self._file, path)
            entries = [_parsed(line, path, number) for number, line in enumerate(lines, start=1)]
            os.ftruncate(self._file, self._size)
            self.header: Event = entries[0] if entries else {}
            self.events: list[Event] = entries[1:]
            if self.header:
                _check_header(self.header, path)
        except BaseException:
            os.close(self._file)
            raise

    def begin(self, header: Event) -> None:
        """Write the first line of a new log."""
        self._write({"format": FORMAT, "version": VERSION} | header)
        sync_folder(self.path.parent)
        self.header = header

    def append(self, event: Event) -> None:
        """Append an event. When this returns, it is on disk; if it raises, the log is unchanged."""
        self._write(event)
        self.events.append(event)

    def close(self) -> None:
        """Release the log; one that has not begun leaves no file."""
        if not self.header:
            self.path.unlink(missing_ok=True)
        os.close(self._file)

    def _write(self, entry: Event) -> None:
        line = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
        try:
            os.lseek(self._file, self._size, os.SEEK_SET)
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, self._size)
            raise OSError(error.errno, error.strerror, str(self.path)) from None
        self._size += len(line)


def _whole_lines(file: int, path: Path) -> tuple[list[bytes], int]:
    """The lines of a log without a truncated one, and their total bytes."""
    content = b""
    while part := os.read(file, 2**20):
        content += part
    start = content[: len(BEGINNING)].rstrip(b"\0\n")  # a crash may leave zeros
    if not BEGINNING.startswith(start):
        raise InputError(NO_LOG.format(path))
    whole = content[: content.rfind(b"\n") + 1]
    lines = whole.splitlines(keepends=True)
    if lines and not _is_json(lines[-1]):  # the disk has only a part of it
        lines.pop()
    return lines, sum(map(len, lines))


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _parsed(line: bytes, path: Path, number: int) -> Event:
    if not _is_json(line):
        raise InputError(f"line {number} of {path} is damaged; restore the file from a copy, or choose another output")
    return json.loads(line)


def _check_header(header: Event, path: Path) -> None:
    if header.get("format") != FORMAT:
        raise InputError(NO_LOG.format(path))
    if header.get("version") != VERSION:
        raise InputError(
            f"{path} has version {header.get('version')!r:.20} of the log, and this hyperspan reads {VERSION}; update hyperspan"
        )
    if missing := [key for key in KEYS if key not in header]:
        raise InputError(
            f"line 1 of {path} lacks {', '.join(missing)}; restore the file from a copy, or choose another output"
        )
