"""The hypergraph of discontinuous mentions: segmental chains, and below each first part its possible continuations."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import ClassVar

from hyperspan.render.hypergraphs.diagram import BAND_GAP, Diagram, Legend
from hyperspan.render.svg import Arrow, Dot
from hyperspan.structures.discontinuous_limits import Limits
from hyperspan.structures.graphs import (
    DiscontinuousNode,
    Hyperedge,
    Hypergraph,
    Hyperpath,
    discontinuous_hypergraph,
    discontinuous_hyperpath,
)
from hyperspan.structures.mentions import AnyMention, Parts, with_parts

INSIDE = 64  # from a T or G node to the node next to it
BELOW = 46  # from a node to the one under it
CHAIN = 140  # of a T node, its I and D nodes and their ends
LANE = 168  # of a G node, its P and D nodes and their ends
TOP = 96
STARTS = TOP + 66 + 78.0  # where the first T nodes are


class _Rows:
    """Rows of G nodes and the nodes below them; columns are allocated from the top."""

    def __init__(self, top: float):
        self.top = top
        self.taken: list[set[int]] = []

    def take(self, columns: Iterable[int], above: int) -> int:
        """The first row below the row `above` in which all these columns are free."""
        wanted = set(columns)
        row = next((row for row in range(above + 1, len(self.taken)) if not wanted & self.taken[row]), len(self.taken))
        self.taken += [set() for _ in range(row + 1 - len(self.taken))]
        self.taken[row] |= wanted
        return row

    def y(self, row: int) -> float:
        return self.top + row * LANE

    @property
    def bottom(self) -> float:
        return self.y(len(self.taken))


class DiscontinuousDiagram(Diagram[DiscontinuousNode]):
    """Gaps and later parts are as wide as those of the mentions, which keeps the picture small."""

    title = "Hypergraph of discontinuous mentions"
    limits_width = finds_discontinuous = True
    nodes: ClassVar[Legend] = {
        "A": ("#f6cfcf", "mentions that start at word i or later"),
        "E": ("#cfdcf6", "mentions that start exactly at word i"),
        "T": ("#cdebd0", "those of one type"),
        "I": ("#fbeebc", "those whose first part contains word j"),
        "D": ("#e6d5f5", "those that begin with the parts so far"),
        "G": ("#cfeef2", "… and whose next part starts at word i or later"),
        "P": ("#fbdcc0", "… starts at word i and contains word j"),
        "X": ("#dedede", "end of a mention"),
    }
    edges: ClassVar[Legend] = {  # by the head and the first child; for two children, by the head alone
        "TX": ("#d9822b", "none starts here"),
        "TI": ("#8e44ad", "at least one does"),
        "on": ("#2e8b57", "a longer part, or a wider gap"),
        "down": ("#222222", "here and not later"),
        "both": ("#a0522d", "both"),
        "A": ("#c0392b", ""),
        "E": ("#2d63c8", ""),
    }

    @property
    def scope(self) -> str:
        gap, later = (f"{count} word{'s' * (count > 1)}" for count in (self.limits.gap, self.limits.later_width))
        return f"Up to {self.limits.parts} parts, gaps of up to {gap}, and later parts of up to {later}"

    @property
    def found(self) -> set[AnyMention]:
        """The mentions in the form of the hypergraph."""
        return {with_parts(mention.parts, self.labels.index(mention.label)) for mention in self.mentions}

    def build(self, max_width: int | None) -> Hypergraph[DiscontinuousNode]:
        later = [mention.parts for mention in self.mentions if mention.fragments]
        gaps = [after[0] - before[1] for parts in later for before, after in pairwise(parts)]
        widths = [end - start for parts in later for start, end in parts[1:]]
        self.limits = Limits(
            parts=max((len(parts) for parts in later), default=2),
            width=len(self.words) if max_width is None else max_width,
            gap=max(gaps, default=1),
            later_width=max(widths, default=1),
        )
        return discontinuous_hypergraph(len(self.words), len(self.labels), self.limits)

    def path(self) -> Hyperpath[DiscontinuousNode]:
        return discontinuous_hyperpath(self.found, self.graph)

    def layout(self) -> float:
        for node in self.graph.nodes:
            if node.symbol in "AE":
                label = (node.symbol, "", f"{node.start + 1}")
                self.add_node(node, self.x(node.start), TOP + 66 * (node.symbol == "E"), label)
        y = STARTS
        for kind in range(len(self.labels)):
            self.draw_band_label(kind, y)
            for start in range(len(self.words)):
                y = self._add_chain(start, kind, y)
            y += BAND_GAP
            self.draw_band_rule(y)
        return y - BAND_GAP

    def _add_chain(self, start: int, kind: int, y: float) -> float:
        """Add the nodes of one start and type; return where the next chain begins."""
        upper = f"{kind + 1}"
        self.add_node(DiscontinuousNode("T", start, kind), self.x(start), y, ("T", upper, f"{start + 1}"))
        chain = [node for node in self.graph.nodes if node.symbol == "I" and (node.start, node.kind) == (start, kind)]
        chain.sort(key=lambda node: node.last)
        for node in chain:
            label = ("I", upper, f"{start + 1},{node.last + 1}")
            self.add_node(node, self.x(node.last) + INSIDE, y, label)
        if not chain:
            return y + CHAIN - BELOW
        rows = _Rows(y + CHAIN)
        for node in chain:
            self._add_end(((start, node.last + 1),), kind, (self.x(node.last) + INSIDE, y + BELOW), rows)
        return rows.bottom

    def _add_end(self, parts: Parts, kind: int, place: tuple[float, float], rows: _Rows, above: int = -1) -> None:
        """Add the node after a part, and everything that follows, in rows below that of the part."""
        upper, (start, end) = f"{kind + 1}", parts[-1]
        node = DiscontinuousNode("D", kind=kind, parts=parts)
        if node not in self.graph.nodes:
            return
        self.add_node(node, *place, ("D", upper, f"{start + 1},{end}"))
        following = [one for one in self.graph.nodes if (one.kind, one.parts) == (kind, parts)]
        gaps = sorted(one for one in following if one.symbol == "G")
        later = sorted(one for one in following if one.symbol == "P")
        in_one_row = self.limits.later_width == 1 and bool(gaps)
        for group in [gaps] if in_one_row else [[gap] for gap in gaps]:
            own = [part for part in later if any(part.start == gap.start for gap in group)]
            above = rows.take([part.last for part in own], above)
            y = rows.y(above)
            for gap in group:
                self.add_node(gap, self.x(gap.start), y, ("G", upper, f"{gap.start + 1}"))
            for part in own:
                x = self.x(part.last) + INSIDE
                self.add_node(part, x, y + BELOW, ("P", upper, f"{part.start + 1},{part.last + 1}"))
                self._add_end((*parts, (part.start, part.last + 1)), kind, (x, y + 2 * BELOW), rows, above)

    def draw_edge(self, edge: Hyperedge[DiscontinuousNode], strong: bool) -> None:
        head = self.dots[edge.head]
        end = Dot(head.x - 26 * (edge.head.symbol == "D"), head.y + 42, self.nodes["X"][0], ("X", "", ""), radius=11)
        children = [self.dots.get(node, end) for node in edge.tail]
        symbol, below = edge.head.symbol, edge.tail[0].symbol if edge.tail else ""
        onward = symbol == below or (symbol, below) == ("D", "G")
        kind = f"{symbol}{below}" if symbol == "T" else "both" if len(children) > 1 else "on" if onward else "down"
        arrow = self.arrow(symbol if symbol in "AE" else kind, strong)
        if symbol == "E":
            arrow.along_bus(head, children, bus=head.x - 42)
        elif symbol == "A":
            arrow.joined(head, (head.x + 34, head.y + 20), children)
        elif len(children) > 1:
            self._draw_both(arrow, edge.head, head, children)
        elif symbol == "D" and below == "G":
            child = children[0]
            arrow.curve(
                (head.x + head.radius, head.y + 4), (child.x, head.y + 8), (child.x, child.y - child.radius - 2)
            )
        else:
            arrow.straight(head, children[0])
        self.drawing.add(arrow, [head, *children], strong)

    def _draw_both(self, arrow: Arrow, node: DiscontinuousNode, head: Dot, children: list[Dot]) -> None:
        """Draw one stem, and an arrow to each of two children."""
        below, onward = children
        joint = (head.x + 8, head.y + 30) if node.symbol == "D" else (head.x + 32, head.y + 18)
        arrow.stem(head, joint)
        for child in (below, onward):
            bend = (child.x, joint[1]) if abs(child.x - joint[0]) > 30 else (joint[0], child.y)
            dx, dy = child.x - bend[0], child.y - bend[1]
            away = (dx * dx + dy * dy) ** 0.5 or 1.0
            stop = child.radius + 2
            arrow.curve(joint, bend, (child.x - dx / away * stop, child.y - dy / away * stop))
