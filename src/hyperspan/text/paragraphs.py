"""Split text into paragraphs: a line break ends a paragraph unless the text is hard-wrapped and the line is full.

A line is full if the first word of the next line would not have fitted on it. In wrapped text most lines are full; in
lists, tables, headers and texts with one paragraph per line, hardly any are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from hyperspan.types import Span

NARROWEST, WIDEST = 24, 120
"""The range of columns to which text is wrapped."""
LONG_LINE = 40
"""Without a known width, a line of this many columns continues if the next begins with a lower-case character."""
SLACK = 3
"""How many columns shorter than possible a line may be, as the longest may be indented."""
TOGETHER = 256
"""The number of lines from which the width is estimated."""
SHORT = 10_000
"""A text with at most this many characters may be a single line, which needs no width."""

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
"""The cells of a row, by separator."""


class _Line(NamedTuple):
    start: int
    end: int
    """The start of the next non-blank line."""
    content: str
    """The text without trailing white space."""
    indent: int
    first_word: int
    """The length of its first word."""
    last: bool
    """Whether a blank line follows."""
    separator: str
    """The separator of its cells, if it may be a table row."""

    @property
    def is_lower(self) -> bool:
        return self.content[self.indent : self.indent + 1].islower()


def paragraph_spans(text: str) -> Iterator[Span]:
    """The paragraphs of a text and the cells of tables; together they contain all characters but white space.

    >>> text = (
    ...     "Name\\tTown\\nLee\\tOz\\n\\n"
    ...     "A line that was cut where the next of its words would not have\\nfitted goes on.\\nNew one"
    ... )
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
    """Whether the paragraph of a line continues on the next line."""
    if line.last or len(line.content) > WIDEST or line.separator == "\t" or following.separator == "\t":
        return False
    if _BULLET.match(following.content, following.indent):
        return False
    if following.indent > line.indent:
        return _BULLET.match(line.content, line.indent) is not None  # only a hanging indent continues
    if width and _is_full(line, following, width):
        return True
    if not following.is_lower:
        return False
    long = len(line.content) >= (width // 2 or LONG_LINE)
    end = line.content[-6:]
    return _DANGLING.search(end) is not None or (long and _STOPPED.search(end) is None)


def _cells(text: str, start: int, last: _Line, in_table: bool) -> Iterator[Span]:
    """The paragraph from `start` to the end of its last line, split into cells if it is a table row."""
    separator = last.separator if last.start == start else ""
    if separator == "\t" or (separator and in_table):
        yield from (cell.span() for cell in _CELLS[separator].finditer(text, start, last.end))
    else:
        yield from _paragraph(text, start, last.end)


def _paragraph(text: str, start: int, end: int) -> Iterator[Span]:
    """A paragraph, preceded by its bullet if it begins with one."""
    bullet = _BULLET_ALONE.match(text, start, end)
    if bullet is not None:  # models have not seen bullets such as "- NF-kappa B"
        yield bullet.span()
        start = bullet.end()
    yield start, end
