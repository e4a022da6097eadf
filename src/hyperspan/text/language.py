"""Whether sentences are English: the bundled word vectors are of use to them only then."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hyperspan.types import Sentence

_FUNCTION_WORDS = frozenset(
    """
    the and of to with from that this these those which who whose what when where how why because while although
    are were been being has does did would could should cannot it its they them their there then than you your she his
    our if but or not into through between against about after before during without within such some each other another
    more both either neither very only however therefore thus i'm it's don't doesn't didn't can't n't 's 're 've 'll
    """.split()
)
"""Frequent English words that other languages do not have or seldom use: neither `in`, `is`, `was`, `for`, `by` nor `also`."""
_LEAST_SHARE = 0.05
"""Of words. Without the most frequent one, which another language may have by chance, they are 15 to 30 of 100 words of English."""
_ENOUGH = 5_000
"""Sentences; of more, this many that lie evenly among them are read."""


def looks_english(sentences: Sequence[Sentence]) -> bool:
    """Whether the frequent words of the sentences are those of English; false where there are no words.

    >>> looks_english([Sentence("Ada left the house of her aunt .".split())])
    True
    >>> looks_english([Sentence("Ada verließ das Haus ihrer Tante .".split())])
    False
    """
    words, found = 0, Counter[str]()
    for sentence in sentences[:: max(1, len(sentences) // _ENOUGH)]:
        for token in sentence.tokens:
            word = token.lower().replace("’", "'")
            words += any(map(str.isalpha, word))
            if word in _FUNCTION_WORDS:
                found[word] += 1
    return found.total() - max(found.values(), default=0) > _LEAST_SHARE * words
