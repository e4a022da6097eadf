"""Documents that cannot be annotated: they are left out and reported at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hyperspan.corpora.source import Problems
from hyperspan.errors import HyperspanError, InputError
from hyperspan.types import Document


class Failures:
    """The documents left out of a stream. With "skip" they are reported like unreadable records and are no error."""

    def __init__(self, problems: Problems):
        self._problems = problems
        self._failed = self._passed = self.mentions = 0
        self._first = ""

    def add(self, given: str | Document, error: BaseException) -> None:
        """Record the error that a document raised."""
        reason = str(error)
        if not isinstance(error, HyperspanError):
            reason = f"{_named(given)} cannot be annotated ({type(error).__name__}: {' '.join(reason.split())[:200]})"
        if self._problems.on_error == "skip":
            self._problems.skipped.append(reason)
        self._failed += 1
        self._first = self._first or reason

    def without(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents and count their mentions; raise if all documents failed, so that nothing is written."""
        for document in documents:
            self._passed += 1
            self.mentions += len(document.mentions)
            yield document
        if self._failed and not self._passed:
            self.check()

    def check(self) -> None:
        """Raise an error if documents failed and `on_error` is "raise"."""
        total = self._failed + self._passed
        if self._failed and self._problems.on_error == "raise":
            if total == 1:
                raise InputError(self._first)
            raise InputError(
                f"{self._failed:,} of {total:,} documents are left out, as they cannot be annotated, the first because "
                f"{self._first}"
            )


def _named(given: str | Document) -> str:
    document = Document(given) if isinstance(given, str) else given
    return f"document {document.id!r}" if document.id else f"the text that begins {document.text[:40]!r}"
