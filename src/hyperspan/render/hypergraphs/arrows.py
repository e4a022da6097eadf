"""Arrows that pass through one child on their way to another, and arrows that fork."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from math import hypot
from typing import Literal

from hyperspan.render.svg import Arrow, Dot, Point

TIP = 2  # how far before a node the tip of an arrow stops


def straight_through(arrow: Arrow, dots: Sequence[Dot]) -> None:
    """Straight from each dot to the next."""
    for head, child in pairwise(dots):
        arrow.straight(head, child)


def arch(arrow: Arrow, head: Dot, top: Dot, child: Dot, *, apart: float = 8) -> None:
    """Up from the head to a dot at the top of an arch, and down again to the child; `apart`: beside their middles."""
    up, down = head.x + apart, child.x - apart
    rise = (head.radius**2 - apart**2) ** 0.5
    land = (child.radius**2 - apart**2) ** 0.5 + TIP
    _curve(arrow, (up, head.y - rise), (up, top.y), (top.x - top.radius - TIP, top.y))
    _curve(arrow, (top.x + top.radius, top.y), (down, top.y), (down, child.y - land))


Bend = Literal["no", "sideways", "down"]
"""Where an arrow leaves its joint: straight to the child, or sideways or down first."""


def fork(arrow: Arrow, head: Dot, joint: Point, children: Iterable[tuple[Dot, Bend]]) -> None:
    """A stem to the joint, and from there a line to each child."""
    stem = Dot(*joint, "", ("", "", ""), radius=0)
    out = _before((joint, (head.x, head.y)), head.radius)
    arrow.paths.append(
        f'<path d="M{_p(out)} L{_p(joint)}"/><circle cx="{joint[0]:.1f}" cy="{joint[1]:.1f}" r="2.4" class="joint"/>'
    )
    for child, bend in children:
        stop = child.radius + TIP
        if bend == "no":
            arrow.straight(stem, child)
        elif bend == "sideways":
            _curve(arrow, joint, (child.x, joint[1]), (child.x, child.y - stop))
        else:
            _curve(arrow, joint, (joint[0], child.y), (child.x + (stop if child.x < joint[0] else -stop), child.y))


def _curve(arrow: Arrow, start: Point, bend: Point, end: Point) -> None:
    arrow.paths.append(f'<path d="M{_p(start)} Q{_p(bend)} {_p(end)}" class="to"/>')


def _before(line: tuple[Point, Point], distance: float) -> Point:
    """The point of a line so far before its end."""
    (x, y), (end_x, end_y) = line
    share = distance / (hypot(end_x - x, end_y - y) or 1.0)
    return end_x + (x - end_x) * share, end_y + (y - end_y) * share


def _p(point: Point) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"
