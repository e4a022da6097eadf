"""The paper's figures: a sentence's segmental hypergraph, and the hyperpath in it that encodes some mentions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rich.cells import cell_len

from hyperspan.errors import InputError, LabelError, SpanError
from hyperspan.render.layout import lanes
from hyperspan.render.svg import Arrow, Dot, Drawing
from hyperspan.structures import Hyperedge, Hypergraph, SegmentalNode, hyperpath_of, segmental_hypergraph
from hyperspan.structures.segmental_graph import END
from hyperspan.types import Mention

ROW = 86  # between two chains of I nodes
INSIDE = 64  # from a T node to the I node beside it
BELOW = 46  # from a node to the X node under it
MARGIN = 30
TOP = 96
BAND_GAP = 34

NODES = {
    "A": ("#f6cfcf", "mentions that start at word i or later"),
    "E": ("#cfdcf6", "mentions that start exactly at word i"),
    "T": ("#cdebd0", "those of one type"),
    "I": ("#fbeebc", "those that also contain word j"),
    "X": ("#dedede", "end of a mention"),
}
EDGES = {  # by the letters of head and tail
    "TX": ("#d9822b", "none starts here"),
    "TI": ("#8e44ad", "at least one does"),
    "II": ("#2e8b57", "a longer one follows"),
    "IX": ("#222222", "the longest ends here"),
    "IXI": ("#a0522d", "one ends here, a longer one follows"),
    "A": ("#c0392b", ""),
    "E": ("#2d63c8", ""),
}


def draw_hypergraph(
    words: Sequence[str],
    mentions: Iterable[Mention] = (),
    *,
    types: Sequence[str] | None = None,
    max_width: int | None = None,
    show: Literal["both", "graph", "path"] = "both",
) -> str:
    """SVG text of the complete segmental hypergraph of a sentence with the hyperpath of the given mentions in it.

    `types` are the labels, in their order (by default those of the mentions); `max_width` the most words in a mention;
    `show` leaves the hyperpath or everything else out.

    >>> svg = draw_hypergraph(["Israeli", "UN"], [Mention(1, 2, "ORG")])
    >>> svg.startswith("<svg") and "ORG" in svg
    True
    """
    found = sorted(set(mentions))
    labels = list(types) if types is not None else list(dict.fromkeys(mention.label for mention in found))
    _check(words, found, labels, max_width)
    graph = segmental_hypergraph(len(words), len(labels), max_width)
    path = hyperpath_of([(mention.start, mention.end, labels.index(mention.label)) for mention in found], graph)
    page = _Page(words, labels, found, graph if show != "path" else Hypergraph(graph.root, path))
    return page.draw(set(path) if show != "graph" else set(graph.edges)).svg(_title(words, found, show))


def _check(words: Sequence[str], mentions: Sequence[Mention], labels: Sequence[str], max_width: int | None) -> None:
    if not words:
        raise InputError("the sentence is empty; give at least one word to draw")
    if not labels:
        raise InputError("no mention types are known; give a mention or name the types, for example --types PER,ORG")
    if len(set(labels)) < len(labels):
        raise LabelError(f"the types {', '.join(labels)} name one twice; name each once")
    if max_width is not None and max_width < 1:
        raise InputError(f"the maximal width is {max_width}; it must be at least 1 word")
    for mention in mentions:
        shown = f"mention {mention.start}:{mention.end}:{mention.label}"
        if mention.label not in labels:
            raise LabelError(
                f"{shown} has the label {mention.label!r}, which is not among the types {', '.join(labels)}"
            )
        if mention.end > len(words):
            raise SpanError(
                f"{shown} ends after the sentence, which has {len(words)} words; the largest END is {len(words)}"
            )
        if max_width is not None and mention.end - mention.start > max_width:
            raise SpanError(
                f"{shown} has {mention.end - mention.start} words, more than the maximal width {max_width}; raise it or leave it out"
            )


def _title(words: Sequence[str], mentions: Sequence[Mention], show: str) -> str:
    what = {"both": "Segmental hypergraph and hyperpath", "graph": "Segmental hypergraph", "path": "Hyperpath"}[show]
    listed = "; ".join(f"{' '.join(words[m.start : m.end])} ({m.label})" for m in mentions) or "no mentions"
    return f"{what} of: {' '.join(words)}. Mentions: {listed}"


@dataclass
class _Page:
    """Where everything stands: one column a word, one band a type, one row a chain of I nodes (or several, if they fit)."""

    words: Sequence[str]
    labels: Sequence[str]
    mentions: Sequence[Mention]
    graph: Hypergraph
    dots: dict[Hashable, Dot] = field(default_factory=dict)
    drawing: Drawing = field(default_factory=Drawing)

    def draw(self, strong: set[Hyperedge]) -> Drawing:
        """Everything, the `strong` edges and the nodes on them in full colour, the rest faint."""
        self.column = max(168, 40 + max(int(9.5 * cell_len(word)) for word in self.words))
        self.left = MARGIN + 24 + max(int(8.5 * cell_len(label)) for label in self.labels) + 56
        bottom = self._place_nodes()
        for edge in self.graph.edges:
            self._draw_edge(edge, edge in strong)
        for i, word in enumerate(self.words):
            self.drawing.text(self._x(i), 36, word, size=17, weight="bold")
        bottom = self._draw_brackets(bottom)
        self._draw_legend(bottom)
        return self.drawing

    def _x(self, word: int) -> float:
        return self.left + word * self.column

    def _place_nodes(self) -> float:
        """Gives every node but X its place; returns where the last band ends."""
        for i in range(len(self.words)):
            self._dot(SegmentalNode("A", i), self._x(i), TOP, ("A", "", f"{i + 1}"))
            self._dot(SegmentalNode("E", i), self._x(i), TOP + 66, ("E", "", f"{i + 1}"))
        y = TOP + 66 + 78.0
        inner = [node for node in self.graph.nodes if isinstance(node, SegmentalNode) and node.letter == "I"]
        for k, label in enumerate(self.labels):
            reach = {i: i for i in range(len(self.words))}
            for node in inner:
                if node.kind == k:
                    reach[node.start] = max(reach[node.start], node.last)
            rows = lanes([(i, last + 1) for i, last in reach.items()])
            self.drawing.text(MARGIN, y + 4, f"{k + 1}  {label}", size=14, weight="bold", anchor="start")
            for i, row in zip(reach, rows, strict=True):
                self._dot(SegmentalNode("T", i, k), self._x(i), y + row * ROW, ("T", f"{k + 1}", f"{i + 1}"))
            for node in inner:
                if node.kind == k:
                    place = (self._x(node.last) + INSIDE, y + rows[node.start] * ROW)
                    self._dot(node, *place, ("I", f"{k + 1}", f"{node.start + 1},{node.last + 1}"))
            y += (max(rows) + 1) * ROW + BAND_GAP
            self.drawing.rule(MARGIN, self._x(len(self.words)) - 40, y - BAND_GAP / 2 - 20)
        return y - BAND_GAP

    def _dot(self, node: SegmentalNode, x: float, y: float, label: tuple[str, str, str]) -> None:
        self.dots[node] = Dot(x, y, NODES[node.letter][0], label)

    def _draw_edge(self, edge: Hyperedge, strong: bool) -> None:
        """One hyperedge as one arrow, with as many heads as it has children."""
        head = self.dots[edge.head]
        # X is one node, drawn wherever it is reached.
        end = Dot(head.x, head.y + BELOW, NODES["X"][0], ("X", "", ""), radius=11)
        children = [end if node == END else self.dots[node] for node in edge.tail]
        letters = "".join(node.letter for node in (edge.head, *edge.tail) if isinstance(node, SegmentalNode))
        colour, _ = EDGES[letters[0] if letters[0] in "AE" else letters]
        arrow = Arrow(colour, strong)
        if letters[0] == "E":
            arrow.along_bus(head, children, bus=head.x - 42)
        elif letters[0] == "A":
            arrow.joined(head, (head.x + 34, head.y + 20), children)
        elif letters == "IXI":
            arrow.joined(head, (head.x + 30, head.y + 20), children)
        else:
            arrow.straight(head, children[0])
        self.drawing.add(arrow, [head, *children], strong)

    def _draw_brackets(self, y: float) -> float:
        rows = lanes([mention.span for mention in self.mentions])
        for mention, row in zip(self.mentions, rows, strict=True):
            self.drawing.bracket(
                self._x(mention.start) - 22, self._x(mention.end - 1) + INSIDE + 22, y + 16 + row * 34, mention.label
            )
        return y + 16 + (max(rows, default=-1) + 1) * 34

    def _draw_legend(self, y: float) -> None:
        right = max(self._x(len(self.words)) - 40, self.left + 300)
        signs = [
            (Dot(0, 0, colour, (letter, "", ""), radius=10).svg(), meaning)
            for letter, (colour, meaning) in NODES.items()
        ]
        signs += [
            (f'<path d="M-12,0 H12" stroke="{colour}" stroke-width="3"/>', meaning)
            for colour, meaning in EDGES.values()
            if meaning
        ]
        x = left = float(MARGIN + 12)
        y += 24
        for sign, meaning in signs:
            width = 40 + 6.1 * len(meaning)
            if x > left and x + width > right:
                x, y = left, y + 30
            self.drawing.key(x, y, f'<g transform="translate({x:.1f},{y:.1f})">{sign}</g>', meaning)
            x += width
        self.drawing.width, self.drawing.height = right + MARGIN, y + 34
