"""Scripts without spaces between words: their characters, and which of them stay together."""

from __future__ import annotations

import re
from functools import cache

from hyperspan.types import Span

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
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    unspaced = _unspaced()
    return re.compile(f"(?<=[{STACKING}])[{unspaced}]|[{EXTENDING}]"), re.compile(f"[{unspaced}]")


def is_unspaced(character: str) -> bool:
    """Whether a character belongs to a script without spaces, or to its punctuation."""
    return character > "\u0e00" and _patterns()[1].match(character) is not None


def units(text: str) -> str:
    """Replace each character of a script without spaces by :data:`UNIT`; the length stays the same.

    A character that follows a mark of :data:`STACKING`, or is one of :data:`EXTENDING`, becomes a mark.

    >>> units("3 日本語 ok").replace(UNIT, "?")
    '3 ??? ok'
    """
    if text.isascii():
        return text
    part, whole = _patterns()
    return whole.sub(UNIT, part.sub(MARK, text))
