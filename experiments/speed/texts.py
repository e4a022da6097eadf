"""Convert corpora to running text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from hyperspan.corpora import read_corpus
from hyperspan.types import Document, Mention, Sentence, Span

_NO_SPACE_BEFORE = re.compile(r"[.,;:!?)\]/%'’-].*|n't")
_DECIMAL = re.compile(r"\d+ , \d.*|\w+ \. \d.*")  # 1,000; 0.05; PU.1
_NO_SPACE_AFTER = re.compile(r".*[(\[/-]|[“‘]|``")


def running_text(sentences: Sequence[Sentence]) -> Document:
    """Join sentences into one paragraph, with natural spacing, and their mentions."""
    text, mentions, glued, quoted = "", [], True, False
    for sentence in sentences:
        spans: list[Span] = []
        for token in sentence.tokens:
            closes = (token == '"' and quoted) or token in ("''", "”", "’")
            text += "" if glued or closes or (spans and _NO_SPACE_BEFORE.fullmatch(token)) else " "
            spans.append((len(text), len(text) + len(token)))
            text += token
            quoted ^= token == '"'
            glued = _NO_SPACE_AFTER.fullmatch(token) is not None or (token == '"' and quoted)
            if _DECIMAL.fullmatch(" ".join(sentence.tokens[len(spans) - 2 : len(spans) + 1])):
                glued = True
        mentions += [Mention(spans[m.start][0], spans[m.end - 1][1], m.label) for m in sentence.mentions]
    return Document(text, mentions)


def running_texts(path: Path) -> list[Document]:
    """The documents of a corpus as running text, with their mentions."""
    documents = list(read_corpus(path))
    if len(documents) > 100:  # GENIA's sentences follow each other but mark no abstracts
        sentences = [sentence for document in documents for sentence in document.sentences]
        return [running_text(sentences[first : first + 10]) for first in range(0, len(sentences), 10)]
    return [running_text(document.sentences) if document.sentences else document for document in documents]
