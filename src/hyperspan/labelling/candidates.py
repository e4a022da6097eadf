"""The best candidates of a stream of texts, without near duplicates, which share most of their word bigrams."""

from __future__ import annotations

import heapq
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hyperspan.types import Document

KEPT = 10
"""The number of candidates kept for each requested suggestion or word."""


@dataclass(frozen=True)
class Suggestion:
    """A sentence or document worth labelling."""

    document: int
    """The index of the given document, from 0."""
    sentence: int | None
    """The index of the sentence in that document, from 0; None for the whole document."""
    score: float
    """The higher, the more uncertain the model."""
    words: int
    draft: Document
    """The model's prediction with probabilities, marked as not annotated; of a candidate the text alone.

    A suggested sentence is a document with its origin in the metadata.
    """

    @property
    def tokens(self) -> Iterator[str]:
        return (token for sentence in self.draft.sentences for token in sentence.tokens)


class Pool:
    """The best candidates so far: at most KEPT times the number allowed by `count` and `budget_words`, if given.

    A near duplicate of a better candidate is rejected, and a new candidate replaces worse near duplicates. Of
    equal scores, the one that was offered first counts as better.
    """

    def __init__(self, count: int | None = None, budget_words: int | None = None):
        self.count, self.budget_words = count, budget_words
        self._kept: dict[int, Suggestion] = {}
        self._worst_first: list[tuple[float, int]] = []  # score, negative number; some are no longer kept
        self._words = self._seen = 0
        self._index = PairIndex()

    def __len__(self) -> int:
        return len(self._kept)

    def leave_out(self, tokens: Iterable[str]) -> None:
        """Reject near duplicates of these words."""
        self._seen += 1
        self._index.add(self._seen, word_pairs(tokens))

    def admits(self, score: float, words: int) -> bool:
        """Whether a candidate of this score and length may be good enough."""
        if self.budget_words is not None and words > self.budget_words:
            return False
        return self._fullness < 1 or score >= self._worst_first[0][0]

    def offer(self, candidate: Suggestion) -> None:
        """Add a candidate if it is good enough and no near duplicate of a better one."""
        self._seen += 1
        number = self._seen
        pairs = word_pairs(candidate.tokens)
        alike = list(self._index.alike(pairs))
        if any(other not in self._kept or self._kept[other].score >= candidate.score for other in alike):
            return
        for other in alike:
            self._remove(other)
        self._kept[number] = candidate
        self._words += candidate.words
        self._index.add(number, pairs)
        heapq.heappush(self._worst_first, (candidate.score, -number))
        self._trim()

    def chosen(self) -> Iterator[Suggestion]:
        """The requested number of best candidates, best first. One that exceeds the rest of the budget is skipped."""
        words = taken = 0
        best_first = (-negative for _, negative in sorted(self._worst_first, reverse=True))
        for candidate in (self._kept[number] for number in best_first if number in self._kept):
            if self.budget_words is not None and words + candidate.words > self.budget_words:
                continue
            words, taken = words + candidate.words, taken + 1
            yield candidate
            if taken == self.count:
                return

    @property
    def _fullness(self) -> float:
        """1 for as many candidates or words as are kept."""
        by_count = 0.0 if self.count is None else len(self._kept) / (KEPT * self.count)
        return max(by_count, 0.0 if self.budget_words is None else self._words / (KEPT * self.budget_words))

    def _remove(self, number: int) -> None:
        self._words -= self._kept.pop(number).words
        self._index.remove(number)

    def _trim(self) -> None:
        """Remove the worst candidates while there are too many."""
        while self._fullness > 1:
            number = -heapq.heappop(self._worst_first)[1]
            if number in self._kept:
                self._remove(number)
        while self._worst_first and -self._worst_first[0][1] not in self._kept:
            heapq.heappop(self._worst_first)


ALIKE = 0.5
"""The Jaccard similarity from which two sentences are near duplicates: bigrams in both over bigrams in either."""

WordPairs = frozenset[tuple[str, str]]
_NONE: set[int] = set()
_DIGITS = re.compile(r"\d+")


def word_pairs(tokens: Iterable[str]) -> WordPairs:
    """The bigrams of the words, ignoring case and digits, with empty strings for the edges.

    >>> sorted(word_pairs(["Table", "12"]))
    [('', 'table'), ('0', ''), ('table', '0')]
    """
    words = [_DIGITS.sub("0", token.casefold()) for token in tokens]
    return frozenset(zip(("", *words), (*words, ""), strict=True))


def similarity(one: WordPairs, other: WordPairs) -> float:
    """The Jaccard similarity of two sets of bigrams."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


class PairIndex:
    """An index of bigram sets by number, which finds all near duplicates of a new set exactly."""

    def __init__(self) -> None:
        self._pairs: dict[int, WordPairs] = {}
        self._having: defaultdict[tuple[str, str], set[int]] = defaultdict(set)

    def add(self, number: int, pairs: WordPairs) -> None:
        self._pairs[number] = pairs
        for pair in pairs:
            self._having[pair].add(number)

    def remove(self, number: int) -> None:
        for pair in self._pairs.pop(number):
            self._having[pair].discard(number)
            if not self._having[pair]:
                del self._having[pair]

    def alike(self, pairs: WordPairs) -> Iterator[int]:
        """The numbers of the near duplicates of these bigrams.

        Near duplicates share at least ALIKE of these bigrams, so they contain one of the rarest others and one more.
        """
        having = sorted((self._having.get(pair, _NONE) for pair in pairs), key=len)
        few = len(pairs) - math.ceil(ALIKE * len(pairs)) + 1
        for number in _NONE.union(*having[:few]):
            if similarity(pairs, self._pairs[number]) >= ALIKE:
                yield number
