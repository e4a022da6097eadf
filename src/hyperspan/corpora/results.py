"""Mentions as JSON objects, and the alternatives and candidates of a document in files and HTTP responses::

    {"alternatives": [{"start": 0, "end": 23, "sets": [
        {"probability": 0.81, "mentions": [{"start": 9, "end": 16, "label": "place"}]}]}],
     "candidates": [{"start": 9, "end": 16, "label": "place", "probability": 0.83}]}

A discontinuous mention also has its "fragments". In files, alternatives and candidates are metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from attrs import evolve

from hyperspan.corpora.json_records import Record, check_keys, list_of, listed, number_of, probability_of, text_of
from hyperspan.corpora.source import WrongRecordError
from hyperspan.errors import SpanError
from hyperspan.types import Document, Mention, RankedMentions, SentenceAlternatives, Span

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
