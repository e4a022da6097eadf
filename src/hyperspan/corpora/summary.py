"""A two-line summary of a corpus for people who are about to train on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.source import Problems
from hyperspan.corpora.statistics import Statistics
from hyperspan.errors import counted
from hyperspan.types import Document, Sentence

MOST_LABELS = 8
"""The number of labels listed with their counts; the rest is only counted."""


@dataclass
class CorpusSummary:
    """The properties of a corpus that matter for training."""

    path: str
    statistics: Statistics = field(default_factory=Statistics)
    raw: bool = False
    """Whether some of it is text without tokens."""
    sentences: list[Sentence] = field(default_factory=list)
    """The sentences with tokens."""
    problems: Problems = field(default_factory=lambda: Problems("skip"))
    """What tokenisation noted: mentions that begin or end inside a word."""

    @classmethod
    def of(cls, path: str, documents: Iterable[Document]) -> CorpusSummary:
        """Count documents."""
        summary = cls(path)
        for document in documents:
            whole = with_sentences(document, summary.problems)
            summary.statistics.add(whole)
            summary.raw = summary.raw or not document.sentences
            summary.sentences += [sentence for sentence in whole.sentences if len(sentence)]
        return summary

    def described(self, format_name: str) -> list[str]:
        """Two lines about its content."""
        counts = self.statistics
        common = [f"{label} {count:,}" for label, count in counts.types.most_common(MOST_LABELS)]
        more = f" and {len(counts.types) - MOST_LABELS} more" if len(counts.types) > MOST_LABELS else ""
        discontinuous = f", {counts.discontinuous:,} discontinuous" if counts.discontinuous else ""
        lines = [
            f"{self.path}: {format_name}, {'raw text' if self.raw else 'tokens'}, "
            f"{counted(counts.documents, 'document')}, {counted(counts.sentences, 'sentence')}",
            f"{counted(counts.mentions, 'mention')} ({counts.overlapping:,} overlapping{discontinuous}), "
            f"of up to {counted(counts.longest, 'word')}: {', '.join(common)}{more}",
        ]
        return list(map(printable, lines))


def printable(line: str) -> str:
    """A line that is safe in a comment or a terminal, whatever names and labels it contains."""
    return "".join(character if character.isprintable() else "?" for character in line)
