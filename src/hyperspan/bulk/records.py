"""The records of inputs: cut from bytes, then read as documents; invalid ones are returned with the reason.

Planning counts the raw records of a file, and reading reads the same ones again.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import math
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, NamedTuple, TypeVar, cast

from hyperspan.bulk.inputs import Input, opened, readable, stamp_of
from hyperspan.corpora.file_types import HEAD_BYTES, why_not_text
from hyperspan.corpora.json_records import shown, text_of
from hyperspan.corpora.json_values import value_of_line
from hyperspan.corpora.jsonl import FORMAT, document_of_record
from hyperspan.corpora.source import LONGEST_LINE, Problems, Source, WrongRecordError
from hyperspan.corpora.tables import TABLES, Columns, Header, TableLines, document_of_row, read_header, rows_of
from hyperspan.errors import EXIT_EXCEPTIONS, CorpusError, HyperspanError, InputError
from hyperspan.types import Document

_T = TypeVar("_T")


class DamagedError(InputError):
    """A compressed file that cannot be decompressed."""


@dataclass(frozen=True, slots=True)
class InputPiece:
    """A range of records of an input: bytes of its decompressed lines, rows, or the whole file."""

    input: Input
    start: int
    end: int
    first: int = 1
    """The number of its first line or row, from 1."""
    checksum: int | None = None
    """The checksum of its records, if it has lines: they must not change."""


class RawRecord(NamedTuple):
    """A line, or a row of a table with the empty lines before it."""

    line: int
    """The number of its first line, from 1."""
    taken: int
    """The number of lines up to its end."""
    end: int
    """The number of bytes up to its end, after decompression."""
    checksum: int
    content: bytes | list[str] | csv.Error | None
    """The line, the fields of the row or why there are none; None if the line is too long to be held."""

    def checksum_after(self, before: int) -> int:
        """The checksum of several records of which this is the last."""
        return zlib.crc32(self.checksum.to_bytes(4), before)


def raw_records(
    file: Input, stream: IO[bytes], header: Header | None, start: int = 0, taken: int = 0
) -> Iterator[RawRecord]:
    """The records of a stream that is at byte `start`, after `taken` lines; the `header` is that of a table."""
    return _raw_lines(stream, start, taken) if header is None else _raw_rows(file, stream, header, start, taken)


def _raw_lines(stream: IO[bytes], end: int, number: int) -> Iterator[RawRecord]:
    while line := stream.readline(LONGEST_LINE):
        number, end, checksum = number + 1, end + len(line), zlib.crc32(line)
        content: bytes | None = line
        while not line.endswith(b"\n") and len(line) == LONGEST_LINE:
            content, line = None, stream.readline(LONGEST_LINE)
            end, checksum = end + len(line), zlib.crc32(line, checksum)
        yield RawRecord(number, number, end, checksum, content)


def _raw_rows(file: Input, stream: IO[bytes], header: Header, end: int, taken: int) -> Iterator[RawRecord]:
    lines = TableLines(Source(file.name), stream, taken)
    for number, row in rows_of(lines, header):
        raw = lines.take()
        end += len(raw)
        yield RawRecord(number, lines.taken, end, zlib.crc32(raw), row)


def header_in(file: Input, stream: IO[bytes], columns: Columns) -> tuple[Header | None, int, int]:
    """The header at the beginning of a table, with its bytes and lines; nothing for lines."""
    if file.kind not in TABLES:
        return None, 0, 0
    lines = TableLines(Source(file.name), stream)
    return read_header(file.name, lines, file.kind, columns), len(lines.take()), lines.taken


@dataclass(frozen=True)
class Rejected:
    """A record that is no valid document, and why."""

    input: str
    place: dict[str, int]
    """Its line or row, from 1; empty if the input is one document."""
    reason: str
    record: Any = None
    """Its content, if known."""

    @staticmethod
    def because(error: BaseException, name: str, place: dict[str, int], record: Any = None) -> Rejected:
        """A record that could not be read."""
        expected = isinstance(error, (WrongRecordError, ValueError, HyperspanError))
        return Rejected(name, place, str(error) if expected else f"{type(error).__name__}: {error}", record)

    def to_json(self) -> dict[str, Any]:
        record = {} if self.record is None else {"record": self.record}
        return {"input": self.input, **self.place, "reason": self.reason, **record}


@dataclass(frozen=True)
class DocumentRecord:
    """A document, and where it came from."""

    document: Document
    input: str
    place: dict[str, int]

    def reject(self, reason: str) -> Rejected:
        record = {"id": self.document.id, "text": self.document.text, "metadata": dict(self.document.metadata)}
        return Rejected(self.input, self.place, reason, record)


def place_of(piece: InputPiece) -> str:
    """Where the records of a piece begin, for messages."""
    if piece.input.kind == "text":
        return piece.input.name
    return f"{'row' if piece.input.kind == 'parquet' else 'line'} {piece.first:,} of {piece.input.name}"


def read_piece(piece: InputPiece, columns: Columns) -> Iterator[DocumentRecord | Rejected]:
    """The records of a piece, in order. Raises an error if the input has changed since the job was planned."""
    file = piece.input
    if stamp_of(file.name) != (file.bytes, file.modified):
        raise _changed(file)
    if file.kind == "parquet":
        yield from _rows(piece, columns)
    elif file.kind == "text":
        yield _whole(file)
    else:
        with readable(file.name), unpacking(file.name):
            stream, header = _LAST.opened(file, columns)
            stream.seek(piece.start)
            yield from _records(piece, stream, header, columns)


def _records(
    piece: InputPiece, stream: IO[bytes], header: Header | None, columns: Columns
) -> Iterator[DocumentRecord | Rejected]:
    end, checksum = piece.start, 0
    for raw in raw_records(piece.input, stream, header, piece.start, piece.first - 1):
        end, checksum = raw.end, raw.checksum_after(checksum)
        record = _line(piece.input, raw, columns) if header is None else _row(piece.input, raw, header, columns)
        if record is not None:
            yield record
        if end >= piece.end:
            break
    if (end, checksum) != (piece.end, piece.checksum):
        raise _changed(piece.input)


class _Last:
    """Keep the last file of lines open: the next piece usually follows, and gzip cannot start in the middle."""

    def __init__(self) -> None:
        self.read: tuple[Input, Columns] | None = None
        self.close = ExitStack()

    def forget(self) -> None:
        self.read = None
        self.close.close()

    def opened(self, file: Input, columns: Columns) -> tuple[IO[bytes], Header | None]:
        """The stream of a file, somewhere in it, and the header of a table."""
        if (file, columns) != self.read:
            self.forget()
            self.stream = self.close.enter_context(unpacked(file.name))
            self.header = header_in(file, self.stream, columns)[0]
            self.read = file, columns
        return self.stream, self.header


_LAST = _Last()


def close_inputs() -> None:
    """Close files that reading has left open."""
    _LAST.forget()


def _whole(file: Input) -> DocumentRecord | Rejected:
    try:
        with unpacked(file.name) as stream:
            head = stream.read(HEAD_BYTES)
            if (what := why_not_text(head)) is not None:
                return Rejected(file.name, {}, f"it is no text but {what}")
            raw = Source(file.name).text_in(stream, head)
    except (DamagedError, CorpusError, MemoryError) as error:
        return Rejected.because(error, file.name, {})
    return _document_record(file, {}, None, lambda: Document(_text(raw.removeprefix(codecs.BOM_UTF8)), id=file.id))


def _rows(piece: InputPiece, columns: Columns) -> Iterator[DocumentRecord | Rejected]:
    from hyperspan.bulk.parquet import read_rows

    file = piece.input
    for number, row in enumerate(read_rows(file.name, piece.start, piece.end), start=piece.first):
        place = {"row": number}
        if isinstance(row, ValueError):
            yield Rejected(file.name, place, str(row))
        else:
            record = _plain(row)
            yield _document_record(file, place, record, partial(document_of, record, columns))


def _row(file: Input, raw: RawRecord, header: Header, columns: Columns) -> DocumentRecord | Rejected:
    row = cast("list[str] | csv.Error", raw.content)
    record = None if isinstance(row, csv.Error) else row
    return _document_record(file, {"line": raw.line}, record, lambda: document_of_row(header.record(row), columns))


def _line(file: Input, raw: RawRecord, columns: Columns) -> DocumentRecord | Rejected | None:
    """The record of a line; None if it is empty."""
    place = {"line": raw.line}
    if raw.content is None:
        most = f"{LONGEST_LINE // 2**20} MiB"
        return Rejected(file.name, place, f"the line has more than {most}; cut it into several documents")
    line = cast(bytes, raw.content)
    if raw.line == 1:
        line = line.removeprefix(codecs.BOM_UTF8)
    if not line.strip():
        return None
    if file.kind == "lines":
        return _document_record(file, place, None, lambda: Document(_text(line).removesuffix("\n").removesuffix("\r")))
    record = _tried(file, place, None, lambda: value_of_line(_text(line)))
    return (
        record
        if isinstance(record, Rejected)
        else _document_record(file, place, record, lambda: document_of(record, columns))
    )


def _document_record(
    file: Input, place: dict[str, int], record: Any, read: Callable[[], Document]
) -> DocumentRecord | Rejected:
    return _tried(file, place, record, lambda: DocumentRecord(read(), file.name, place))


def _tried(file: Input, place: dict[str, int], record: Any, read: Callable[[], _T]) -> _T | Rejected:
    """The result of `read`, or the record rejected with the error that it raises."""
    try:
        return read()
    except EXIT_EXCEPTIONS:
        raise
    except BaseException as error:
        return Rejected.because(error, file.name, place, record)


def document_of(record: Any, columns: Columns) -> Document:
    """The document of a record: hyperspan's format, or a text with an id, and the rest as metadata."""
    if not isinstance(record, dict):
        raise WrongRecordError(f"a record is {shown(record)}, but a JSON object is expected")
    if record.get("format") == FORMAT and columns.text == "text":
        return document_of_record(record, Problems())
    identifier = record.get(columns.id)
    if isinstance(identifier, (dict, list, bool)):
        raise WrongRecordError(f'"{columns.id}" is {shown(identifier)}, but a name or a number is expected')
    rest = {key: value for key, value in record.items() if key not in (columns.id, columns.text)}
    return Document(text_of(record, columns.text), id="" if identifier is None else str(identifier), metadata=rest)


def _plain(value: Any) -> Any:
    """A value of a table as JSON: NaN and infinities as null, times and similar values as strings."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value)


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 text ({error.reason})") from None


def _changed(file: Input) -> InputError:
    return InputError(f"{file.name} has changed since the job was planned; start over with --force")


@contextmanager
def unpacked(name: str) -> Iterator[IO[bytes]]:
    """The bytes of a file, decompressed if gzipped, whatever its name."""
    with opened(name) as raw:
        if cast(Any, raw).peek(2)[:2] != b"\x1f\x8b":
            yield raw
            return
        with unpacking(name), gzip.GzipFile(fileobj=raw) as stream:
            yield cast(IO[bytes], stream)


@contextmanager
def unpacking(name: str) -> Iterator[None]:
    """Turn errors inside this context into "this file cannot be decompressed"."""
    try:
        yield
    except (zlib.error, EOFError, gzip.BadGzipFile) as error:
        raise DamagedError(f"{name} cannot be unpacked ({error}); check that it is complete") from None
