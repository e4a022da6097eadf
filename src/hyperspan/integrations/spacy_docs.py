"""Convert between spaCy's documents and hyperspan's: tokens and sentences for a model, and mentions on spaCy's tokens.

spaCy imports this module for everyone, so slow imports are inside functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from hyperspan.errors import InputError
from hyperspan.types import Document, Mention

if TYPE_CHECKING:
    from hyperspan.text.tokens import Tokenizer

ALIGNMENTS = ("expand", "contract", "strict")
"""For a mention that begins or ends inside a token: take all tokens it touches, only those inside it, or drop it."""
SOURCES = ("hyperspan", "spacy")
"""Whose sentences, and whose tokens, a model reads."""


def as_document(doc: Any, tokenizer: Tokenizer, sentences: str, tokens: str) -> Document:
    """The text of a spaCy document, with its sentences or tokens if requested.

    White-space tokens are left out, because no model has seen them.
    """
    from hyperspan.corpora.docbin import sentences_of
    from hyperspan.text.sentences import sentence_of, sentence_spans, token_spans

    text: str = doc.text
    if sentences == tokens == "hyperspan":
        return Document(text)
    if sentences == "spacy":
        if not doc.has_annotation("SENT_START"):
            raise InputError(
                f"the text that begins {text[:40]!r} has no sentence boundaries, but the setting sentences is 'spacy'; put a "
                "component that sets them before hyperspan, such as sentencizer, or set sentences to 'hyperspan'"
            )
        spans = [(sentence.start_char, sentence.end_char) for sentence in doc.sents]
    else:
        spans = list(sentence_spans(text))
    if tokens == "spacy":
        found = sentences_of(doc, spans)
    else:
        found = [sentence_of(text, token_spans(text, *span, tokenizer)) for span in spans]
    return Document(text, (), [sentence for sentence in found if sentence.tokens])


def align(doc: Any, mentions: Iterable[Mention], mode: str) -> tuple[dict[Mention, float], Counter[str]]:
    """Align mentions to tokens, in order, with their probabilities; also count the outcomes.

    Each part of a discontinuous mention is aligned separately; a mention that loses a part is dropped. If several
    become the same mention, the most probable is kept.
    """
    placed: dict[Mention, float] = {}
    counts = Counter(mentions=0, unaligned=0, dropped=0, merged=0)
    for mention in sorted(mentions):
        counts["mentions"] += 1
        spans = [doc.char_span(start, end, alignment_mode=mode) for start, end in mention.parts]
        if None in spans:
            counts.update(("unaligned", "dropped"))
            continue
        counts["unaligned"] += tuple([(span.start_char, span.end_char) for span in spans]) != mention.parts
        place, probability = _on_tokens(mention.label, spans), mention.probability or 0.0
        counts["merged"] += place in placed
        placed[place] = max(probability, placed.get(place, 0.0))
    return dict(sorted(placed.items())), counts


def _on_tokens(label: str, spans: Iterable[Any]) -> Mention:
    """The mention of these spans of tokens; adjacent spans are joined."""
    from hyperspan.corpora.documents import joined

    parts = joined((span.start, span.end) for span in spans)
    return Mention(parts[0][0], parts[-1][1], label, parts)


def span_group(doc: Any, key: str, placed: Mapping[Mention, float]) -> Any:
    """The span group of these mentions, by token: spans, probabilities, and parts if one is discontinuous."""
    import numpy as np
    from spacy.tokens import Span as SpacySpan
    from spacy.tokens import SpanGroup

    from hyperspan.corpora.docbin import FRAGMENTS, span_ids

    names = span_ids(list(placed))
    spans = [
        SpacySpan(doc, *place.span, label=place.label, span_id=name) for place, name in zip(placed, names, strict=True)
    ]
    group = SpanGroup(doc, name=key, spans=spans)
    group.attrs["scores"] = np.array(list(placed.values()), dtype="float64")
    if any(place.fragments for place in placed):
        group.attrs[FRAGMENTS] = [[list(part) for part in place.fragments] for place in placed]
    return group


def parts_of_span(span: Any) -> list[Any]:
    """The parts of a span that the component found, as spans with its label; for a contiguous mention, the span alone.

    Available as ``span._.hyperspan_parts``. If mentions differ only in their parts, the ids of their spans distinguish
    them.
    """
    from hyperspan.corpora.docbin import fragments_of

    for group in span.doc.spans.values():
        for other, fragments in zip(group, fragments_of(group), strict=True):
            if other == span and fragments:
                return [type(span)(span.doc, start, end, label=span.label) for start, end in fragments]
            if other == span:
                return [span]
    return [span]
