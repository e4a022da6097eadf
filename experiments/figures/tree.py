"""Finkel & Manning's trees as a chart: a cell for each span, wider spans higher, the words at the bottom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from experiments.figures.arrows import fork, straight_through
from experiments.figures.figure import Figure
from experiments.figures.graphs import ConstituencyNode, constituency_hypergraph
from hyperspan.render.diagram import MARGIN, Legend
from hyperspan.render.svg import Dot
from hyperspan.structures import MentionSet
from hyperspan.structures.graphs import Hyperedge, Hypergraph, Hyperpath, viterbi
from hyperspan.types import Mention

TOP = 50
ROW = 216  # between spans of n and of n + 1 words
CONTENT = 92  # from a mention down to its content
SPACING = 30  # between two types
DOWN = 66  # from a node to the word on its edge
LEAF = 13  # the radius of a type or a word
NAMES = {"top": "R", "mention": "M", "inner": "N", "sequence": "S", "type": "T", "word": "w", "outside": "o"}


class TreeDiagram(Figure[ConstituencyNode]):
    """A cell has the mention, its types below, its content below these; to the right the sequence, which is either."""

    title = "Tree"
    limits_width = True
    nodes: ClassVar[Legend] = {
        "R": ("#f6cfcf", "the sentence up to word j"),
        "M": ("#cfdcf6", "a mention from word i to word j"),
        "T": ("#cdebd0", ""),
        "N": ("#fbeebc", "what it contains: words and mentions"),
        "S": ("#e6d8f2", "some of that: a mention, or several items"),
        "w": ("#ffffff", "a word in a mention"),
        "o": ("#dedede", "a word in none"),
    }
    edges: ClassVar[Legend] = {
        "Ro": ("#d9822b", "the last word is in no mention"),
        "RM": ("#c0392b", "the last item is a mention"),
        "M": ("#2d63c8", "a mention has a type and a content"),
        "Nw": ("#222222", "in it, the last item is a word"),
        "NM": ("#2e8b57", "in it, the last item is a mention"),
        "S": ("#8e44ad", "what a sequence is"),
    }

    def __init__(self, words: Sequence[str], labels: Sequence[str], mentions: Sequence[Mention], max_width: int | None):
        super().__init__(words, labels, mentions, max_width)
        self.aside = 36 + SPACING * len(labels)  # from a mention to the sequence next to it
        self.column = max(self.column, 78 + 2 * self.aside)
        self.left = MARGIN + 40 + self.aside

    @staticmethod
    def conflict(first: Mention, second: Mention) -> str:
        if first.span == second.span:
            return "have the same words"
        before, after = sorted([first.span, second.span])
        return "cross" if before[0] < after[0] < before[1] < after[1] else ""

    def build(self, max_width: int | None) -> Hypergraph[ConstituencyNode]:
        return constituency_hypergraph(len(self.words), len(self.labels), max_width)

    def path(self) -> Hyperpath[ConstituencyNode]:
        """The best hyperpath if each of the mentions scores 1 and any other -inf."""
        return viterbi(self.graph, lambda edge: _type_weight(edge, self.mention_set))[1]

    def layout(self) -> float:
        spans = [node for node in self.graph.nodes if node.start < node.end]
        widths = sorted({node.end - node.start for node in spans} | {1}, reverse=True)
        self.rows = {width: TOP + row * ROW for row, width in enumerate(widths)}
        self.line = self.rows[1] + CONTENT + 60  # above the words
        for node in spans:
            if node.symbol in ("top", "mention", "inner", "sequence"):
                self._place_span(node)
            elif self.path_only and node.symbol != "type":
                self.add_node(node, self.x(node.start), self.line, (NAMES[node.symbol], "", f"{node.end}"), LEAF)
        return self.line + 60

    def _place_span(self, node: ConstituencyNode) -> None:
        middle, y = self.x((node.start + node.end - 1) / 2), self.rows[node.end - node.start]
        x, y = {
            "top": (middle - self.aside, y),
            "mention": (middle, y),
            "inner": (middle, y + CONTENT),
            "sequence": (middle + self.aside, y),
        }[node.symbol]
        words = f"{node.end}" if node.symbol == "top" else f"{node.start + 1},{node.end}"
        self.add_node(node, x, y, (NAMES[node.symbol], "", words))

    @property
    def right(self) -> float:
        return self.x(len(self.words) - 1) + max(60, SPACING * len(self.labels) / 2)

    def draw_edge(self, edge: Hyperedge[ConstituencyNode], strong: bool) -> None:
        """Draw one hyperedge, except empty sequences, which have no words."""
        head = self.dots[edge.head]
        symbols = [NAMES[node.symbol] for node in (edge.head, *edge.tail)]
        last = symbols[1] if symbols[1] in "wo" else symbols[-1]  # of an edge with a word, this stands first
        arrow = self.arrow(symbols[0] if symbols[0] in "MS" else symbols[0] + last, strong)
        children = [self.dots[node] for node in edge.tail if node in self.dots]
        leaf = self._leaf(edge, head)
        if leaf:  # drawn on the arrow to the other child
            children = [leaf, *children]
            straight_through(arrow, [head, *children])
        elif len(children) == 1:
            arrow.straight(head, children[0])
        elif symbols[0] == "R":
            fork(arrow, head, self._joint(edge, head, CONTENT + 32), [(child, "sideways") for child in children])
        elif self.path_only:
            fork(arrow, head, (head.x, head.y + 40), [(child, "no") for child in children])
        else:
            fork(arrow, head, self._joint(edge, head, 48), [(children[0], "down"), (children[1], "sideways")])
        self.drawing.add(arrow, [head, *children], strong)

    def _leaf(self, edge: Hyperedge[ConstituencyNode], head: Dot) -> Dot | None:
        """The type or the word of an edge, if it is drawn on each edge instead of in one position."""
        for node in edge.tail:
            colour, name = self.nodes[NAMES[node.symbol]][0], NAMES[node.symbol]
            if node.symbol == "type":
                x = head.x + (node.kind - (len(self.labels) - 1) / 2) * SPACING
                return Dot(x, head.y + CONTENT / 2, colour, (name, f"{node.kind + 1}", ""), LEAF)
            if node.symbol in ("word", "outside") and not self.path_only:
                before = self.dots.get(edge.tail[-1], head)
                share = DOWN / (before.y - head.y) if before is not head else 0.0
                return Dot(head.x + (before.x - head.x) * share, head.y + DOWN, colour, (name, "", f"{node.end}"), LEAF)
        return None

    def _joint(self, edge: Hyperedge[ConstituencyNode], head: Dot, below: float) -> tuple[float, float]:
        """Where an arrow forks: further to the right the later the last mention starts."""
        return head.x + 12 * (max(node.start for node in edge.tail) - edge.head.start), head.y + below

    def draw_words(self) -> None:
        for i, word in enumerate(self.words):
            self.drawing.text(self.x(i), self.line + 46, word, size=17, weight="bold")

    def legend(self) -> Iterator[tuple[str, str]]:
        yield from super().legend()
        for kind, label in enumerate(self.labels):
            symbol = Dot(0, 0, self.nodes["T"][0], ("T", f"{kind + 1}", ""), LEAF)
            yield symbol.svg(), f"the type {label}"


def _type_weight(edge: Hyperedge[ConstituencyNode], mentions: MentionSet) -> float:
    """1 for the type of one of the mentions, -inf for any other type, 0 for edges without a type."""
    for node in edge.tail:
        if node.symbol == "type":
            return 1.0 if (node.start, node.end, node.kind) in mentions else float("-inf")
    return 0.0
