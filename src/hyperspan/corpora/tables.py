"""Tables of texts, CSV and TSV: each row is a document, and the first row names the columns.

Fields are quoted as usual, so a text may span several lines. CSV fields are separated by commas, or by semicolons or
tabs if the first row has more of those.

*Tables of mentions*, for spreadsheets, have a row per mention. They lack the texts, so they are only written. CSV
begins with a byte order mark, so that Excel recognises UTF-8, and its rows end in CR LF; TSV has neither. Cells are
quoted as in RFC 4180, so a mention may span several lines. A cell that a spreadsheet would evaluate as a formula gets
an apostrophe. The last column, "fragments", exists if a mention is discontinuous: "0:4 15:19".
"""

from __future__ import annotations

import csv
import json
import os
import re
import threading
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf
from tempfile import SpooledTemporaryFile
from typing import IO, Any

from hyperspan.corpora.documents import by_characters
from hyperspan.corpora.file_types import why_not_text
from hyperspan.corpora.source import LEAVE_OUT, LONGEST_LINE, Losses, Problems, Source, WrongRecordError
from hyperspan.errors import InputError
from hyperspan.files import Target
from hyperspan.types import Document, Mention, longest_first

TABLES = ("csv", "tsv")
DELIMITERS = {"csv": ",;\t", "tsv": "\t"}
"""The possible field separators of each kind of table."""
_SHORT = 65_536
"""Rows up to this many bytes are within the usual limit of fields of the module csv, which is twice that."""
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Columns:
    """The keys or columns of texts and of their ids."""

    text: str = "text"
    id: str = "id"


class _LongFields:
    """Allow fields as long as lines between `begin` and `end`; then the limit of the process is what it was before.

    The limit of the csv module holds for the whole process, so tables that several threads read at once share it.
    """

    def __init__(self) -> None:
        self.lock, self._within, self._before = threading.Lock(), 0, 0

    def begin(self) -> None:
        with self.lock:
            if not self._within:
                self._before = csv.field_size_limit(LONGEST_LINE)
            self._within += 1

    def end(self) -> None:
        with self.lock:
            self._within -= 1
            if not self._within:
                csv.field_size_limit(self._before)


_LONG_FIELDS = _LongFields()
if hasattr(os, "register_at_fork"):  # no fork leaves the lock locked in the child
    _lock = _LONG_FIELDS.lock
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


class TableLines:
    """The lines of a stream for a table reader, with a count of the lines taken."""

    def __init__(self, source: Source, stream: IO[bytes], taken: int = 0):
        self.raw_lines, self.taken = source.raw_lines(stream, taken), taken
        self.bytes: list[bytes] = []
        """The bytes of the lines since the last call of `take`."""
        self._room, self._is_long = inf, False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        raw = next(self.raw_lines)
        self.taken += 1
        self.bytes.append(raw)
        self._room -= len(raw)
        if self._room < 0 and not self._is_long:
            self._is_long = True
            _LONG_FIELDS.begin()
        return self._decoded(raw.removeprefix(_BOM) if self.taken == 1 else raw)

    @staticmethod
    def _decoded(raw: bytes) -> str:
        return raw.decode("utf-8", errors="surrogateescape")  # a row that is not UTF-8 need not end the table

    def row(self, reader: Iterator[list[str]]) -> list[str]:
        """The next row of a reader of these lines; only for a row that may need it, the limit of fields is raised."""
        self._room = min(csv.field_size_limit(), LONGEST_LINE, _SHORT)
        try:
            return next(reader)
        finally:
            self._room = inf
            if self._is_long:
                self._is_long = False
                _LONG_FIELDS.end()

    def open_quote(self, delimiter: str) -> int:
        """The number of the line with a quote that is opened but not closed since the last call of `take`."""
        text = "".join(map(self._decoded, self.bytes))
        field = re.compile(rf'(?:"(?:[^"]|"")*+"|[^"{delimiter}\r\n][^{delimiter}\r\n]*+|)[{delimiter}\r\n]')
        position = 0
        while (closed := field.match(text, position)) is not None:
            position = closed.end()
        return self.taken - len(self.bytes) + 1 + text.count("\n", 0, position)

    def take(self) -> bytes:
        """The bytes of the lines since the last call."""
        raw, self.bytes = b"".join(self.bytes), []
        return raw


@dataclass(frozen=True)
class Header:
    """The first row of a table."""

    columns: tuple[str, ...]
    delimiter: str

    def record(self, row: list[str] | csv.Error) -> dict[str, str]:
        """A row by its columns; raises WrongRecordError if the row is invalid."""
        if isinstance(row, csv.Error):
            raise WrongRecordError(f"the row cannot be read ({row})")
        if len(row) != len(self.columns):
            raise WrongRecordError(f"the row has {len(row)} fields, but the table {len(self.columns)} columns")
        try:
            "".join(row).encode()
        except UnicodeEncodeError:
            raise WrongRecordError("the row is not UTF-8 text") from None
        return dict(zip(self.columns, row, strict=True))


def first_row(name: str, lines: TableLines, kind: str) -> Header:
    """Read the first row, which names the columns."""
    first = next(lines, "")
    if (what := why_not_text(b"".join(lines.bytes))) is not None:
        raise InputError(f"{name} is no table of texts but {what}")
    delimiter = max(DELIMITERS[kind], key=first.count)
    rows = csv.reader([first], delimiter=delimiter, strict=True)
    _LONG_FIELDS.begin()
    try:
        header = Header(tuple(next(rows, ())), delimiter)
    except csv.Error as error:
        raise InputError(f"the first row of {name} cannot be read ({error}); it must name the columns") from None
    finally:
        _LONG_FIELDS.end()
    if len(set(header.columns)) < len(header.columns):
        double = next(column for column in header.columns if header.columns.count(column) > 1)
        raise InputError(f"{name} has more than one column {double!r}; rename or remove one of them")
    return header


def read_header(name: str, lines: TableLines, kind: str, columns: Columns) -> Header:
    """Read the first row, which must name the requested columns."""
    header = first_row(name, lines, kind)
    for column, option in ((columns.text, "--column"), (columns.id, "--id-column")):
        if column not in header.columns and (option == "--column" or column != Columns.id):
            known = ", ".join(column[:40] for column in header.columns[:20]) or "none"
            raise InputError(
                f"{name} has no column {column!r}; name the one with the {'texts' if option == '--column' else 'ids'} with "
                f"{option}; its columns are, by its first row, {known}"
            )
    return header


def rows_of(lines: TableLines, header: Header) -> Iterator[tuple[int, list[str] | csv.Error]]:
    """The rows with the number of their first line; empty lines are skipped."""
    reader = csv.reader(lines, delimiter=header.delimiter, strict=True)
    while True:
        line = lines.taken + 1
        try:
            row = lines.row(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield line, _explained(error, lines, header)
        else:
            if row:
                yield line, row


def _explained(error: csv.Error, lines: TableLines, header: Header) -> csv.Error:
    if "unexpected end" in str(error):
        opened = lines.open_quote(header.delimiter)
        return csv.Error(
            f"the quote that opens on line {opened} is never closed, so that the rest of the table is in it"
        )
    if "field limit" in str(error):
        return csv.Error(f"a field has more than {LONGEST_LINE // 2**20} MiB; is its quote closed?")
    return error


def document_of_row(record: dict[str, str], columns: Columns) -> Document:
    """The document of a row: its text, its id, and the other columns as metadata.

    >>> document_of_row({"id": "7", "note": "Ada left.", "ward": "B"}, Columns("note"))
    Document('Ada left.', 0 mentions, 0 sentences, id='7')
    """
    rest: dict[str, Any] = {key: value for key, value in record.items() if key not in (columns.id, columns.text)}
    return Document(record[columns.text], id=record.get(columns.id, ""), metadata=rest)


def read_table(source: Source, kind: str, columns: Columns, problems: Problems) -> Iterator[Document]:
    """Read the documents of a table; an invalid row is a problem."""
    with source.open() as stream:
        lines = TableLines(source, stream)
        header = read_header(source.name, lines, kind, columns)
        for line, row in rows_of(lines, header):
            lines.take()
            yield from problems.tried(
                source,
                line,
                lambda row=row: document_of_row(header.record(row), columns),
                remedy=LEAVE_OUT.format("row"),
            )


COLUMNS = ("document", "sentence", "start", "end", "text", "label", "probability")
FRAGMENTS = "fragments"
"""The column for the parts of discontinuous mentions."""
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""First characters of cells that a spreadsheet may evaluate as a formula."""
BYTE_ORDER_MARK = "\ufeff"


def write_csv(
    documents: Iterable[Document], target: Target, losses: Losses, problems: Problems, *, guard: bool = True
) -> None:
    """Write one CSV row per mention; `guard=False` omits the apostrophes before formulas."""
    with target.open() as file:
        file.write(BYTE_ORDER_MARK)
        _write(file, documents, (",", "\r\n"), guard)


def write_tsv(
    documents: Iterable[Document], target: Target, losses: Losses, problems: Problems, *, guard: bool = True
) -> None:
    """Write the same table with tabs, without a byte order mark."""
    with target.open() as file:
        _write(file, documents, ("\t", "\n"), guard)


def read_csv(source: Source, problems: Problems) -> Iterator[Document]:
    """Raise an error: a table of mentions is not a corpus."""
    raise InputError(
        f"{source.name} is a table of mentions, which does not hold their texts, so it cannot be read; keep them as jsonl too"
    )


read_tsv = read_csv


def looks_like_csv(head: str) -> bool:
    """Whether a file begins like a CSV table of mentions.

    >>> looks_like_csv("document,sentence,start,end,text,label,probability"), looks_like_csv("id,text")
    (True, False)
    """
    return head.removeprefix(BYTE_ORDER_MARK).startswith(",".join(COLUMNS))


def looks_like_tsv(head: str) -> bool:
    """Whether a file begins like a TSV table of mentions."""
    return head.startswith("\t".join(COLUMNS))


def _write(file: IO[str], documents: Iterable[Document], ends: tuple[str, str], guard: bool) -> None:
    writer = csv.writer(file, delimiter=ends[0], lineterminator=ends[1])
    discontinuous = False
    with SpooledTemporaryFile(
        max_size=1 << 24, mode="w+", encoding="utf-8"
    ) as spool:  # the last row decides on the columns
        for number, document in enumerate(documents, start=1):
            for row, mention in _rows(document, number):
                discontinuous = discontinuous or bool(mention.fragments)
                cells = [_guarded(cell) if guard else cell for cell in row]
                parts = " ".join(f"{start}:{end}" for start, end in mention.fragments)
                spool.write(json.dumps([*cells, parts]) + "\n")
        width = len(COLUMNS) + discontinuous
        writer.writerow((*COLUMNS, FRAGMENTS)[:width])
        spool.seek(0)
        writer.writerows(json.loads(line)[:width] for line in spool)


def _rows(document: Document, number: int) -> Iterator[tuple[tuple[str, ...], Mention]]:
    """The rows of a document, sorted by start, longer mentions first."""
    placed = [(sentence.offsets[0][0], index) for index, sentence in enumerate(document.sentences) if sentence.offsets]
    ends = {index: document.sentences[index].offsets[-1][1] for _, index in placed}
    mentions = document.mentions | {
        by_characters(mention, sentence.offsets, document.text)
        for sentence in document.sentences
        if sentence.offsets
        for mention in sentence.mentions
    }
    for mention in sorted(mentions, key=longest_first):
        at = bisect_right(placed, (mention.start, len(document.sentences))) - 1
        inside = at >= 0 and mention.start < ends[placed[at][1]]
        probability = "" if mention.probability is None else f"{mention.probability:.6f}"
        sentence = str(placed[at][1] + 1) if inside else ""
        name, text = document.id or str(number), document.text[mention.start : mention.end]
        yield (name, sentence, str(mention.start), str(mention.end), text, mention.label, probability), mention


def _guarded(cell: str) -> str:
    return f"'{cell}" if cell.startswith(FORMULA) else cell
