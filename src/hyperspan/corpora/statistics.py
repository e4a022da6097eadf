"""Corpus statistics: the counts of the paper's Table 1, and others that decide which models can handle a corpus.

Counted as in the paper: a mention listed twice counts as two mentions that overlap each other.
:mod:`hyperspan.corpora.overlaps` defines overlap. A summary has two lines, for people who are about to train.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import comb

from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.overlaps import crossing_pairs, places, widest_gap, widest_later
from hyperspan.corpora.source import Problems
from hyperspan.errors import counted
from hyperspan.types import Document, Mention, Sentence

LONG = 6
"""The paper's c: mentions with more words than this count as long."""


@dataclass
class Statistics:
    """Counts over sentences and mentions; `o.l.` in the paper is `overlapping` here."""

    documents: int = 0
    sentences: int = 0
    sentences_with_overlap: int = 0
    tokens: int = 0
    mentions: int = 0
    overlapping: int = 0
    """Mentions that share a word with another mention."""
    same_type: int = 0
    """… with another mention of the same type."""
    same_type_and_start: int = 0
    """… with another of the same type that also begins at the same word."""
    longer_than_6: int = 0
    longest: int = 0
    crossing_pairs: int = 0
    """Pairs that overlap without one containing the other."""
    same_span_pairs: int = 0
    """Pairs of different types on the same span."""
    duplicates: int = 0
    """Repeated mentions: same span, same type."""
    discontinuous: int = 0
    sentences_with_discontinuous: int = 0
    parts: Counter[int] = field(default_factory=Counter)
    """Discontinuous mentions by their number of parts."""
    gaps: Counter[int] = field(default_factory=Counter)
    """Discontinuous mentions by the number of words in their widest gap."""
    first_widths: Counter[int] = field(default_factory=Counter)
    """All mentions by the number of words in their first part, the only one of a contiguous mention."""
    later_widths: Counter[int] = field(default_factory=Counter)
    """Discontinuous mentions by the number of words in the widest part after the first."""
    depth: int = 0
    """The length of the longest chain of mentions of which each has all words of the next, and more."""
    partial_sentences: int = 0
    """Sentences that are only partially annotated."""
    forbidden: int = 0
    """Spans marked as not being mentions."""
    types: Counter[str] = field(default_factory=Counter)

    def add(self, document: Document, problems: Problems | None = None) -> None:
        """Count a document; one without sentences is split first."""
        self.documents += 1
        for sentence in with_sentences(document, problems or Problems()).sentences:
            self._add_sentence(sentence)

    def _add_sentence(self, sentence: Sentence) -> None:
        mentions = [*sentence.listed]
        self.sentences += 1
        self.tokens += len(sentence)
        self.mentions += len(mentions)
        self.duplicates += len(sentence.duplicates)
        self.partial_sentences += sentence.is_partial
        self.forbidden += len(sentence.forbidden)
        self.types.update(mention.label for mention in mentions)
        if parted := [mention for mention in mentions if mention.fragments]:
            self._add_discontinuous(parted)
        self.first_widths.update(mention.parts[0][1] - mention.start for mention in mentions)
        widths = [mention.end - mention.start for mention in mentions]
        self.longer_than_6 += sum(width > LONG for width in widths)
        self.longest = max([self.longest, *widths])
        self._add_overlaps(mentions)

    def _add_discontinuous(self, mentions: list[Mention]) -> None:
        self.discontinuous += len(mentions)
        self.sentences_with_discontinuous += 1
        self.parts.update(len(mention.parts) for mention in mentions)
        self.gaps.update(map(widest_gap, mentions))
        self.later_widths.update(map(widest_later, mentions))

    def _add_overlaps(self, mentions: list[Mention]) -> None:
        found = places(mentions)
        self.depth = max([self.depth, *(place.depth for place in found.values())])
        kinds = Counter([kind for mention in mentions for kind in found[mention].kinds])
        if not kinds["any"]:
            return
        self.overlapping += kinds["any"]
        self.same_type += kinds["same_type"]
        self.same_type_and_start += kinds["same_type_and_start"]
        self.sentences_with_overlap += 1
        self.crossing_pairs += crossing_pairs(mentions) if kinds["crossing"] else 0
        if kinds["same_span"]:
            pairs = Counter(mention.parts for mention in mentions), Counter((one.parts, one.label) for one in mentions)
            together, of_one_type = (sum(comb(times, 2) for times in counts.values()) for counts in pairs)
            self.same_span_pairs += together - of_one_type


def statistics(documents: Iterable[Document]) -> Statistics:
    """Count documents, sentences, tokens, mentions by label, and overlaps."""
    counts = Statistics()
    for document in documents:
        counts.add(document)
    return counts


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
