"""Muis & Lu's mention separators: rows of I and O nodes for each type, and the labels of each gap between the words."""

from __future__ import annotations

from typing import ClassVar

from experiments.figures.arrows import arch, straight_through
from experiments.figures.figure import Figure
from experiments.figures.graphs import SeparatorNode, separators_hypergraph
from hyperspan.baselines.mention_separators import LABELS, labels_of
from hyperspan.render.diagram import BAND_GAP, TOP, Legend
from hyperspan.render.svg import Arrow, Dot
from hyperspan.structures.graphs import Hyperedge, Hypergraph, Hyperpath

STEP = 38  # between two labels that lead from I to I
LOWER = 120  # from the row of I to the row of O
STACK = ("C", "ES", "CS", "EC", "ECS")  # from I to I, the lowest first


class MentionSeparatorsDiagram(Figure[SeparatorNode]):
    """Words are inside or outside mentions; the arrow over each gap has the gap's label on it."""

    title = "Mention separators"
    is_ambiguous = True
    min_column = 180
    nodes: ClassVar[Legend] = {
        "I": ("#fbeebc", "the word is inside mentions of the type"),
        "O": ("#cfdcf6", "it is outside"),
        "S": ("#cdebd0", "a mention starts after the gap"),
        "E": ("#f6cfcf", "one ends before it"),
        "C": ("#e6d8f2", "one continues across it; ES, CS, EC and ECS: several of these"),
        "X": ("#dedede", "nothing happens at it"),
        "root": ("#ffffff", ""),
    }
    edges: ClassVar[Legend] = {
        "S": ("#8e44ad", "into mentions"),
        "C": ("#2e8b57", "stays inside"),
        "E": ("#222222", "out of mentions"),
        "X": ("#d9822b", "stays outside"),
        "root": ("#c0392b", ""),
    }

    def build(self, max_width: int | None) -> Hypergraph[SeparatorNode]:
        return separators_hypergraph(len(self.words), len(self.labels))

    def path(self) -> Hyperpath[SeparatorNode]:
        """All edges with the label that the mentions give their gap."""
        labels = labels_of(self.mention_set, len(self.words), len(self.labels))
        leaves = ((edge, edge.tail[0]) for edge in self.graph.edges)
        return tuple(
            edge for edge, leaf in leaves if leaf.symbol != "label" or labels[leaf.kind][leaf.gap] == leaf.label
        )

    def x(self, word: float) -> float:
        """The x of a word's column, with one more column before the first word."""
        return super().x(word + 1)

    @property
    def right(self) -> float:
        return self.x(len(self.words) - 0.5) + 30

    def layout(self) -> float:
        bottom = self._place_bands()
        for node in self.graph.nodes:
            if node.symbol == "sentence":
                self.add_node(node, self.x(-1), TOP - 56, ("root", "", ""))
            elif node.symbol == "label":
                self._place_label(node)
            else:
                label = (node.symbol, f"{node.kind + 1}", f"{node.gap}" if node.gap else "")
                self.add_node(node, self.x(node.gap - 1), self._row(node.symbol, node.kind), label)
        return bottom

    def _place_bands(self) -> float:
        """Give each type a band as high as its labels need; return the y where the last band ends."""
        nodes = [node for node in self.graph.nodes if node.symbol == "label"]
        used = {(node.kind, LABELS[node.label]) for node in nodes}
        self.inside: list[float] = []  # the y of each type's I nodes
        y = float(TOP)
        for k in range(len(self.labels)):
            self.inside.append(
                y + STEP * max(level for level, name in enumerate(STACK) if not level or (k, name) in used)
            )
            self.draw_band_label(k, self._row("O", k))
            y = self._row("O", k) + 60 + BAND_GAP
            self.draw_band_rule(y)
        return y - BAND_GAP

    def _row(self, symbol: str, kind: int) -> float:
        """The y of the I or the O nodes of a type."""
        return self.inside[kind] + (LOWER if symbol == "O" else 0)

    def _place_label(self, leaf: SeparatorNode) -> None:
        name = LABELS[leaf.label]
        inside, outside = self._row("I", leaf.kind), self._row("O", leaf.kind)
        x = self.x(leaf.gap - 0.5)
        y = inside - STACK.index(name) * STEP if name in STACK else inside if name == "E" else outside
        if leaf.gap < len(self.words) and name in "SE":  # between the two rows
            x, y = self.x(leaf.gap - 0.68), y + (-0.32 if name == "S" else 0.32) * LOWER
        self.dots[leaf] = Dot(x, y, self.nodes["C" if name in STACK else name][0], (name, "", ""), radius=17)

    def draw_edge(self, edge: Hyperedge[SeparatorNode], strong: bool) -> None:
        head, *children = (self.dots[node] for node in (edge.head, *edge.tail))
        leaf = edge.tail[0]
        if leaf.symbol != "label":
            arrow = self.arrow("root", strong)
            arrow.along_bus(head, children, bus=head.x - 42)
        else:
            name = LABELS[leaf.label]
            arrow = self.arrow("C" if name in STACK else name, strong)
            self._draw_label_edge(arrow, name, [head, *children])
        self.drawing.add(arrow, [head, *children], strong)

    def _draw_label_edge(self, arrow: Arrow, name: str, dots: list[Dot]) -> None:
        if name in STACK[1:]:
            arch(arrow, *dots)
        else:
            straight_through(arrow, dots)

    def draw_words(self) -> None:
        super().draw_words()
        for gap in range(len(self.words) + 1):
            self.drawing.text(self.x(gap - 0.5), 36, f"gap {gap}", size=12, colour="#666")
