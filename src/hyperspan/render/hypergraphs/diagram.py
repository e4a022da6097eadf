"""Elements of all diagrams: words above, mentions as brackets below, and a legend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar, Generic

from rich.cells import cell_len

from hyperspan.render.layout import lanes
from hyperspan.render.svg import Arrow, Dot, Drawing
from hyperspan.structures import MentionSet
from hyperspan.structures.graphs import Hyperedge, Hypergraph, Hyperpath
from hyperspan.structures.graphs.hypergraph import Node
from hyperspan.types import Mention

MARGIN = 30
BAND_GAP = 34  # between the bands of two types

Legend = dict[str, tuple[str, str]]
"""Colour and meaning of each kind of node or hyperedge; without a meaning it is not in the legend."""


class Diagram(ABC, Generic[Node]):
    """A sentence with a structure above it. Subclasses build the hypergraph, find hyperpaths and lay out nodes."""

    title: ClassVar[str]
    limits_width: ClassVar[bool] = False
    """Whether the hypergraph can be limited to mentions of a maximum width."""
    finds_discontinuous: ClassVar[bool] = False
    """Whether mentions may be discontinuous."""
    is_ambiguous: ClassVar[bool] = False
    """Whether several mention sets can share one hyperpath."""
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

    @staticmethod
    def conflict(first: Mention, second: Mention) -> str:
        """Why no hyperpath encodes both mentions, as a verb such as "overlap"; empty if one does."""
        return ""

    @abstractmethod
    def build(self, max_width: int | None) -> Hypergraph[Node]:
        """The complete hypergraph of the sentence."""

    @abstractmethod
    def path(self) -> Hyperpath[Node]:
        """The hyperpath of the mentions, none of which conflict."""

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
