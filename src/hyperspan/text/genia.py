"""Tokens as in the GENIA files of this line of work."""

from __future__ import annotations

import regex

from hyperspan.types import Span

SPACE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
"""Every character that is white space to Python; \\s knows a few less."""

_GLUED = regex.compile(
    r"""
    \[\d+\p{L}+\]                                          # isotopes: [3H]thymidine
  | \[[^\s\[\]]{1,12}\](?=\w)                              # [Ca2+]i
  | (?<=\d)\([^\s()]{1,12}\)                               # 10(-7), CD4(+), p56(lck)
  | (?<=\w)\(\w{1,12}\)(?=\w)                              # NF(kappa)B
  | (?<=\p{L})\((?:[A-Za-rt-z]|\d*[-+]|\d+|\w{1,12};\w{1,12})\)(?:\(\w{1,12};\w{1,12}\))?  # M(r) but not factor(s), t(8;21)
  | \(OH\)
  | (?<=\d)'                                               # 5' end
  | (?<=\p{L})'(?=\p{L})(?![st]\b)
  | (?<=\w)[*&](?=\w)
    """,
    regex.VERBOSE,
)
_PUNCTUATION = regex.compile(r"[^\s\w,./+-]")
_TOKEN = regex.compile(
    rf"""
    [Cc]an(?=not\b)
  | n't\b
  | (?:[\p{{L}}\p{{M}}\p{{N}}_](?!n't\b))+[\p{{L}}\p{{M}}\p{{N}}_]?
  | [\p{{L}}\p{{M}}\p{{N}}_]
  | 's\b
  | [^{SPACE}]\p{{M}}*
    """,
    regex.VERBOSE,
)


def genia_tokens(text: str) -> list[Span]:
    """The character spans of tokens as in the 4-line GENIA files of Muis & Lu (2017).

    Those are the tokens of the GENIA part-of-speech corpus, cut once more at each of ``- / , . +``. That corpus keeps
    brackets and signs inside the names of chemicals, genes and quantities, so they are glued to them here.

    >>> text = "CD4(+) cells' 5'-ends can't bind (IL-2)"
    >>> [text[start:end] for start, end in genia_tokens(text)]
    ['CD4(', '+', ')', 'cells', "'", "5'", '-', 'ends', 'ca', "n't", 'bind', '(', 'IL', '-', '2', ')']
    """
    glued = _GLUED.sub(lambda match: _PUNCTUATION.sub("x", match[0]), text)  # of the same length
    return [match.span() for match in _TOKEN.finditer(glued)]
