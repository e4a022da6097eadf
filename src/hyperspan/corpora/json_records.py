"""Shared by the JSON formats: check and write records, and recognise their keys. Mentions as JSON objects, and the
alternatives and candidates of a document in files and HTTP responses::

    {"alternatives": [{"start": 0, "end": 23, "sets": [
        {"probability": 0.81, "mentions": [{"start": 9, "end": 16, "label": "place"}]}]}],
     "candidates": [{"start": 9, "end": 16, "label": "place", "probability": 0.83}]}

A discontinuous mention also has its "fragments". In files, alternatives and candidates are metadata.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import lru_cache
from math import isfinite
from typing import Any

from attrs import evolve

from hyperspan.corpora.json_values import BLANK, json_values
from hyperspan.corpora.source import LEAVE_OUT, Problems, Source, T, WrongRecordError
from hyperspan.errors import InputError, SpanError
from hyperspan.files import Target
from hyperspan.types import Document, Mention, RankedMentions, SentenceAlternatives, Span

Record = dict[str, Any]
ROUNDING = 1e-6
"""How far rounding may move a probability outside 0 to 1."""
NO_PROBABILITY = "score that is not from 0 to 1, and so no probability, left out"
"""The note on scores of other programs."""
ALTERNATIVES, CANDIDATES = "alternatives", "candidates"
"""The keys of the metadata."""
PROMISE = "promise"
"""The key of what the mentions of a document come with: a promise of recall or precision, in words."""
ABOUT_MENTIONS = "about_mentions"
"""The key of what a corpus says of its own mentions, besides them: relations, attributes, notes."""
MENTION_KEYS = ("start", "end", "label", "text", "probability", "fragments", "head", "id")
"""The keys of a mention in JSON."""
PLACE_KEYS = ("start", "end", "label", "fragments")
"""Those that tell it from others."""


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


def without_mention_metadata(metadata: Mapping[str, Any]) -> Record:
    """The metadata that stay valid when the mentions of a document are replaced.

    >>> without_mention_metadata({"year": 1900, "about_mentions": {"relations": [{"from_id": 1, "to_id": 2}]}})
    {'year': 1900}
    """

    def kept(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        return {key: one for key, one in value.items() if key != ABOUT_MENTIONS}

    return {
        key: [kept(one) for one in value] if isinstance(value, list) else value  # a list may have records of sentences
        for key, value in kept(metadata).items()
        if key not in (ALTERNATIVES, CANDIDATES, PROMISE)
    }


def about_mentions(metadata: Mapping[str, Any]) -> Record:
    """What metadata, which may be anything, have under ABOUT_MENTIONS."""
    found = metadata.get(ABOUT_MENTIONS)
    return dict(found) if isinstance(found, Mapping) else {}


def metadata_record(document: Document) -> Record:
    """The metadata of a document, including its alternatives and candidates."""
    record = dict(document.metadata)
    if document.alternatives is not None:
        record[ALTERNATIVES] = alternatives_records(document.alternatives)
    if document.candidates is not None:
        record[CANDIDATES] = [mention_record(one, (*PLACE_KEYS, "probability")) for one in document.candidates]
    return record


def mention_record(
    mention: Mention, keys: Collection[str] = MENTION_KEYS, place: Callable[[int], int] | None = None
) -> Record:
    """A mention as a JSON object: its start, end and label, and what it has of the other `keys`.

    `place` converts offsets to another unit.

    >>> mention_record(Mention(4, 11, "GPE", text="Seattle", probability=0.75))
    {'start': 4, 'end': 11, 'label': 'GPE', 'text': 'Seattle', 'probability': 0.75}
    """
    record: Record = {"start": mention.start, "end": mention.end, "label": mention.label}
    if mention.text and "text" in keys:
        record["text"] = mention.text
    if mention.probability is not None and "probability" in keys:
        record["probability"] = float(mention.probability)
    if mention.fragments and "fragments" in keys:
        record["fragments"] = mention.fragments
    if mention.head is not None and "head" in keys:
        record["head"] = mention.head
    if mention.id and "id" in keys:
        record["id"] = mention.id
    if place is not None:
        record["start"], record["end"] = place(mention.start), place(mention.end)
        if "fragments" in record:
            record["fragments"] = [[place(start), place(end)] for start, end in mention.fragments]
    return record


def mention_of(record: Record, length: int, unit: str) -> Mention:
    """The mention of a JSON object, in a text of this length; raises WrongRecordError or SpanError if it is invalid."""
    check_keys(record, MENTION_KEYS, "a mention")
    start, end, label = number_of(record, "start"), number_of(record, "end"), text_of(record, "label")
    if len(record) == 3:
        return Mention(start, end, label)
    fragments = tuple(
        span_of(value, "a fragment", length, unit) for value in list_of({"fragments": [], **record}, "fragments")
    )
    head = record.get("head")
    return Mention(
        start,
        end,
        label,
        fragments,
        text=text_of({"text": "", **record}, "text"),
        probability=probability_of(record, "probability"),
        head=None if head is None else span_of(head, "a head", length, unit),
        id=text_of({"id": "", **record}, "id"),
    )


def span_of(value: object, what: str, length: int, unit: str) -> Span:
    """A span of a text of this length, checked; `what` describes it in messages."""
    match value:
        case [start, end] if type(start) is int and type(end) is int and 0 <= start < end <= length:
            return start, end
    raise WrongRecordError(f"{what} is {listed(value)}, but a span within the {length} {unit} is expected")


def alternatives_records(
    alternatives: Iterable[SentenceAlternatives], place: Callable[[int], int] | None = None
) -> list[Record]:
    """The most probable sets of each sentence; `place` converts offsets to another unit."""
    return [
        {
            "start": place(one.start) if place else one.start,
            "end": place(one.end) if place else one.end,
            "sets": [
                {
                    "probability": ranked.probability,
                    "mentions": [mention_record(mention, PLACE_KEYS, place) for mention in ranked.mentions],
                }
                for ranked in one.sets
            ],
        }
        for one in alternatives
    ]


def in_metadata(document: Document) -> Document:
    """Move alternatives and candidates of a document into its metadata, as formats write them."""
    if document.alternatives is None and document.candidates is None:
        return document
    return evolve(document, metadata=metadata_record(document), alternatives=None, candidates=None)


def from_metadata(document: Document) -> Document:
    """Move alternatives and candidates from the metadata to the document, unless they have another structure."""
    metadata = document.metadata
    if ALTERNATIVES not in metadata and CANDIDATES not in metadata:
        return document
    try:
        found = evolve(
            document,
            metadata={key: value for key, value in metadata.items() if key not in (ALTERNATIVES, CANDIDATES, PROMISE)},
            alternatives=_alternatives(metadata[ALTERNATIVES], document.text) if ALTERNATIVES in metadata else None,
            candidates=[_mention(one, document.text) for one in metadata[CANDIDATES]]
            if CANDIDATES in metadata
            else None,
        )
    except (KeyError, TypeError, ValueError, SpanError, WrongRecordError):
        return document
    return found if metadata_record(found) == metadata else document  # only if nothing is lost


def _alternatives(records: list[Record], text: str) -> list[SentenceAlternatives]:
    return [
        SentenceAlternatives(
            one["start"],
            one["end"],
            [RankedMentions(r["probability"], [_mention(m, text) for m in r["mentions"]]) for r in one["sets"]],
        )
        for one in records
    ]


def _mention(record: Record, text: str) -> Mention:
    found = mention_of(record, len(text), "characters")
    if found.end > len(text):
        raise SpanError(f"a mention reaches to {found.end} in a text of {len(text)} characters")
    return evolve(found, text=text[found.start : found.end])
