"""How documents and sentences look in a notebook, which asks them for ``_repr_html_``."""

from __future__ import annotations

from itertools import pairwise

from hyperspan.corpora.documents import by_characters
from hyperspan.render.html import html_fragment
from hyperspan.types import Document, Sentence

MOST = 20_000
"""So many characters of a document are shown; a notebook keeps all that it shows, and browsers tire."""


def document_html(document: Document) -> str:
    """The document with its mentions; of a long one the beginning, and a sentence that says so.

    >>> document_html(Document("two zoos " * 5000)).endswith("the first 20,000 of 45,000 characters; render_html shows all</p>\\n")
    True
    """
    if len(document.text) <= MOST:
        return html_fragment(document)
    inside = [mention for mention in document.mentions if mention.end <= MOST]
    shown = html_fragment(Document(document.text[:MOST], inside, id=document.id))
    return f"{shown}<p>the first {MOST:,} of {len(document.text):,} characters; render_html shows all</p>\n"


def sentence_html(sentence: Sentence) -> str:
    """The sentence with its mentions; tokens are set apart where their offsets say so, and all where they have none."""
    apart = [before[1] < after[0] for before, after in pairwise(sentence.offsets)] or [True] * (len(sentence) - 1)
    offsets: list[tuple[int, int]] = []
    text = ""
    for token, gap in zip(sentence.tokens, [False, *apart], strict=False):
        text += " " * gap
        offsets.append((len(text), len(text) + len(token)))
        text += token
    visible = [mention for mention in sentence.mentions if offsets[mention.start][0] < offsets[mention.end - 1][1]]
    return html_fragment(Document(text, [by_characters(mention, offsets) for mention in visible]))
