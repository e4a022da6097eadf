"""Diagrams of the two structures that bundled models and pages have: the segmental and the discontinuous hypergraph.

What all diagrams share comes first: words above, mentions as brackets below, and a legend.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, Generic

from rich.cells import cell_len

from hyperspan.errors import SpanError
from hyperspan.render.layout import lanes
from hyperspan.render.svg import Arrow, Dot, Drawing
from hyperspan.structures import MentionSet
from hyperspan.structures.graphs import (
    DiscontinuousNode,
    Hyperedge,
    Hypergraph,
    Hyperpath,
    SegmentalNode,
    discontinuous_hypergraph,
    discontinuous_hyperpath,
    hyperpath_of,
    segmental_hypergraph,
)
from hyperspan.structures.graphs.hypergraph import Node
from hyperspan.structures.mentions import AnyMention, Limits, Parts, with_parts
from hyperspan.types import Mention

MARGIN = 30
TOP = 96  # where the first nodes are
STARTS = TOP + 66 + 78.0  # where the first T nodes are, below the A and E nodes
BAND_GAP = 34  # between the bands of two types
ROW = 86  # between two chains of I nodes
INSIDE = 64  # from a T or G node to the node next to it
BELOW = 46  # from a node to the one under it
CHAIN = 140  # of a T node, its I and D nodes and their ends
LANE = 168  # of a G node, its P and D nodes and their ends

Legend = dict[str, tuple[str, str]]
"""Colour and meaning of each kind of node or hyperedge; without a meaning it is not in the legend."""


class Diagram(ABC, Generic[Node]):
    """A sentence with a structure above it. Subclasses build the hypergraph, find hyperpaths and lay out nodes."""

    title: ClassVar[str]
    finds_discontinuous: ClassVar[bool] = False
    """Whether mentions may be discontinuous."""
    nodes: ClassVar[Legend]
    """By the first part of a node's label."""
    edges: ClassVar[Legend]
    min_column: ClassVar[int] = 168
    """The minimum distance between two words."""

    def __init__(self, words: Sequence[str], labels: Sequence[str], mentions: Sequence[Mention], max_width: int | None):
        self.words, self.labels, self.mentions = words, labels, mentions
        self.mention_set: MentionSet = frozenset((m.start, m.end, labels.index(m.label)) for m in mentions)
        self.graph = self.build(max_width)
        self.dots: dict[Node, Dot] = {}
        self.drawing = Drawing()
        self.path_only = False  # whether to draw one hyperpath and nothing else
        self.column = max(self.min_column, 40 + max(int(9.5 * cell_len(word)) for word in words))
        self.left = MARGIN + 24 + max(int(8.5 * cell_len(label)) for label in labels) + 56

    @property
    def scope(self) -> str:
        """Which part of the structure is drawn, as a sentence; empty if all of it is."""
        return ""

    @classmethod
    def check(cls, mentions: Sequence[Mention], max_width: int | None) -> None:
        """Refuse mentions that no hyperpath encodes."""
        for mention in mentions:
            if mention.fragments and not cls.finds_discontinuous:
                raise SpanError(
                    f"mention {shown(mention)} is discontinuous, and a {cls.in_prose()} has only contiguous ones; "
                    "draw the structure discontinuous"
                )

    @classmethod
    def in_prose(cls) -> str:
        """The title within a sentence."""
        return f"{cls.title[0].lower()}{cls.title[1:]}"

    @abstractmethod
    def build(self, max_width: int | None) -> Hypergraph[Node]:
        """The complete hypergraph of the sentence."""

    @abstractmethod
    def path(self) -> Hyperpath[Node]:
        """The hyperpath of the mentions, which `check` has passed."""

    def keep_only(self, path: Hyperpath[Node]) -> None:
        """Remove everything but this hyperpath."""
        self.graph = Hypergraph(self.graph.root, dict.fromkeys(path))  # a hyperpath may contain an edge twice
        self.path_only = True

    @abstractmethod
    def layout(self) -> float:
        """Position every node and draw the labels next to them; return the y where this part ends."""

    @abstractmethod
    def draw_edge(self, edge: Hyperedge[Node], strong: bool) -> None:
        """Draw one hyperedge as one arrow, with one head for each child."""

    def draw(self, strong: set[Hyperedge[Node]]) -> Drawing:
        """Draw everything: the `strong` edges and their nodes in full colour, the rest faint."""
        bottom = self.layout()
        for edge in self.graph.edges:
            self.draw_edge(edge, edge in strong)
        self.draw_words()
        bottom = self._draw_brackets(bottom)
        self._draw_legend(bottom)
        return self.drawing

    def x(self, word: float) -> float:
        """The x of a word's column."""
        return self.left + word * self.column

    @property
    def right(self) -> float:
        """The x where the picture ends, without the margin."""
        return self.x(len(self.words)) - 40

    def bracket_ends(self, part: Mention) -> tuple[float, float]:
        """The first and the last x of the bracket of a mention, or of one of its parts."""
        return self.x(part.start) - 22, self.x(part.end - 1) + 22

    def draw_words(self) -> None:
        for i, word in enumerate(self.words):
            self.drawing.text(self.x(i), 36, word, size=17, weight="bold")

    def draw_band_label(self, kind: int, y: float) -> None:
        """Write the number and the name of a type next to its nodes."""
        self.drawing.text(MARGIN, y + 4, f"{kind + 1}  {self.labels[kind]}", size=14, weight="bold", anchor="start")

    def draw_band_rule(self, y: float) -> None:
        """Draw the line under the nodes of a type; the next band begins at `y`."""
        self.drawing.rule(MARGIN, self.right, y - BAND_GAP / 2 - 20)

    def add_node(self, node: Node, x: float, y: float, label: tuple[str, str, str], radius: float = 19) -> None:
        """Position a node; the first part of its label decides its colour."""
        self.dots[node] = Dot(x, y, self.nodes[label[0]][0], label, radius)

    def arrow(self, kind: str, strong: bool) -> Arrow:
        return Arrow(self.edges[kind][0], strong)

    def _draw_brackets(self, y: float) -> float:
        rows = lanes([mention.span for mention in self.mentions])
        for mention, row in zip(self.mentions, rows, strict=True):
            parts = [self.bracket_ends(Mention(start, end, mention.label)) for start, end in mention.parts]
            self.drawing.bracket(parts, y + 16 + row * 34, mention.label)
        return y + 16 + (max(rows, default=-1) + 1) * 34

    def legend(self) -> Iterator[tuple[str, str]]:
        """Symbols, drawn around the origin, with their meanings."""
        for symbol, (colour, meaning) in self.nodes.items():
            if meaning:
                yield Dot(0, 0, colour, (symbol, "", ""), radius=10).svg(), meaning
        for colour, meaning in self.edges.values():
            if meaning:
                yield stroke(colour), meaning

    def _draw_legend(self, y: float) -> None:
        right = max(self.right, self.left + 300)
        x = left = float(MARGIN + 12)
        y += 24
        for symbol, meaning in self.legend():
            width = 52 + 6.6 * cell_len(meaning)  # as wide as any usual font
            if x > left and x + width > right:
                x, y = left, y + 30
            self.drawing.key(x, y, f'<g transform="translate({x:.1f},{y:.1f})">{symbol}</g>', meaning)
            x += width
        self.drawing.width, self.drawing.height = right + MARGIN, y + 34


def stroke(colour: str) -> str:
    """A short line, the symbol of an edge in the legend."""
    return f'<path d="M-12,0 H12" stroke="{colour}" stroke-width="3"/>'


def shown(mention: Mention) -> str:
    """A mention as on the command line, such as 0:1,3:4:part."""
    return f"{','.join(f'{start}:{end}' for start, end in mention.parts)}:{mention.label}"


class SegmentalDiagram(Diagram[SegmentalNode]):
    """As in the paper's figures: a column for each word, a band for each type, chains of I nodes in rows.

    An X node is drawn below each node that leads to it.
    """

    title = "Segmental hypergraph"
    nodes: ClassVar[Legend] = {
        "A": ("#f6cfcf", "mentions that start at word i or later"),
        "E": ("#cfdcf6", "mentions that start exactly at word i"),
        "T": ("#cdebd0", "those of one type"),
        "I": ("#fbeebc", "those that also contain word j"),
        "X": ("#dedede", "end of a mention"),
    }
    edges: ClassVar[Legend] = {  # by the symbols of head and tail; for A and E, of the head
        "TX": ("#d9822b", "none starts here"),
        "TI": ("#8e44ad", "at least one does"),
        "II": ("#2e8b57", "a longer one follows"),
        "IX": ("#222222", "the longest ends here"),
        "IXI": ("#a0522d", "one ends here, a longer one follows"),
        "A": ("#c0392b", ""),
        "E": ("#2d63c8", ""),
    }

    def build(self, max_width: int | None) -> Hypergraph[SegmentalNode]:
        return segmental_hypergraph(len(self.words), len(self.labels), max_width)

    def path(self) -> Hyperpath[SegmentalNode]:
        return hyperpath_of(self.mention_set, self.graph)

    def layout(self) -> float:
        for node in self.graph.nodes:
            if node.symbol in "AE":
                self.add_node(
                    node, self.x(node.start), TOP + 66 * (node.symbol == "E"), (node.symbol, "", f"{node.start + 1}")
                )
        y = STARTS
        inner = [node for node in self.graph.nodes if node.symbol == "I"]
        for k in range(len(self.labels)):
            reach = {i: i for i in range(len(self.words))}
            for node in inner:
                if node.kind == k:
                    reach[node.start] = max(reach[node.start], node.last)
            rows = lanes([(i, last + 1) for i, last in reach.items()])
            self.draw_band_label(k, y)
            for i, row in zip(reach, rows, strict=True):
                self.add_node(SegmentalNode("T", i, k), self.x(i), y + row * ROW, ("T", f"{k + 1}", f"{i + 1}"))
            for node in inner:
                if node.kind == k:
                    place = (self.x(node.last) + INSIDE, y + rows[node.start] * ROW)
                    self.add_node(node, *place, ("I", f"{k + 1}", f"{node.start + 1},{node.last + 1}"))
            y += (max(rows) + 1) * ROW + BAND_GAP
            self.draw_band_rule(y)
        return y - BAND_GAP

    def bracket_ends(self, part: Mention) -> tuple[float, float]:
        return self.x(part.start) - 22, self.x(part.end - 1) + INSIDE + 22

    def draw_edge(self, edge: Hyperedge[SegmentalNode], strong: bool) -> None:
        head = self.dots[edge.head]
        end = Dot(head.x, head.y + BELOW, self.nodes["X"][0], ("X", "", ""), radius=11)
        children = [self.dots.get(node, end) for node in edge.tail]
        symbols = "".join(node.symbol for node in (edge.head, *edge.tail))
        arrow = self.arrow(symbols[0] if symbols[0] in "AE" else symbols, strong)
        if symbols[0] == "E":
            arrow.along_bus(head, children, bus=head.x - 42)
        elif symbols[0] == "A":
            arrow.joined(head, (head.x + 34, head.y + 20), children)
        elif symbols == "IXI":
            arrow.joined(head, (head.x + 30, head.y + 20), children)
        else:
            arrow.straight(head, children[0])
        self.drawing.add(arrow, [head, *children], strong)


class _Rows:
    """Rows of G nodes and the nodes below them; columns are allocated from the top."""

    def __init__(self, top: float):
        self.top = top
        self.taken: list[set[int]] = []

    def take(self, columns: Iterable[int], above: int) -> int:
        """The first row below the row `above` in which all these columns are free."""
        wanted = set(columns)
        row = next((row for row in range(above + 1, len(self.taken)) if not wanted & self.taken[row]), len(self.taken))
        self.taken += [set() for _ in range(row + 1 - len(self.taken))]
        self.taken[row] |= wanted
        return row

    def y(self, row: int) -> float:
        return self.top + row * LANE

    @property
    def bottom(self) -> float:
        return self.y(len(self.taken))


class DiscontinuousDiagram(Diagram[DiscontinuousNode]):
    """Segmental chains, and below each first part its possible continuations.

    Gaps and later parts are as wide as those of the mentions, which keeps the picture small.
    """

    title = "Hypergraph of discontinuous mentions"
    finds_discontinuous = True
    nodes: ClassVar[Legend] = {
        "A": ("#f6cfcf", "mentions that start at word i or later"),
        "E": ("#cfdcf6", "mentions that start exactly at word i"),
        "T": ("#cdebd0", "those of one type"),
        "I": ("#fbeebc", "those whose first part contains word j"),
        "D": ("#e6d5f5", "those that begin with the parts so far"),
        "G": ("#cfeef2", "… and whose next part starts at word i or later"),
        "P": ("#fbdcc0", "… starts at word i and contains word j"),
        "X": ("#dedede", "end of a mention"),
    }
    edges: ClassVar[Legend] = {  # by the head and the first child; for two children, by the head alone
        "TX": ("#d9822b", "none starts here"),
        "TI": ("#8e44ad", "at least one does"),
        "on": ("#2e8b57", "a longer part, or a wider gap"),
        "down": ("#222222", "here and not later"),
        "both": ("#a0522d", "both"),
        "A": ("#c0392b", ""),
        "E": ("#2d63c8", ""),
    }

    @property
    def scope(self) -> str:
        gap, later = (f"{count} word{'s' * (count > 1)}" for count in (self.limits.gap, self.limits.later_width))
        return f"Up to {self.limits.parts} parts, gaps of up to {gap}, and later parts of up to {later}"

    @property
    def found(self) -> set[AnyMention]:
        """The mentions in the form of the hypergraph."""
        return {with_parts(mention.parts, self.labels.index(mention.label)) for mention in self.mentions}

    def build(self, max_width: int | None) -> Hypergraph[DiscontinuousNode]:
        later = [mention.parts for mention in self.mentions if mention.fragments]
        gaps = [after[0] - before[1] for parts in later for before, after in pairwise(parts)]
        widths = [end - start for parts in later for start, end in parts[1:]]
        self.limits = Limits(
            parts=max((len(parts) for parts in later), default=2),
            width=len(self.words) if max_width is None else max_width,
            gap=max(gaps, default=1),
            later_width=max(widths, default=1),
        )
        return discontinuous_hypergraph(len(self.words), len(self.labels), self.limits)

    def path(self) -> Hyperpath[DiscontinuousNode]:
        return discontinuous_hyperpath(self.found, self.graph)

    def layout(self) -> float:
        for node in self.graph.nodes:
            if node.symbol in "AE":
                label = (node.symbol, "", f"{node.start + 1}")
                self.add_node(node, self.x(node.start), TOP + 66 * (node.symbol == "E"), label)
        y = STARTS
        for kind in range(len(self.labels)):
            self.draw_band_label(kind, y)
            for start in range(len(self.words)):
                y = self._add_chain(start, kind, y)
            y += BAND_GAP
            self.draw_band_rule(y)
        return y - BAND_GAP

    def _nodes_of(self, *key: object) -> list[DiscontinuousNode]:
        """The nodes I of a start and type, and G or P of a type after given parts."""
        return self._groups.get(key, [])

    @cached_property
    def _groups(self) -> Mapping[tuple[object, ...], list[DiscontinuousNode]]:
        found = defaultdict[tuple[object, ...], list[DiscontinuousNode]](list)
        for node in self.graph.nodes:
            own = (node.start, node.kind) if node.symbol == "I" else (node.kind, node.parts)
            found[node.symbol, *own].append(node)
        return found

    def _add_chain(self, start: int, kind: int, y: float) -> float:
        """Add the nodes of one start and type; return where the next chain begins."""
        upper = f"{kind + 1}"
        self.add_node(DiscontinuousNode("T", start, kind), self.x(start), y, ("T", upper, f"{start + 1}"))
        chain = sorted(self._nodes_of("I", start, kind), key=lambda node: node.last)
        for node in chain:
            label = ("I", upper, f"{start + 1},{node.last + 1}")
            self.add_node(node, self.x(node.last) + INSIDE, y, label)
        if not chain:
            return y + CHAIN - BELOW
        rows = _Rows(y + CHAIN)
        for node in chain:
            self._add_end(((start, node.last + 1),), kind, (self.x(node.last) + INSIDE, y + BELOW), rows)
        return rows.bottom

    def _add_end(self, parts: Parts, kind: int, place: tuple[float, float], rows: _Rows, above: int = -1) -> None:
        """Add the node after a part, and everything that follows, in rows below that of the part."""
        upper, (start, end) = f"{kind + 1}", parts[-1]
        node = DiscontinuousNode("D", kind=kind, parts=parts)
        if node not in self.graph.nodes:
            return
        self.add_node(node, *place, ("D", upper, f"{start + 1},{end}"))
        gaps, later = (sorted(self._nodes_of(symbol, kind, parts)) for symbol in "GP")
        in_one_row = self.limits.later_width == 1 and bool(gaps)
        for group in [gaps] if in_one_row else [[gap] for gap in gaps]:
            own = [part for part in later if any(part.start == gap.start for gap in group)]
            above = rows.take([part.last for part in own], above)
            y = rows.y(above)
            for gap in group:
                self.add_node(gap, self.x(gap.start), y, ("G", upper, f"{gap.start + 1}"))
            for part in own:
                x = self.x(part.last) + INSIDE
                self.add_node(part, x, y + BELOW, ("P", upper, f"{part.start + 1},{part.last + 1}"))
                self._add_end((*parts, (part.start, part.last + 1)), kind, (x, y + 2 * BELOW), rows, above)

    def draw_edge(self, edge: Hyperedge[DiscontinuousNode], strong: bool) -> None:
        head = self.dots[edge.head]
        end = Dot(head.x - 26 * (edge.head.symbol == "D"), head.y + 42, self.nodes["X"][0], ("X", "", ""), radius=11)
        children = [self.dots.get(node, end) for node in edge.tail]
        symbol, below = edge.head.symbol, edge.tail[0].symbol if edge.tail else ""
        onward = symbol == below or (symbol, below) == ("D", "G")
        kind = f"{symbol}{below}" if symbol == "T" else "both" if len(children) > 1 else "on" if onward else "down"
        arrow = self.arrow(symbol if symbol in "AE" else kind, strong)
        if symbol == "E":
            arrow.along_bus(head, children, bus=head.x - 42)
        elif symbol == "A":
            arrow.joined(head, (head.x + 34, head.y + 20), children)
        elif len(children) > 1:
            self._draw_both(arrow, edge.head, head, children)
        elif symbol == "D" and below == "G":
            child = children[0]
            arrow.curve(
                (head.x + head.radius, head.y + 4), (child.x, head.y + 8), (child.x, child.y - child.radius - 2)
            )
        else:
            arrow.straight(head, children[0])
        self.drawing.add(arrow, [head, *children], strong)

    def _draw_both(self, arrow: Arrow, node: DiscontinuousNode, head: Dot, children: list[Dot]) -> None:
        """Draw one stem, and an arrow to each of two children."""
        below, onward = children
        joint = (head.x + 8, head.y + 30) if node.symbol == "D" else (head.x + 32, head.y + 18)
        arrow.stem(head, joint)
        for child in (below, onward):
            bend = (child.x, joint[1]) if abs(child.x - joint[0]) > 30 else (joint[0], child.y)
            dx, dy = child.x - bend[0], child.y - bend[1]
            away = (dx * dx + dy * dy) ** 0.5 or 1.0
            stop = child.radius + 2
            arrow.curve(joint, bend, (child.x - dx / away * stop, child.y - dy / away * stop))
