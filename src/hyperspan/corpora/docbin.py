"""spaCy's DocBin (.spacy files): the span groups of its documents, ``doc.spans``, with tokens and sentences.

Needs the extra `spacy`, which is imported on first use. spaCy's tokens cover a text without gaps: if more than one
space follows a token, the rest is a white-space token. hyperspan drops white-space tokens, also at the ends of
mentions, unless a mention has no others. Spans of span groups have no gaps, so an attribute of the group has the parts
of discontinuous mentions.
"""

from __future__ import annotations

import importlib
import json
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import isnan
from typing import Any

from attrs import evolve

from hyperspan.corpora.documents import by_characters, by_tokens, join_crossed, joined, trimmed, with_sentences
from hyperspan.corpora.json_records import NO_PROBABILITY, is_probability
from hyperspan.corpora.source import LARGEST_TEXT, LEAVE_OUT, Losses, Problems, Source
from hyperspan.errors import CorpusError, HyperspanError, InputError, MissingExtraError
from hyperspan.files import Target
from hyperspan.text.sentences import sentence_spans
from hyperspan.types import Document, Mention, Sentence, Span

OURS = "hyperspan"
"""The key in a spaCy document's user data for its id and metadata, as JSON."""
USUAL_KEY = "sc"
"""The span group that spaCy's span categorizer reads and writes."""


def read_docbin(source: Source, problems: Problems, *, spans_key: str | None = None) -> Iterator[Document]:
    """Read the documents of a file, with the mentions of one span group or of all; without groups, `doc.ents`."""
    tokens, vocab = _spacy("reading spaCy's DocBin")
    try:
        docs = tokens.DocBin().from_bytes(_checked(source)).get_docs(vocab)
        for number, doc in enumerate(docs, start=1):
            place = f"document {number}"
            yield from problems.tried(
                source, place, _document, doc, spans_key, problems, remedy=LEAVE_OUT.format("document")
            )
    except HyperspanError:
        raise
    except Exception as error:  # damaged data makes spaCy, msgpack and NumPy raise anything
        problems.wrong(source.name, f"is no DocBin that spaCy can read ({_brief(error)}); write it anew with spaCy")


def write_docbin(
    documents: Iterable[Document], target: Target, losses: Losses, problems: Problems, *, spans_key: str | None = None
) -> None:
    """Write all mentions to one span group: the given one, else the one they were read from, else "sc".

    Probabilities become the group's scores, as in the span categorizer. A discontinuous mention becomes a span from its
    first to its last token; the group's attribute "fragments" lists the parts of each span in tokens, empty for a
    contiguous one.
    """
    tokens, vocab = _spacy("writing spaCy's DocBin")
    docs = tokens.DocBin(attrs=["ORTH", "TAG", "SENT_START"], store_user_data=True)
    for document in documents:
        placed = all(sentence.offsets or not sentence.tokens for sentence in document.sentences)
        whole = document if placed else with_sentences(evolve(document, sentences=()), problems)
        try:
            docs.add(_doc(whole, spans_key, tokens, vocab))
        except (TypeError, ValueError, RecursionError) as error:
            raise InputError(
                f"spaCy cannot hold document {document.id!r} ({_brief(error)}); texts must be Unicode, "
                "metadata what JSON can hold"
            ) from None
    with target.open_binary() as stream:
        stream.write(docs.to_bytes())


def _checked(source: Source) -> bytes:
    """The bytes of a zlib-compressed DocBin; bounded, because a small file may unpack to any size."""
    content, size = source.content(), 0
    rest, unpacker = content, zlib.decompressobj()
    while rest and not unpacker.eof:
        try:
            size += len(unpacker.decompress(rest, 2**20))
        except zlib.error:  # spaCy reports the error
            break
        rest = unpacker.unconsumed_tail
        if size > LARGEST_TEXT:
            raise CorpusError(
                f"{source.name}: unpacks to more than {LARGEST_TEXT // 2**20} MiB; cut it into several files"
            )
    return content


def looks_like_docbin(head: str) -> bool:
    """Always False: the format is binary and recognised by its suffix."""
    return False


def _spacy(purpose: str) -> tuple[Any, Any]:
    """spaCy's module of documents, and an empty vocabulary."""
    try:
        return importlib.import_module("spacy.tokens"), importlib.import_module("spacy.vocab").Vocab()
    except ImportError:
        raise MissingExtraError(purpose, "spacy") from None


def _brief(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:120]


def _document(doc: Any, spans_key: str | None, problems: Problems) -> Document:
    name, metadata = _kept(doc)
    groups = {key: group for key, group in doc.spans.items() if spans_key in (None, key)}
    mentions = [
        _mention(doc, span, parts, score)
        for group in groups.values()
        for span, parts, score in zip(group, fragments_of(group), _scores(group, problems), strict=True)
    ]
    if not doc.spans and spans_key is None and doc.ents:
        mentions = [_mention(doc, span) for span in doc.ents]
        problems.note("mentions read from doc.ents, as there is no span group")
    if len(groups) > 1:
        problems.note(f"span groups {', '.join(sorted(groups))} read together")
    elif groups and USUAL_KEY not in groups:
        metadata |= {"spans_key": next(iter(groups))}
    ordered = sorted(_without_space(mentions, doc.text, problems))
    spans = join_crossed(_sentence_spans(doc, problems), ordered, problems)
    return Document(doc.text, ordered, sentences_of(doc, spans, ordered), name, metadata)


def _mention(doc: Any, span: Any, fragments: Sequence[Sequence[int]] = (), probability: float | None = None) -> Mention:
    """A span of a document as a mention, by character; parts separated only by a space are joined."""
    parts = [
        (doc[start].idx, doc[end - 1].idx + len(doc[end - 1]))
        for start, end in joined((start, end) for start, end in fragments)
    ]
    name = "" if not span.id or span.id_ == parts_id(fragments) else span.id_
    return Mention(span.start_char, span.end_char, span.label_, parts, probability=probability, id=name)


def _without_space(given: Sequence[Mention], text: str, problems: Problems) -> list[Mention]:
    """The mentions :func:`trimmed`; one that is then the same as another is dropped."""
    known = set(given)
    kept: list[Mention] = []
    for before, mention in zip(given, trimmed(given, text, problems), strict=True):
        if mention != before and mention in known:
            problems.note("mention listed twice read as one")
            continue
        known.add(mention)
        kept.append(mention)
    return kept


def _kept(doc: Any) -> tuple[str, dict[str, Any]]:
    """Id and metadata, if hyperspan wrote the document."""
    try:
        match json.loads(doc.user_data.get(OURS, "null")):
            case [str(name), dict(metadata)]:
                return name, metadata
    except (TypeError, ValueError, RecursionError):
        pass
    return "", {}


def _scores(group: Any, problems: Problems) -> list[float | None]:
    """The score of each span of the group, as spaCy's span categorizer stores it; NaN is none."""
    try:
        scores = [float(score) for score in group.attrs.get("scores", ())]
    except (TypeError, ValueError):
        scores = []
    if len(scores) != len(group):
        return [None] * len(group)
    if others := sum(not (is_probability(score) or isnan(score)) for score in scores):
        problems.note(NO_PROBABILITY, others)
    return [score if is_probability(score) else None for score in scores]


def _sentence_spans(doc: Any, problems: Problems) -> list[Span]:
    if doc.has_annotation("SENT_START"):
        return [(sentence.start_char, sentence.end_char) for sentence in doc.sents]
    if len(doc):
        problems.note("document without sentence boundaries split into sentences")
    return list(sentence_spans(doc.text)) or [(0, len(doc.text))]


def sentences_of(doc: Any, spans: Sequence[Span], mentions: Iterable[Mention] = ()) -> list[Sentence]:
    """The sentences at these characters, with spaCy's tokens and the mentions, by character, that begin in them.

    White-space tokens are left out, unless a mention has no others.
    """
    text, starts = doc.text, [start for start, _ in spans]
    within: list[list[Mention]] = [[] for _ in spans]
    blank: set[int] = set()  # ends of mentions of white space alone
    for mention in mentions:
        within[max(0, bisect_right(starts, mention.start) - 1)].append(mention)
        if text[mention.start].isspace():
            blank |= {mention.start, mention.end - 1}
    groups: list[list[Any]] = [[] for _ in spans]
    for token in doc:
        if not token.text.isspace() or not blank.isdisjoint(
            (token.idx, token.idx + len(token) - 1)
        ):  # not every vocabulary supports token.is_space
            groups[max(0, bisect_right(starts, token.idx) - 1)].append(token)
    return [_sentence(tokens, here) for tokens, here in zip(groups, within, strict=True) if tokens]


def _sentence(tokens: Sequence[Any], mentions: Iterable[Mention]) -> Sentence:
    tags = [token.tag_ for token in tokens]
    offsets = [(token.idx, token.idx + len(token)) for token in tokens]
    words = Sentence([token.text for token in tokens], tags=tags if any(tags) else (), offsets=offsets)
    return words.with_mentions(by_tokens(mention, offsets) for mention in mentions)


def _doc(document: Document, spans_key: str | None, tokens: Any, vocab: Any) -> Any:
    """The document as a spaCy Doc with the same text and character offsets."""
    mentions = [*document.mentions]
    for sentence in document.sentences:
        mentions += [by_characters(mention, sentence.offsets) for mention in sentence.duplicates]
    listed = sorted(mentions)
    spans, spaces = _tiled(document, listed)
    doc = tokens.Doc(
        vocab,
        words=[document.text[start:end] for start, end in spans],
        spaces=spaces,
        **_token_annotation(document, spans),
    )
    key = spans_key or str(document.metadata.get("spans_key", USUAL_KEY))
    in_tokens = [by_tokens(mention, spans) for mention in listed]
    doc.spans[key] = [
        tokens.Span(doc, *mention.span, label=mention.label, span_id=name)
        for mention, name in zip(in_tokens, span_ids(in_tokens), strict=True)
    ]
    if any(mention.fragments for mention in in_tokens):
        doc.spans[key].attrs[FRAGMENTS] = [[list(part) for part in mention.fragments] for mention in in_tokens]
    if any(mention.probability is not None for mention in listed):
        scores = [float("nan") if mention.probability is None else mention.probability for mention in listed]
        doc.spans[key].attrs["scores"] = importlib.import_module("numpy").asarray(scores, dtype="float64")
    metadata = {name: value for name, value in document.metadata.items() if name != "spans_key"}
    if document.id or metadata:
        doc.user_data[OURS] = json.dumps([document.id, metadata], ensure_ascii=False)
    return doc


def _token_annotation(document: Document, spans: Sequence[Span]) -> dict[str, Any]:
    tags: dict[int, str] = {}
    for sentence in document.sentences:
        tags |= {start: tag for (start, _), tag in zip(sentence.offsets, sentence.tags, strict=False)}
    # The first sentence begins with the text, even if its first token does not.
    starts = {sentence.offsets[0][0] for sentence in [s for s in document.sentences if s.offsets][1:]}
    return {
        "tags": [tags.get(start, "") for start, _ in spans] if tags else None,
        "sent_starts": [number == 0 or start in starts for number, (start, _) in enumerate(spans)],
    }


def _tiled(document: Document, mentions: Sequence[Mention]) -> tuple[list[Span], list[bool]]:
    """Spans that cover the text, cut at every boundary of a token or mention, and whether a space follows each.

    A space after a token belongs to it; other characters between tokens become tokens.
    """
    offsets = {offset for sentence in document.sentences for offset in sentence.offsets}
    starts, ends = ({span[side] for mention in mentions for span in mention.parts} for side in (0, 1))
    cuts = {0, len(document.text), *starts, *ends, *(place for offset in offsets for place in offset)}
    spans: list[Span] = []
    spaces: list[bool] = []
    for start, end in pairwise(sorted(cuts)):
        is_separate = (start, end) in offsets or start in starts or (end == start + 1 and end in ends)
        has_space = bool(spans) and not spaces[-1] and document.text[start] == " " and not is_separate
        if has_space:
            spaces[-1] = True
        if start + has_space < end:
            spans.append((start + has_space, end))
            spaces.append(False)
    return spans, spaces


FRAGMENTS = "fragments"
"""The attribute of a span group with the parts of each span, in tokens, if one is discontinuous."""


def span_ids(mentions: Sequence[Mention]) -> list[str]:
    """The span id of each mention, by token: its id, or its parts if only these distinguish it from another mention.

    spaCy treats two spans as equal if their first and last token, label and id are equal.

    >>> span_ids([Mention(0, 4, "CL", [(0, 1), (2, 4)]), Mention(0, 4, "CL", [(0, 1), (3, 4)]), Mention(2, 4, "CL")])
    ['0:1,2:4', '0:1,3:4', '']
    """
    alike: dict[tuple[int, int, str, str], set[tuple[Span, ...]]] = {}
    for mention in mentions:
        alike.setdefault((*mention.span, mention.label, mention.id), set()).add(mention.fragments)
    return [
        mention.id or (parts_id(mention.fragments) if len(alike[*mention.span, mention.label, mention.id]) > 1 else "")
        for mention in mentions
    ]


def parts_id(parts: Sequence[Sequence[int]]) -> str:
    """The parts as an id.

    >>> parts_id([(0, 1), (3, 4)])
    '0:1,3:4'
    """
    return ",".join(f"{start}:{end}" for start, end in parts)


def fragments_of(group: Any) -> list[list[list[int]]]:
    """The parts of each span of the group, in tokens, as hyperspan stored them; empty for a contiguous one."""
    match group.attrs.get(FRAGMENTS):
        case list() | tuple() as listed if len(listed) == len(group) and all(map(_are_parts, listed)):
            return list(listed)
    return [[] for _ in group]


def _are_parts(value: Any) -> bool:
    pairs = value if isinstance(value, list | tuple) else [None]
    return all(isinstance(pair, list | tuple) and [type(place) for place in pair] == [int, int] for pair in pairs)
