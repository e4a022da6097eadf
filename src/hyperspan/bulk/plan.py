"""Divide inputs into shards by content alone, so that any run with any number of workers makes the same shards.

The plan is a file of lines, plan.jsonl: first whose it is, then each input before the shards with its records. It is
written and read line by line, so that a million inputs need no memory.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from numbers import Integral
from typing import Any, NamedTuple, TypeVar

from hyperspan.bulk.folder import Folder
from hyperspan.bulk.inputs import Input
from hyperspan.bulk.records import InputPiece, header_in, place_of, raw_records, unpacked
from hyperspan.corpora.tables import Columns
from hyperspan.errors import InputError, check_kind

T = TypeVar("T")
PLAN, FORMAT = "plan.jsonl", "hyperspan-bulk-plan"


@dataclass(frozen=True)
class Shard:
    """The unit that is annotated, written and committed."""

    number: int
    pieces: tuple[InputPiece, ...]

    @property
    def name(self) -> str:
        return shard_name(self.number)

    @property
    def place(self) -> str:
        """Where its records begin, for messages."""
        return f"from {place_of(self.pieces[0])}"


def shard_name(number: int) -> str:
    """The name of a shard's files, without their suffixes."""
    return f"part-{number:05}"


@dataclass(frozen=True)
class ShardLimits:
    """The maximum size of a shard, except for a single larger record."""

    records: int = 10_000
    bytes: int = 4_000_000

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            check_kind(f"shard_{name}", value, Integral)
            if value < 1:
                raise InputError(f"a shard of {value} {name} holds nothing; ask for at least 1")


Sized = tuple[InputPiece, int, int]
"""A piece, its number of records, and its bytes as counted for a shard."""


def shards_of(inputs: Iterable[Input], limits: ShardLimits, columns: Columns) -> Iterator[Shard]:
    """The shards of the inputs. Reads JSON Lines, tables and lines once, but only sizes of Parquet and text."""
    number = 0
    held: list[InputPiece] = []
    records = size = 0
    for file in inputs:
        for piece, more, larger in cut(file, limits, columns):
            if held and (records + more > limits.records or size + larger > limits.bytes):
                yield Shard(number, tuple(held))
                number, held, records, size = number + 1, [], 0, 0
            held.append(piece)
            records, size = records + more, size + larger
    if held:
        yield Shard(number, tuple(held))


def cut(file: Input, limits: ShardLimits, columns: Columns) -> Iterator[Sized]:
    """The pieces of an input, none larger than a shard."""
    if file.kind == "parquet":
        yield from _cut_rows(file, limits, columns)
    elif file.kind == "text":
        yield InputPiece(file, 0, file.bytes), 1, file.bytes
    else:
        yield from _cut_records(file, limits, columns)


def _cut_rows(file: Input, limits: ShardLimits, columns: Columns) -> Iterator[Sized]:
    from hyperspan.bulk.parquet import rows_and_bytes

    rows, size = rows_and_bytes(file.name, columns)
    step = max(min(limits.records, limits.bytes * rows // max(size, 1)), 1)
    for start in range(0, rows, step):
        end = min(start + step, rows)
        yield InputPiece(file, start, end, start + 1), end - start, size * (end - start) // rows


def _cut_records(file: Input, limits: ShardLimits, columns: Columns) -> Iterator[Sized]:
    """The pieces of lines, or of the rows of a table after its header."""
    with unpacked(file.name) as stream:
        header, end, taken = header_in(file, stream, columns)
        start, first = end, taken + 1
        records = checksum = 0
        for raw in raw_records(file, stream, header, end, taken):
            if records and (records >= limits.records or raw.end - start > limits.bytes):
                yield InputPiece(file, start, end, first, checksum), records, end - start
                start, first, records, checksum = end, taken + 1, 0, 0
            end, taken, records, checksum = raw.end, raw.taken, records + 1, raw.checksum_after(checksum)
        if records:
            yield InputPiece(file, start, end, first, checksum), records, end - start


# -- the file ----------------------------------------------------------------------------------------------------------


class PlannedShard(NamedTuple):
    """A shard of a plan, and its counts if it was done when the plan was last written."""

    shard: Shard
    result: dict[str, Any] | None


def write_plan(output: Folder, job: str, inputs: Iterable[Input], limits: ShardLimits, columns: Columns) -> int:
    """Plan a job and write the plan; return the number of shards."""
    shards = 0
    numbers: dict[str, int] = {}
    with output.writing(PLAN) as stream:

        def noted() -> Iterator[Input]:
            for number, file in enumerate(inputs):
                stream.write(_line({"input": number, **asdict(file)}))
                numbers[file.name] = number
                yield file

        stream.write(_line({"format": FORMAT, "job": job}))
        for shard in shards_of(noted(), limits, columns):
            pieces = [asdict(piece) | {"input": numbers[piece.input.name]} for piece in shard.pieces]
            stream.write(_line({"shard": shard.number, "pieces": pieces, "result": None}))
            shards += 1
            last = shard.pieces[-1].input.name  # the next shard may go on with it
            for name in {piece.input.name for piece in shard.pieces} - {last}:
                del numbers[name]
    return shards


def write_results(output: Folder, results: Mapping[int, dict[str, Any]]) -> None:
    """Write the plan again, with the counts of all shards."""
    with output.writing(PLAN) as stream:
        for line in output.lines(PLAN):
            record = json.loads(line)
            stream.write(_line(record | {"result": results.get(record["shard"])}) if "shard" in record else line)


def job_of_plan(output: Folder) -> str | None:
    """The job that the plan in a folder belongs to; None if there is no plan."""
    try:
        record = json.loads(next(iter(output.lines(PLAN)), b""))
        return record["job"] if record["format"] == FORMAT else None
    except (ValueError, KeyError, TypeError):
        return None


def read_plan(output: Folder) -> Iterator[Input | PlannedShard]:
    """The inputs and shards of a plan, in its order; raises KeyError, TypeError or ValueError if it is damaged."""
    inputs = shards = 0
    held: dict[int, Input] = {}
    lines = iter(output.lines(PLAN))
    next(lines)
    for line in lines:
        record = json.loads(line)
        if "shard" in record:
            planned = _planned(record, shards, held)
            yield planned
            shards += 1
            last = record["pieces"][-1]["input"]
            held = {number: file for number, file in held.items() if number >= last}
        else:
            if record.pop("input") != inputs:
                raise ValueError(f"expected input {inputs}")
            held[inputs] = with_all_fields(Input, record)
            yield held[inputs]
            inputs += 1


def _planned(record: dict[str, Any], number: int, inputs: Mapping[int, Input]) -> PlannedShard:
    if type(record["shard"]) is not int or record["shard"] != number:
        raise ValueError(f"expected shard {number}, got {record['shard']!r}")
    pieces = tuple(with_all_fields(InputPiece, piece | {"input": inputs[piece["input"]]}) for piece in record["pieces"])
    for piece in pieces:
        if {type(value) for value in (piece.start, piece.end, piece.first)} != {int}:
            raise TypeError(f"expected whole numbers in shard {number}, got {piece}")
    return PlannedShard(Shard(number, pieces), record["result"])


def with_all_fields(cls: type[T], record: dict[str, Any]) -> T:
    """A dataclass from a record; raises TypeError if a field is missing, even one with a default, or unknown."""
    names = cls.__dataclass_fields__  # type: ignore[attr-defined]
    if record.keys() != names.keys():
        raise TypeError(f"expected {', '.join(names)}, got {', '.join(record)}")
    return cls(**record)


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"
