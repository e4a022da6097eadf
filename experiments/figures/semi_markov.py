"""The semi-Markov chain as arches: positions between the words, and each mention as an arch over its words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from experiments.figures.arrows import arch
from experiments.figures.figure import Figure
from experiments.figures.graphs import SegmentNode, SuffixNode, semi_markov_hypergraph
from experiments.figures.linear_chain import LinearChainDiagram
from hyperspan.render.diagram import MARGIN, Legend, stroke
from hyperspan.render.style import PALETTE
from hyperspan.render.svg import Arrow
from hyperspan.structures.graphs import Hyperedge, Hypergraph, Hyperpath
from hyperspan.types import Mention

TOP = 50
STEP = 46  # between the tops of two arches over the same words


class SemiMarkovDiagram(Figure[SuffixNode | SegmentNode]):
    """Positions in a row, the words below it and the arches above it; wider arches are higher."""

    title = "Semi-Markov chain"
    limits_width = True
    nodes: ClassVar[Legend] = {
        "P": ("#f6cfcf", "what is left of the sentence from word i on"),
        "M": ("#fbeebc", "a mention of one type, from word i to word j"),
    }
    edges: ClassVar[Legend] = {"outside": ("#d9822b", "the word is outside all mentions")}
    conflict = staticmethod(LinearChainDiagram.conflict)

    def build(self, max_width: int | None) -> Hypergraph[SuffixNode | SegmentNode]:
        return semi_markov_hypergraph(len(self.words), len(self.labels), max_width)

    def path(self) -> Hyperpath[SuffixNode | SegmentNode]:
        edges: list[Hyperedge[SuffixNode | SegmentNode]] = []
        by_start = {start: SegmentNode(start, end, kind) for start, end, kind in self.mention_set}
        place = 0
        while place < len(self.words):
            segment = by_start.get(place)
            following = segment.end if segment else place + 1
            tail = (segment, SuffixNode(following)) if segment else (SuffixNode(following),)
            edges.append(Hyperedge(SuffixNode(place), tail))
            place = following
        return tuple(edges)

    def x(self, word: float) -> float:
        return MARGIN + 24 + (word + 0.5) * self.column

    @property
    def right(self) -> float:
        return self.x(len(self.words) - 0.5) + 30

    def bracket_ends(self, mention: Mention) -> tuple[float, float]:
        return self.x(mention.start - 0.5) + 14, self.x(mention.end - 0.5) - 14

    def layout(self) -> float:
        segments = [node for node in self.graph.nodes if isinstance(node, SegmentNode)]
        heights = {node: self._height(node) for node in segments}
        self.line = TOP + max(heights.values(), default=0) + 20
        for node in self.graph.nodes:
            if isinstance(node, SuffixNode):
                self.add_node(node, self.x(node.position - 0.5), self.line, ("P", "", f"{node.position + 1}"))
        for node, height in heights.items():
            label = ("M", f"{node.kind + 1}", f"{node.start + 1},{node.end}")
            self.add_node(node, self.x((node.start + node.end - 1) / 2), self.line - height, label)
        return self.line + 50

    def _height(self, segment: SegmentNode) -> float:
        """Wider arches are higher, with room below them for all types. Arches of one hyperpath never overlap."""
        if self.path_only:
            return 2 * STEP
        return (segment.end - segment.start) * max(2, len(self.labels)) * STEP + segment.kind * STEP

    def draw_edge(self, edge: Hyperedge[SuffixNode | SegmentNode], strong: bool) -> None:
        head, *children = (self.dots[node] for node in (edge.head, *edge.tail))
        segment = edge.tail[0]
        if isinstance(segment, SegmentNode):
            arrow = Arrow(self._colour(segment.kind), strong)
            arch(arrow, head, *children)
        else:
            arrow = self.arrow("outside", strong)
            arrow.straight(head, children[0])
        self.drawing.add(arrow, [head, *children], strong)

    def _colour(self, kind: int) -> str:
        return PALETTE[kind % len(PALETTE)]

    def draw_words(self) -> None:
        for i, word in enumerate(self.words):
            self.drawing.text(self.x(i), self.line + 36, word, size=17, weight="bold")

    def legend(self) -> Iterator[tuple[str, str]]:
        yield from super().legend()
        for kind, label in enumerate(self.labels):
            yield stroke(self._colour(kind)), f"a mention of type {kind + 1}, {label}"
