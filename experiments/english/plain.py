"""Invented texts of numbers, tables, addresses, code and the like, each with its mentions.

Models that know running text find people and times in part numbers. These texts teach `english` better: of every kind
the first, third, ... text is for training, the others are held back to test it.

`plain.txt` has the texts. "%%% KIND" begins a kind, "%%" separates its texts, "␉" is a tab, and "«x:span»" is a
mention, where x is the first letter of its type (`LETTERS`). Mentions may be nested. Keys, headings, units, codes,
numbers in cells, handles and hashtags are no mentions. A whole date is a `time`; the year in it is another one, as in
GUM, which is added here.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from experiments.cli import Output, run_command
from hyperspan import Document, Mention, write_corpus

from .tables import drawn

TEXTS = Path(__file__).with_name("plain.txt")
LETTERS = {
    "p": "person",
    "l": "place",
    "g": "organization",
    "o": "object",
    "e": "event",
    "t": "time",
    "a": "abstract",
    "n": "animal",
    "f": "plant",
    "s": "substance",
}
PARTS = ("train", "held")
COPIES = 24
"""How often each training text is written, each time with other digits."""
DRAWN = 4_000
"""How many texts of `tables.py` are written, too."""
MONTHS = "January February March April May June July August September October November December".split()
INNER_YEAR = re.compile(rf"(?:^|.*?\s)((?:(?:{'|'.join(MONTHS)}) )?([12]\d\d\d))$", re.DOTALL)
"""A date that ends in a year, and perhaps a month before it."""


def parse(marked: str) -> Document:
    """A text with its mentions.

    >>> document = parse("«p:Mo», «t:3␉May»")
    >>> document.text, sorted((document.text[m.start:m.end], m.label) for m in document.mentions)
    ('Mo, 3\\tMay', [('3\\tMay', 'time'), ('Mo', 'person')])
    """
    text = ""
    begun: list[tuple[int, str]] = []
    mentions: list[Mention] = []
    characters = iter(marked.replace("␉", "\t"))
    for character in characters:
        if character == "«":
            begun.append((len(text), LETTERS[next(characters)]))
            assert next(characters) == ":", marked
        elif character == "»":
            start, label = begun.pop()
            mentions.append(Mention(start, len(text), label))
        else:
            text += character
    assert not begun, marked
    inner = [span for one in mentions if one.label == "time" for span in years(text, one)]
    return Document(text, dict.fromkeys([*mentions, *inner]))


def years(text: str, time: Mention) -> Iterator[Mention]:
    """The year at the end of a date, and the month with its year.

    >>> [(one.start, one.end) for one in years("3 May 2024", Mention(0, 10, "time"))]
    [(2, 10), (6, 10)]
    """
    if found := INNER_YEAR.match(text, time.start, time.end):
        for start in sorted({found.start(1), found.start(2)} - {time.start}):
            yield Mention(start, time.end, "time")


NUMBER = re.compile(r"\d+")


def with_other_digits(document: Document, chance: random.Random) -> Document:
    """A copy with other digits, of the same length; times stay times.

    >>> with_other_digits(Document("Tel. 555-0163"), random.Random(1)).text
    'Tel. 325-0288'
    >>> with_other_digits(Document("2024-03-05", [Mention(0, 10, "time")]), random.Random(1)).text
    '1967-10-02'
    """
    text = list(document.text)
    kept = {place for one in document.mentions if one.label == "time" for place in range(one.start, one.end)}
    for place, character in enumerate(text):
        if character in "123456789" and place not in kept:
            text[place] = chance.choice("123456789")
    for found in NUMBER.finditer(document.text):
        if found.start() in kept:
            text[found.start() : found.end()] = other_time(found[0], chance)
    mentions = [Mention(one.start, one.end, one.label) for one in document.mentions]
    return Document("".join(text), mentions, metadata=document.metadata)


def documents(part: Literal["train", "held"]) -> Iterator[Document]:
    """The texts of a part."""
    for block in TEXTS.read_text(encoding="utf-8").strip("\n").split("%%% ")[1:]:
        kind, _, texts = block.partition("\n")
        for number, marked in enumerate(texts.rstrip("\n").split("\n%%\n")):
            if PARTS[number % 2] == part:
                found = parse(marked)
                yield Document(found.text, found.mentions, id=f"{kind}-{number + 1}", metadata={"kind": kind})


def other_time(number: str, chance: random.Random) -> str:
    """Another year for four digits, another part of a date or time for one or two, and the same for more."""
    if len(number) == 4:
        return str(chance.randint(1950, 2035))
    if len(number) > 2:
        return number
    return f"{chance.randint(1, 12):02}" if len(number) == 2 else str(chance.randint(1, 9))


def write(output: Output = Path("data/english-corpora")) -> None:
    """Write the texts into a folder: plain.train.jsonl and plain.held.jsonl."""
    output.mkdir(parents=True, exist_ok=True)
    chance = random.Random(1)
    copies = [with_other_digits(document, chance) for _ in range(COPIES) for document in documents("train")]
    copies += map(parse, drawn(DRAWN, chance))
    write_corpus(copies, output / "plain.train.jsonl", force=True)
    write_corpus(documents("held"), output / "plain.held.jsonl", force=True)


if __name__ == "__main__":
    run_command(write, "experiments.english.plain")
