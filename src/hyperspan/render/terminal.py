"""Sentences in a terminal: words, and below them a bar for each mention, stacked where mentions overlap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import IO

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console
from rich.text import Text

from hyperspan.render.layout import colours, lanes, shortest_first, spaces_before
from hyperspan.types import Document, Mention, RankedMentions, Sentence

MIN_WIDTH = 20
"""Narrower terminals are treated as this wide."""


def render_sentence(sentence: Sentence, width: int = 80, styles: Mapping[str, str] | None = None) -> Text:
    """The sentence in lines of at most `width` columns, short mentions on top. Words wider than a line are broken.

    A space separates tokens, except where their offsets show none.

    >>> print(render_sentence(Sentence("the Seattle zoo".split(), [Mention(0, 3, "FAC"), Mention(1, 2, "GPE")])).plain)
    the Seattle zoo
        ╰─GPE─╯
    ╰─────FAC─────╯
    """
    styles = styles if styles is not None else colours(mention.label for mention in sentence.mentions)
    width = max(width, MIN_WIDTH)
    broken = [chop_cells(_printable(token), width) or [""] for token in sentence.tokens]
    first_part = [0, *accumulate(map(len, broken))]  # the index of each token's first part
    parts = [part for token in broken for part in token]
    sizes = [cell_len(part) for part in parts]
    spaces = zip(spaces_before(sentence), broken, strict=True)
    gaps = [
        int(part == 0 and space) for space, token in spaces for part in range(len(token))
    ]  # columns before each part
    spans = [(m, first_part[m.start], first_part[m.end]) for m in shortest_first(sentence.mentions)]
    rendered = Text()
    for first, last in _lines(sizes, gaps, width):
        line = "".join(" " * gap + part for gap, part in zip(gaps[first:last], parts[first:last], strict=True))
        rendered.append(line[gaps[first] if first < last else 0 :] + "\n")
        here = [(mention, start - first, end - first) for mention, start, end in spans if start < last and end > first]
        for row in _bars(here, _columns(sizes[first:last], gaps[first:last]), width, styles):
            rendered.append_text(row).append("\n")
    rendered.rstrip()
    return rendered


def _printable(token: str) -> str:
    """Replaces control characters, which would move the cursor and misalign the bars.

    Also removes variation selectors that ask for an emoji, because terminals disagree on how wide it is.
    """
    shown = token.replace("\N{VARIATION SELECTOR-16}", "")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)


def _lines(sizes: Sequence[int], gaps: Sequence[int], width: int) -> Iterable[tuple[int, int]]:
    """The first and last part of each line. Parts without a gap between them stay together if they fit on one line."""
    first, used, together = 0, 0, 0
    for position, size in enumerate(sizes):
        if gaps[position]:
            together = position
        needed = size + (gaps[position] if position > first else 0)
        if position > first and used + needed > width:
            moved = sum(sizes[together:position]) if together > first else width
            cut = together if moved + size <= width else position
            yield first, cut
            first, used = cut, sum(sizes[cut:position]) + size
        else:
            used += needed
    yield first, len(sizes)


def _columns(sizes: Sequence[int], gaps: Sequence[int]) -> list[tuple[int, int]]:
    """The first and last column of each part of a line."""
    columns: list[tuple[int, int]] = []
    position = 0
    for size, gap in zip(sizes, gaps, strict=True):
        position += gap if columns else 0
        columns.append((position, position + size))
        position += size
    return columns


def _bars(
    mentions: Sequence[tuple[Mention, int, int]],
    columns: Sequence[tuple[int, int]],
    width: int,
    styles: Mapping[str, str],
) -> list[Text]:
    """A row of bars for each lane of a line; mentions come with the indices of their first part and after their last."""
    bars: list[tuple[int, str, str]] = []  # column, bar with label, style
    for mention, start, end in mentions:
        left = min(columns[max(start, 0)][0], width - 1)  # a part of width 0 may be after the last column
        right = max(columns[min(end, len(columns)) - 1][1], left + 1)
        column, drawn = _bar(mention, start >= 0, end <= len(columns), left, right, width)
        bars.append((column, drawn, styles.get(mention.label, "")))
    rows = lanes([(column, column + cell_len(drawn) + 1) for column, drawn, _ in bars])
    texts: list[Text] = []
    for lane in range(max(rows, default=-1) + 1):
        text = Text()
        for (column, drawn, style), own in sorted(zip(bars, rows, strict=True)):
            if own == lane:
                text.append(" " * (column - cell_len(text.plain))).append(drawn, style=style)
        texts.append(text)
    return texts


def _bar(mention: Mention, begins: bool, ends: bool, left: int, right: int, width: int) -> tuple[int, str]:
    """A bar from column `left` up to `right`, open where a line break cuts it; and the column where it is drawn.

    The label is inside, after or before the bar. Without enough room it loses its probability, or is shortened.
    """
    size, opening, closing = right - left, "╰" if begins else "─", "╯" if ends else "─"
    bar = "╵" if size == 1 else opening + "─" * (size - 2) + closing
    name, probability = _printable(mention.label), mention.probability
    room = max(size - 2, width - right, left)
    labels = (
        f"{name} {probability:.2f}" if probability is not None else name,
        name,
        f"{set_cell_size(name, room - 1)}…",
    )
    label = next(label for label in labels if cell_len(label) <= room)
    spare, needed = size - 2 - cell_len(label), cell_len(label)
    if spare >= 0:
        return left, f"{opening}{'─' * (spare // 2)}{label}{'─' * (spare - spare // 2)}{closing}"
    return (left, f"{bar}{label}") if right + needed <= width else (left - needed, f"{label}{bar}")


def print_documents(documents: Iterable[Document], file: IO[str] | None, labels: Iterable[str]) -> None:
    """Prints sentences with their bars, and below each its alternatives where there are any; None is standard output."""
    console = Console(file=file, highlight=False)
    styles = colours(labels)
    for document in documents:
        if document.id:
            console.print(Text(document.id, style="bold"), end="\n\n")
        alternatives = iter(document.alternatives or ())
        for sentence in document.sentences:
            console.print(render_sentence(sentence, console.width, styles), soft_wrap=True)
            for ranked in next(alternatives).sets if document.alternatives and sentence.tokens else ():
                console.print(_alternative(ranked, styles, console))
            console.print()


def _alternative(ranked: RankedMentions, styles: dict[str, str], console: Console) -> Text:
    """One of the best sets: its probability, and its mentions, on as many lines as they need."""
    mentions = Text("" if ranked.mentions else "no mentions", style="" if ranked.mentions else "italic")
    for index, mention in enumerate(ranked.mentions):
        words = " ".join(mention.text.split())
        mentions.append(" | " if index else "").append(f"{words} [").append(mention.label, style=styles[mention.label])
        mentions.append("]")
    margin = f"  {ranked.probability:.3f}  "
    lines = mentions.wrap(console, max(console.width - len(margin), 1))
    for line in lines:
        line.rstrip()
    return Text("\n").join(Text(" " * len(margin) if index else margin) + line for index, line in enumerate(lines))
