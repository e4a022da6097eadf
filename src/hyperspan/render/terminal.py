"""Sentences in a terminal: words, and under them a bar for each mention, stacked where they overlap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.text import Text

from hyperspan.render.layout import colours, lanes, shortest_first
from hyperspan.types import Mention, Sentence

NARROWEST = 20
"""No terminal is taken to have fewer columns than this."""


def render_sentence(sentence: Sentence, width: int = 80, styles: Mapping[str, str] | None = None) -> Text:
    """The sentence in lines of at most `width` columns, short mentions on top. A longer word is broken.

    Tokens are set apart where their offsets say that something stands between them, and all where they have none.

    >>> print(render_sentence(Sentence("the Seattle zoo".split(), [Mention(0, 3, "FAC"), Mention(1, 2, "GPE")])).plain)
    the Seattle zoo
        ╰─GPE─╯
    ╰─────FAC─────╯
    """
    styles = styles if styles is not None else colours(mention.label for mention in sentence.mentions)
    width = max(width, NARROWEST)
    broken = [chop_cells(_printable(token), width) or [""] for token in sentence.tokens]
    first_part = [0, *accumulate(map(len, broken))]  # of each token; where mentions begin and end
    parts = [part for token in broken for part in token]
    sizes = [cell_len(part) for part in parts]
    gaps = _gaps(sentence, broken)
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
    """Control characters would move the cursor, and the bars would not stand under their words.

    Nor is a sign asked to look like an emoji: terminals do not agree on how wide it is then.
    """
    shown = token.replace("\N{VARIATION SELECTOR-16}", "")
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in shown)


def _gaps(sentence: Sentence, broken: Sequence[Sequence[str]]) -> list[int]:
    """The columns before each part of a token: one before a token that is set apart."""
    apart = [before[1] < after[0] for before, after in pairwise(sentence.offsets)] or [True] * len(broken)
    return [
        int(number > 0 and place == 0 and apart[number - 1])
        for number, token in enumerate(broken)
        for place in range(len(token))
    ]


def _lines(sizes: Sequence[int], gaps: Sequence[int], width: int) -> Iterable[tuple[int, int]]:
    """The parts that go on each line; parts without a gap between them are kept together if a line can hold them."""
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
    """The columns that each part of a line takes up."""
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
    """One row of bars for each lane of a line: of mentions with their first part and the one behind their last."""
    bars: list[tuple[int, str, str]] = []  # column, what is drawn there, style
    for mention, start, end in mentions:
        left = min(columns[max(start, 0)][0], width - 1)  # what takes no room may stand behind the last column
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
    """A bar from column `left` to before `right`, open where the line breaks it; and the column where it is drawn.

    The label is in it, behind it or before it. Where a line has no room for it, it goes without its probability, or shortened.
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
