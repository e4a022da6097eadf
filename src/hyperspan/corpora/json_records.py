"""Shared by the JSON formats: check and write records, and recognise their keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from math import isfinite
from typing import Any

from hyperspan.corpora.json_values import BLANK, json_values
from hyperspan.corpora.source import LEAVE_OUT, Problems, Source, T, WrongRecordError
from hyperspan.errors import InputError
from hyperspan.files import Target
from hyperspan.types import Document, Mention

Record = dict[str, Any]
ROUNDING = 1e-6
"""How far rounding may move a probability outside 0 to 1."""
NO_PROBABILITY = "score that is not from 0 to 1, and so no probability, left out"
"""The note on scores of other programs."""


def documents_in(
    source: Source, problems: Problems, build: Callable[[Record], Iterable[Document]]
) -> Iterator[Document]:
    """Build documents from each record; a record that fails is a problem."""
    for documents in records(source, problems, lambda record: list(build(record))):
        yield from documents


def records(source: Source, problems: Problems, build: Callable[[Record], T]) -> Iterator[T]:
    """Yield what is built from every JSON object of a source; other values, and what fails, are problems."""

    def built(value: object) -> T:
        if not isinstance(value, dict):
            raise WrongRecordError(f"a record is {shown(value)}, but a JSON object is expected")
        return build(value)

    for line, value in json_values(source, problems):
        yield from problems.tried(source, line, built, value, remedy=LEAVE_OUT.format("record"))


def shown(value: object) -> str:
    """Shorten a value for messages."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    try:
        text = json.dumps(value, ensure_ascii=False)
    except ValueError:  # an integer with thousands of digits
        return "a very large number"
    return text if len(text) <= 40 else f"{text[:37]}..."


def listed(value: object) -> str:
    """Format a value for messages; of a list, its first elements."""
    return f"[{', '.join(map(shown, value[:4]))}]" if isinstance(value, list) else shown(value)


def value_of(record: Mapping[str, Any], key: str, kind: type, name: str) -> Any:
    """The value of a required key, checked for its type; `name` describes it in messages."""
    if key not in record:
        found = ", ".join(map(shown, list(record)[:8])) or "none"
        raise WrongRecordError(f'the key "{key}" is missing, its keys are {found}')
    value = record[key]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise WrongRecordError(f'"{key}" is {shown(value)}, but {name} is expected')
    return value


def text_of(record: Mapping[str, Any], key: str) -> str:
    return value_of(record, key, str, "a string")


def number_of(record: Mapping[str, Any], key: str) -> int:
    return value_of(record, key, int, "an integer")


def list_of(record: Mapping[str, Any], key: str) -> list[Any]:
    return value_of(record, key, list, "a list")


def finite_of(record: Mapping[str, Any], key: str, name: str = "a number") -> float | None:
    """The finite number under a key, or None if it is missing or null."""
    value = record.get(key)
    if value is None:
        return None
    with suppress(OverflowError):  # an integer too large for a float
        if type(value) in {int, float} and isfinite(value):
            return float(value)
    raise WrongRecordError(f'"{key}" is {shown(value)}, but {name} is expected')


def probability_of(record: Mapping[str, Any], key: str) -> float | None:
    """The probability under a key, or None if it is missing or null."""
    name = "a number from 0 to 1"
    value = finite_of(record, key, name)
    if value is None or is_probability(value):
        return value
    raise WrongRecordError(f'"{key}" is {shown(value)}, but {name} is expected')


def is_probability(value: float) -> bool:
    return -ROUNDING <= value <= 1 + ROUNDING


def id_of(value: object) -> str:
    """The id of a record, which may be any value: a string or integer as a string, else empty."""
    return str(value) if isinstance(value, str | int) else ""


def objects_of(record: Mapping[str, Any], key: str) -> list[Record]:
    """The list of objects under a key."""
    return [as_object(value, f'of "{key}"') for value in list_of(record, key)]


def as_object(value: object, where: str) -> Record:
    if not isinstance(value, dict):
        raise WrongRecordError(f"an element {where} is {shown(value)}, but a JSON object is expected")
    return value


def strings_of(record: Mapping[str, Any], key: str) -> list[str]:
    values = list_of(record, key)
    for value in values:
        if not isinstance(value, str):
            raise WrongRecordError(f'"{key}" holds {shown(value)}, but only strings are expected')
    return values


def check_keys(record: Mapping[str, Any], allowed: Collection[str], what: str) -> None:
    """Raise for keys that are not allowed, which are probably misspelt."""
    for key in record:
        if key not in allowed:
            close = get_close_matches(key, allowed, 1)
            meant = f'did you mean "{close[0]}"?' if close else f"it knows {', '.join(allowed)}"
            raise WrongRecordError(f"{what} has the unknown key {shown(key)}, {meant}")


def distinct(mentions: Sequence[Mention], problems: Problems) -> list[Mention]:
    """The mentions in order, without duplicates."""
    kept = list(dict.fromkeys(mentions))
    if times := len(mentions) - len(kept):
        problems.note("mention listed twice read as one", times)
    return kept


def note_other_keys(mention: Record, known: Collection[str], problems: Problems) -> None:
    for key in mention.keys() - set(known):
        problems.note(f"key {shown(key)} of mentions left out")


def write_records(records: Iterable[Record], target: Target, lines: bool) -> None:
    """Write one record per line, or an array on one line, formatted like json.dumps."""
    before, separator, closing = (b"", b"\n", b"\n") if lines else (b"[", b", ", b"]\n")
    with target.open_binary() as stream:
        for record in records:
            stream.write(before + json_bytes(record))
            before = separator
        stream.write(closing if before == separator else b"" if lines else b"[]\n")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def json_bytes(record: Record) -> bytes:
    try:
        return _ENCODER.encode(record).encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        name = record.get("id") or record.get("doc_id")
        raise InputError(
            f"document {shown(name) if isinstance(name, str | int) else 'without id'} holds what JSON cannot ({error}); "
            "texts must be Unicode, metadata strings, finite numbers, lists and objects"
        ) from None


def records_in(head: str) -> Iterator[Record]:
    """The records at the beginning of a file; the last may be cut off and have only its first keys."""
    decoder = json.JSONDecoder()
    position = _after(head, 0, BLANK + "\ufeff")
    if head.startswith("[", position):
        position += 1
    while head.startswith("{", position := _after(head, position, BLANK + ",")):
        try:
            record, position = decoder.raw_decode(head, position)
        except (ValueError, RecursionError):
            yield _first_keys(decoder, head, position + 1)
            return
        yield record


@lru_cache(maxsize=1)
def first_record(head: str) -> Mapping[str, Any]:
    """The first record at the beginning of a file, or none of its keys; each JSON format looks at the same one."""
    return next(records_in(head), {})


def _first_keys(decoder: json.JSONDecoder, head: str, position: int) -> Record:
    """The keys and values of a truncated object; a truncated value is represented by its kind."""
    record: Record = {}
    try:
        while head.startswith('"', position := _after(head, position, BLANK + ",")):
            key, position = decoder.raw_decode(head, position)
            position = _after(head, position, BLANK + ":")
            record[key] = {"[": [], "{": {}, '"': ""}.get(head[position : position + 1])
            record[key], position = decoder.raw_decode(head, position)
    except (ValueError, RecursionError):
        pass
    return record


def _after(text: str, position: int, characters: str) -> int:
    while position < len(text) and text[position] in characters:
        position += 1
    return position
