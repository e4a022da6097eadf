"""The paper's figures: one column a word, one band a type, one row a chain of I nodes (or several, if they fit)."""

from __future__ import annotations

from typing import ClassVar

from hyperspan.render.hypergraphs.page import BAND_GAP, Page, Signs
from hyperspan.render.layout import lanes
from hyperspan.render.svg import Dot
from hyperspan.structures import Hyperedge, Hypergraph, Hyperpath, MentionNode, SegmentalNode, segmental_hypergraph
from hyperspan.structures import hyperpath_of as segmental_hyperpath_of
from hyperspan.types import Mention

ROW = 86  # between two chains of I nodes
INSIDE = 64  # from a T node to the I node beside it
BELOW = 46  # from a node to the X node under it
TOP = 96
STARTS = TOP + 66 + 78.0  # where the first T nodes are


class SegmentalPage(Page):
    """The segmental hypergraph."""

    title = "Segmental hypergraph"
    limits_width = True
    nodes: ClassVar[Signs] = {
        "A": ("#f6cfcf", "mentions that start at word i or later"),
        "E": ("#cfdcf6", "mentions that start exactly at word i"),
        "T": ("#cdebd0", "those of one type"),
        "I": ("#fbeebc", "those that also contain word j"),
        "X": ("#dedede", "end of a mention"),
    }
    edges: ClassVar[Signs] = {  # by the letters of head and tail
        "TX": ("#d9822b", "none starts here"),
        "TI": ("#8e44ad", "at least one does"),
        "II": ("#2e8b57", "a longer one follows"),
        "IX": ("#222222", "the longest ends here"),
        "IXI": ("#a0522d", "one ends here, a longer one follows"),
        "A": ("#c0392b", ""),
        "E": ("#2d63c8", ""),
    }

    def build(self, max_width: int | None) -> Hypergraph:
        return segmental_hypergraph(len(self.words), len(self.labels), max_width)

    def path(self) -> Hyperpath:
        return segmental_hyperpath_of(self.wanted, self.graph)

    def reach(self, mention: Mention) -> tuple[float, float]:
        return self.x(mention.start) - 22, self.x(mention.end - 1) + INSIDE + 22

    def place(self) -> float:
        """Every node but X, which is drawn wherever it is reached."""
        for node in self.graph.nodes:
            if isinstance(node, SegmentalNode) and node.letter in "AE":
                self.dot(
                    node, self.x(node.start), TOP + 66 * (node.letter == "E"), (node.letter, "", f"{node.start + 1}")
                )
        y = STARTS
        inner = [node for node in self.graph.nodes if isinstance(node, SegmentalNode) and node.letter == "I"]
        for k in range(len(self.labels)):
            reach = {i: i for i in range(len(self.words))}
            for node in inner:
                if node.kind == k:
                    reach[node.start] = max(reach[node.start], node.last)
            rows = lanes([(i, last + 1) for i, last in reach.items()])
            self.name_band(k, y)
            for i, row in zip(reach, rows, strict=True):
                self.dot(SegmentalNode("T", i, k), self.x(i), y + row * ROW, ("T", f"{k + 1}", f"{i + 1}"))
            for node in inner:
                if node.kind == k:
                    place = (self.x(node.last) + INSIDE, y + rows[node.start] * ROW)
                    self.dot(node, *place, ("I", f"{k + 1}", f"{node.start + 1},{node.last + 1}"))
            y += (max(rows) + 1) * ROW + BAND_GAP
            self.end_band(y)
        return y - BAND_GAP

    def draw_edge(self, edge: Hyperedge, strong: bool) -> None:
        head = self.dots[edge.head]
        end = Dot(head.x, head.y + BELOW, self.nodes["X"][0], ("X", "", ""), radius=11)
        children = [self.dots.get(node, end) for node in edge.tail]
        letters = "".join(
            node.letter for node in (edge.head, *edge.tail) if isinstance(node, SegmentalNode | MentionNode)
        )
        arrow = self.arrow(letters[0] if letters[0] in "AE" else letters, strong)
        if letters[0] == "E":
            arrow.along_bus(head, children, bus=head.x - 42)
        elif letters[0] == "A":
            arrow.joined(head, (head.x + 34, head.y + 20), children)
        elif letters == "IXI":
            arrow.joined(head, (head.x + 30, head.y + 20), children)
        else:
            arrow.straight(head, children[0])
        self.drawing.add(arrow, [head, *children], strong)
