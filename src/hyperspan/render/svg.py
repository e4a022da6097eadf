"""Shapes as SVG text: labelled dots, arrows with several heads, brackets."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import hypot

Point = tuple[float, float]


@dataclass(frozen=True)
class Dot:
    """A node: a circle that contains a name, a superscript and a subscript."""

    x: float
    y: float
    colour: str
    label: tuple[str, str, str]
    radius: float = 19

    def svg(self) -> str:
        parts = [
            (text, size, rise) for text, size, rise in zip(self.label, (13, 9.5, 9.5), (0, -6, 4), strict=True) if text
        ]
        widths = [0.69 * size * (len(text) - 0.45 * (text.count(",") + text.count("I"))) for text, size, _ in parts]
        place = self.x - sum(widths) / 2
        drawn = f'<circle cx="{self.x:.1f}" cy="{self.y:.1f}" r="{self.radius}" fill="{self.colour}" stroke="#444" stroke-width="1"/>'
        # Separate texts: programs other than browsers do not centre a text with shifted parts.
        for (text, size, rise), width in zip(parts, widths, strict=True):
            middle = place + width / 2
            drawn += f'<text x="{middle:.1f}" y="{self.y + 4.5 + rise:.1f}" font-size="{size}" font-weight="bold">{text}</text>'
            place += width
        return drawn


@dataclass
class Arrow:
    """A hyperedge: one stem from the head, with an arrowhead at each child."""

    colour: str
    strong: bool
    paths: list[str] = field(default_factory=list)

    def straight(self, head: Dot, child: Dot) -> None:
        start, end = (head.x, head.y), (child.x, child.y)
        out, into = towards(start, end, head.radius), towards(end, start, child.radius + 2)
        self.paths.append(f'<path d="M{_xy(out)} L{_xy(into)}" class="to"/>')

    def joined(self, head: Dot, joint: Point, children: Sequence[Dot]) -> None:
        """A stem to the joint, and from there a curve to each child."""
        if len(children) == 1:
            self.straight(head, children[0])
            return
        self.stem(head, joint)
        for child in children:
            sideways = abs(child.x - joint[0]) > 50
            bend = (child.x - 46, joint[1]) if sideways else (joint[0] - 2, child.y)
            self.curve(joint, bend, towards((child.x, child.y), bend, child.radius + 2))

    def stem(self, head: Dot, joint: Point) -> None:
        """A line from the head to a joint, where the arrow forks."""
        out = towards((head.x, head.y), joint, head.radius)
        self.paths.append(
            f'<path d="M{_xy(out)} L{_xy(joint)}"/><circle cx="{joint[0]:.1f}" cy="{joint[1]:.1f}" r="2.4" class="joint"/>'
        )

    def curve(self, start: Point, bend: Point, end: Point) -> None:
        """A curve with an arrowhead at its end; `bend` is its control point."""
        first, second = (((p[0] + 2 * bend[0]) / 3, (p[1] + 2 * bend[1]) / 3) for p in (start, end))  # as a cubic curve
        self.paths.append(f'<path d="M{_xy(start)} C{_xy(first)} {_xy(second)} {_xy(end)}" class="to"/>')

    def along_bus(self, head: Dot, children: Sequence[Dot], bus: float) -> None:
        """Down a vertical line next to the head, with a branch to each child."""
        lowest = max((child.y for child in children), default=head.y)
        out = (head.x - head.radius, head.y)
        turn = 12
        self.paths.append(
            f'<path d="M{_xy(out)} L{bus + turn:.1f},{head.y:.1f} Q{bus:.1f},{head.y:.1f} {bus:.1f},{head.y + turn:.1f} L{bus:.1f},{lowest - turn:.1f}"/>'
        )
        for child in children:
            self.paths.append(
                f'<path d="M{bus:.1f},{child.y - turn:.1f} Q{bus:.1f},{child.y:.1f} {bus + turn:.1f},{child.y:.1f} '
                f'L{child.x - child.radius - 2:.1f},{child.y:.1f}" class="to"/>'
            )

    def svg(self) -> str:
        style = "strong" if self.strong else "faint"
        body = "".join(self.paths).replace('class="to"', f'marker-end="url(#tip-{self.colour[1:]})"')
        return f'<g class="edge {style}" stroke="{self.colour}" fill="{self.colour}">{body}</g>'


class Picture(str):
    """The text of an SVG, which notebooks show as a picture."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """An `img` element, so that its styles and arrowheads do not affect other pictures."""
        data = base64.b64encode(self.encode("utf-8")).decode("ascii")
        title = self.partition("<title>")[2].partition("</title>")[0]  # escaped
        image = f'<img alt="{title}" style="max-width:none" src="data:image/svg+xml;base64,{data}">'
        return f'<div style="overflow-x:auto">{image}</div>'


@dataclass
class Drawing:
    """Shapes in painting order: faint edges and dots first, strong ones over them, text last."""

    width: float = 0
    height: float = 0
    edges: list[Arrow] = field(default_factory=list)
    dots: dict[tuple[float, float], tuple[Dot, bool]] = field(default_factory=dict)
    extras: list[str] = field(default_factory=list)

    def add(self, arrow: Arrow, dots: Sequence[Dot], strong: bool) -> None:
        self.edges.append(arrow)
        for dot in dots:
            _, known = self.dots.get((dot.x, dot.y), (dot, False))
            self.dots[dot.x, dot.y] = (dot, strong or known)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        size: float,
        weight: str = "normal",
        colour: str = "#222",
        anchor: str = "middle",
    ) -> None:
        style = f'font-size="{size}" font-weight="{weight}" fill="{colour}" text-anchor="{anchor}"'
        self.extras.append(f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>')

    def rule(self, left: float, right: float, y: float) -> None:
        self.extras.append(
            f'<path d="M{left:.1f},{y:.1f} H{right:.1f}" stroke="#ccc" stroke-dasharray="3 5" fill="none"/>'
        )

    def bracket(self, parts: Sequence[tuple[float, float]], y: float, label: str) -> None:
        """A bracket under each part of a mention, with thin lines between them; the label is under the whole."""
        (first, _), (_, last) = parts[0], parts[-1]
        for left, right in parts:
            self.extras.append(
                f'<path d="M{left:.1f},{y - 6:.1f} v8 H{right:.1f} v-8" stroke="#222" stroke-width="1.8" fill="none"/>'
            )
        for (_, left), (right, _) in pairwise(parts):
            self.extras.append(
                f'<path d="M{left:.1f},{y + 2:.1f} H{right:.1f}" stroke="#222" stroke-width="1" stroke-dasharray="2 4" fill="none"/>'
            )
        self.text((first + last) / 2, y + 17, label, size=13, weight="bold")

    def key(self, x: float, y: float, symbol: str, meaning: str) -> None:
        """An entry of the legend: a symbol, and its meaning to the right."""
        self.extras.append(symbol)
        self.text(x + 18, y + 4, meaning, size=12, anchor="start", colour="#444")

    def svg(self, title: str) -> Picture:
        """The whole picture; screen readers read the `title`."""
        by_strength = [[*(edge.svg() for edge in self.edges if edge.strong is strong)] for strong in (False, True)]
        dots: list[list[str]] = [[], []]
        for dot, strong in self.dots.values():
            dots[strong].append(f'<g class="{"strong" if strong else "faint"}">{dot.svg()}</g>')
        tips = "".join(
            f'<marker id="tip-{colour[1:]}" viewBox="0 0 8 8" refX="7" refY="4" markerUnits="userSpaceOnUse" markerWidth="9" '
            f'markerHeight="9" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="{colour}"/></marker>'
            for colour in sorted({edge.colour for edge in self.edges})
        )
        body = "\n".join([*by_strength[0], *dots[0], *by_strength[1], *dots[1], *self.extras])
        return Picture(
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:.0f}" height="{self.height:.0f}" '
            f'viewBox="0 0 {self.width:.0f} {self.height:.0f}" role="img" font-family="Helvetica, Arial, sans-serif" text-anchor="middle">\n'
            f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n"
            f"<defs>{tips}</defs>\n"
            f'<rect width="100%" height="100%" fill="white"/>\n{body}\n</svg>'
        )


_STYLE = ".edge path{fill:none;stroke-width:1.3}.strong path{stroke-width:2.2}g.faint{opacity:.32}"


def escape(text: str) -> str:
    """The text escaped for XML, with forbidden control characters replaced."""
    return html.escape("".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text))


def towards(start: Point, end: Point, distance: float) -> Point:
    """The point at this distance from `start` on the line to `end`."""
    length = hypot(end[0] - start[0], end[1] - start[1]) or 1.0
    return start[0] + (end[0] - start[0]) / length * distance, start[1] + (end[1] - start[1]) / length * distance


def _xy(point: Point) -> str:
    """A point as SVG coordinates."""
    return f"{point[0]:.1f},{point[1]:.1f}"
