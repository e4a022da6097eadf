"""Documents as a web page: text that wraps at any width, and below it an unbroken bar for each mention.

The text is cut wherever a mention begins or ends. Each segment is an inline element. Its background shows the bars of the mentions
that cover it. A mention keeps its lane from beginning to end, so bars continue over spaces and line breaks. A segment also
reserves the height of its lanes, so a line is only as high as it needs to be. The page has no script and loads nothing. A table
lists the same mentions for readers who do not see bars.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

import regex
from rich.cells import cell_len

from hyperspan.render.layout import PALETTE, BarPlace, shortest_first, stack
from hyperspan.render.page_style import BAR, LABEL_SIZE, LANE, THIN_BAR, TICK, style_sheet
from hyperspan.types import Document, Mention, SentenceAlternatives

LABEL_INTERVAL = 35
"""A label is repeated after this many characters, when a new line has probably begun; on a wide page, after twice as many."""
THIN_NOTE = "Thin bars are mentions that there is no room to name here. The table lists them."
TOOLTIPS = 12
"""The tooltip of a segment names this many mentions."""
EXCERPT_CHARACTERS = 90
"""The table and the tooltips show this many characters of a mention. Long mentions of long texts add up."""

_ANCHOR = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]\p{M}*|[\p{L}\p{M}\p{N}_]+|.", regex.DOTALL)
_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")


def render_html(documents: Document | Iterable[Document], title: str = "hyperspan", labels: Iterable[str] = ()) -> str:
    """A page that shows the documents. The given `labels` get the first colours, in their order.

    >>> page = render_html(Document("the Seattle zoo", [Mention(0, 15, "FAC"), Mention(4, 11, "GPE", probability=0.9)]))
    >>> page.startswith("<!doctype html>") and "GPE 0.90: Seattle" in page
    True
    """
    return "".join(iter_html(documents, title, labels))


def iter_html(
    documents: Document | Iterable[Document], title: str = "hyperspan", labels: Iterable[str] = ()
) -> Iterator[str]:
    """The same page in parts, so that any number of documents fits into memory."""
    shown = escape(_clean(title))
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n<meta name="color-scheme" content="light dark">\n'
    yield f'<title>{shown}</title>\n<style>\n{style_sheet()}</style>\n</head>\n<body class="hyperspan-page">\n<h1>{shown}</h1>\n'
    colours = _Colours(labels)
    for document in [documents] if isinstance(documents, Document) else documents:
        yield from _article(document, colours)
    yield "</body>\n</html>\n"


def html_fragment(document: Document, labels: Iterable[str] = ()) -> str:
    """One document for inclusion in another page, such as a notebook, with its style sheet.

    >>> html_fragment(Document("2 < 3")).endswith('<div class="text" lang="">2 &lt; 3</div></article>\\n')
    True
    """
    return f"<style>\n{style_sheet()}</style>\n{''.join(_article(document, _Colours(labels)))}"


@dataclass
class _Colours:
    """The number of each label, which decides its colour and, beyond the size of the palette, its dash pattern."""

    labels: Iterable[str] = ()
    numbers: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.add(self.labels)

    def add(self, labels: Iterable[str]) -> None:
        for label in labels:
            self.numbers.setdefault(label, len(self.numbers))

    def name(self, label: str) -> str:
        """The CSS variable of the label's colour."""
        return f"--c{self.numbers[label] % len(PALETTE)}"

    def image(self, label: str, probability: float | None) -> str:
        """The CSS image of a bar: the less probable, the paler."""
        colour = f"var({self.name(label)})"
        if probability is not None and probability < 0.995:
            # Mixed with the page colour instead of transparent: in print, neighbouring segments may overlap slightly.
            colour = f"color-mix(in srgb,{colour} {25 + 75 * max(probability, 0.0):.0f}%,var(--page))"
        dash = self.numbers[label] // len(PALETTE)
        if not dash:
            return f"linear-gradient({colour} 0 0)"
        return f"repeating-linear-gradient(90deg,{colour} 0 {8 // dash}px,transparent {8 // dash}px {8 // dash + 3}px)"


@dataclass(frozen=True, slots=True)
class _Bar:
    """A mention, the place of its bar, and the positions of its label."""

    mention: Mention
    place: BarPlace
    label: str
    label_at: dict[int, bool]
    """By position: whether the label appears there on narrow pages only."""


def _article(document: Document, colours: _Colours) -> Iterator[str]:
    text = _clean(document.text)
    counts = Counter(mention.label for mention in document.mentions)
    colours.add(sorted(counts))
    name = f' aria-label="{escape(_clean(document.id))}"' if document.id else ""
    yield f'<article class="hyperspan"{name}>'
    if document.id:
        yield f"<h2>{escape(_clean(document.id))}</h2>"
    if counts:
        yield '<ul class="legend" aria-label="Labels">'
        for label in sorted(counts, key=colours.numbers.__getitem__):
            sample = f'<i style="background-image:{colours.image(label, None)}"></i>'
            yield f"<li>{sample}{escape(_clean(label))} <small>{counts[label]:,}</small></li>"
        yield "</ul>"
    bars = _bars(text, document.mentions)
    yield f'<div class="text" lang=""{_padding(text, bars)}>'
    yield from _running_text(text, bars, colours)
    yield "</div>"
    if any(bar.place.height < 1 for bar in bars):
        yield f'<p class="note">{THIN_NOTE}</p>'
    yield from _table(text, bars)
    yield from _alternatives(text, document.alternatives or ())
    yield "</article>\n"


def _clean(text: str) -> str:
    """The text without characters that HTML forbids, and of the same length; CR LF becomes one line break."""
    return _INVALID.sub("\N{REPLACEMENT CHARACTER}", text).replace("\r\n", " \n").replace("\r", "\n")


# -- positions of bars and labels --------------------------------------------------------------------------------------


def _bars(text: str, mentions: Iterable[Mention]) -> list[_Bar]:
    order = shortest_first(mentions)
    labels = [_clean(mention.label) for mention in order]
    # A label that is longer than its mention needs room after it; label characters are no wider than those of the text.
    room = [(m.start, max(m.end, m.start + cell_len(label) + 1)) for m, label in zip(order, labels, strict=True)]
    places = stack([mention.span for mention in order], room, [_certain(mention) for mention in order])
    return [
        _Bar(
            mention,
            place,
            label,
            dict(_label_positions(text, mention, cell_len(label) + 1)) if place.height == 1 else {},
        )
        for mention, place, label in zip(order, places, labels, strict=True)
    ]


def _label_positions(text: str, mention: Mention, room: int) -> Iterator[tuple[int, bool]]:
    """The positions of a label: at the beginning, on a new line, at intervals; and whether on narrow pages only."""
    place, narrow = mention.start, False
    while True:
        if place == mention.start or text[place] != "\n":  # an empty line has no bar
            yield place, narrow
        found = text.find("\n", place, min(place + LABEL_INTERVAL, mention.end))
        narrow = found < 0 and not narrow
        if found < 0:
            found = text.find(" ", place + LABEL_INTERVAL, mention.end)
        place = found + 1
        if found < 0 or place + room > mention.end:
            return


def _padding(text: str, bars: Sequence[_Bar]) -> str:
    """Padding for the labels of short mentions at the ends of lines."""
    beyond = {"left": 0, "right": 0}
    for bar in bars:
        side = "left" if _right_to_left(text, bar.mention.start) else "right"
        beyond[side] = max(beyond[side], cell_len(bar.label) - (bar.mention.end - bar.mention.start))
    wanted = [f"padding-{side}:{min(0.4 * cells, 6):.2g}em" for side, cells in beyond.items() if cells > 0]
    return f' style="{";".join(wanted)}"' if wanted else ""


def _right_to_left(text: str, place: int) -> bool:
    """Whether the first character from here on that has a direction is written from right to left."""
    for character in text[place : place + 50]:
        direction = unicodedata.bidirectional(character)
        if direction in ("L", "R", "AL"):
            return direction != "L"
    return False


# -- text and bars as HTML ---------------------------------------------------------------------------------------------


def _running_text(text: str, bars: Sequence[_Bar], colours: _Colours) -> Iterator[str]:
    """The text in segments, each with the bars of all mentions that cover it."""
    starting: dict[int, list[_Bar]] = {}
    labelled: dict[int, list[_Bar]] = {}
    cuts = {0, len(text)}
    for bar in bars:
        starting.setdefault(bar.mention.start, []).append(bar)
        cuts.update(bar.mention.span, *bar.mention.fragments)
        for place in bar.label_at:
            labelled.setdefault(place, []).append(bar)
            anchor = _ANCHOR.match(text, place)
            cuts.update((place, anchor.end() if anchor else place))  # no line break between a label and its bar
    open_bars: list[_Bar] = []
    for start, end in pairwise(sorted(cuts)):
        open_bars = [bar for bar in open_bars if bar.mention.end > start] + starting.get(start, [])
        if open_bars:
            open_bars.sort(key=lambda bar: bar.place)
            yield _segment(text, start, end, open_bars, labelled.get(start, []), colours)
        else:
            yield escape(text[start:end])


def _segment(text: str, start: int, end: int, bars: Sequence[_Bar], labelled: Sequence[_Bar], colours: _Colours) -> str:
    height = sum(bars[-1].place)
    near, far = ("right", "left") if _right_to_left(text, start) else ("left", "right")
    layers: list[tuple[str, str, str]] = []  # image, position, size
    for bar in bars:
        mention, image = bar.mention, colours.image(bar.mention.label, bar.mention.probability)
        above = (height - bar.place.top) * LANE
        here = not mention.fragments or any(first <= start < last for first, last in mention.fragments)
        thick = BAR if bar.place.height == 1 else THIN_BAR * bar.place.height
        tall = thick if here else thick / 3  # thinner between the fragments of a discontinuous mention
        layers.append((image, f"left bottom {above - tall:.2f}em", f"100% {tall:.2f}em"))
        ends = [(near, start == mention.start), (far, end == mention.end)] if bar.place.height == 1 else []
        layers += [(image, f"{side} bottom {above - 0.02:.2f}em", f".13em {TICK}em") for side, is_end in ends if is_end]
    images, positions, sizes = (",".join(column) for column in zip(*layers, strict=True))
    style = f"background-image:{images};background-position:{positions};background-size:{sizes}"
    names = "".join(_label(bar, start, height, near, colours) for bar in labelled)
    title = escape("\n".join(_tooltips(text, bars)))
    inner = f'<span class="bars" style="{style}" title="{title}">{names}{escape(text[start:end])}</span>'
    return f'<span class="room" style="--n:{height:.4g}">{inner}</span>'


def _label(bar: _Bar, start: int, height: float, side: str, colours: _Colours) -> str:
    narrow = ' class="narrow"' if bar.label_at[start] else ""
    below = (height - bar.place.top - 1) * LANE / LABEL_SIZE
    place = f"{side}:.25em;bottom:{below:.2f}em;color:var({colours.name(bar.mention.label)})"
    return f'<b aria-hidden="true"{narrow} style="{place}">{escape(bar.label)}</b>'


def _tooltips(text: str, bars: Sequence[_Bar]) -> Iterator[str]:
    """The mentions over a segment; of many, the most probable."""
    many = len(bars) > TOOLTIPS
    for bar in sorted(bars, key=lambda bar: -_certain(bar.mention))[:TOOLTIPS] if many else bars:
        yield f"{bar.label}{_probability(bar.mention, ' ')}: {_excerpt(bar.mention, text)}"
    if many:
        yield f"and {len(bars) - TOOLTIPS} more, which the table lists"


def _certain(mention: Mention) -> float:
    return 1.0 if mention.probability is None else mention.probability


def _probability(mention: Mention, before: str = "") -> str:
    return "" if mention.probability is None else f"{before}{mention.probability:.2f}"


def _excerpt(mention: Mention, text: str) -> str:
    spans = mention.fragments or (mention.span,)
    shown = " … ".join(text[start : min(end, start + EXCERPT_CHARACTERS + 1)] for start, end in spans[:5])
    shown = " ".join(shown.split())
    return shown if len(shown) <= EXCERPT_CHARACTERS else shown[: EXCERPT_CHARACTERS - 1] + "…"


def _table(text: str, bars: Sequence[_Bar]) -> Iterator[str]:
    """The mentions as a table, for screen readers, for the keyboard, and with numbers."""
    if not bars:
        return
    count = f"{len(bars):,} mention{'s' if len(bars) > 1 else ''}"
    yield f"<details><summary>{count}</summary><table><thead><tr>"
    yield '<th scope="col">Mention<th scope="col">Label<th scope="col">Probability<th scope="col">Characters</thead><tbody>'
    for bar in sorted(bars, key=lambda bar: (bar.mention.start, -bar.mention.end, bar.label)):
        yield f"<tr><td><bdi>{escape(_excerpt(bar.mention, text))}</bdi><td>{escape(bar.label)}"
        yield f"<td>{_probability(bar.mention) or '–'}<td>{bar.mention.start}–{bar.mention.end}"
    yield "</tbody></table></details>"


def _alternatives(text: str, alternatives: Iterable[SentenceAlternatives]) -> Iterator[str]:
    """The best sets of each sentence."""
    if shown := "".join(_sets(text, one) for one in alternatives):
        yield f"<details><summary>Alternatives</summary>{shown}</details>"


def _sets(text: str, alternatives: SentenceAlternatives) -> str:
    rows: list[str] = []
    for ranked in alternatives.sets:
        named = [
            f"<bdi>{escape(text[one.start : one.end])}</bdi> <i>{escape(_clean(one.label))}</i>"
            for one in ranked.mentions
        ]
        rows.append(f"<tr><td>{ranked.probability:.3f}<td>{' · '.join(named) or 'no mentions'}")
    words = escape(text[alternatives.start : alternatives.end])
    return f"<p><bdi>{words}</bdi></p><table><tbody>{''.join(rows)}</tbody></table>"
