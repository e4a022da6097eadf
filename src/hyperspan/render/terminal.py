"""Sentences in a terminal: words, with a bar below for each mention, stacked where mentions overlap."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import IO, NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size
from rich.console import Console
from rich.text import Text

from hyperspan.render.layout import Colours, certain, lanes, not_too_deep, shortest_first, spaces_before, words_of
from hyperspan.types import Document, Mention, RankedMentions, Sentence, Span

MIN_WIDTH = 20
"""Narrower terminals are treated as this wide."""
MOST = 24
"""The number of bars drawn below any word: about as many lines as a terminal shows at once."""


def render_sentence(sentence: Sentence, width: int = 80, styles: Mapping[str, str] | None = None) -> Text:
    """Render a sentence in lines of at most `width` columns, short mentions on top. Words wider than a line are broken.

    Where more than 24 mentions overlap, the less probable ones are not drawn, and a line says how many.

    Tokens are separated by spaces unless their offsets show none. A dotted line joins the parts of a discontinuous
    mention; a part at the beginning or end of a line has the corner ┴ if the mention continues on another line.

    >>> print(render_sentence(Sentence("the Seattle zoo".split(), [Mention(0, 3, "FAC"), Mention(1, 2, "GPE")])).plain)
    the Seattle zoo
        ╰─GPE─╯
    ╰─────FAC─────╯
    >>> print(render_sentence(Sentence("left and right lungs".split(), [Mention(0, 4, "X", ((0, 1), (3, 4)))])).plain)
    left and right lungs
    ╰──╯┄┄┄┄┄┄┄┄┄┄┄╰─X─╯
    """
    styles = styles if styles is not None else Colours(sorted(mention.label for mention in sentence.mentions)).styles
    width = max(width, MIN_WIDTH)
    broken = [chop_cells(_printable(token), width) or [""] for token in sentence.tokens]
    first_chunk = [0, *accumulate(map(len, broken))]  # the index of each token's first chunk
    chunks = [chunk for token in broken for chunk in token]
    sizes = [cell_len(chunk) for chunk in chunks]
    spaces = zip(spaces_before(sentence), broken, strict=True)
    gaps = [
        int(chunk == 0 and space) for space, token in spaces for chunk in range(len(token))
    ]  # columns before each chunk
    mentions = shortest_first(sentence.mentions)
    drawn = not_too_deep([mention.span for mention in mentions], [certain(mention) for mention in mentions], MOST)
    placed = [
        _Placed(rank, mentions[rank], [(first_chunk[start], first_chunk[end]) for start, end in mentions[rank].parts])
        for rank in drawn
    ]
    placed.sort(key=lambda one: one.parts[0][0], reverse=True)
    reaching: list[_Placed] = []  # the mentions with words on this line, or before and after it
    rendered = Text()
    for first, last in _lines(sizes, gaps, width):
        line = "".join(" " * gap + chunk for gap, chunk in zip(gaps[first:last], chunks[first:last], strict=True))
        rendered.append(line[gaps[first] if first < last else 0 :] + "\n")
        columns = _columns(sizes[first:last], gaps[first:last])
        reaching = [one for one in reaching if one.parts[-1][1] > first]
        while placed and placed[-1].parts[0][0] < last:
            reaching.append(placed.pop())
        reaching.sort(key=lambda one: one.rank)
        bars = [_bar(one.mention, one.parts_on(first, last), columns, width) for one in reaching]
        for row in _rows(bars, styles):
            rendered.append_text(row).append("\n")
    rendered.rstrip()
    if len(drawn) < len(mentions):
        rendered.append(f"\n{len(mentions) - len(drawn):,} more not drawn", style="italic")
    return rendered


class _Placed(NamedTuple):
    """A mention, its place among all of its sentence, and its parts in chunks."""

    rank: int
    mention: Mention
    parts: list[Span]

    def parts_on(self, first: int, last: int) -> list[Span]:
        """The parts on a line, and those at both ends of the mention, as chunks after the first of the line."""
        begin = bisect_right(self.parts, first, key=lambda part: part[1])
        end = bisect_left(self.parts, last, key=lambda part: part[0])
        both_ends = dict.fromkeys([self.parts[0], *self.parts[begin:end], self.parts[-1]])
        return [(start - first, end - first) for start, end in both_ends]


def _printable(token: str) -> str:
    """Replaces control characters, which would move the cursor and misalign the bars.

    Also removes variation selectors for emoji, because terminals disagree on their width.
    """
    shown = token.replace("\N{VARIATION SELECTOR-16}", "")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown)


def _lines(sizes: Sequence[int], gaps: Sequence[int], width: int) -> Iterable[tuple[int, int]]:
    """The first and last chunk of each line. Chunks without a gap between them stay together if they fit."""
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
    """The first and last column of each chunk of a line."""
    columns: list[tuple[int, int]] = []
    position = 0
    for size, gap in zip(sizes, gaps, strict=True):
        position += gap if columns else 0
        columns.append((position, position + size))
        position += size
    return columns


class TerminalBar(NamedTuple):
    """A bar with its label, and the column where it is drawn."""

    column: int
    drawn: str
    label: str


def _rows(bars: Sequence[TerminalBar], styles: Mapping[str, str]) -> list[Text]:
    """A row of bars for each lane of a line."""
    rows = lanes([(column, column + cell_len(drawn) + 1) for column, drawn, _ in bars])
    texts = [Text() for _ in range(max(rows, default=-1) + 1)]
    for (column, drawn, label), lane in sorted(zip(bars, rows, strict=True)):
        text = texts[lane]
        text.append(" " * (column - cell_len(text.plain))).append(drawn, style=styles.get(label, ""))
    return texts


def _bar(mention: Mention, parts: Sequence[Span], columns: Sequence[Span], width: int) -> TerminalBar:
    """The bar of a mention on one line, given the chunks of its parts, some of which may be on other lines.

    The label is inside a part, between two, after or before the bar. Without enough room it loses its probability, or
    is shortened.
    """
    here = [
        _stretch(part, columns, width, (part != parts[0], part != parts[-1]))
        for part in parts
        if part[0] < len(columns) and part[1] > 0
    ]
    left = here[0][0] if parts[0][0] >= 0 and here else 0
    right = max(here[-1][1] if parts[-1][1] <= len(columns) and here else columns[-1][1], left + 1)
    bar = list("┄" * (right - left))
    for start, end, drawn in here:
        bar[start - left : end - left] = drawn
    inside_parts = [(start, end) for start, end, _ in here]
    between = [(before[1], after[0]) for before, after in pairwise([(0, left), *inside_parts, (right, 0)])]
    widest_first = (sorted(group, key=lambda place: place[0] - place[1]) for group in (inside_parts, between))
    places = [(start + 1, end - 1) for group in widest_first for start, end in group]
    label = _label(mention, max(*(end - start for start, end in places), width - right, left))
    needed = cell_len(label)
    inside = next((place for place in places if place[1] - place[0] >= needed), None)
    if inside is not None:
        start = inside[0] - left + (inside[1] - inside[0] - needed) // 2
        return TerminalBar(left, "".join([*bar[:start], label, *bar[start + needed :]]), mention.label)
    drawn = "".join(bar)
    if right + needed <= width:
        return TerminalBar(left, f"{drawn}{label}", mention.label)
    return TerminalBar(left - needed, f"{label}{drawn}", mention.label)


def _stretch(part: Span, columns: Sequence[Span], width: int, others: tuple[bool, bool]) -> tuple[int, int, str]:
    """The columns of a part on this line, and its bar, open where a line break cuts it.

    `others` says whether its mention has parts before and after it. If these are beyond a line break at which the part
    begins or ends, its corner points there.
    """
    left = min(columns[max(part[0], 0)][0], width - 1)  # a chunk of width 0 may be after the last column
    right = max(columns[min(part[1], len(columns)) - 1][1], left + 1)
    before, after = others[0] and part[0] == 0, others[1] and part[1] == len(columns)
    if right - left == 1:
        return (
            left,
            right,
            {(False, False): "╵", (True, False): "╯", (False, True): "╰", (True, True): "┴"}[before, after],
        )
    opening = "─" if part[0] < 0 else "┴" if before else "╰"
    closing = "─" if part[1] > len(columns) else "┴" if after else "╯"
    return left, right, opening + "─" * (right - left - 2) + closing


def _label(mention: Mention, room: int) -> str:
    """The label with its probability, alone or shortened, depending on the room."""
    name, probability = _printable(mention.label), mention.probability
    labels = (
        f"{name} {probability:.2f}" if probability is not None else name,
        name,
        f"{set_cell_size(name, room - 1)}…",
    )
    return next(label for label in labels if cell_len(label) <= room)


def print_documents(documents: Iterable[Document], file: IO[str] | None, labels: Iterable[str]) -> None:
    """Print sentences with their bars, and their alternatives if there are any; None is standard output."""
    console = Console(file=file, highlight=False)
    styles = Colours(labels).styles
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
    """One of the best sets: its probability and its mentions, on as many lines as they need."""
    mentions = Text("" if ranked.mentions else "no mentions", style="" if ranked.mentions else "italic")
    for index, mention in enumerate(ranked.mentions):
        words = words_of(mention)
        mentions.append(" | " if index else "").append(f"{words} [").append(mention.label, style=styles[mention.label])
        mentions.append("]")
    margin = f"  {ranked.probability:.3f}  "
    lines = mentions.wrap(console, max(console.width - len(margin), 1))
    for line in lines:
        line.rstrip()
    return Text("\n").join(Text(" " * len(margin) if index else margin) + line for index, line in enumerate(lines))
