"""Read and write Parquet in bulk jobs; only this file and :mod:`hyperspan.bulk.arrow` use pyarrow's tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from hyperspan.bulk.inputs import opened
from hyperspan.corpora.json_records import json_bytes, mention_record, metadata_record
from hyperspan.corpora.tables import Columns
from hyperspan.errors import InputError
from hyperspan.types import MENTION_ORDER, Document, Mention

OURS = b"hyperspan"
"""The key in a schema's metadata that marks files written by hyperspan."""
MENTION = pa.struct(
    [
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("label", pa.string()),
        ("text", pa.string()),
        ("probability", pa.float64()),
        ("fragments", pa.list_(pa.list_(pa.int64()))),
    ]
)
MENTIONS = pa.list_(MENTION)
"""A column of mentions: offsets in characters (Unicode code points); `fragments` is null for contiguous mentions."""
SCHEMA = pa.schema(
    [("id", pa.string()), ("text", pa.string()), ("mentions", MENTIONS), ("metadata", pa.string())],
    metadata={OURS: b"1"},
)
"""The output schema, with metadata as a JSON object."""
ROWS, CHARACTERS = 1_000, 8_000_000
"""The maximum size of a row group, except for a single larger text."""


def mention_rows(mentions: Iterable[Mention]) -> list[dict[str, Any]]:
    """The mentions as in the column `mentions`, sorted."""
    return [mention_record(mention, MENTION.names) for mention in sorted(mentions, key=MENTION_ORDER)]


@contextmanager
def parquet_to(stream: IO[bytes]) -> Iterator[Callable[[Document], None]]:
    """A function that writes documents to a stream as Parquet, one row group at a time."""
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
        (document.id + document.text).encode()  # invalid Unicode fails here, not together with a thousand others
        metadata = metadata_record(document)
        written = json_bytes(metadata).decode() if metadata else None
        row = {"id": document.id, "text": document.text, "metadata": written}
        self._rows.append(row | {"mentions": mention_rows(document.mentions)})
        self._characters += len(document.text)
        if len(self._rows) >= ROWS or self._characters >= CHARACTERS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def abandon(self) -> None:
        """Leave the file unfinished; otherwise pyarrow completes it when it discards the writer."""
        self._writer.is_open = False

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(pa.Table.from_pylist(self._rows, schema=SCHEMA))
        self._rows, self._characters = [], 0


def rows_and_bytes(name: str, columns: Columns) -> tuple[int, int]:
    """The number of rows and of bytes of text in a file, from its metadata."""
    with _file(name) as file:
        schema, metadata = file.schema_arrow, file.metadata
        text_column = columns.text
        if schema.names.count(text_column) != 1:
            many = "no column" if text_column not in schema.names else "more than one column"
            raise InputError(
                f"{name} has {many} {text_column!r}; name the one with the texts with --column, one of "
                f"{', '.join(schema.names)}"
            )
        _check_ids(name, columns.id, schema)
        kind = schema.field(text_column).type
        if not is_text(kind):
            raise InputError(
                f"the column {text_column!r} of {name} holds {kind}, but texts are needed; name another with --column"
            )
        groups = (metadata.row_group(index) for index in range(metadata.num_row_groups))
        chunks = (group.column(index) for group in groups for index in range(group.num_columns))
        size = sum(chunk.total_uncompressed_size for chunk in chunks if chunk.path_in_schema == text_column)
        return metadata.num_rows, size


def _check_ids(name: str, column: str, schema: pa.Schema) -> None:
    """Raise an error for an id column that is missing though requested, or that contains bytes."""
    kinds = [field.type for field in schema if field.name == column]
    if not kinds and column != Columns.id:
        raise InputError(
            f"{name} has no column {column!r}; name the one with the ids with --id-column, one of {', '.join(schema.names)}"
        )
    if any(map(_is_binary, kinds)):
        raise InputError(
            f"the column {column!r} of {name} holds {kinds[0]}, but names or numbers are needed; name another with --id-column"
        )


def read_rows(name: str, start: int, end: int) -> Iterator[dict[str, Any] | ValueError]:
    """The rows in [start, end), without columns of bytes; without the found mentions if hyperspan wrote the file.

    A row that cannot be read appears as an error.
    """
    with _file(name) as file:
        columns = [field.name for field in file.schema_arrow if not _is_binary(field.type)]
        ours = OURS in (file.schema_arrow.metadata or {})
        if ours:
            columns = [column for column in columns if column != "mentions"]
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
    """The row groups that contain rows [start, end), and how many rows of the first to skip."""
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
    columns = [_written(column) for column in batch.columns]
    batch = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
    try:
        yield from batch.to_pylist()
    except (ValueError, ArithmeticError, ImportError, pa.ArrowException):
        for index in range(batch.num_rows):
            try:
                [row] = batch.slice(index, 1).to_pylist()
            except UnicodeDecodeError as error:
                row = ValueError(f"the row is not UTF-8 text ({error.reason})")
            except (ValueError, ArithmeticError, ImportError, pa.ArrowException) as error:
                row = ValueError(f"the row cannot be read ({str(error).partition(chr(10))[0]})")
            yield row


def _written(column: pa.Array) -> pa.Array:
    """Dates and times as strings, since Python does not support all of them; those in an unknown zone as UTC."""
    kind = column.type
    if not pa.types.is_temporal(kind):
        return column
    try:
        return column.cast(pa.string())
    except pa.ArrowException:
        if not pa.types.is_timestamp(kind):
            return column
        return column.cast(pa.int64()).cast(pa.timestamp(kind.unit)).cast(pa.string())


def _before(row: dict[str, Any]) -> dict[str, Any] | ValueError:
    """A row written by hyperspan as its original record, with columns that others have added."""
    try:
        known = json.loads(row.pop("metadata", None) or "{}")
        return {**known, **row}
    except (ValueError, TypeError):
        return ValueError("its metadata are not a JSON object")


@contextmanager
def _file(name: str) -> Iterator[pq.ParquetFile]:
    with opened(name) as stream:
        try:
            yield pq.ParquetFile(stream)
        except pa.ArrowException as error:
            reason = str(error).partition("\n")[0].partition(". ")[0]
            raise InputError(f"{name} cannot be read as Parquet ({reason}); check that it is complete") from None


def is_text(kind: pa.DataType) -> bool:
    """Whether a column of this type has strings."""
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
