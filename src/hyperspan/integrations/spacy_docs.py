"""Between spaCy's documents and ours: its tokens and sentences for a model, and a model's mentions on its tokens.

As spaCy imports this for everyone, what takes time to import is imported in functions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from hyperspan.errors import InputError
from hyperspan.types import Document, Mention, Sentence, Span

if TYPE_CHECKING:
    from hyperspan.text.tokenize import Tokenizer

ALIGNMENTS = ("expand", "contract", "strict")
"""What becomes of a mention that begins or ends inside a token: all tokens that it touches, those inside it, or nothing."""
FRAGMENTS = "fragments"
"""The attribute of a span group with the parts of each span, in tokens, as a DocBin of ours has it."""
SOURCES = ("hyperspan", "spacy")
"""Whose sentences, and whose tokens, a model reads."""


def as_document(doc: Any, tokenizer: Tokenizer, sentences: str, tokens: str) -> Document:
    """The text of a spaCy document; with its sentences or its tokens where these are asked for.

    Tokens of white space are left out, which no model has seen.
    """
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
        found = _spacys_tokens(doc, spans)
    else:
        found = [sentence_of(text, token_spans(text, *span, tokenizer)) for span in spans]
    return Document(text, (), [sentence for sentence in found if sentence.tokens])


def _spacys_tokens(doc: Any, spans: list[Span]) -> list[Sentence]:
    starts = [start for start, _ in spans]
    groups: list[list[Any]] = [[] for _ in spans]
    for token in doc:
        if not token.text.isspace():  # token.is_space is not known to every vocabulary
            groups[bisect_right(starts, token.idx) - 1].append(token)
    tagged = doc.has_annotation("TAG")
    return [
        Sentence(
            [token.text for token in group],
            tags=[token.tag_ for token in group] if tagged else (),
            offsets=[(token.idx, token.idx + len(token)) for token in group],
        )
        for group in groups
    ]


def align(doc: Any, mentions: Iterable[Mention], mode: str) -> tuple[dict[Mention, float], Counter[str]]:
    """The mentions by tokens, in order, with their probabilities; and how many fared how.

    Each part of a discontinuous mention is aligned by itself; a mention that loses one is dropped. Of those that become the same
    mention, the most probable stays.
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
    """The mention of these spans of tokens; those with no token between them are one part."""
    from hyperspan.corpora.trimming import joined

    parts = joined((span.start, span.end) for span in spans)
    return Mention(parts[0][0], parts[-1][1], label, parts)


def parts_of_span(span: Any) -> list[Any]:
    """The parts of a span that the component found, as spans with its label: those of a discontinuous mention, or the span alone.

    It is ``span._.hyperspan_parts``. Of two mentions with the same label, first and last token, only the first is seen by it; the
    attribute "fragments" of the group has all.
    """
    for group in span.doc.spans.values():
        for other, fragments in zip(group, group.attrs.get(FRAGMENTS, ()), strict=False):
            if other == span and fragments:
                return [type(span)(span.doc, start, end, label=span.label) for start, end in fragments]
            if other == span:
                return [span]
    return [span]
