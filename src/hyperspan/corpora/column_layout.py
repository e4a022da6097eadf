"""The layout of a column file: its lines in blocks, and a guess at the content of each column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from hyperspan.corpora.tags import (
    is_tag,
)

LOOK_AHEAD = 10_000
"""How many lines are read to guess the tagging scheme and the columns."""
MOST = 0.9
"""The share of lines that must agree with a guess; the few that do not are reported as errors."""
NOTHING = "-X-"
"""The value of an unknown column, as in CoNLL-2003."""
DOCUMENT = "-DOCSTART-"
MEDLINE = "###MEDLINE:"
"""Begins a document in the original files of JNLPBA."""


@dataclass(slots=True)
class Block:
    """Consecutive non-blank lines: a sentence, or a document boundary."""

    first_line: int
    lines: list[str] = field(default_factory=list)
    source: str | None = None
    comments: int = 0
    begins_document: str | None = None
    """The id of the document that begins here, possibly empty."""

    def rows(self) -> list[list[str]]:
        return [cells_of(line) for line in self.lines]


def cells_of(line: str) -> list[str]:
    if "\t" in line:
        return line.rstrip("\t").split("\t")
    return [cell for cell in line.split(" ") if cell]


@dataclass(frozen=True, slots=True)
class Layout:
    width: int
    token: int
    tags: tuple[int, ...]
    pos: int | None = None
    chunk: int | None = None
    numbered: bool = False
    unread: int = 0
    """The number of columns left out."""
    certain: bool = True
    """Whether most lines agree with the guess."""


def blocks_in(lines: Iterable[tuple[int, str]]) -> Iterator[Block]:
    block = Block(0)
    for number, line in lines:
        if not line or line.isspace():
            if block.lines:
                yield block
                block = Block(0)
            continue
        if line[0] in "-#":
            if (begins := _begins_document(line)) is not None:
                if block.lines:
                    yield block
                yield Block(number, begins_document=begins)
                block = Block(0)
                continue
            if not block.lines and line[0] == "#" and not is_tag(cells_of(line)[-1]):
                if line[:2] == "#\t" and block.source is None:
                    block.source = line[2:].rstrip("\t")
                else:
                    block.comments += 1
                continue
        if not block.lines:
            block.first_line = number
        block.lines.append(line)
    if block.lines:
        yield block


def _begins_document(line: str) -> str | None:
    if line.startswith(DOCUMENT) and set(line[len(DOCUMENT) :].split()) <= {"O", "-X-", "-Y-", "-Z-", "_"}:
        return ""
    return line.removeprefix(MEDLINE).strip() if line.startswith(MEDLINE) and "\t" not in line else None


def guess_layout(blocks: Iterable[Block]) -> tuple[Layout, list[list[str]]]:
    """Guess the columns of most lines; also return those lines."""
    sentences = [block for block in blocks if block.lines]
    counted = [(str(count), row) for block in sentences for count, row in enumerate(block.rows(), start=1)]
    width = max(2, *Counter(len(row) for _, row in counted).most_common(1)[0][:1]) if counted else 2
    usual = [(count, row) for count, row in counted if len(row) == width]
    rows = [row for _, row in usual]
    first_tag = width
    while first_tag > 1 and _mostly(is_tag(row[first_tag - 1]) for row in rows):
        first_tag -= 1
    named = any(block.source is not None for block in sentences)
    numbered = width > 2 and (named or first_tag > 1) and _mostly(row[0] == count for count, row in usual)
    token = int(numbered)
    certain = first_tag < width and len(rows) >= MOST * len(counted)
    first_tag = min(max(first_tag, token + 1), width - 1)
    pos = token + 1 if first_tag > token + 1 else None
    layout = Layout(width, token, tuple(range(first_tag, width)), pos, None, numbered, 0, certain)
    return layout, rows


def _mostly(claims: Iterable[bool]) -> bool:
    counts = Counter(claims)
    return counts[True] > 0 and counts[True] >= MOST * counts.total()


def layout_of_text(head: str) -> tuple[Layout | None, list[list[str]]]:
    lines = head.removeprefix("\ufeff").split("\n")
    whole = lines[:-1] if len(lines) > 1 else lines
    layout, rows = guess_layout(blocks_in((number, line.removesuffix("\r")) for number, line in enumerate(whole)))
    return (layout if layout.certain else None), rows


def is_conll2003(layout: Layout, rows: list[list[str]]) -> bool:
    if layout.width != 4 or layout.numbered or layout.pos != 1:
        return False
    # Without phrases, the third column is probably a layer of mentions.
    return all(row[2] == NOTHING for row in rows) or any(row[2][2:] in ("NP", "VP", "PP") for row in rows)
