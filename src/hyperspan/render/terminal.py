"""Sentences in a terminal: words, and under them a bar for each mention, stacked where they overlap."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from rich.cells import cell_len
from rich.text import Text

from hyperspan.render.layout import colours, lanes, shortest_first
from hyperspan.types import Mention, Sentence


def render_sentence(sentence: Sentence, width: int = 80, styles: Mapping[str, str] | None = None) -> Text:
    """The sentence in lines of at most `width` columns (a longer word has a line of its own), short mentions on top.

    Tokens are set apart where their offsets say that something stands between them, and all where they have none.

    >>> print(render_sentence(Sentence("the Seattle zoo".split(), [Mention(0, 3, "FAC"), Mention(1, 2, "GPE")])).plain)
    the Seattle zoo
        ╰─GPE─╯
    ╰─────FAC─────╯
    """
    styles = styles if styles is not None else colours(mention.label for mention in sentence.mentions)
    tokens = [_printable(token) for token in sentence.tokens]
    sizes = [cell_len(token) for token in tokens]
    apart = [before[1] < after[0] for before, after in pairwise(sentence.offsets)]
    gaps = [0, *map(int, apart or [True] * (len(tokens) - 1))][: len(tokens)]  # columns before each token
    rendered = Text()
    for first, last in _lines(sizes, gaps, width):
        line = "".join(" " * gap + token for gap, token in zip(gaps[first:last], tokens[first:last], strict=True))
        rendered.append(line[gaps[first] if first < last else 0 :] + "\n")
        here = [mention for mention in sentence.mentions if mention.start < last and mention.end > first]
        columns = _columns(sizes[first:last], gaps[first:last])
        for row in _bars(here, first, last, columns, styles):
            rendered.append_text(row).append("\n")
    rendered.rstrip()
    return rendered


def _printable(token: str) -> str:
    """Control characters would move the cursor, and the bars would not stand under their words."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in token)


def _lines(sizes: Sequence[int], gaps: Sequence[int], width: int) -> Iterable[tuple[int, int]]:
    """The tokens that go on each line; tokens without a gap between them are kept together if a line can hold them."""
    first, used, together = 0, 0, 0
    for position, size in enumerate(sizes):
        if gaps[position]:
            together = position
        needed = size + (gaps[position] if position > first else 0)
        if position > first and used + needed > width:
            cut = together if together > first else position
            yield first, cut
            first, used = cut, sum(sizes[cut:position]) + size
        else:
            used += needed
    yield first, len(sizes)


def _columns(sizes: Sequence[int], gaps: Sequence[int]) -> list[tuple[int, int]]:
    """The columns that each token of a line takes up."""
    columns: list[tuple[int, int]] = []
    position = 0
    for size, gap in zip(sizes, gaps, strict=True):
        position += gap if columns else 0
        columns.append((position, position + size))
        position += size
    return columns


def _bars(
    mentions: Sequence[Mention], first: int, last: int, columns: Sequence[tuple[int, int]], styles: Mapping[str, str]
) -> list[Text]:
    """One row of bars for each lane of a line that shows the tokens from `first` to before `last`."""
    bars: list[tuple[int, str, str]] = []  # column, what is drawn there, style
    for mention in shortest_first(mentions):
        left, right = columns[max(mention.start, first) - first][0], columns[min(mention.end, last) - first - 1][1]
        bars.append((left, _bar(mention, first, last, max(right - left, 1)), styles.get(mention.label, "")))
    rows = lanes([(left, left + cell_len(drawn) + 1) for left, drawn, _ in bars])
    texts: list[Text] = []
    for lane in range(max(rows, default=-1) + 1):
        text = Text()
        for (left, drawn, style), own in sorted(zip(bars, rows, strict=True)):
            if own == lane:
                text.append(" " * (left - cell_len(text.plain))).append(drawn, style=style)
        texts.append(text)
    return texts


def _bar(mention: Mention, first: int, last: int, size: int) -> str:
    """A bar of this many columns with the label in it, or behind it where it does not fit; open where the line breaks it."""
    label = _printable(mention.label) + (f" {mention.probability:.2f}" if mention.probability is not None else "")
    left, right = "╰" if mention.start >= first else "─", "╯" if mention.end <= last else "─"
    spare = size - 2 - cell_len(label)
    if spare >= 0:
        return f"{left}{'─' * (spare // 2)}{label}{'─' * (spare - spare // 2)}{right}"
    return f"{'╵' if size == 1 else left + '─' * (size - 2) + right}{label}"
