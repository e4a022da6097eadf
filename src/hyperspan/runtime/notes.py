"""Notes on the texts that a model is given, collected on their way to it and back: what users should know of their
results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from hyperspan.corpora.source import Problems
from hyperspan.errors import HyperspanError, InputError, counted
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.domain import DomainTally
from hyperspan.types import Document

NOT_THERE = "; the promise of recall or precision does not hold there"
"""Added to a note on texts of another domain."""
_Given = TypeVar("_Given", str, Document, str | Document)


class Notes:
    """How many texts lack the tags that a model reads, how many of the first ones are unlike its training text, and
    which of them could not be annotated."""

    def __init__(self, annotator: Annotator, promise: str = "", problems: Problems | None = None):
        """`problems` are those of reading the texts: where these skip what is wrong, texts that fail are skipped."""
        self._annotator, self._promise = annotator, promise
        self._problems = Problems() if problems is None else problems
        self.untagged = 0
        """The number of texts without part-of-speech tags."""
        self.domain = DomainTally()
        self.documents = self.mentions = self.failed = 0
        """The numbers of annotated texts, of their mentions, and of the texts that failed."""
        self._first_failure = ""

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

    def fail(self, given: str | Document, error: BaseException) -> None:
        """Count a text that could not be annotated; for `on_error`."""
        reason = str(error)
        if not isinstance(error, HyperspanError):
            reason = f"{_named(given)} cannot be annotated ({type(error).__name__}: {' '.join(reason.split())[:200]})"
        if self._problems.on_error == "skip":
            self._problems.skipped.append(reason)
        self.failed += 1
        self._first_failure = self._first_failure or reason

    def annotated(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Count the annotated texts and yield them; raise an error if all failed, so that nothing is written."""
        for document in documents:
            self.documents += 1
            self.mentions += len(document.mentions)
            yield document
        if not self.documents:
            self.check()

    def check(self) -> None:
        """Raise an error if texts failed, unless they are skipped."""
        total = self.failed + self.documents
        if not self.failed or self._problems.on_error == "skip":
            return
        if total == 1:
            raise InputError(self._first_failure)
        raise InputError(
            f"{self.failed:,} of {total:,} documents are left out, as they cannot be annotated, the first because "
            f"{self._first_failure}"
        )

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


def _named(given: str | Document) -> str:
    document = Document(given) if isinstance(given, str) else given
    return f"document {document.id!r}" if document.id else f"the text that begins {document.text[:40]!r}"
