"""The linear chain as a trellis: a column for each word, a row for each tag."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

from experiments.figures.figure import Figure
from experiments.figures.graphs import TagNode, linear_chain_hypergraph
from hyperspan.baselines.linear_chain import OUTSIDE, tags_of
from hyperspan.render.diagram import BAND_GAP, TOP, Legend
from hyperspan.structures.graphs import Hyperedge, Hypergraph, Hyperpath
from hyperspan.types import Mention

ROW = 58
ASIDE = 130  # from the start to the first word, and from the last word to the end


class LinearChainDiagram(Figure[TagNode]):
    """The tags of each word: outside on top, and below it a band for each type with its four tags."""

    title = "Linear chain"
    min_column = 200
    nodes: ClassVar[Legend] = {
        "O": ("#dedede", "the word is outside all mentions"),
        "B": ("#cdebd0", "begins a mention"),
        "I": ("#fbeebc", "is inside it"),
        "L": ("#f6cfcf", "is its last word"),
        "U": ("#cfdcf6", "is a mention by itself (unit)"),
        "start": ("#ffffff", ""),
        "end": ("#ffffff", ""),
    }
    edges: ClassVar[Legend] = {  # by the tag that they lead to
        "O": ("#d9822b", "to a word outside"),
        "B": ("#8e44ad", "a mention starts"),
        "I": ("#2e8b57", "it continues"),
        "end": ("#222222", "the sentence ends"),
    }

    @staticmethod
    def conflict(first: Mention, second: Mention) -> str:
        return "overlap" if first.start < second.end and second.start < first.end else ""

    def build(self, max_width: int | None) -> Hypergraph[TagNode]:
        return linear_chain_hypergraph(len(self.words), len(self.labels))

    def path(self) -> Hyperpath[TagNode]:
        n = len(self.words)
        tags = tags_of(self.mention_set, n, len(self.labels))
        nodes = [TagNode(-1), *(TagNode(i, tag) for i, tag in enumerate(tags)), TagNode(n)]
        return tuple(Hyperedge(node, (following,)) for node, following in pairwise(nodes))

    def x(self, word: float) -> float:
        return super().x(word) + ASIDE - 30

    @property
    def right(self) -> float:
        return self.x(len(self.words) - 1) + ASIDE + 30

    def layout(self) -> float:
        band = 4 * ROW + BAND_GAP
        n = len(self.words)
        for node in self.graph.nodes:
            kind, tag = divmod(node.tag - 1, 4)
            if node.position == -1:
                self.add_node(node, self.x(0) - ASIDE, TOP, ("start", "", ""))
            elif node.position == n:
                self.add_node(node, self.x(n - 1) + ASIDE, TOP, ("end", "", ""))
            elif node.tag == OUTSIDE:
                self.add_node(node, self.x(node.position), TOP, ("O", "", f"{node.position + 1}"))
            else:
                y = TOP + ROW + BAND_GAP + kind * band + tag * ROW
                self.add_node(node, self.x(node.position), y, ("BILU"[tag], f"{kind + 1}", f"{node.position + 1}"))
        for k in range(len(self.labels)):
            y = TOP + ROW + BAND_GAP + k * band
            self.draw_band_label(k, y)
            self.draw_band_rule(y + BAND_GAP / 4)
        return TOP + ROW + len(self.labels) * band

    def draw_edge(self, edge: Hyperedge[TagNode], strong: bool) -> None:
        head, child = self.dots[edge.head], self.dots[edge.tail[0]]
        arrow = self.arrow({"U": "B", "L": "I"}.get(child.label[0], child.label[0]), strong)
        arrow.straight(head, child)
        self.drawing.add(arrow, [head, child], strong)
