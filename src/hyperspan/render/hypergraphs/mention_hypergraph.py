"""Lu & Roth's mention hypergraph: as the segmental one, but mentions with different starts share their I nodes."""

from __future__ import annotations

from typing import ClassVar

from hyperspan.render.hypergraphs.page import BAND_GAP, Signs
from hyperspan.render.hypergraphs.segmental import BELOW, INSIDE, STARTS, TOP, SegmentalPage
from hyperspan.structures import Hypergraph, Hyperpath, MentionNode, consistent_hyperpath_of, mention_network

LOWER = 84  # from a T node down to the row of I nodes, so that no line between these meets a T node


class MentionHypergraphPage(SegmentalPage):
    """One band a type: a row of T nodes, and under it one row of I nodes for all of them."""

    title = "Mention hypergraph"
    limits_width = False
    is_ambiguous = True
    nodes: ClassVar[Signs] = {
        **SegmentalPage.nodes,
        "I": ("#fbeebc", "mentions of one type that contain word i, wherever they start"),
    }
    edges: ClassVar[Signs] = {
        **SegmentalPage.edges,
        "II": ("#2e8b57", "none ends here, one goes on"),
        "IX": ("#222222", "one ends here, none goes on"),
        "IXI": ("#a0522d", "one ends here, one goes on"),
    }

    def build(self, max_width: int | None) -> Hypergraph:
        return mention_network(len(self.words), len(self.labels))

    def path(self) -> Hyperpath:
        return consistent_hyperpath_of(self.wanted, self.graph)

    def place(self) -> float:
        band = LOWER + BELOW + 40 + BAND_GAP
        places = {"A": (0, TOP), "E": (0, TOP + 66), "T": (0, STARTS), "I": (INSIDE, STARTS + LOWER)}
        for node in self.graph.nodes:
            assert isinstance(node, MentionNode)
            if node.letter == "X":
                continue
            beside, y = places[node.letter]
            kind = "" if node.letter in "AE" else f"{node.kind + 1}"
            self.dot(
                node,
                self.x(node.word) + beside,
                y + max(node.kind, 0) * band,
                (node.letter, kind, f"{node.word + 1}"),
            )
        for k in range(len(self.labels)):
            self.name_band(k, STARTS + k * band)
            self.end_band(STARTS + (k + 1) * band)
        return STARTS + len(self.labels) * band - BAND_GAP
