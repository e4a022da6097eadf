"""Tokens and mentions by token in JSON: the layouts of W2NER, CNN-NER, SpERT and GLiNER.

W2NER lists every token of a mention, which may be discontinuous; in GLiNER the end is the last token::

    [{"sentence": ["the", "Seattle", "zoo"], "ner": [{"index": [1], "type": "GPE"}]}]
    {"tokens": ["the", "Seattle", "zoo"],
     "entity_mentions": [{"start": 1, "end": 2, "entity_type": "GPE", "text": "Seattle"}]}
    [{"tokens": ["the", "Seattle", "zoo"], "entities": [{"type": "GPE", "start": 1, "end": 2}]}]
    [{"tokenized_text": ["the", "Seattle", "zoo"], "ner": [[1, 1, "GPE"]]}]

All of them are read as an array and as JSON Lines. Consecutive records with the same "doc_id" are the sentences of one
document. Other keys are kept: in the metadata of a document of one sentence, else in "records", one per sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, Literal

from hyperspan.corpora.documents import document_of, joined
from hyperspan.corpora.json_records import (
    ABOUT_MENTIONS,
    Record,
    about_mentions,
    as_object,
    first_record,
    list_of,
    listed,
    note_other_keys,
    number_of,
    records,
    shown,
    strings_of,
    text_of,
    write_records,
)
from hyperspan.corpora.source import Losses, Problems, Source, WrongRecordError
from hyperspan.files import Target
from hyperspan.types import MENTION_ORDER, Document, Mention, Sentence

RELATIONS = "relations"


@dataclass(frozen=True)
class _Layout:
    tokens: str
    mentions: str
    read: Callable[[Any, Problems], Mention]
    write: Callable[[Mention, Sentence], Any]


def read_w2ner(source: Source, problems: Problems) -> Iterator[Document]:
    """Read the documents of a file in W2NER's layout.

    >>> import io
    >>> lines = b'{"sentence": ["sore", "arms", "and", "legs"], "ner": [{"index": [0, 3], "type": "SYMPTOM"}]}'
    >>> [document] = read_w2ner(Source("made.json", stream=io.BytesIO(lines)), Problems())
    >>> [mention] = document.sentences[0].mentions
    >>> mention.fragments
    ((0, 1), (3, 4))
    """
    return _read(source, problems, W2NER)


def read_cnn_ner(source: Source, problems: Problems) -> Iterator[Document]:
    """Read the documents of a file in the layout of CNN-NER ("entity_mentions") or SpERT ("entities")."""
    return _read(source, problems, CNN_NER, SPERT)


def read_gliner(source: Source, problems: Problems) -> Iterator[Document]:
    """Read the documents of a file in GLiNER's layout."""
    return _read(source, problems, GLINER)


def write_w2ner(
    documents: Iterable[Document], target: Target, losses: Losses, problems: Problems, *, lines: bool = False
) -> None:
    """Write an array, or one sentence per line."""
    _write(documents, target, losses, problems, W2NER, lines)


def write_cnn_ner(
    documents: Iterable[Document],
    target: Target,
    losses: Losses,
    problems: Problems,
    *,
    style: Literal["cnn_ner", "spert"] = "cnn_ner",
) -> None:
    """Write JSON Lines with "entity_mentions", or an array with SpERT's "entities"."""
    _write(documents, target, losses, problems, SPERT if style == "spert" else CNN_NER, style == "cnn_ner")


def write_gliner(
    documents: Iterable[Document], target: Target, losses: Losses, problems: Problems, *, lines: bool = False
) -> None:
    """Write an array, or one sentence per line."""
    _write(documents, target, losses, problems, GLINER, lines)


def looks_like_w2ner(head: str) -> bool:
    """Whether the records have a "sentence" and "ner" with "index".

    >>> looks_like_w2ner('[{"sentence": ["Why", "?"], "ner": []}, {"sente')
    True
    """
    first = first_record(head)
    return _has_lists(first, W2NER) and all(isinstance(item, dict) and "index" in item for item in first["ner"])


def looks_like_cnn_ner(head: str) -> bool:
    """Whether the records have "tokens" with "entity_mentions" or "entities"."""
    first = first_record(head)
    if not any(_has_lists(first, layout) for layout in (CNN_NER, SPERT)):
        return False
    mentions = first.get(CNN_NER.mentions, first.get(SPERT.mentions))
    return all(isinstance(item, dict) and {"start", "end"} <= item.keys() for item in mentions or ())


def looks_like_gliner(head: str) -> bool:
    """Whether the records have a "tokenized_text" with "ner"."""
    return _has_lists(first_record(head), GLINER)


def _has_lists(record: Mapping[str, Any], layout: _Layout) -> bool:
    return isinstance(record.get(layout.tokens), list) and isinstance(record.get(layout.mentions), list)


def _read(source: Source, problems: Problems, *layouts: _Layout) -> Iterator[Document]:
    for (name, _), group in groupby(_sentences(source, problems, layouts), key=lambda item: item[0]):
        pairs = [(sentence, rest) for _, sentence, rest in group]
        rests = [rest for _, rest in pairs]
        metadata = rests[0] if len(rests) == 1 else {"records": rests} if any(rests) else {}
        yield document_of([sentence for sentence, _ in pairs], name, metadata)


def _sentences(
    source: Source, problems: Problems, layouts: tuple[_Layout, ...]
) -> Iterator[tuple[tuple[str, int], Sentence, Record]]:
    """Sentences with the other keys of their records. Those of one document share a key, which contains its id."""

    def sentence_of(record: Record) -> tuple[Sentence, Record]:
        layout = next((layout for layout in layouts if layout.mentions in record), layouts[0])
        tokens = strings_of(record, layout.tokens)
        mentions = [layout.read(item, problems) for item in list_of(record, layout.mentions)]
        sentence = Sentence(tokens).with_mentions(mentions)
        if "" in tokens:
            document_of([sentence])  # mentions that consist of empty tokens have no characters
        rest = {key: value for key, value in record.items() if key not in {layout.tokens, layout.mentions, RELATIONS}}
        if record.get(RELATIONS):
            rest[ABOUT_MENTIONS] = {RELATIONS: _renumbered(record[RELATIONS], mentions)}
        return sentence, rest

    for number, (sentence, rest) in enumerate(records(source, problems, sentence_of)):
        name = rest.pop("doc_id") if isinstance(rest.get("doc_id"), str) and rest["doc_id"] else ""
        yield (name, 0 if name else number), sentence, rest


def _write(
    documents: Iterable[Document],
    target: Target,
    losses: Losses,
    problems: Problems,
    layout: _Layout,
    lines: bool,
) -> None:
    def sentence_records() -> Iterator[Record]:
        for document in documents:
            for sentence, rest in zip(losses.sentences_of(document), _rests(document, problems), strict=True):
                yield _record(sentence, rest, document.id, layout, losses)

    write_records(sentence_records(), target, lines)


def _rests(document: Document, problems: Problems) -> list[Mapping[str, Any]]:
    """The other keys of each sentence's record."""
    rests = document.metadata.get("records")
    if isinstance(rests, list | tuple) and len(rests) == len(document.sentences):
        return [rest if isinstance(rest, Mapping) else {} for rest in rests]
    if len(document.sentences) == 1:
        return [document.metadata]
    if document.metadata:
        problems.note("metadata of a document of several sentences left out")
    return [{} for _ in document.sentences]


def _record(sentence: Sentence, rest: Mapping[str, Any], name: str, layout: _Layout, losses: Losses) -> Record:
    mentions = sorted(sentence.listed, key=MENTION_ORDER)
    visible = [mention for mention in mentions if any(sentence.tokens[mention.start : mention.end])]
    losses.lose("of empty tokens", len(sentence.mentions.difference(visible)))
    record: Record = {layout.tokens: list(sentence.tokens)}
    if name:
        record["doc_id"] = name
    others = {key: value for key, value in rest.items() if key != ABOUT_MENTIONS} | about_mentions(rest)
    record |= {key: value for key, value in others.items() if key not in {*record, layout.mentions}}
    record[layout.mentions] = [layout.write(mention, sentence) for mention in visible]
    if layout is SPERT:
        record.setdefault(RELATIONS, [])  # which SpERT needs
    return record


def _renumbered(relations: Any, mentions: Sequence[Mention]) -> Any:
    """SpERT's relations, whose ends are numbers of mentions, for sorted mentions, as they are written.

    >>> _renumbered([{"type": "R", "head": 0, "tail": 1}], [Mention(4, 5, "X"), Mention(0, 2, "X")])
    [{'type': 'R', 'head': 1, 'tail': 0}]
    """
    order = sorted(range(len(mentions)), key=mentions.__getitem__)
    number = {before: after for after, before in enumerate(order)}
    if not isinstance(relations, list):
        return relations

    def moved(relation: Any) -> Any:
        if not isinstance(relation, dict):
            return relation
        ends = {end: relation.get(end) for end in ("head", "tail")}
        return relation | {end: number[place] for end, place in ends.items() if type(place) is int and place in number}

    return [moved(relation) for relation in relations]


def _from_index(item: Any, problems: Problems) -> Mention:
    item = as_object(item, 'of "ner"')
    index = list_of(item, "index")
    if not index or set(map(type, index)) != {int} or any(a >= b for a, b in pairwise(index)):
        raise WrongRecordError(f'"index" is [{", ".join(map(shown, index[:8]))}], but ascending integers are expected')
    fragments = joined((position, position + 1) for position in index)
    note_other_keys(item, ("index", "type"), problems)
    return Mention(index[0], index[-1] + 1, text_of(item, "type"), tuple(fragments) if len(fragments) > 1 else ())


def _to_index(mention: Mention, _: Sentence) -> Any:
    spans = mention.parts
    return {"index": [position for span in spans for position in range(*span)], "type": mention.label}


def _from_object(item: Any, problems: Problems) -> Mention:
    item = as_object(item, "of the mentions")
    label = text_of(item, "entity_type" if "entity_type" in item else "type")
    name = item.get("id")
    note_other_keys(item, ("start", "end", "type", "entity_type", "text", "id"), problems)
    return Mention(number_of(item, "start"), number_of(item, "end"), label, id=name if isinstance(name, str) else "")


def _to_entity_mention(mention: Mention, sentence: Sentence) -> Any:
    record: Record = {"id": mention.id} if mention.id else {}
    record |= {"start": mention.start, "end": mention.end, "entity_type": mention.label}
    return record | {"text": sentence.text_of(mention)}


def _to_entity(mention: Mention, _: Sentence) -> Any:
    return {"type": mention.label, "start": mention.start, "end": mention.end}


def _from_triple(item: Any, _: Problems) -> Mention:
    match item:
        case [first, last, str(label)] if type(first) is int and type(last) is int:
            return Mention(first, last + 1, label)
    raise WrongRecordError(f'an element of "ner" is {listed(item)}, but [first token, last token, label] is expected')


def _to_triple(mention: Mention, _: Sentence) -> Any:
    return [mention.start, mention.end - 1, mention.label]


W2NER = _Layout("sentence", "ner", _from_index, _to_index)
CNN_NER = _Layout("tokens", "entity_mentions", _from_object, _to_entity_mention)
SPERT = _Layout("tokens", "entities", _from_object, _to_entity)
GLINER = _Layout("tokenized_text", "ner", _from_triple, _to_triple)
