"""The alternatives and candidates of a document in files and HTTP responses: records in its metadata::

    {"alternatives": [{"start": 0, "end": 23, "sets": [
        {"probability": 0.81, "mentions": [{"start": 9, "end": 16, "label": "place"}]}]}],
     "candidates": [{"start": 9, "end": 16, "label": "place", "probability": 0.83}]}

A discontinuous mention also has its "fragments".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attrs import evolve

from hyperspan.corpora.json_records import ORDER
from hyperspan.errors import SpanError
from hyperspan.types import Document, Mention, RankedMentions, SentenceAlternatives

ALTERNATIVES, CANDIDATES = "alternatives", "candidates"
"""The keys of the metadata."""
BRAT_OTHER_LINES, BRAT_ORDER, BRAT_PARTS = "brat_other_lines", "brat_order", "brat_parts"
"""The metadata keys of the brat format."""
MENTION_LINE, OTHER_RESULTS = "mention_line", "other_results"
"""The keys of the four-line format, and of Label Studio for results that are not mentions: relations, choices."""
RELATIONS, RECORDS = "relations", "records"
"""The keys of doccano and SpERT for relations, and of a document whose sentences have a record each."""
Record = dict[str, Any]
_ABOUT_MENTIONS = (ALTERNATIVES, CANDIDATES, BRAT_OTHER_LINES, BRAT_ORDER, BRAT_PARTS, ORDER, MENTION_LINE)
"""Metadata about the original mentions of a document, invalid once they are replaced."""


def without_mention_metadata(metadata: Mapping[str, Any]) -> Record:
    """The metadata that stay valid when the mentions of a document are replaced.

    >>> without_mention_metadata({"year": 1900, "mention_order": [1, 0], "relations": [{"from_id": 1, "to_id": 2}]})
    {'year': 1900, 'relations': []}
    """
    kept = _without_relations({key: value for key, value in metadata.items() if key not in _ABOUT_MENTIONS})
    if isinstance(records := kept.get(RECORDS), list):
        kept[RECORDS] = [_of_sentence(one) if isinstance(one, Mapping) else one for one in records]
    if isinstance(results := kept.get(OTHER_RESULTS), list):
        kept[OTHER_RESULTS] = [one for one in results if not _is_about_region(one)]
    return kept


def _of_sentence(record: Mapping[str, Any]) -> Record:
    return _without_relations({key: value for key, value in record.items() if key != ORDER})


def _without_relations(record: Record) -> Record:
    """The record with an empty list where it had relations, which some programs need to find."""
    if isinstance(relations := record.get(RELATIONS), list):
        record[RELATIONS] = [one for one in relations if not _joins_mentions(one)]
    return record


def _joins_mentions(value: object) -> bool:
    """Whether a value is a relation, as in doccano and Label Studio or as in SpERT."""
    return isinstance(value, Mapping) and ({"from_id", "to_id"} <= value.keys() or {"head", "tail"} <= value.keys())


def _is_about_region(result: object) -> bool:
    """Whether a result of Label Studio belongs to a region or joins two, rather than describing the whole text."""
    value = result.get("value") if isinstance(result, Mapping) else None
    return _joins_mentions(result) or (isinstance(value, Mapping) and "start" in value)


def metadata_record(document: Document) -> Record:
    """The metadata of a document, including its alternatives and candidates."""
    record = dict(document.metadata)
    if document.alternatives is not None:
        record[ALTERNATIVES] = alternatives_records(document.alternatives)
    if document.candidates is not None:
        record[CANDIDATES] = [_span(mention) | {"probability": mention.probability} for mention in document.candidates]
    return record


def alternatives_records(alternatives: Iterable[SentenceAlternatives]) -> list[Record]:
    """The most probable sets of each sentence."""
    return [
        {
            "start": one.start,
            "end": one.end,
            "sets": [
                {"probability": ranked.probability, "mentions": [_span(mention) for mention in ranked.mentions]}
                for ranked in one.sets
            ],
        }
        for one in alternatives
    ]


def _span(mention: Mention) -> Record:
    record: Record = {"start": mention.start, "end": mention.end, "label": mention.label}
    return record | {"fragments": [list(span) for span in mention.fragments]} if mention.fragments else record


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
            metadata={key: value for key, value in metadata.items() if key not in (ALTERNATIVES, CANDIDATES)},
            alternatives=_alternatives(metadata[ALTERNATIVES], document.text) if ALTERNATIVES in metadata else None,
            candidates=[_mention(one, document.text) for one in metadata[CANDIDATES]]
            if CANDIDATES in metadata
            else None,
        )
    except (KeyError, TypeError, ValueError, SpanError):
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
    start, end = record["start"], record["end"]
    if end > len(text):
        raise ValueError(f"a mention reaches to {end} in a text of {len(text)} characters")
    fragments = record.get("fragments", ())
    return Mention(start, end, record["label"], fragments, text[start:end], record.get("probability"))
