"""Tokenise text. Every character except white space is in exactly one token; tokens are substrings of the text.

A tokenizer has a name, which a model stores: inference tokenises text as training did. In scripts without spaces
between words, characters are tokens, with those that stay together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from hyperspan.errors import InputError
from hyperspan.kernels import text as compiled_text
from hyperspan.kernels.choice import choose
from hyperspan.kernels.libraries import call_once
from hyperspan.types import Span

if TYPE_CHECKING:
    import regex


UNSPACED: tuple[Span, ...] = (
    *((0x0E01, 0x0E31), (0x0E32, 0x0E33), (0x0E40, 0x0E47)),  # Thai
    *((0x0E81, 0x0EB1), (0x0EB2, 0x0EB3), (0x0EBD, 0x0EBE), (0x0EC0, 0x0EC7), (0x0EDC, 0x0EE0)),  # Lao
    *((0x1000, 0x102B), (0x103F, 0x1040), (0x1050, 0x1056), (0x105A, 0x105E), (0x1061, 0x1062), (0x1065, 0x1067)),
    *((0x106E, 0x1071), (0x1075, 0x1082), (0x108E, 0x108F)),  # Myanmar, with the line above
    *((0xA9E0, 0xA9E5), (0xA9E6, 0xA9F0), (0xA9FA, 0xA9FF), (0xAA60, 0xAA7B), (0xAA7E, 0xAA80)),  # more of Myanmar
    *((0x1780, 0x17B4), (0x17D7, 0x17D8), (0x17DC, 0x17DD)),  # Khmer
    *((0x1950, 0x1975), (0x1980, 0x19CA)),  # Tai Le, New Tai Lue
    *((0x1A20, 0x1A55), (0x1AA7, 0x1AA8)),  # Tai Tham
    *((0xAA80, 0xAAB0), (0xAAB1, 0xAAB2), (0xAAB5, 0xAAB7), (0xAAB9, 0xAABE), (0xAAC0, 0xAAC1), (0xAAC2, 0xAAC3)),
    (0xAADB, 0xAADE),  # Tai Viet, with the line above
    *((0x11700, 0x1171B), (0x11740, 0x11747)),  # Ahom
    *((0x1B05, 0x1B34), (0x1B45, 0x1B4D)),  # Balinese
    *((0xA984, 0xA9B3), (0xA9CF, 0xA9D0)),  # Javanese
    *((0x2E80, 0x3000), (0x3001, 0x302A), (0x3030, 0x3099)),  # radicals, East Asian punctuation, Hiragana
    *((0x309B, 0x3130), (0x3190, 0xA4D0)),  # Katakana, Bopomofo; signs, Han, Yi
    *((0xF900, 0xFB00), (0x16FE0, 0x16FE4), (0x20000, 0x3FFFE)),  # more of Han
    *((0x17000, 0x18E00), (0x1AFF0, 0x1B300)),  # Tangut, Khitan; more of Kana, Nushu
    *((0xFF01, 0xFF10), (0xFF1A, 0xFF21), (0xFF3B, 0xFF3F), (0xFF40, 0xFF41), (0xFF5B, 0xFF9E)),  # full and half width
)
"""Ranges of code points. Marks and digits are excluded; punctuation is included if it is as wide as Han.

Hangul is excluded because Korean has spaces, and Tibetan because its tsheg separates syllables.
"""
EXTENDING = "\u0e33\u0eb3\uff9e\uff9f"
"""Characters that belong to the one before, like marks: sara am of Thai and Lao, sound marks of half-width Katakana."""
STACKING = "\u1039\u17d2\u1a60\u1b44\ua9c0"
"""Marks that stack the next character below: viramas of Myanmar, Khmer (coeng), Tai Tham, Balinese and Javanese."""
UNIT, MARK = "\ufdd0", "\u0301"
"""Placeholders for a character of such a script (a noncharacter), and for one that belongs to the one before (a mark).
"""


def _unspaced() -> str:
    return "".join(f"{chr(first)}-{chr(end - 1)}" for first, end in UNSPACED)


@cache
def _unspaced_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    unspaced = _unspaced()
    return re.compile(f"(?<=[{STACKING}])[{unspaced}]|[{EXTENDING}]"), re.compile(f"[{unspaced}]")


def is_unspaced(character: str) -> bool:
    """Whether a character belongs to a script without spaces, or to its punctuation."""
    return character > "\u0e00" and _unspaced_patterns()[1].match(character) is not None


def units(text: str) -> str:
    """Replace each character of a script without spaces by :data:`UNIT`; the length stays the same.

    A character that follows a mark of :data:`STACKING`, or is one of :data:`EXTENDING`, becomes a mark.

    >>> units("3 日本語 ok").replace(UNIT, "?")
    '3 ??? ok'
    """
    if text.isascii():
        return text
    part, whole = _unspaced_patterns()
    return whole.sub(UNIT, part.sub(MARK, text))


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


@call_once
def _genia_patterns() -> tuple[regex.Pattern[str], ...]:
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
    together, punctuation, token = _genia_patterns()
    text = units(text)
    glued = together.sub(lambda match: punctuation.sub("x", match[0]), text)  # same length
    return [match.span() for match in token.finditer(glued)]


_CHARACTER = r"[\p{L}\p{M}\p{N}_]"
_INSIDE = rf"(?:(?<=[0-9])(?=\p{{L}})|(?<=[A-Za-z][a-z])(?=[A-ZΑ-Ω])){_CHARACTER}"
"""The first character of a part of a word, other than the first part: 2|C, Cb|Cln, but mRNA."""


@call_once
def _fine_patterns() -> tuple[regex.Pattern[str], regex.Pattern[str]]:
    import regex  # slow to import and seldom needed

    return regex.compile(f"{_CHARACTER}+"), regex.compile(_INSIDE)


def fine_tokens(text: str) -> list[Span]:
    """As :func:`genia_tokens`, but words are also split after digits and before capitals.

    Genotypes join the name of a gene with that of its allele, as Bmp2C.

    >>> text = "CbCln3Δex7 and Bmp2C/C mice, mRNA"
    >>> [text[start:end] for start, end in fine_tokens(text)]
    ['Cb', 'Cln3', 'Δex7', 'and', 'Bmp2', 'C', '/', 'C', 'mice', ',', 'mRNA']
    """
    word, inside = _fine_patterns()
    found: list[Span] = []
    text = units(text)
    for start, end in genia_tokens(text):
        if word.fullmatch(text, start, end):
            for match in inside.finditer(text, start + 1, end):
                found.append((start, match.start()))
                start = match.start()
        found.append((start, end))
    return found


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


@call_once
def _pattern() -> regex.Pattern[str]:
    import regex  # slow to import and seldom needed

    return regex.compile(_WORDS, regex.VERBOSE | regex.UNICODE)


def word_tokens(text: str) -> list[Span]:
    """The character spans of words, numbers, addresses and signs."""
    return [match.span() for match in _pattern().finditer(units(text))]


TOKENIZERS: dict[str, Callable[[str], list[Span]]] = {
    "words": word_tokens,
    "split": genia_tokens,
    "fine": fine_tokens,
}
"""The tokenizer functions by name: from a text to the character spans of its tokens.

"words" splits at white space and around punctuation; "split" also at hyphens, slashes, commas, dots and pluses inside
words, as the GENIA files do, and "fine" also after digits and before capitals inside words. All split scripts without
spaces into characters, each with its marks. For the characters it supports, a C implementation does the same, much
faster.
"""


@dataclass(frozen=True)
class Tokenizer:
    """A tokenizer by name: one of :data:`TOKENIZERS`.

    >>> Tokenizer("spaces")
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: there is no tokenizer 'spaces'; choose one of words, split, fine
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
    if tokenizer.name not in compiled_text.TOKENIZERS or choose("tokens", "cpu") != "c":
        return [_tokens(text, start, end, tokenizer) for start, end in stretches]
    first, last = stretches[0][0], stretches[-1][1]
    spans, counts = compiled_text.tokens(tokenizer.name, text[first:last], first, stretches, _classes())
    if len(counts) == 1 and counts[0] >= 0:
        return [spans]
    result: list[Sequence[Span]] = []
    place = 0
    for stretch, count in zip(stretches, counts, strict=True):
        result.append(spans[place : place + count] if count >= 0 else _tokens(text, *stretch, tokenizer))
        place += max(count, 0)
    return result


def _classes() -> bytes:
    return compiled_text.classes(UNSPACED, EXTENDING)


def _tokens(text: str, start: int, end: int, tokenizer: Tokenizer) -> list[Span]:
    spans = TOKENIZERS[tokenizer.name](text[start:end])
    return [(start + first, start + last) for first, last in spans]
