"""What formats cannot hold: it is refused or, if the user chose what to keep, left out and counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from attrs import evolve

from hyperspan.errors import LossError
from hyperspan.types import Document, Sentence

Lossy = Literal["outermost", "innermost"]


@dataclass
class Losses:
    """The mentions that a format cannot hold. They are an error unless the user chose which to drop."""

    lossy: Lossy | None = None
    written: int = 0
    """The number of mentions that are written; those that are lost do not count."""
    lost: dict[str, int] = field(default_factory=dict)
    """The number of lost mentions by reason, e.g. "overlapping another"."""
    marking_lost: int = 0
    """The number of documents whose marks of partial annotation were lost."""

    def lose(self, reason: str, mentions: int = 1) -> None:
        """Count mentions, which counted as written, as lost."""
        if mentions:
            self.lost[reason] = self.lost.get(reason, 0) + mentions
            self.written -= mentions

    def sentences_of(self, document: Document) -> Sequence[Sentence]:
        """The sentences of a document, for formats that write nothing else; mentions in none of them are lost."""
        within = sum(len(sentence.mentions) for sentence in document.sentences)
        self.lose("outside every sentence", max(0, len(document.mentions) - within))
        return document.sentences

    def unmarked(self, document: Document, format_name: str, reason: str = "") -> Document:
        """The document without marks of partial annotation; an error with the reason unless losses are allowed."""
        if not any(part.is_partial for part in (document, *document.sentences)):
            return document
        if self.lossy is None:
            raise LossError(
                f"{format_name} cannot say that annotation is partial, as in document {document.id!r}{reason and f' ({reason})'}, so nothing was written; "
                f"choose jsonl, which can, or write all that is not listed as absent with --lossy outermost"
            )
        self.marking_lost += 1
        sentences = [evolve(sentence, annotated=None, forbidden=()) for sentence in document.sentences]
        return evolve(document, sentences=sentences, annotated=None, forbidden=())

    def check(self, format_name: str) -> None:
        """Raise an error if something was lost that should not be."""
        total = sum(self.lost.values())
        if total and self.lossy is None:
            reasons = ", ".join(f"{count} {reason}" for reason, count in self.lost.items())
            raise LossError(
                f"{format_name} cannot hold {total} of {self.written + total} mentions ({reasons}), so nothing was written; "
                "choose a format that can (jsonl, brat), or which to keep with --lossy outermost or --lossy innermost "
                "(of annotate and convert)"
            )
