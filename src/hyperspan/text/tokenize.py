"""Tokenise text. Every character except white space is in exactly one token; tokens are substrings of the text.

A tokenizer has a name, which a model stores: inference tokenises text as training did.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from hyperspan.errors import InputError
from hyperspan.kernels import tokens_c
from hyperspan.kernels.choice import choose
from hyperspan.text.genia import SPACE, genia_tokens
from hyperspan.text.scripts import EXTENDING, UNIT, UNSPACED, units
from hyperspan.types import Span

if TYPE_CHECKING:
    import regex

_CHARACTER = r"[\p{L}\p{M}\p{N}_]"
_CLITIC = r"['’](?:s|re|ve|ll|d|m)"

_WORDS = rf"""
    (?:https?://|www\.)[^{SPACE}<>"{UNIT}]*[^{SPACE}<>"'’.,;:!?)\]{UNIT}]  # an address, less the punctuation after it
  | {_CHARACTER}[\p{{L}}\p{{M}}\p{{N}}_.+-]{{0,63}}+@{_CHARACTER}{{1,63}}+(?:[.-]{_CHARACTER}{{1,63}}+)+  # an address, of lengths that exist
  | \p{{L}}\.(?:\p{{L}}\.)+                                      # U.S., e.g.
  | (?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|No|Fig|al)\.(?=[{SPACE}]|$)
  | \d+(?:[.,:]\d+)+                                             # 5.50, 1,000, 10:30
  | {_CHARACTER}+?(?=n['’]t\b)                                      # do|n't
  | n['’]t\b
  | {_CLITIC}\b                                                  # it|'s
  | (?:{_CHARACTER}(?!n['’]t\b))+{_CHARACTER}?(?:[-‐‑]{_CHARACTER}+)*      # a word, with hyphens inside
  | {_CHARACTER}
  | --+|\.\.\.+
  | [^{SPACE}](?:\p{{M}}|\p{{Emoji_Modifier}}|\u200d[^{SPACE}])*  # anything else, a sign with its marks at a time
"""


@cache
def _pattern() -> regex.Pattern[str]:
    import regex  # slow to import and seldom needed

    return regex.compile(_WORDS, regex.VERBOSE | regex.UNICODE)


def word_tokens(text: str) -> list[Span]:
    """The character spans of words, numbers, addresses and signs."""
    return [match.span() for match in _pattern().finditer(units(text))]


TOKENIZERS: dict[str, Callable[[str], list[Span]]] = {"words": word_tokens, "split": genia_tokens}
"""The tokenizer functions by name: from a text to the character spans of its tokens.

"words" splits at white space and around punctuation; "split" also at hyphens, slashes, commas, dots and pluses inside
words, as the GENIA files do. Both split scripts without spaces into characters, each with its marks. For the characters
it supports, a C implementation does the same, much faster.
"""


@dataclass(frozen=True)
class Tokenizer:
    """A tokenizer by name: one of :data:`TOKENIZERS`.

    >>> Tokenizer("spaces")
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: there is no tokenizer 'spaces'; choose one of words, split
    """

    name: str = "words"

    def __post_init__(self) -> None:
        if self.name not in TOKENIZERS:
            raise InputError(f"there is no tokenizer {self.name!r}; choose one of {', '.join(TOKENIZERS)}")


WORDS = Tokenizer()
"""The default tokenizer."""


def tokenize(text: str, tokenizer: Tokenizer = WORDS) -> list[Span]:
    """The character span of each token, in order.

    >>> text = "It's $5.50 in the U.S., don't-you-know?"
    >>> [text[start:end] for start, end in tokenize(text)]
    ['It', "'s", '$', '5.50', 'in', 'the', 'U.S.', ',', 'do', "n't", '-', 'you-know', '?']
    >>> text = "NF-kappa B/Rel binds."
    >>> [text[start:end] for start, end in tokenize(text, Tokenizer("split"))]
    ['NF', '-', 'kappa', 'B', '/', 'Rel', 'binds', '.']
    >>> text = "北京大学 has 2,000 ที่นั่ง"
    >>> [text[start:end] for start, end in tokenize(text)]
    ['北', '京', '大', '学', 'has', '2,000', 'ที่', 'นั่', 'ง']
    """
    return list(tokenize_all(text, [(0, len(text))], tokenizer)[0])


def tokenize_all(text: str, stretches: Sequence[Span], tokenizer: Tokenizer) -> list[Sequence[Span]]:
    """The tokens of several spans of a text, as offsets in the text."""
    if not stretches:
        return []
    if tokenizer.name not in tokens_c.TOKENIZERS or choose("tokens", "cpu") != "c":
        return [_tokens(text, start, end, tokenizer) for start, end in stretches]
    first, last = stretches[0][0], stretches[-1][1]
    spans, counts = tokens_c.tokens(tokenizer.name, text[first:last], first, stretches, _classes())
    if len(counts) == 1 and counts[0] >= 0:
        return [spans]
    result: list[Sequence[Span]] = []
    place = 0
    for stretch, count in zip(stretches, counts, strict=True):
        result.append(spans[place : place + count] if count >= 0 else _tokens(text, *stretch, tokenizer))
        place += max(count, 0)
    return result


def _classes() -> bytes:
    return tokens_c.classes(UNSPACED, EXTENDING)


def _tokens(text: str, start: int, end: int, tokenizer: Tokenizer) -> list[Span]:
    spans = TOKENIZERS[tokenizer.name](text[start:end])
    return [(start + first, start + last) for first, last in spans]
