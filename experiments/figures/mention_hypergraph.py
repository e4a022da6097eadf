"""Lu & Roth's mention hypergraph: like the segmental one, but mentions with different starts share their I nodes."""

from __future__ import annotations

from typing import ClassVar

from experiments.figures.figure import Figure
from experiments.figures.graphs import consistent_hyperpath_of, mention_network
from hyperspan.render.diagram import BAND_GAP, BELOW, INSIDE, STARTS, TOP, Legend, SegmentalDiagram
from hyperspan.structures.graphs import Hypergraph, Hyperpath, SegmentalNode

LOWER = 84  # from a T node down to the row of I nodes, so that no line between I nodes meets a T node


class MentionHypergraphDiagram(Figure[SegmentalNode], SegmentalDiagram):
    """A band for each type: a row of T nodes, and below it one row of I nodes for all of them."""

    title = "Mention hypergraph"
    is_ambiguous = True
    nodes: ClassVar[Legend] = {
        **SegmentalDiagram.nodes,
        "I": ("#fbeebc", "mentions of one type that contain word i, wherever they start"),
    }
    edges: ClassVar[Legend] = {
        **SegmentalDiagram.edges,
        "II": ("#2e8b57", "none ends here, one continues"),
        "IX": ("#222222", "one ends here, none continues"),
        "IXI": ("#a0522d", "one ends here, one continues"),
    }

    def build(self, max_width: int | None) -> Hypergraph[SegmentalNode]:
        return mention_network(len(self.words), len(self.labels))

    def path(self) -> Hyperpath[SegmentalNode]:
        return consistent_hyperpath_of(self.mention_set, self.graph)

    def layout(self) -> float:
        band = LOWER + BELOW + 40 + BAND_GAP
        positions = {"A": (0, TOP), "E": (0, TOP + 66), "T": (0, STARTS), "I": (INSIDE, STARTS + LOWER)}
        for node in self.graph.nodes:
            if node.symbol == "X":
                continue
            shift, y = positions[node.symbol]
            kind, word = "" if node.symbol in "AE" else f"{node.kind + 1}", max(node.start, node.last)
            label = (node.symbol, kind, f"{word + 1}")
            self.add_node(node, self.x(word) + shift, y + max(node.kind, 0) * band, label)
        for k in range(len(self.labels)):
            self.draw_band_label(k, STARTS + k * band)
            self.draw_band_rule(STARTS + (k + 1) * band)
        return STARTS + len(self.labels) * band - BAND_GAP
