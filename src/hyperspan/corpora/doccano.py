"""doccano's JSON Lines, with mentions as triples or, if a project has relations, as objects::

    {"id": 1, "text": "the Seattle zoo", "label": [[0, 15, "FAC"], [4, 11, "GPE"]], "Comments": []}
    {"id": 2, "text": "the Seattle zoo", "entities": [{"id": 7, "label": "GPE", "start_offset": 4, "end_offset": 11}],
     "relations": []}

Offsets count Unicode code points. Mentions are under "label", "labels" or "entities"; all other keys are metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal

from hyperspan.corpora.documents import trimmed
from hyperspan.corpora.json_records import (
    ABOUT_MENTIONS,
    Record,
    about_mentions,
    distinct,
    documents_in,
    id_of,
    list_of,
    listed,
    note_other_keys,
    number_of,
    records_in,
    text_of,
    write_records,
)
from hyperspan.corpora.source import Losses, Problems, Source, WrongRecordError
from hyperspan.files import Target
from hyperspan.types import MENTION_ORDER, Document, Mention

Key = Literal["label", "labels", "entities"]
RELATIONS = "relations"
KEYS: tuple[Key, ...] = ("label", "labels", "entities")


def read_doccano(source: Source, problems: Problems) -> Iterator[Document]:
    """Read the documents of an export.

    >>> import io
    >>> line = b'{"text": "the Seattle zoo", "label": [[4, 11, "GPE"]]}'
    >>> [document] = read_doccano(Source("made.jsonl", stream=io.BytesIO(line)), Problems())
    >>> [(mention.text, mention.label) for mention in document.mentions]
    [('Seattle', 'GPE')]
    """
    return documents_in(source, problems, lambda record: [_document(record, problems)])


def write_doccano(
    documents: Iterable[Document], target: Target, losses: Losses, problems: Problems, *, key: Key | None = None
) -> None:
    """Write lines that doccano imports.

    Mentions go under the given key; by default "entities" if they have ids or relations, else "label".
    """

    def records() -> Iterator[Record]:
        for document in documents:
            yield _record(document, sorted(document.mentions, key=MENTION_ORDER), key)

    write_records(records(), target, lines=True)


def looks_like_doccano(head: str) -> bool:
    """Whether the records have a "text" with triples, or with entities that have a "start_offset".

    >>> head = '{"text": "Why?", "label": []}\\n{"text": "the Seattle zoo", "label": [[4, 11, "GPE"]]}\\n{"te'
    >>> looks_like_doccano(head)
    True
    """
    found = False
    for record in records_in(head):
        key = next((key for key in KEYS if isinstance(record.get(key), list)), None)
        if key is None or not isinstance(record.get("text"), str):
            return found
        if record[key]:
            return all(_is_triple(item) or (isinstance(item, dict) and "start_offset" in item) for item in record[key])
        found = found or key != "entities"
    return found


def _is_triple(item: object) -> bool:
    return isinstance(item, list) and len(item) == 3 and [type(part) for part in item] == [int, int, str]


def _document(record: Record, problems: Problems) -> Document:
    text = text_of(record, "text")
    key = next((key for key in KEYS if key in record), None)
    if key is None:
        problems.note("text without annotation read as one without mentions")
    given = [_mention(item, problems) for item in list_of(record, key)] if key else []
    mentions = distinct(trimmed(given, text, problems), problems)
    metadata = {name: value for name, value in record.items() if name not in {"text", RELATIONS, key}}
    if RELATIONS in record:
        metadata[ABOUT_MENTIONS] = {RELATIONS: record[RELATIONS]}
    return Document(text, mentions, id=id_of(record.get("id")), metadata=metadata)


def _mention(item: Any, problems: Problems) -> Mention:
    if isinstance(item, dict):
        note_other_keys(item, ("id", "label", "start_offset", "end_offset"), problems)
        start, end = number_of(item, "start_offset"), number_of(item, "end_offset")
        return Mention(start, end, text_of(item, "label"), id=id_of(item.get("id")))
    if not _is_triple(item):
        raise WrongRecordError(f"a mention is {listed(item)}, but [start, end, label] is expected")
    return Mention(*item)


def _record(document: Document, mentions: Sequence[Mention], key: Key | None) -> Record:
    others = {name: value for name, value in document.metadata.items() if name != ABOUT_MENTIONS}
    others |= about_mentions(document.metadata)
    metadata = {name: value for name, value in others.items() if name not in {"text", *KEYS}}
    if key is None:
        named = RELATIONS in metadata or any(mention.id for mention in mentions)
        key = "entities" if named else "label"
    written: list[Any] = [[mention.start, mention.end, mention.label] for mention in mentions]
    if key == "entities":
        written = _entities(mentions)
    record: Record = {}
    if document.id and str(metadata.get("id")) != document.id:
        record["id"] = document.id
    elif "id" in metadata:
        record["id"] = metadata["id"]
    return record | {"text": document.text, key: written} | {k: v for k, v in metadata.items() if k != "id"}


def _entities(mentions: Sequence[Mention]) -> list[Record]:
    """Mentions as objects with numeric ids, which doccano's relations refer to."""
    taken = {mention.id for mention in mentions}
    free = (number for number in range(1, 2 + 2 * len(mentions)) if str(number) not in taken)
    return [
        {
            "id": _as_number(mention.id) if mention.id else next(free),
            "label": mention.label,
            "start_offset": mention.start,
            "end_offset": mention.end,
        }
        for mention in mentions
    ]


def _as_number(name: str) -> int | str:
    is_number = name.isascii() and name.isdecimal() and len(name) < 19 and str(int(name)) == name
    return int(name) if is_number else name
