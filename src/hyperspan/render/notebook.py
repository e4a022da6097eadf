"""HTML of documents and sentences in notebooks, which call ``_repr_html_``."""

from __future__ import annotations

from hyperspan.corpora.documents import by_characters
from hyperspan.render.html import html_fragment
from hyperspan.render.layout import spaced_text
from hyperspan.types import Document, Sentence

MAX_CHARACTERS = 20_000
"""The maximum number of characters shown. A notebook stores all its output, and large pages slow the browser down."""


def document_html(document: Document) -> str:
    """The document with its mentions; only the beginning of a long one, with a note.

    >>> html = document_html(Document("two zoos " * 5000))
    >>> html.endswith("the first 20,000 of 45,000 characters; render_html shows all</p>\\n")
    True
    """
    if len(document.text) <= MAX_CHARACTERS:
        return html_fragment(document)
    inside = [mention for mention in document.mentions if mention.end <= MAX_CHARACTERS]
    shown = html_fragment(Document(document.text[:MAX_CHARACTERS], inside, id=document.id))
    return f"{shown}<p>the first {MAX_CHARACTERS:,} of {len(document.text):,} characters; render_html shows all</p>\n"


def sentence_html(sentence: Sentence) -> str:
    """The sentence with its mentions; tokens are separated by spaces unless their offsets show none."""
    text, offsets = spaced_text(sentence)
    visible = [mention for mention in sentence.mentions if offsets[mention.start][0] < offsets[mention.end - 1][1]]
    return html_fragment(Document(text, [by_characters(mention, offsets) for mention in visible]))
