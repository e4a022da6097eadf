"""Parquet in and out of bulk jobs; only this file and :mod:`hyperspan.integrations.ray` know pyarrow's tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from hyperspan.bulk.places import opened
from hyperspan.corpora.json_records import json_bytes
from hyperspan.errors import InputError
from hyperspan.types import Document, Mention

OURS = b"hyperspan"
"""The key of a schema's metadata that says that hyperspan wrote the file."""
MENTION = pa.struct(
    [
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("label", pa.string()),
        ("text", pa.string()),
        ("probability", pa.float64()),
    ]
)
SCHEMA = pa.schema(
    [("id", pa.string()), ("text", pa.string()), ("mentions", pa.list_(MENTION)), ("metadata", pa.string())],
    metadata={OURS: b"1"},
)
"""What is written: offsets count characters (Unicode code points), metadata are a JSON object."""
ROWS, CHARACTERS = 1_000, 8_000_000
"""So much is written as one group of rows at most, but for a text that alone is more."""


def mention_rows(mentions: Iterable[Mention]) -> list[dict[str, Any]]:
    """The mentions as the column `mentions` has them, sorted."""
    return [
        {"start": m.start, "end": m.end, "label": m.label, "text": m.text, "probability": m.probability}
        for m in sorted(mentions)
    ]


@contextmanager
def parquet_to(stream: IO[bytes]) -> Iterator[Callable[[Document], None]]:
    """What writes documents to a stream as Parquet, a group of rows at a time."""
    writer = _Writer(stream)
    try:
        yield writer.write
        writer.close()
    except BaseException:
        writer.abandon()
        raise


class _Writer:
    def __init__(self, stream: IO[bytes]):
        self._writer = pq.ParquetWriter(stream, SCHEMA, compression="zstd")
        self._rows: list[dict[str, Any]] = []
        self._characters = 0

    def write(self, document: Document) -> None:
        metadata = json_bytes(dict(document.metadata)).decode() if document.metadata else None
        row = {"id": document.id, "text": document.text, "metadata": metadata}
        self._rows.append(row | {"mentions": mention_rows(document.mentions)})
        self._characters += len(document.text)
        if len(self._rows) >= ROWS or self._characters >= CHARACTERS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def abandon(self) -> None:
        """Leaves the file without its end, which pyarrow else writes when it forgets the writer."""
        self._writer.is_open = False

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=SCHEMA))
        self._rows, self._characters = [], 0


def rows_and_bytes(name: str, text_column: str) -> tuple[int, int]:
    """How many rows a file has, and how many bytes of text, from what it says about itself."""
    with _file(name) as file:
        schema, metadata = file.schema_arrow, file.metadata
        if text_column not in schema.names:
            raise InputError(
                f"{name} has no column {text_column!r}; name the one with the texts with --text-column, one of "
                f"{', '.join(schema.names)}"
            )
        kind = schema.field(text_column).type
        if not _is_text(kind):
            raise InputError(
                f"the column {text_column!r} of {name} holds {kind}, but texts are needed; name another with --text-column"
            )
        groups = (metadata.row_group(index) for index in range(metadata.num_row_groups))
        columns = (group.column(index) for group in groups for index in range(group.num_columns))
        size = sum(column.total_uncompressed_size for column in columns if column.path_in_schema == text_column)
        return metadata.num_rows, size


def read_rows(name: str, start: int, end: int) -> Iterator[dict[str, Any] | ValueError]:
    """The rows from `start` to before `end`, without columns of bytes; of ours, without the mentions that were found.

    A row that holds no Unicode is an error among them.
    """
    with _file(name) as file:
        columns = [field.name for field in file.schema_arrow if not _is_binary(field.type)]
        ours = OURS in (file.schema_arrow.metadata or {})
        if ours:
            columns.remove("mentions")
        skip, groups = _groups(file.metadata, start, end)
        left = end - start
        for batch in file.iter_batches(batch_size=1_000, row_groups=groups, columns=columns):
            wanted = batch.slice(min(skip, batch.num_rows), left)
            skip -= min(skip, batch.num_rows)
            left -= wanted.num_rows
            for row in _rows(wanted):
                yield _before(row) if ours and isinstance(row, dict) else row
            if not left:
                return
        raise InputError(f"{name} has changed since the job was planned; start over with --force")


def _groups(metadata: pq.FileMetaData, start: int, end: int) -> tuple[int, list[int]]:
    """The groups of rows that hold those from `start` to before `end`, and how many of the first to pass over."""
    skip, position, groups = start, 0, []
    for index in range(metadata.num_row_groups):
        rows = metadata.row_group(index).num_rows
        if position + rows <= start:
            skip -= rows
        elif position < end:
            groups.append(index)
        position += rows
    return skip, groups


def _rows(batch: pa.RecordBatch) -> Iterator[dict[str, Any] | ValueError]:
    try:
        yield from batch.to_pylist()
    except UnicodeDecodeError:
        for index in range(batch.num_rows):
            try:
                [row] = batch.slice(index, 1).to_pylist()
            except UnicodeDecodeError as error:
                row = ValueError(f"the row is not UTF-8 text ({error.reason})")
            yield row


def _before(row: dict[str, Any]) -> dict[str, Any]:
    return {**json.loads(row["metadata"] or "{}"), "id": row["id"], "text": row["text"]}


@contextmanager
def _file(name: str) -> Iterator[pq.ParquetFile]:
    with opened(name) as stream:
        try:
            yield pq.ParquetFile(stream)
        except pa.ArrowException as error:
            reason = str(error).partition("\n")[0].partition(". ")[0]
            raise InputError(f"{name} cannot be read as Parquet ({reason}); check that it is complete") from None


def _is_text(kind: pa.DataType) -> bool:
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(inner) or pa.types.is_large_string(inner) or pa.types.is_string_view(inner)


def _is_binary(kind: pa.DataType) -> bool:
    return any(
        check(kind)
        for check in (
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_fixed_size_binary,
            pa.types.is_binary_view,
        )
    )
