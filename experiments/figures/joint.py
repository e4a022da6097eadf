"""The segmental hypergraph with joint types: for each start, a row of I nodes for each set of types."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import ClassVar

from experiments.figures.arrows import along_lane, straight_through
from experiments.figures.figure import Figure
from experiments.figures.graphs import JointNode, joint_hypergraph, joint_hyperpath
from hyperspan.errors import InputError
from hyperspan.render.diagram import BAND_GAP, STARTS, TOP, Legend
from hyperspan.render.layout import lanes
from hyperspan.render.svg import Arrow, Dot
from hyperspan.structures.graphs import Hyperedge, Hypergraph, Hyperpath
from hyperspan.types import Mention

MOST_TYPES = 4
"""The maximum number of types drawn: each further one quadruples the hyperedges of a span."""
LANE = 29  # between two arrows on the way to the next word
END = 12  # the radius of an X node
STEP = 2 * END + 14  # between two X nodes on one arrow
OUT = 26  # from an I node to the first X node on an arrow

Types = tuple[int, ...]


@dataclass
class _Plan:
    """Positions of the nodes and arrows of one start, from the top of its rows."""

    rows: dict[Types, float] = field(default_factory=dict)
    """The y of the I nodes, by active types."""
    arrows: dict[tuple[Types, Types, Types], float] = field(default_factory=dict)
    """The y of an arrow to the next word, by the types that are active, that continue and that end."""
    start: float = 0.0
    """The y of the T node."""
    height: float = 0.0


class JointDiagram(Figure[JointNode]):
    """An X node is drawn on each arrow that leads to it: towards the next word, or below an I node."""

    title = "Segmental hypergraph of joint types"
    limits_width = True
    nodes: ClassVar[Legend] = {
        "A": ("#f6cfcf", "mentions that start at word i or later"),
        "E": ("#cfdcf6", "mentions that start exactly at word i"),
        "T": ("#cdebd0", "those of all types, which depend on each other"),
        "I": ("#fbeebc", "those that also contain word j, by the types that have one"),
        "X": ("#dedede", "end of a mention of one type"),
    }
    edges: ClassVar[Legend] = {
        "none": ("#d9822b", "none starts here"),
        "TI": ("#8e44ad", "those of some types do"),
        "II": ("#2e8b57", "none ends here"),
        "IX": ("#222222", "the longest of all types end here"),
        "IXI": ("#a0522d", "some end here, longer ones follow"),
        "A": ("#c0392b", ""),
        "E": ("#2d63c8", ""),
    }

    def __init__(self, words: Sequence[str], labels: Sequence[str], mentions: Sequence[Mention], max_width: int | None):
        super().__init__(words, labels, mentions, max_width)
        self.radius = 13 + 6 * len(labels)  # of T and I nodes, whose labels list types
        self.inside = 2 * self.radius + 34  # from a T node to the I node next to it
        self.aside = self.radius + 23  # from a T node to the line that leads to it
        along = self.radius + OUT + STEP * len(labels) + 8  # of X nodes, which no such line meets
        self.column = max(self.column, along + self.inside + self.aside)
        self.left += self.radius - 19
        self.plans: dict[int, _Plan] = {}

    def build(self, max_width: int | None) -> Hypergraph[JointNode]:
        if len(self.labels) > MOST_TYPES:
            raise InputError(
                f"there are {len(self.labels)} types, and up to {MOST_TYPES} are drawn together, because each one quadruples the "
                "hyperedges; choose fewer types or draw the structure segmental"
            )
        return joint_hypergraph(len(self.words), len(self.labels), max_width)

    def path(self) -> Hyperpath[JointNode]:
        return joint_hyperpath(self.mention_set, self.graph)

    def bracket_ends(self, part: Mention) -> tuple[float, float]:
        return self.x(part.start) - 22, self.x(part.end - 1) + self.inside + 22

    # -- positions ------------------------------------------------------------------------------------------------

    def layout(self) -> float:
        inner: dict[int, list[JointNode]] = defaultdict(list)
        for node in self.graph.nodes:
            if node.symbol in "AE":
                label = (node.symbol, "", f"{node.start + 1}")
                self.add_node(node, self.x(node.start), TOP + 66 * (node.symbol == "E"), label)
            elif node.symbol == "I":
                inner[node.start].append(node)
        starts = range(len(self.words))
        self.plans = {start: self._plan(start) for start in starts}
        rows = lanes([(start, max((node.last for node in inner[start]), default=start) + 1) for start in starts])
        for kind in range(len(self.labels)):
            self.draw_band_label(kind, STARTS + 22 * kind)
        y = STARTS
        for _, beside in groupby(sorted(starts, key=rows.__getitem__), key=rows.__getitem__):
            together = list(beside)
            for start in together:
                self._place(start, inner[start], y)
            y += max(self.plans[start].height for start in together) + BAND_GAP
            self.draw_band_rule(y)
        return y - BAND_GAP

    def _plan(self, start: int) -> _Plan:
        """Rows of I nodes, with a lane between and next to them for each arrow to the next word."""
        plan, ways = _Plan(), self._ways(start)
        states = sorted({edge.head.types for edge in self._leaving_inner(start)})
        crossing = sorted(
            (pair for pair in ways if pair[0] != pair[1]),
            key=lambda pair: (states.index(pair[0]) + states.index(pair[1]), pair),
        )
        free = row = -float(LANE)  # the lowest lane and the lowest row so far
        below = 0.0  # the space needed below that row
        for rank, active in enumerate(states):
            beside = [ends for ends in ways.get((active, active), ()) if ends]
            above, under = beside[: (len(beside) + 1) // 2], beside[(len(beside) + 1) // 2 :]
            row = max(free + (len(above) + 1) * LANE, row + below + self.radius if rank else 0.0)
            plan.rows[active] = row
            plan.arrows[active, active, ()] = row
            plan.arrows |= {(active, active, ends): row - (n + 1) * LANE for n, ends in enumerate(above)}
            plan.arrows |= {(active, active, ends): row + (n + 1) * LANE for n, ends in enumerate(under)}
            free, below = row + len(under) * LANE, self.radius + STEP * len(active) + 10
            while crossing and sum(map(states.index, crossing[0])) <= 2 * rank + 1:
                pair = crossing.pop(0)
                for ends in ways[pair]:
                    free += LANE
                    plan.arrows[*pair, ends] = free
        begins = [edge.tail[0].types for edge in self._from_start(start) if edge.tail]
        plan.start = plan.rows[sorted(begins)[len(begins) // 2]] if begins else 0.0
        plan.height = max(free + LANE, row + below, plan.start + self.radius + 30)
        return plan

    def _ways(self, start: int) -> dict[tuple[Types, Types], list[Types]]:
        """The types that may end, by the types that are active and those that continue."""
        found: dict[tuple[Types, Types], set[Types]] = defaultdict(set)
        for edge in self._leaving_inner(start):
            if edge.tail[-1].symbol == "I":
                found[edge.head.types, edge.tail[-1].types].add(_ends(edge))
        return {pair: sorted(ends, key=lambda types: (-len(types), types)) for pair, ends in found.items()}

    def _leaving_inner(self, start: int) -> Iterator[Hyperedge[JointNode]]:
        return (edge for edge in self.graph.edges if edge.head.symbol == "I" and edge.head.start == start)

    def _from_start(self, start: int) -> Iterator[Hyperedge[JointNode]]:
        return (edge for edge in self.graph.edges if edge.head.symbol == "T" and edge.head.start == start)

    def _place(self, start: int, inner: Sequence[JointNode], top: float) -> None:
        plan, everything = self.plans[start], tuple(range(len(self.labels)))
        plan.arrows = {way: y + top for way, y in plan.arrows.items()}
        label = ("T", _written(everything), f"{start + 1}")
        self.add_node(JointNode("T", start, everything), self.x(start), top + plan.start, label, self.radius)
        for node in inner:
            x, y = self.x(node.last) + self.inside, top + plan.rows[node.types]
            self.add_node(node, x, y, ("I", _written(node.types), f"{start + 1},{node.last + 1}"), self.radius)

    # -- arrows ---------------------------------------------------------------------------------------------------

    def draw_edge(self, edge: Hyperedge[JointNode], strong: bool) -> None:
        symbol, head = edge.head.symbol, self.dots[edge.head]
        if symbol == "I":
            self._draw_choice(edge, head, strong)
            return
        children = [self.dots[node] for node in edge.tail]
        arrow = self.arrow(symbol if symbol in "AE" else "TI" if children else "none", strong)
        if symbol == "A":
            arrow.joined(head, (head.x + 34, head.y + 20), children)
        elif symbol == "E":
            arrow.along_bus(head, children, bus=head.x - self.aside)
        elif not children:
            arrow.stem(head, (head.x - 14, head.y + head.radius + 16))
        else:
            self._draw_beginning(arrow, head, children[0])
        self.drawing.add(arrow, [head, *children], strong)

    def _draw_beginning(self, arrow: Arrow, head: Dot, child: Dot) -> None:
        """Up or down from a T node, then to the right, so that arrows to distant rows avoid all others."""
        if child.y == head.y:
            arrow.straight(head, child)
            return
        x, side = head.x + 6, 1 if child.y > head.y else -1
        rise = (head.radius**2 - 36) ** 0.5
        arrow.curve((x, head.y + side * rise), (x, child.y), (child.x - child.radius - 2, child.y))

    def _draw_choice(self, edge: Hyperedge[JointNode], head: Dot, strong: bool) -> None:
        """Through all X nodes of the arrow: down if nothing follows, else in the lane to the next word."""
        ends, following = _ends(edge), edge.tail[-1]
        if following.symbol == "X":
            arrow = self.arrow("IX", strong)
            first = head.y + head.radius + STEP - END
            dots = [self._end(kind, head.x, first + n * STEP) for n, kind in enumerate(ends)]
            straight_through(arrow, [head, *dots])
            self.drawing.add(arrow, [head, *dots], strong)
            return
        child = self.dots[following]
        y = self.plans[edge.head.start].arrows[edge.head.types, following.types, ends]
        first = head.x + head.radius + OUT + END
        dots = [self._end(kind, first + n * STEP, y) for n, kind in enumerate(ends)]
        arrow = self.arrow("IXI" if ends else "II", strong)
        along_lane(arrow, head, dots, child)
        self.drawing.add(arrow, [head, *dots, child], strong)

    def _end(self, kind: int, x: float, y: float) -> Dot:
        return Dot(x, y, self.nodes["X"][0], ("X", f"{kind + 1}", ""), END)


def _ends(edge: Hyperedge[JointNode]) -> Types:
    """The types whose mention ends here."""
    return tuple(node.types[0] for node in edge.tail if node.symbol == "X")


def _written(types: Types) -> str:
    """Types as listed in the label of a node."""
    return ",".join(f"{kind + 1}" for kind in types)
