"""Find nearly identical sentences by the word bigrams that they share."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

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
