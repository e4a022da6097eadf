"""Text to tokens. Every character but white space is in exactly one token, and a token is a substring of the text.

A tokenizer is known by name and version, and a model stores both: text is tokenized for inference as it was for training.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import regex

from hyperspan.errors import InputError
from hyperspan.text.genia import SPACE, genia_tokens
from hyperspan.types import Span

_CHARACTER = r"[\p{L}\p{M}\p{N}_]"
_CLITIC = r"['’](?:s|re|ve|ll|d|m)"

_WORDS = rf"""
    (?:https?://|www\.)[^{SPACE}<>"]*[^{SPACE}<>"'’.,;:!?)\]]  # an address, less the punctuation after it
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
_FLAGS = regex.VERBOSE | regex.UNICODE


def _tokens(pattern: regex.Pattern[str], text: str) -> list[Span]:
    return [match.span() for match in pattern.finditer(text)]


TOKENIZERS: dict[str, tuple[int, Callable[[str], list[Span]]]] = {
    "words": (1, partial(_tokens, regex.compile(_WORDS, _FLAGS))),
    "split": (1, genia_tokens),
}
"""By name: the version, and the function from a text to the character spans of its tokens.

"words" is for general English; "split" also cuts at hyphens, slashes, commas, dots and pluses inside words, as the
GENIA files do.
"""


def tokenize(text: str, tokenizer: str = "words") -> list[Span]:
    """The character span of each token, in order.

    >>> text = "It's $5.50 in the U.S., don't-you-know?"
    >>> [text[start:end] for start, end in tokenize(text)]
    ['It', "'s", '$', '5.50', 'in', 'the', 'U.S.', ',', 'do', "n't", '-', 'you-know', '?']
    >>> text = "NF-kappa B/Rel binds."
    >>> [text[start:end] for start, end in tokenize(text, "split")]
    ['NF', '-', 'kappa', 'B', '/', 'Rel', 'binds', '.']
    """
    if tokenizer not in TOKENIZERS:
        raise InputError(f"there is no tokenizer {tokenizer!r}; choose one of {', '.join(TOKENIZERS)}")
    _, function = TOKENIZERS[tokenizer]
    return function(text)
