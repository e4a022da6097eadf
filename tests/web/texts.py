"""Texts of every kind, generated: what separates sentences and tokens, in any order, any Unicode, and wrapped lines."""

from __future__ import annotations

import random
from collections.abc import Iterator

from hyperspan.text import sentences

LISTS = ("_NEVER_LAST", "_NUMBERED", "_OFTEN_LAST", "_STARTERS", "_OFTEN_LAST_OF_ALL", "_SMALL_WORDS")
WORDS = sorted({word for name in LISTS for word in getattr(sentences, name)})
SIGNS = [
    *(
        ". ",
        ".",
        "?",
        "!",
        "…",
        "。",
        "！",
        "．",
        "？ ",
        "、",
        "؟ ",
        '"',
        "”",
        "’",
        "“",
        "‘",
        ")",
        "(",
        "]",
        "[",
        "」",
        "『",
    ),
    *(
        " ",
        "  ",
        "    ",
        "\t",
        "\n",
        "\n\n",
        "\r\n",
        "\x0b",
        "\x0c",
        "\x1c",
        "\x1e",
        "\x85",
        "\u2028",
        "\xa0",
        "\u3000",
        "\u200a",
    ),
    *(
        "- ",
        "• ",
        "1. ",
        "(a) ",
        "ii) ",
        "12) ",
        "> ",
        "| ",
        "— ",
        "–",
        "-",
        "--",
        "...",
        ", ",
        ",",
        ":",
        ";",
        "; ",
        "/",
        "*",
        "&",
        "+",
    ),
    *(
        "[12, 13] ",
        "[note] ",
        "[1–3]",
        "(Fig. 3) ",
        "No. 5",
        "IV ",
        "U.S.",
        "a.m. ",
        "EST ",
        "3. Mai ",
        "i.e. ",
        "J. Smith ",
        "Ph.D.",
    ),
    *(
        "Mrs. Lee ",
        "asked ",
        "said ",
        "I ",
        "I’m ",
        "don't ",
        "cannot ",
        "n't",
        "'s",
        "’ll ",
        "it's",
        "p53 ",
        "IL-2",
        "NF(kappa)B",
        "CD4(+)",
    ),
    *(
        "[3H]",
        "t(8;21)",
        "5'",
        "www.x.org",
        "https://a.b/c?d=e. ",
        "a.b@c.de ",
        "5.50",
        "1,000",
        "10:30",
        "_",
        "x_y",
        "\0",
        "\ufeff",
    ),
    *(
        "日本",
        "ひらがな",
        "ｶﾞ",
        "ที่นั่ง",
        "ကျွန်",
        "ខ្មែរ",
        "한국어 ",
        "Ж",
        "Σίσυφος ΣΑΣ ",
        "İ",
        "ß",
        "ſ",
        "K",
        "ǅ",
        "Ⅳ",
        "²",
        "½",
        "٣",
        "é",
        "ö̲",
    ),
    *(
        "😀",
        "👍🏽",
        "👩\u200d🚀",
        "🇨🇭",
        "\u200d",
        "\u200c",
        "\u200b",
        "e\u0301",
        "\ud800",
        "\udc00",
        "\ud83d",
        "\U000e0001",
        "\uffff",
    ),
]


def generated(seed: int, count: int) -> Iterator[str]:
    """So many texts, the same for the same seed."""
    chance = random.Random(seed)
    ways = (_signs, _words, _characters, _lines)
    for _ in range(count):
        yield chance.choice(ways)(chance)


def _signs(chance: random.Random) -> str:
    return "".join(chance.choices(SIGNS, k=chance.randint(1, 40)))


def _words(chance: random.Random) -> str:
    def one() -> str:
        if chance.random() < 0.4:
            return chance.choice(SIGNS)
        word = chance.choice(WORDS)
        return (word.capitalize() if chance.random() < 0.5 else word) + chance.choice([".", " ", ". ", " "])

    return "".join(one() for _ in range(chance.randint(1, 40)))


def _characters(chance: random.Random) -> str:
    def one() -> str:
        return chr(chance.randrange(chance.choice((0x110000, 0x20000, 0x3000, 0x250, 128))))

    return "".join(one() for _ in range(chance.randint(1, 60)))


def _lines(chance: random.Random) -> str:
    def line() -> str:
        return " ".join(chance.choice(WORDS if chance.random() < 0.8 else SIGNS) for _ in range(chance.randint(1, 15)))

    return "\n".join(line() for _ in range(chance.randint(2, 20)))
