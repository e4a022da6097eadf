"""Prodigy's JSON Lines, as ``prodigy db-out`` writes them::

    {"text": "the Seattle zoo", "_input_hash": 7, "tokens": [{"text": "the", "start": 0, "end": 3, "id": 0}, …],
     "spans": [{"start": 4, "end": 11, "token_start": 1, "token_end": 1, "label": "GPE"}],
     "_view_id": "ner_manual", "answer": "accept"}

Offsets count Unicode code points. What an answer says depends on the interface:

| interface | accept | reject | ignore |
|---|---|---|---|
| manual (``ner_manual``, ``spans_manual`` …) | all mentions are listed | left out | left out |
| binary (``ner``) | these are mentions, the rest is unknown | these are none, the rest is unknown | left out |
| of whole texts (``choice``, ``classification``) | a text of which nothing is annotated | left out | left out |

Without an interface, rejected spans are taken for those of a binary one. The text is split into words as any other, so
Prodigy's tokens are not kept; other keys are metadata.
"""

from __future__ import annotations

from collections.abc import Iterator

from hyperspan.corpora.documents import trimmed
from hyperspan.corpora.json_records import (
    ABOUT_MENTIONS,
    Record,
    distinct,
    documents_in,
    first_record,
    id_of,
    note_other_keys,
    number_of,
    objects_of,
    records_in,
    shown,
    text_of,
)
from hyperspan.corpora.source import Problems, Source, WrongRecordError
from hyperspan.types import NOTHING_ANNOTATED, Document, Mention

BINARY = "ner"
"""The interface of questions about single spans."""
OF_TEXTS = ("choice", "classification")
"""The interfaces of questions about whole texts, whose answers say nothing of spans."""
MARKS = ("_input_hash", "_task_hash", "_view_id", "answer")
"""Keys that only Prodigy writes."""
OWN_KEYS = ("text", "spans", "tokens", "answer", "relations", "id")


def read_prodigy(source: Source, problems: Problems) -> Iterator[Document]:
    """Read the documents of an export.

    >>> import io
    >>> line = b'{"text": "the zoo", "spans": [{"start": 4, "end": 7, "label": "GPE"}], "answer": "reject"}'
    >>> [document] = read_prodigy(Source("made.jsonl", stream=io.BytesIO(line)), Problems())
    >>> document.mentions, document.forbidden
    (frozenset(), frozenset({Mention(4, 7, 'GPE', text='zoo')}))
    """
    return documents_in(source, problems, lambda record: _documents(record, problems))


def looks_like_prodigy(head: str) -> bool:
    """Whether the records have a text with spans, or with Prodigy's own keys."""
    if not isinstance(first_record(head).get("text"), str):
        return False
    if any(key in first_record(head) for key in MARKS):
        return True
    spans = next((record["spans"] for record in records_in(head) if record.get("spans")), None)
    return isinstance(spans, list) and all(
        isinstance(span, dict) and {"start", "end", "label"} <= span.keys() for span in spans
    )


def _documents(record: Record, problems: Problems) -> Iterator[Document]:
    text, answer = text_of(record, "text"), record.get("answer") or "accept"
    if answer not in ("accept", "reject", "ignore"):
        raise WrongRecordError(f'"answer" is {shown(answer)}, but accept, reject or ignore is expected')
    spans = objects_of(record, "spans") if record.get("spans") else []
    binary = record.get("_view_id", BINARY if answer == "reject" else "") == BINARY
    if answer == "ignore" or (answer == "reject" and not (binary and spans)):
        problems.note(f"example with the answer {answer} left out")
        return
    of_text = not spans and record.get("_view_id") in OF_TEXTS
    if of_text:
        problems.note(
            f"example of the interface {record['_view_id']}, which marks no spans, read as a text without annotation"
        )
    mentions = distinct(trimmed([_mention(span, problems) for span in spans], text, problems), problems)
    listed, forbidden = (mentions, []) if answer == "accept" else ([], mentions)
    metadata = {key: value for key, value in record.items() if key not in OWN_KEYS}
    if record.get("relations"):
        metadata[ABOUT_MENTIONS] = {"relations": record["relations"]}
    name = id_of(record.get("id", record.get("_input_hash")))
    scope = NOTHING_ANNOTATED if binary or of_text else None
    yield Document(text, listed, id=name, metadata=metadata, annotated=scope, forbidden=forbidden)


def _mention(span: Record, problems: Problems) -> Mention:
    note_other_keys(span, ("start", "end", "label", "text", "token_start", "token_end", "type"), problems)
    return Mention(number_of(span, "start"), number_of(span, "end"), text_of(span, "label"))
