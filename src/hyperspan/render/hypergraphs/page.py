"""What the pictures of all structures share: words above, mentions as brackets below, and a legend."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Sequence
from typing import ClassVar

from rich.cells import cell_len

from hyperspan.render.layout import lanes
from hyperspan.render.svg import Arrow, Dot, Drawing
from hyperspan.structures import Hyperedge, Hypergraph, Hyperpath, MentionSet
from hyperspan.types import Mention

MARGIN = 30
BAND_GAP = 34  # between the bands of two types

Signs = dict[str, tuple[str, str]]
"""Colour and meaning of each kind of node or hyperedge; one without a meaning is not in the legend."""


class Page(ABC):
    """A sentence with a structure over it. A subclass builds the hypergraph, finds hyperpaths, and says where things stand."""

    title: ClassVar[str]
    limits_width: ClassVar[bool] = False
    """Whether mentions of too many words can be left out of the hypergraph."""
    is_ambiguous: ClassVar[bool] = False
    """Whether several mention sets may share one hyperpath."""
    nodes: ClassVar[Signs]
    """By the letter of a node."""
    edges: ClassVar[Signs]
    narrowest: ClassVar[int] = 168
    """The distance of two words, unless they are long."""

    def __init__(self, words: Sequence[str], labels: Sequence[str], mentions: Sequence[Mention], max_width: int | None):
        self.words, self.labels, self.mentions = words, labels, mentions
        self.wanted: MentionSet = frozenset((m.start, m.end, labels.index(m.label)) for m in mentions)
        self.graph = self.build(max_width)
        self.dots: dict[Hashable, Dot] = {}
        self.drawing = Drawing()
        self.is_path = False  # whether nothing but one hyperpath is to be drawn
        self.column = max(self.narrowest, 40 + max(int(9.5 * cell_len(word)) for word in words))
        self.left = MARGIN + 24 + max(int(8.5 * cell_len(label)) for label in labels) + 56

    @staticmethod
    def conflict(first: Mention, second: Mention) -> str:
        """What two mentions do that no hyperpath can hold, such as "overlap"; empty if they can stand together."""
        return ""

    @abstractmethod
    def build(self, max_width: int | None) -> Hypergraph:
        """The complete hypergraph of the sentence."""

    @abstractmethod
    def path(self) -> Hyperpath:
        """The hyperpath of the mentions, none of which are in conflict."""

    def keep(self, path: Hyperpath) -> None:
        """Leaves everything out but this hyperpath."""
        self.graph = Hypergraph(self.graph.root, dict.fromkeys(path))  # which may take an edge more than once
        self.is_path = True

    @abstractmethod
    def place(self) -> float:
        """Gives every node of the graph its place, and writes what stands beside them; returns where all this ends."""

    @abstractmethod
    def draw_edge(self, edge: Hyperedge, strong: bool) -> None:
        """Draws one hyperedge as one arrow, with as many heads as it has children."""

    def draw(self, strong: set[Hyperedge]) -> Drawing:
        """Everything, the `strong` edges and the nodes on them in full colour, the rest faint."""
        bottom = self.place()
        for edge in self.graph.edges:
            self.draw_edge(edge, edge in strong)
        self.draw_words()
        bottom = self._draw_brackets(bottom)
        self._draw_legend(bottom)
        return self.drawing

    def x(self, word: float) -> float:
        """Where a word's column is."""
        return self.left + word * self.column

    @property
    def right(self) -> float:
        """Where the picture ends, but for its margin."""
        return self.x(len(self.words)) - 40

    def reach(self, mention: Mention) -> tuple[float, float]:
        """From where to where the bracket of a mention goes."""
        return self.x(mention.start) - 22, self.x(mention.end - 1) + 22

    def draw_words(self) -> None:
        for i, word in enumerate(self.words):
            self.drawing.text(self.x(i), 36, word, size=17, weight="bold")

    def name_band(self, kind: int, y: float) -> None:
        """The number and the name of a type, beside its nodes."""
        self.drawing.text(MARGIN, y + 4, f"{kind + 1}  {self.labels[kind]}", size=14, weight="bold", anchor="start")

    def end_band(self, y: float) -> None:
        """The line under the nodes of a type; the next band begins at `y`."""
        self.drawing.rule(MARGIN, self.right, y - BAND_GAP / 2 - 20)

    def dot(self, node: Hashable, x: float, y: float, label: tuple[str, str, str], radius: float = 19) -> None:
        """Gives a node its place; its colour is that of the letter in its label."""
        self.dots[node] = Dot(x, y, self.nodes[label[0]][0], label, radius)

    def arrow(self, kind: str, strong: bool) -> Arrow:
        return Arrow(self.edges[kind][0], strong)

    def _draw_brackets(self, y: float) -> float:
        rows = lanes([mention.span for mention in self.mentions])
        for mention, row in zip(self.mentions, rows, strict=True):
            self.drawing.bracket(*self.reach(mention), y + 16 + row * 34, mention.label)
        return y + 16 + (max(rows, default=-1) + 1) * 34

    def legend(self) -> Iterator[tuple[str, str]]:
        """Signs, drawn around the origin, and what they mean."""
        for letter, (colour, meaning) in self.nodes.items():
            if meaning:
                yield Dot(0, 0, colour, (letter, "", ""), radius=10).svg(), meaning
        for colour, meaning in self.edges.values():
            if meaning:
                yield stroke(colour), meaning

    def _draw_legend(self, y: float) -> None:
        right = max(self.right, self.left + 300)
        x = left = float(MARGIN + 12)
        y += 24
        for sign, meaning in self.legend():
            width = 40 + 6.1 * cell_len(meaning)
            if x > left and x + width > right:
                x, y = left, y + 30
            self.drawing.key(x, y, f'<g transform="translate({x:.1f},{y:.1f})">{sign}</g>', meaning)
            x += width
        self.drawing.width, self.drawing.height = right + MARGIN, y + 34


def stroke(colour: str) -> str:
    """A short line, as the sign of an edge in the legend."""
    return f'<path d="M-12,0 H12" stroke="{colour}" stroke-width="3"/>'
