"""The segmental hypergraph as in the paper's figures: a column per word, a band per type, chains of I nodes in rows."""

from __future__ import annotations

from typing import ClassVar

from hyperspan.render.hypergraphs.diagram import BAND_GAP, Diagram, Legend
from hyperspan.render.layout import lanes
from hyperspan.render.svg import Dot
from hyperspan.structures.graphs import (
    Hyperedge,
    Hypergraph,
    Hyperpath,
    SegmentalNode,
    hyperpath_of,
    segmental_hypergraph,
)
from hyperspan.types import Mention

ROW = 86  # between two chains of I nodes
INSIDE = 64  # from a T node to the I node next to it
BELOW = 46  # from a node to the X node under it
TOP = 96
STARTS = TOP + 66 + 78.0  # where the first T nodes are


class StartsDiagram(Diagram[SegmentalNode]):
    """A hypergraph of A, E, T, I and X nodes; an X node is drawn below each node that leads to it."""

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


class SegmentalDiagram(StartsDiagram):
    """The segmental hypergraph."""

    title = "Segmental hypergraph"
    limits_width = True

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
