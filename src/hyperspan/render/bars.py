"""Running text with an unbroken bar for each mention, as HTML, below or above the words.

The text is cut wherever a mention begins or ends. Each segment is an inline element. Its background shows the bars of
the mentions that cover it. A mention keeps its lane from beginning to end, so bars continue over spaces and line
breaks. A segment also reserves the height of its lanes, so a line is only as high as it needs to be.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import NamedTuple

import regex
from rich.cells import cell_len

from hyperspan.render.layout import MOST, BarPlace, Colours, certain, not_too_deep, shortest_first, stack
from hyperspan.render.style import BAR, GAP, LABEL_SIZE, LANE, THIN_BAR, TICK
from hyperspan.types import Mention, Span

LABEL_INTERVAL = 35
"""The number of characters after which a label is repeated on a narrow page; twice as many on a wide one."""
TOOLTIPS = 12
"""The tooltip of a segment names this many mentions."""
EXCERPT_CHARACTERS = 90
"""The table and the tooltips show this many characters of a mention. Long mentions of long texts add up."""

_ANCHOR = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]\p{M}*|[\p{L}\p{M}\p{N}_]+|.", regex.DOTALL)
_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")


class BarWish(NamedTuple):
    """A mention to draw, with its label and the strength of its bar."""

    mention: Mention
    label: str
    strength: float = 1.0
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A mention, the place of its bar, and the positions of its label."""

    mention: Mention
    place: BarPlace
    label: str
    label_at: dict[int, bool]
    """By position: whether the label appears there on narrow pages only."""
    strength: float = 1.0
    """From 0, pale, to 1."""
    quiet: bool = False
    """Whether its label is as muted as a note, rather than in the colour of the bar."""
    above: bool = False
    """Whether it is above the words rather than below."""

    @property
    def side(self) -> str:
        """The edge of a segment from which its place is measured."""
        return "top" if self.above else "bottom"


def clean(text: str) -> str:
    """The text without characters that HTML forbids, and of the same length; CR LF becomes one line break."""
    return _INVALID.sub("\N{REPLACEMENT CHARACTER}", text).replace("\r\n", " \n").replace("\r", "\n")


# -- positions of bars and labels --------------------------------------------------------------------------------------


def bars_of(text: str, mentions: Iterable[Mention]) -> list[Bar]:
    """The bars of the mentions of a clean text, below it; less probable ones are paler."""
    return lay_out(text, [BarWish(mention, clean(mention.label), certain(mention)) for mention in mentions])


def lay_out(text: str, wishes: Iterable[BarWish], *, above: bool = False) -> list[Bar]:
    """The bars of distinct mentions, below or above a clean text; the strongest, where too many overlap."""
    by_mention = {wish.mention: wish for wish in wishes}
    every = shortest_first(by_mention)
    drawn = not_too_deep([mention.span for mention in every], [by_mention[mention].strength for mention in every], MOST)
    order = [every[index] for index in drawn]
    labels = [by_mention[mention].label for mention in order]
    # A label longer than its mention needs room after it; label characters are no wider than those of the text.
    room = [(m.start, max(m.end, m.start + cell_len(label) + 1)) for m, label in zip(order, labels, strict=True)]
    places = stack([mention.span for mention in order], room, [by_mention[mention].strength for mention in order])
    return [
        Bar(
            mention,
            place,
            label,
            dict(_label_positions(text, mention, cell_len(label) + 1)) if place.height == 1 else {},
            by_mention[mention].strength,
            by_mention[mention].quiet,
            above,
        )
        for mention, place, label in zip(order, places, labels, strict=True)
    ]


def _label_positions(text: str, mention: Mention, room: int) -> Iterator[tuple[int, bool]]:
    """The positions of a label (start, new lines, intervals, never in a gap), and whether only on narrow pages."""
    place, narrow = mention.start, False
    while True:
        if place == mention.start or text[place] != "\n":  # an empty line has no bar
            yield place, narrow
        found = text.find("\n", place, min(place + LABEL_INTERVAL, mention.end))
        narrow = found < 0 and not narrow
        if found < 0:
            found = text.find(" ", place + LABEL_INTERVAL, mention.end)
        if found < 0:
            return
        later = bisect_right(mention.parts, found + 1, key=lambda part: part[1])
        place = max(found + 1, mention.parts[later][0]) if later < len(mention.parts) else mention.end
        if place + room > mention.end:
            return


def left_out(count: int, where: str = "") -> str:
    """The note below a text in which too many mentions overlap."""
    if not count:
        return ""
    return f'<p class="note">{count:,} more not drawn, because too many overlap.{where}</p>'


def padding(text: str, bars: Sequence[Bar]) -> str:
    """Padding for the labels of short mentions at the ends of lines."""
    beyond = {"left": 0, "right": 0}
    for bar in bars:
        side = "left" if right_to_left(text, bar.mention.start) else "right"
        beyond[side] = max(beyond[side], cell_len(bar.label) - (bar.mention.end - bar.mention.start))
    wanted = [f"padding-{side}:{min(0.4 * cells, 6):.2g}em" for side, cells in beyond.items() if cells > 0]
    return f' style="{";".join(wanted)}"' if wanted else ""


def right_to_left(text: str, place: int) -> bool:
    """Whether the first character from here with a direction is written from right to left."""
    for character in text[place : place + 50]:
        direction = unicodedata.bidirectional(character)
        if direction in ("L", "R", "AL"):
            return direction != "L"
    return False


# -- text and bars as HTML ---------------------------------------------------------------------------------------------


def running_text(text: str, bars: Sequence[Bar], colours: Colours) -> Iterator[str]:
    """The text in segments, each with the bars of all mentions that cover it."""
    starting: dict[int, list[Bar]] = {}
    labelled: dict[int, list[Bar]] = {}
    cuts = {0, len(text)}
    for bar in bars:
        starting.setdefault(bar.mention.start, []).append(bar)
        cuts.update(*bar.mention.parts)
        for place in bar.label_at:
            labelled.setdefault(place, []).append(bar)
            anchor = _ANCHOR.match(text, place)
            cuts.update((place, anchor.end() if anchor else place))  # no line break between a label and its bar
    open_bars: list[Bar] = []
    for start, end in pairwise(sorted(cuts)):
        open_bars = [bar for bar in open_bars if bar.mention.end > start] + starting.get(start, [])
        if open_bars:
            open_bars.sort(key=lambda bar: bar.place)
            yield _segment(text, start, end, open_bars, labelled.get(start, []), colours)
        else:
            yield escape(text[start:end])


def _segment(text: str, start: int, end: int, bars: Sequence[Bar], labelled: Sequence[Bar], colours: Colours) -> str:
    near, far = ("right", "left") if right_to_left(text, start) else ("left", "right")
    heights = {above: max((sum(bar.place) for bar in bars if bar.above == above), default=0) for above in (False, True)}
    layers: list[tuple[str, str, str]] = []  # image, position, size
    for bar in bars:
        mention, image = bar.mention, colours.image(bar.mention.label, bar.strength)
        side, inside = bar.side, (heights[bar.above] - bar.place.top) * LANE
        part = _part_at(mention, start)
        thick = BAR if bar.place.height == 1 else THIN_BAR * bar.place.height
        tall = thick if part else thick / 3  # a thin line between the parts of a discontinuous mention
        layers.append((image, f"left {side} {inside - tall:.2f}em", f"100% {tall:.2f}em"))
        ends = zip((near, far), (start, end), part, strict=True) if part and bar.place.height == 1 else ()
        layers += [
            (image, f"{edge} {side} {inside - 0.02:.2f}em", f".13em {TICK}em")
            for edge, place, end_of_part in ends
            if place == end_of_part
        ]
    images, positions, sizes = (",".join(column) for column in zip(*layers, strict=True))
    style = f"background-image:{images};background-position:{positions};background-size:{sizes}"
    names = "".join(_label(bar, start, heights[bar.above], near, colours) for bar in labelled)
    title = escape("\n".join(_tooltips(text, bars)))
    inner = f'<span class="bars" style="{style}" title="{title}">{names}{escape(text[start:end])}</span>'
    rise = f";--a:{heights[True] * LANE + GAP:.4g}em" if heights[True] else ""
    return f'<span class="room" style="--n:{heights[False]:.4g}{rise}">{inner}</span>'


def _part_at(mention: Mention, place: int) -> Span | None:
    """The part over a place inside a mention; None in a gap."""
    if not mention.fragments:
        return mention.span
    part = mention.fragments[bisect_right(mention.fragments, place, key=lambda part: part[0]) - 1]
    return part if place < part[1] else None


def _label(bar: Bar, start: int, height: float, edge: str, colours: Colours) -> str:
    classes = [name for name, holds in (("narrow", bar.label_at[start]), ("quiet", bar.quiet)) if holds]
    kind = f' class="{" ".join(classes)}"' if classes else ""
    away = (height - bar.place.top - 1) * LANE / LABEL_SIZE
    colour = "--soft" if bar.quiet else colours.name(bar.mention.label)
    place = f"{edge}:.25em;{bar.side}:{away:.2f}em;color:var({colour})"
    # The style sheet writes it, so that it is no part of the text for those who do not see bars.
    return f'<b aria-hidden="true"{kind} data-label="{escape(bar.label)}" style="{place}"></b>'


def _tooltips(text: str, bars: Sequence[Bar]) -> Iterator[str]:
    """The mentions over a segment; if there are many, the most probable."""
    many = len(bars) > TOOLTIPS
    for bar in sorted(bars, key=lambda bar: -certain(bar.mention))[:TOOLTIPS] if many else bars:
        yield f"{bar.label}{probability(bar.mention, ' ')}: {excerpt(bar.mention, text)}"
    if many:
        yield f"and {len(bars) - TOOLTIPS} more, which the table lists"


def probability(mention: Mention, before: str = "") -> str:
    return "" if mention.probability is None else f"{before}{mention.probability:.2f}"


def excerpt(mention: Mention, text: str) -> str:
    shown = " … ".join(text[start : min(end, start + EXCERPT_CHARACTERS + 1)] for start, end in mention.parts[:5])
    shown = " ".join(shown.split())
    return shown if len(shown) <= EXCERPT_CHARACTERS else shown[: EXCERPT_CHARACTERS - 1] + "…"
