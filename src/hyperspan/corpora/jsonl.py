"""hyperspan's JSON Lines: one document per line, with everything that a document can hold::

    {"format": "hyperspan", "version": 1, "id": "zoo", "text": "the Seattle zoo",
     "mentions": [{"start": 0, "end": 15, "label": "FAC", "text": "the Seattle zoo", "probability": 0.9}],
     "sentences": [{"tokens": [[0, 3], [4, 11], [12, 15]], "mentions": [{"start": 0, "end": 3, "label": "FAC"}]}],
     "metadata": {}}

Mentions of the document count characters, mentions of a sentence count its tokens. Tokens are character spans, followed
by the token if it differs from the text there, or strings if a sentence has no offsets. Mentions may have
"probability", "fragments", "head" and "id", sentences "tags" and "duplicates" (mentions listed more than once).

A document, and a sentence that differs from its document, may be marked as partially annotated::

    {"annotated": {"types": ["GPE"], "regions": [[0, 15]]}, "forbidden": [{"start": 4, "end": 11, "label": "FAC"}]}

All mentions of these types inside these regions are listed; without "types", of all types; without "regions",
everywhere. A forbidden span is not a mention of that label; without a label, of any label. ``jsonl.schema.json`` next
to this file is the JSON Schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from attrs import evolve

from hyperspan.corpora.documents import trimmed
from hyperspan.corpora.json_records import (
    Record,
    check_keys,
    distinct,
    documents_in,
    first_record,
    json_bytes,
    list_of,
    listed,
    mention_of,
    mention_record,
    metadata_record,
    objects_of,
    records_in,
    shown,
    span_of,
    strings_of,
    text_of,
    value_of,
)
from hyperspan.corpora.source import Losses, Problems, Source, WrongRecordError
from hyperspan.files import Target
from hyperspan.types import ANY_LABEL, MENTION_ORDER, AnnotationScope, Document, Mention, Sentence, Span

FORMAT, VERSION = "hyperspan", 1
MARKING_KEYS = ("annotated", "forbidden")
DOCUMENT_KEYS = ("format", "version", "id", "text", "mentions", *MARKING_KEYS, "sentences", "metadata")
SENTENCE_KEYS = ("tokens", "tags", "mentions", "duplicates", *MARKING_KEYS)
SCOPE_KEYS = ("types", "regions")


def read_jsonl(source: Source, problems: Problems) -> Iterator[Document]:
    """Read the documents of a file.

    >>> import io
    >>> line = b'{"text": "the Seattle zoo", "mentions": [{"start": 4, "end": 11, "label": "GPE"}]}'
    >>> [document] = read_jsonl(Source("made.jsonl", stream=io.BytesIO(line)), Problems())
    >>> [(mention.text, mention.label) for mention in document.mentions]
    [('Seattle', 'GPE')]
    """
    return documents_in(source, problems, lambda record: [document_of_record(record, problems)])


def read_texts(source: Source, problems: Problems) -> Iterator[Document]:
    """Read documents from JSON objects with a "text"; all other keys become metadata.

    >>> import io
    >>> [document] = read_texts(Source("made.jsonl", stream=io.BytesIO(b'{"text": "the zoo", "pmid": 7}')), Problems())
    >>> document.text, document.metadata
    ('the zoo', {'pmid': 7})
    """

    def read(record: Record) -> list[Document]:
        rest = {key: value for key, value in record.items() if key not in ("id", "text")}
        return [Document(text_of(record, "text"), id=str(record.get("id", "")), metadata=rest)]

    return documents_in(source, problems, read)


def looks_like_texts(head: str) -> bool:
    """Whether the first record is a JSON object with a text and no mentions."""
    first = first_record(head)
    return isinstance(first.get("text"), str) and not looks_like_jsonl(head)


def write_jsonl(documents: Iterable[Document], target: Target, losses: Losses, problems: Problems) -> None:
    """Write everything that the documents hold; nothing is lost."""
    with target.open_binary() as stream:
        for document in documents:
            stream.writelines(_written(document))


def document_line(document: Document) -> bytes:
    """The line of a document."""
    return json_bytes(document_record(document)) + b"\n"


def _written(document: Document) -> Iterator[bytes]:
    """The line of a document, sentence by sentence, which takes a fraction of the memory of all records at once."""
    record = document_record(evolve(document, sentences=()))
    metadata = json_bytes({"metadata": record.pop("metadata")})
    record.pop("sentences")
    yield json_bytes(record).removesuffix(b"}") + b', "sentences": ['
    for number, sentence in enumerate(document.sentences):
        yield (b", " if number else b"") + json_bytes(_sentence_record(sentence, document.text))
    yield b"], " + metadata.removeprefix(b"{") + b"\n"


def looks_like_jsonl(head: str) -> bool:
    """Whether the first document is in hyperspan's format.

    >>> looks_like_jsonl('{"format": "hyperspan", "version": 1, "id": "", "text": "the Sea')
    True
    """
    first = first_record(head)
    if "format" in first:
        return first["format"] == FORMAT
    if not (isinstance(first.get("text"), str) and isinstance(first.get("mentions"), list)):
        return False
    listed = next((record["mentions"] for record in records_in(head) if record.get("mentions")), [])
    return isinstance(listed, list) and all(isinstance(one, dict) and "start" in one for one in listed)


def document_record(document: Document) -> Record:
    """The document as the JSON object that `read_jsonl` reads."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "id": document.id,
        "text": document.text,
        "mentions": [mention_record(mention) for mention in sorted(document.mentions, key=MENTION_ORDER)],
        **_marking_record(document),
        "sentences": [_sentence_record(sentence, document.text) for sentence in document.sentences],
        "metadata": metadata_record(document),
    }


def _sentence_record(sentence: Sentence, text: str) -> Record:
    tokens: list[Any] = list(sentence.tokens)
    if sentence.offsets:
        tokens = [
            [start, end] if text[start:end] == token else [start, end, token]
            for token, (start, end) in zip(sentence.tokens, sentence.offsets, strict=True)
        ]
    record: Record = {"tokens": tokens}
    if sentence.tags:
        record["tags"] = sentence.tags
    record["mentions"] = [mention_record(mention) for mention in sorted(sentence.mentions, key=MENTION_ORDER)]
    if sentence.duplicates:
        record["duplicates"] = [mention_record(mention) for mention in sentence.duplicates]
    return record | _marking_record(sentence)


def _marking_record(given: Document | Sentence) -> Record:
    """The marks of partial annotation; empty if everything is annotated."""
    record: Record = {}
    if (scope := given.annotated) is not None:
        types = {} if scope.types is None else {"types": sorted(scope.types)}
        record["annotated"] = types | ({} if scope.regions is None else {"regions": scope.regions})
    if given.forbidden:
        listed = sorted(given.forbidden, key=MENTION_ORDER)
        record["forbidden"] = [_forbidden_record(mention) for mention in listed]
    return record


def _forbidden_record(mention: Mention) -> Record:
    record = mention_record(mention)
    return record if mention.label != ANY_LABEL else {key: value for key, value in record.items() if key != "label"}


def document_of_record(record: Record, problems: Problems) -> Document:
    """The document of a JSON object in hyperspan's format; raises WrongRecordError or SpanError if it is invalid."""
    check_keys(record, DOCUMENT_KEYS, "a document")
    if record.get("format", FORMAT) != FORMAT:
        raise WrongRecordError(f'"format" is {shown(record["format"])}, but "{FORMAT}" is expected')
    if record.get("version", VERSION) != VERSION:
        raise WrongRecordError(f'"version" is {shown(record["version"])}, but this hyperspan reads version {VERSION}')
    if "format" not in record and "mentions" not in record:
        raise WrongRecordError('the key "mentions" is missing, and no "format" says that there are none')
    text = text_of(record, "text")
    mentions = [mention_of(value, len(text), "characters") for value in _objects(record, "mentions")]
    sentences = [_sentence(value, text) for value in _objects(record, "sentences")]
    if not sentences:  # sentences define the tokens
        mentions = trimmed(mentions, text, problems)
    metadata = value_of({"metadata": {}, **record}, "metadata", dict, "an object")
    name = text_of({"id": "", **record}, "id")
    marking = _marking(record, len(text), "characters")
    return Document(text, distinct(mentions, problems), sentences, name, metadata, **marking)


def _marking(record: Record, length: int, unit: str) -> dict[str, Any]:
    """The fields on partial annotation of a document or sentence; usually empty."""
    marking: dict[str, Any] = {}
    if record.get("annotated") is not None:
        scope = value_of(record, "annotated", dict, 'an object with "types" and "regions"')
        check_keys(scope, SCOPE_KEYS, '"annotated"')
        regions = list_of(scope, "regions") if "regions" in scope else None
        marking["annotated"] = AnnotationScope(
            strings_of(scope, "types") if "types" in scope else None,
            None if regions is None else [span_of(value, "an annotated region", length, unit) for value in regions],
        )
    if "forbidden" in record:
        given = objects_of(record, "forbidden")
        marking["forbidden"] = [mention_of({"label": ANY_LABEL, **value}, length, unit) for value in given]
    return marking


def _sentence(record: Record, text: str) -> Sentence:
    check_keys(record, SENTENCE_KEYS, "a sentence")
    given = list_of(record, "tokens")
    tokens, offsets = given, []
    if given and isinstance(given[0], list):
        offsets = [_token_span(value, text) for value in given]
        tokens = [value[2] if len(value) == 3 else text[value[0] : value[1]] for value in given]
    elif not set(map(type, given)) <= {str}:
        raise WrongRecordError('"tokens" are neither all strings nor all spans like [0, 4]')
    mentions = [
        mention_of(value, len(tokens), "tokens")
        for value in (*_objects(record, "mentions"), *_objects(record, "duplicates"))
    ]
    words = Sentence(tokens, tags=strings_of({"tags": [], **record}, "tags"), offsets=offsets)
    marking = _marking(record, len(tokens), "tokens")
    return evolve(words.with_mentions(mentions), **marking) if marking else words.with_mentions(mentions)


def _token_span(value: object, text: str) -> Span:
    """A token: its span, and its string if the text differs."""
    match value:
        case [start, end, *rest] if type(start) is int and type(end) is int and len(rest) <= 1:
            if 0 <= start <= end <= len(text) and all(isinstance(token, str) for token in rest):
                return start, end
    raise WrongRecordError(
        f"a token is {listed(value)}, but a span within the text's {len(text)} characters is expected, such as [0, 4]"
    )


def _objects(record: Record, key: str) -> list[Record]:
    return objects_of(record, key) if key in record else []
