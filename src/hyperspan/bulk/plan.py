"""Divide inputs into shards by content alone, so that any run with any number of workers makes the same shards."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from typing import IO, Any, TypeVar, cast

from hyperspan.bulk.inputs import Input
from hyperspan.bulk.places import opened
from hyperspan.corpora.source import LONGEST_LINE, Source
from hyperspan.corpora.tables import TABLES, Columns, Header, TableLines, read_header, rows_of
from hyperspan.errors import InputError

T = TypeVar("T")


class DamagedError(InputError):
    """A compressed file that cannot be decompressed."""


@dataclass(frozen=True)
class InputPiece:
    """A range of records of an input: bytes of its decompressed lines, rows, or the whole file."""

    input: int
    """Its index among the inputs."""
    start: int
    end: int
    first: int = 1
    """The number of its first line or row, from 1."""
    checksum: int | None = None
    """The checksum of its bytes, if it has lines: they must not change."""


@dataclass(frozen=True)
class Shard:
    """The unit that is annotated, written and committed."""

    number: int
    pieces: tuple[InputPiece, ...]

    @property
    def name(self) -> str:
        return f"part-{self.number:05}"


@dataclass(frozen=True)
class ShardLimits:
    """The maximum size of a shard, except for a single larger record."""

    records: int = 10_000
    bytes: int = 4_000_000

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if value < 1:
                raise InputError(f"a shard of {value} {name} holds nothing; ask for at least 1")


COLUMNS = Columns()


@dataclass(frozen=True)
class Plan:
    """All inputs of a job, and its shards."""

    inputs: tuple[Input, ...]
    shards: tuple[Shard, ...]

    def inputs_of(self, shard: Shard) -> dict[int, Input]:
        """The inputs of a shard, by index."""
        return {piece.input: self.inputs[piece.input] for piece in shard.pieces}

    @staticmethod
    def from_json(record: dict[str, Any]) -> Plan:
        """The plan from its `asdict` form; raises KeyError, TypeError or ValueError if it is invalid."""
        plan = Plan(
            tuple(with_all_fields(Input, file) for file in record["inputs"]),
            tuple(
                Shard(shard["number"], tuple(with_all_fields(InputPiece, piece) for piece in shard["pieces"]))
                for shard in record["shards"]
            ),
        )
        for number, shard in enumerate(plan.shards):
            if type(shard.number) is not int or shard.number != number:
                raise ValueError(f"expected shard {number}, got {shard.number!r}")
            for piece in shard.pieces:
                if {type(value) for value in (piece.input, piece.start, piece.end, piece.first)} != {int}:
                    raise TypeError(f"expected whole numbers in shard {number}, got {piece}")
                if not 0 <= piece.input < len(plan.inputs):
                    raise ValueError(f"expected one of {len(plan.inputs)} inputs in shard {number}, got {piece.input}")
        return plan


def with_all_fields(cls: type[T], record: dict[str, Any]) -> T:
    """A dataclass from a record; raises TypeError if a field is missing, even one with a default, or unknown."""
    made = cls(**record)
    if len(record) < len(vars(made)):
        raise TypeError(f"expected all of {', '.join(vars(made))}, got {', '.join(record)}")
    return made


Sized = tuple[InputPiece, int, int]
"""A piece, its number of records, and its bytes as counted for a shard."""
Map = Callable[[Callable[[Any], list[Sized]], Iterable[Any]], Iterable[list[Sized]]]
"""Like `map`, in the same order; an engine may distribute it over machines."""


def make_plan(inputs: Sequence[Input], limits: ShardLimits, columns: Columns = COLUMNS, each: Map = map) -> Plan:
    """Plan the shards of the inputs. Reads JSON Lines, tables and lines once, but only sizes of Parquet and text."""
    shards: list[Shard] = []
    held: list[InputPiece] = []
    records = size = 0
    for pieces in each(partial(cut, limits=limits, columns=columns), list(enumerate(inputs))):
        for piece, more, larger in pieces:
            if held and (records + more > limits.records or size + larger > limits.bytes):
                shards.append(Shard(len(shards), tuple(held)))
                held, records, size = [], 0, 0
            held.append(piece)
            records, size = records + more, size + larger
    if held:
        shards.append(Shard(len(shards), tuple(held)))
    return Plan(tuple(inputs), tuple(shards))


def cut(numbered: tuple[int, Input], limits: ShardLimits, columns: Columns) -> list[Sized]:
    """The pieces of an input, none larger than a shard."""
    number, file = numbered
    if file.kind == "parquet":
        from hyperspan.bulk.parquet import rows_and_bytes

        rows, size = rows_and_bytes(file.name, columns)
        step = max(min(limits.records, limits.bytes * rows // max(size, 1)), 1)
        pieces = (InputPiece(number, start, min(start + step, rows), start + 1) for start in range(0, rows, step))
        return [(piece, piece.end - piece.start, size * (piece.end - piece.start) // rows) for piece in pieces]
    if file.kind == "text":
        return [(InputPiece(number, 0, file.bytes), 1, file.bytes)]
    with unpacked(file.name) as stream:
        if file.kind in TABLES:
            lines = TableLines(Source(file.name), stream)
            return list(_cut_rows(number, lines, read_header(file.name, lines, file.kind, columns), limits))
        return list(_cut_lines(number, stream, limits))


def _cut_lines(number: int, stream: IO[bytes], limits: ShardLimits) -> Iterator[Sized]:
    start = end = checksum = lines = 0
    first, at_start = 1, True
    for part in parts_of(stream):
        if at_start and lines and (lines >= limits.records or end + len(part) - start > limits.bytes):
            yield InputPiece(number, start, end, first, checksum), lines, end - start
            start, first, lines, checksum = end, first + lines, 0, 0
        end, lines = end + len(part), lines + at_start
        checksum = zlib.crc32(part, checksum)
        at_start = part.endswith(b"\n")
    if lines:
        yield InputPiece(number, start, end, first, checksum), lines, end - start


def _cut_rows(number: int, lines: TableLines, header: Header, limits: ShardLimits) -> Iterator[Sized]:
    """The pieces of a table after its header, none larger than a shard."""
    start = end = len(lines.take())
    rows = checksum = 0
    ended = lines.taken
    first = ended + 1
    for _ in rows_of(lines, header):
        raw = lines.take()
        if rows and (rows >= limits.records or end + len(raw) - start > limits.bytes):
            yield InputPiece(number, start, end, first, checksum), rows, end - start
            start, first, rows, checksum = end, ended + 1, 0, 0
        end, rows, checksum, ended = end + len(raw), rows + 1, zlib.crc32(raw, checksum), lines.taken
    if rows:
        yield InputPiece(number, start, end, first, checksum), rows, end - start


def parts_of(stream: IO[bytes]) -> Iterator[bytes]:
    """Lines with their ends; those over :data:`hyperspan.corpora.source.LONGEST_LINE` bytes come in several parts."""
    return iter(lambda: stream.readline(LONGEST_LINE), b"")


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
