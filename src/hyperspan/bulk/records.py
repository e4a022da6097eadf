"""Read documents from the pieces of inputs; invalid records are returned with the reason, never dropped silently."""

from __future__ import annotations

import codecs
import csv
import math
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import IO, Any, TypeVar

from hyperspan.bulk import plan
from hyperspan.bulk.inputs import Input
from hyperspan.bulk.places import readable, stamp_of
from hyperspan.bulk.plan import DamagedError, InputPiece, parts_of, unpacked, unpacking
from hyperspan.corpora.file_types import HEAD_BYTES, why_not_text
from hyperspan.corpora.json_records import WrongValueError, shown, text_of
from hyperspan.corpora.json_values import value_of_line
from hyperspan.corpora.jsonl import FORMAT, document_of_record
from hyperspan.corpora.source import Problems, Source
from hyperspan.corpora.tables import TABLES, Columns, Header, TableLines, document_of_row, read_header, rows_of
from hyperspan.errors import EXIT_EXCEPTIONS, CorpusError, HyperspanError, InputError
from hyperspan.types import Document

_T = TypeVar("_T")


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
        expected = isinstance(error, (WrongValueError, ValueError, HyperspanError))
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


def read_piece(file: Input, piece: InputPiece, columns: Columns) -> Iterator[DocumentRecord | Rejected]:
    """The records of a piece, in order. Raises an error if the input has changed since the job was planned."""
    if stamp_of(file.name) != (file.bytes, file.modified):
        raise _changed(file)
    if file.kind == "parquet":
        yield from _rows(file, piece, columns)
    elif file.kind == "text":
        yield _whole(file)
    else:
        of_table = _header(file, columns) if file.kind in TABLES else None
        stream = _LAST.stream_of(file)
        with readable(file.name), unpacking(file.name):
            stream.seek(piece.start)
            if of_table is not None:
                yield from _table(
                    file, piece, TableLines(Source(file.name), stream, piece.first - 1), of_table, columns
                )
            else:
                yield from _lines(file, piece, stream, columns)


class _Last:
    """Keep the last file of lines open: the next piece usually follows, and gzip cannot start in the middle."""

    def __init__(self) -> None:
        self.file: Input | None = None
        self.close = ExitStack()

    def forget(self) -> None:
        self.file = None
        self.close.close()

    def stream_of(self, file: Input) -> IO[bytes]:
        if file != self.file:
            self.forget()
            self.stream = self.close.enter_context(unpacked(file.name))
            self.file = file
        return self.stream


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


def _rows(file: Input, piece: InputPiece, columns: Columns) -> Iterator[DocumentRecord | Rejected]:
    from hyperspan.bulk.parquet import read_rows

    for number, row in enumerate(read_rows(file.name, piece.start, piece.end), start=piece.first):
        place = {"row": number}
        if isinstance(row, ValueError):
            yield Rejected(file.name, place, str(row))
        else:
            record = _plain(row)
            yield _document_record(file, place, record, partial(document_of, record, columns))


def _lines(file: Input, piece: InputPiece, stream: IO[bytes], columns: Columns) -> Iterator[DocumentRecord | Rejected]:
    number, position, checksum, at_start = piece.first - 1, piece.start, 0, True
    for part in parts_of(stream):
        position, checksum = position + len(part), zlib.crc32(part, checksum)
        complete = part.endswith(b"\n") or len(part) < plan.LONGEST_LINE
        number += at_start
        if at_start and not complete:
            yield Rejected(
                file.name,
                {"line": number},
                f"the line has more than {plan.LONGEST_LINE // 2**20} MiB; cut it into several documents",
            )
        elif at_start:
            line = part.removeprefix(codecs.BOM_UTF8) if number == 1 else part
            if line.strip():
                yield _line(file, {"line": number}, line, columns)
        at_start = complete
        if position >= piece.end:
            break
    if (position, checksum) != (piece.end, piece.checksum):
        raise _changed(file)


def _header(file: Input, columns: Columns) -> Header:
    with unpacked(file.name) as stream:
        return read_header(file.name, TableLines(Source(file.name), stream), file.kind, columns)


def _table(
    file: Input, piece: InputPiece, lines: TableLines, header: Header, columns: Columns
) -> Iterator[DocumentRecord | Rejected]:
    position, checksum = piece.start, 0
    for line, row in rows_of(lines, header) if piece.end > piece.start else ():
        raw = lines.take()
        position, checksum = position + len(raw), zlib.crc32(raw, checksum)
        record = None if isinstance(row, csv.Error) else row
        yield _document_record(file, {"line": line}, record, partial(_document_of_row, row, header, columns))
        if position >= piece.end:
            break
    if (position, checksum) != (piece.end, piece.checksum):
        raise _changed(file)


def _document_of_row(row: list[str] | csv.Error, header: Header, columns: Columns) -> Document:
    return document_of_row(header.record(row), columns)


def _line(file: Input, place: dict[str, int], line: bytes, columns: Columns) -> DocumentRecord | Rejected:
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
        raise WrongValueError(f"a record is {shown(record)}, but a JSON object is expected")
    if record.get("format") == FORMAT and columns.text == "text":
        return document_of_record(record, Problems())
    identifier = record.get(columns.id)
    if isinstance(identifier, (dict, list, bool)):
        raise WrongValueError(f'"{columns.id}" is {shown(identifier)}, but a name or a number is expected')
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
