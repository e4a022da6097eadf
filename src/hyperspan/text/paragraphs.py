"""Lines to paragraphs: a line break ends a paragraph, unless the text was wrapped to a width and the line is full.

A line is full if the first word of the next one would not have fitted on it. In text that was wrapped, most lines are;
in lists, tables, headers and texts with one paragraph a line, hardly any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from hyperspan.types import Span

NARROWEST, WIDEST = 24, 120
"""Columns to which text is wrapped."""
LONG_LINE = 40
"""Without a known width, a line of this many columns may go on with a lower-case character on the next."""
SLACK = 3
"""By this many columns lines may be shorter than they could be, as the longest may be indented."""
TOGETHER = 256
"""The width is learnt from this many lines."""
SHORT = 10_000
"""A text of no more characters may be one line, for which nothing has to be learnt."""

_BREAKS = r"\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_LINE = re.compile(
    rf"([^{_BREAKS}]*+)"  # the line
    rf"(?:\r\n|[{_BREAKS}])?+"  # its end
    rf"((?:[^\S{_BREAKS}]*+[{_BREAKS}])*+)"  # blank lines after it
)
_LEAD = re.compile(r"([\s>|]*+)(\S{0,64}+)")
_BULLET = re.compile(r"(?:[-–—*+•‣◦▪·]|[(\[]?\d{1,3}[.)\]]|[(\[]?(?:[a-zA-Z]|[ivxIVX]{1,5})[)\]])\s")
_BULLET_ALONE = re.compile(r"\s*+[-–—*+•‣◦▪·]\s++(?=\S)")
_STOPPED = re.compile(r"[.!?…:;‽。！？]['\"”’»)\]]{0,4}+$")
_DANGLING = re.compile(r"(?:,|\s(?:a|an|the|of|in|on|at|to|by|for|from|with|and|or|as|is|are|was|were|that))$")
_GAP = " " * 4
_CELLS = {"\t": re.compile(r"[^\t]++"), _GAP: re.compile(r"(?:[^ ]++| {1,3}+(?! ))++")}
"""What the cells of a row look like, by what separates them."""


class _Line(NamedTuple):
    start: int
    end: int
    """Where the next line that is not blank starts."""
    content: str
    """Without white space at its end."""
    indent: int
    first_word: int
    """How many characters its first word has."""
    last: bool
    """Whether a blank line follows."""
    separator: str
    """What separates its cells, if it may be the row of a table."""

    @property
    def is_lower(self) -> bool:
        return self.content[self.indent : self.indent + 1].islower()


def paragraph_spans(text: str) -> Iterator[Span]:
    """The paragraphs of a text, and the cells of tables; together they hold every character that is no white space.

    >>> text = "Name\\tTown\\nLee\\tOz\\n\\nA line that was cut where the next of its words would not have\\nfitted goes on.\\nNew one"
    >>> [text[start:end].split()[0] for start, end in paragraph_spans(text)]
    ['Name', 'Town', 'Lee', 'Oz', 'A', 'New']
    """
    if len(text) <= SHORT and "\t" not in text and _GAP not in text and len(text.splitlines()) <= 1:
        if text and not text.isspace():
            yield from _paragraph(text, 0, len(text))
        return
    lines = _lines(text)
    previous: _Line | None = None
    start, row = 0, False
    while batch := list(islice(lines, TOGETHER)):
        width = _wrapped_to(batch)
        for line in batch:
            if previous is not None and not _continues(previous, line, width):
                in_table = previous.separator == line.separator == _GAP
                yield from _cells(text, start, previous, row or in_table)
                start, row = line.start, in_table
            previous = line
    if previous is not None:
        yield from _cells(text, start, previous, row)


def _lines(text: str) -> Iterator[_Line]:
    for match in _LINE.finditer(text):
        content = match[1].rstrip()
        if content:
            lead = _LEAD.match(content)
            assert lead is not None  # it matches the empty string
            indent, word_end = lead.end(1), lead.end(2)
            separator = "\t" if content.find("\t", indent) > 0 else _GAP if content.find(_GAP, indent) > 0 else ""
            yield _Line(match.start(), match.end(), content, indent, word_end - indent, bool(match[2]), separator)


def _wrapped_to(lines: Sequence[_Line]) -> int:
    """The width to which these lines were wrapped; 0 if they were not."""
    lengths = [len(line.content) for line in lines]
    width = max((length for length in lengths if length <= WIDEST), default=0)
    if width < NARROWEST or sum(length > WIDEST for length in lengths) > len(lengths) // 20:
        return 0
    pairs = [(a, b) for a, b in pairwise(lines) if not a.last and 2 * len(a.content) >= width]
    full = [b for a, b in pairs if _is_full(a, b, width)]
    lower = sum(line.is_lower for line in full)
    return width if len(full) > 1 and 4 * len(full) > len(pairs) and 4 * lower > len(full) else 0


def _is_full(line: _Line, following: _Line, width: int) -> bool:
    return width - SLACK < len(line.content) + 1 + following.first_word


def _continues(line: _Line, following: _Line, width: int) -> bool:
    """Whether the paragraph of a line goes on with the next line."""
    if line.last or len(line.content) > WIDEST or line.separator == "\t" or following.separator == "\t":
        return False
    if _BULLET.match(following.content, following.indent):
        return False
    if following.indent > line.indent:
        return _BULLET.match(line.content, line.indent) is not None  # a hanging indent goes on, any other begins
    if width and _is_full(line, following, width):
        return True
    if not following.is_lower:
        return False
    long = len(line.content) >= (width // 2 or LONG_LINE)
    end = line.content[-6:]
    return _DANGLING.search(end) is not None or (long and _STOPPED.search(end) is None)


def _cells(text: str, start: int, last: _Line, in_table: bool) -> Iterator[Span]:
    """The paragraph from `start` to the end of its last line, cut into cells if it is the row of a table."""
    separator = last.separator if last.start == start else ""
    if separator == "\t" or (separator and in_table):
        yield from (cell.span() for cell in _CELLS[separator].finditer(text, start, last.end))
    else:
        yield from _paragraph(text, start, last.end)


def _paragraph(text: str, start: int, end: int) -> Iterator[Span]:
    """A paragraph, and before it the bullet that it begins with."""
    bullet = _BULLET_ALONE.match(text, start, end)
    if bullet is not None:  # no model has learnt what "- NF-kappa B" is
        yield bullet.span()
        start = bullet.end()
    yield start, end
