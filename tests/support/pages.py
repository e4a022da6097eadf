"""A page as a reader has it: its words and elements, and the bars below its annotated text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class Bar:
    """A part of a bar below a piece of text; a gap is a thin line between two parts."""

    lane: int
    image: str
    is_gap: bool
    ticks: int = 0
    """How many of its ends are here."""


@dataclass
class Piece:
    """A stretch of the text with the bars below it, and the lines of its tooltip."""

    start: int
    text: str = ""
    bars: list[Bar] = field(default_factory=list)
    tooltip: list[str] = field(default_factory=list)


class Page(HTMLParser):
    """Parses a page, of which at most one text is annotated."""

    def __init__(self, page: str):
        super().__init__()
        self.tags, self.attributes, self.ids = set[str](), set[str](), set[str]()
        self.links, self.loaded = set[str](), list[str]()
        """Where it leads, and what a browser loads with it: scripts, styles, pictures."""
        self.visible, self.text = "", ""
        """What there is to read without a style sheet, and the annotated text alone."""
        self.pieces: list[Piece] = []
        self.labels: list[tuple[int, str, str]] = []  # position in the text, style, label
        self.colours: dict[str, str] = {}  # by image: the label that the legend gives it
        self._open: list[str] = []
        self._height, self._image, self._in_style = 0, "", False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        self.attributes |= given.keys()
        self.ids |= {given["id"]} if "id" in given else set()
        self.links |= {given["href"]} if "href" in given else set()
        if tag in ("script", "img", "iframe", "source") or (tag == "link" and given.get("rel") != "canonical"):
            self.loaded += [address for key in ("src", "href") if (address := given.get(key))]
        self._in_style = tag == "style"
        kind, style = given.get("class", ""), given.get("style", "")
        if tag == "i":
            self._image = style.removeprefix("background-image:linear-gradient(").removesuffix(" 0 0)")
        if kind == "text" or self._open:
            self._open.append(kind)
        if kind == "room":
            self._height = int(style.removeprefix("--n:").partition(";")[0])
        if kind == "bars":
            self.pieces.append(Piece(len(self.text), bars=self._bars(style), tooltip=given["title"].split("\n")))
        if tag == "b" and "data-label" in given:
            self.labels.append((len(self.text), style, given["data-label"]))

    def _bars(self, style: str) -> list[Bar]:
        images, places, sizes = (part.partition(":")[2] for part in style.split(";"))
        found: list[Bar] = []
        for image, place, size in zip(
            re.split(r",(?=linear|var\(--g)", images), places.split(","), sizes.split(","), strict=True
        ):
            if size.startswith("100%"):  # the bottom of a bar is less than a lane below where its lane begins
                lane = self._height - 1 - int(float(place.split()[2].removesuffix("em")))
                found.append(Bar(lane, image, float(size.split()[1].removesuffix("em")) < 0.1))
            else:
                found[-1].ticks += 1
        return found

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False
        if self._open:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if self._in_style:
            return
        self.visible += data
        if self._open:
            if self._open[-1] == "bars":
                self.pieces[-1].text += data
            self.text += data
        elif self._image:
            self.colours[self._image], self._image = data.strip(), ""
