"""Tokenise like the GENIA files used in work on nested mentions."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from hyperspan.text.scripts import UNIT, units
from hyperspan.types import Span

if TYPE_CHECKING:
    import regex

SPACE = r"\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""All characters that are white space to Python, for a character class; \\s matches slightly fewer."""

_GLUED = rf"""
    \[\d+\p{{L}}+\]                                          # isotopes: [3H]thymidine
  | \[[^\s\[\]{UNIT}]{{1,12}}\](?=\w)                          # [Ca2+]i
  | (?<=\d)\([^\s(){UNIT}]{{1,12}}\)                           # 10(-7), CD4(+), p56(lck)
  | (?<=\w)\(\w{{1,12}}\)(?=\w)                              # NF(kappa)B
  | (?<=\p{{L}})\((?:[A-Za-rt-z]|\d*[-+]|\d+|\w{{1,12}};\w{{1,12}})\)(?:\(\w{{1,12}};\w{{1,12}}\))?  # M(r) but not factor(s), t(8;21)
  | \(OH\)
  | (?<=\d)'                                               # 5' end
  | (?<=\p{{L}})'(?=\p{{L}})(?![st]\b)
  | (?<=\w)[*&](?=\w)
"""
_PUNCTUATION = r"[^\s\w,./+-]"
_TOKEN = rf"""
    [Cc]an(?=not\b)
  | n't\b
  | (?:[\p{{L}}\p{{M}}\p{{N}}_](?!n't\b))+[\p{{L}}\p{{M}}\p{{N}}_]?
  | [\p{{L}}\p{{M}}\p{{N}}_]
  | 's\b
  | [^{SPACE}]\p{{M}}*
"""


@cache
def _patterns() -> tuple[regex.Pattern[str], ...]:
    import regex  # slow to import and seldom needed

    return tuple(regex.compile(pattern, regex.VERBOSE) for pattern in (_GLUED, _PUNCTUATION, _TOKEN))


def genia_tokens(text: str) -> list[Span]:
    """The character spans of tokens as in the 4-line GENIA files of Muis & Lu (2017).

    These are the tokens of the GENIA part-of-speech corpus, also split at each of ``- / , . +``. That corpus keeps
    brackets and signs inside the names of chemicals, genes and quantities, so they stay attached here. A
    character of a script without spaces is a token with its marks, and attaches to nothing.

    >>> text = "CD4(+) cells' 5'-ends can't bind (IL-2)"
    >>> [text[start:end] for start, end in genia_tokens(text)]
    ['CD4(', '+', ')', 'cells', "'", "5'", '-', 'ends', 'ca', "n't", 'bind', '(', 'IL', '-', '2', ')']
    """
    together, punctuation, token = _patterns()
    text = units(text)
    glued = together.sub(lambda match: punctuation.sub("x", match[0]), text)  # same length
    return [match.span() for match in token.finditer(glued)]
