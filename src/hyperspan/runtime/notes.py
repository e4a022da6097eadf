"""Notes on the texts that a model is given, collected on their way to it: what users should know of their results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from hyperspan.errors import counted
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.domain import DomainTally
from hyperspan.types import Document

NOT_THERE = "; the promise of recall or precision does not hold there"
"""Added to a note on texts of another domain."""
_Given = TypeVar("_Given", str, Document, str | Document)


class Notes:
    """How many texts lack the tags that a model reads, and how many of the first ones are unlike its training text."""

    def __init__(self, annotator: Annotator, promise: str = ""):
        self._annotator, self._promise = annotator, promise
        self.untagged = 0
        """The number of texts without part-of-speech tags."""
        self.domain = DomainTally()

    def see(self, text: str | Document, name: str = "") -> None:
        """Count a text; one without a name is named by its number."""
        self.untagged += isinstance(text, str) or not any(sentence.tags for sentence in text.sentences)
        if not self.domain.is_full:
            self.domain.add(self._annotator.domain_fit(text), name)

    def seen(self, texts: Iterable[_Given], named: Callable[[Document], str]) -> Iterator[_Given]:
        """Count the texts and yield them; `named` names a document."""
        for text in texts:
            self.see(text, "" if isinstance(text, str) else named(text))
            yield text

    @property
    def lines(self) -> list[str]:
        """The notes, a sentence each."""
        return notes_on(self._annotator, self.untagged, self.domain.note, self._promise)


def notes_on(annotator: Annotator, untagged: int, domain: str, promise: str = "") -> list[str]:
    """The notes on texts of which some have no tags, with a note on their domain if it is not empty, and the promise
    that their mentions come with."""
    lines = [promise] if promise else []
    if domain:
        lines.append(domain + (NOT_THERE if promise else ""))
    if untagged and annotator.reads_tags:
        lack = f"{counted(untagged, 'document')} {'lacks' if untagged == 1 else 'lack'}"
        lines.insert(0, f"this model was trained with part-of-speech tags, which {lack}; expect it to find less")
    return lines
