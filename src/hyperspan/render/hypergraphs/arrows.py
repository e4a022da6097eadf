"""Arrows that pass through one child on their way to another, and arrows that fork."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

from hyperspan.render.svg import Arrow, Dot, Point

TIP = 2  # how far before a node the tip of an arrow stops


def straight_through(arrow: Arrow, dots: Sequence[Dot]) -> None:
    """Straight from each dot to the next."""
    for head, child in pairwise(dots):
        arrow.straight(head, child)


def arch(arrow: Arrow, head: Dot, top: Dot, child: Dot, *, shift: float = 8) -> None:
    """Up from the head to the top of an arch, and down again to the child; `shift`: horizontally from their centres."""
    up, down = head.x + shift, child.x - shift
    rise = (head.radius**2 - shift**2) ** 0.5
    land = (child.radius**2 - shift**2) ** 0.5 + TIP
    arrow.curve((up, head.y - rise), (up, top.y), (top.x - top.radius - TIP, top.y))
    arrow.curve((top.x + top.radius, top.y), (down, top.y), (down, child.y - land))


Bend = Literal["no", "sideways", "down"]
"""How an arrow leaves its joint: straight to the child, or first sideways or down."""


def fork(arrow: Arrow, head: Dot, joint: Point, children: Iterable[tuple[Dot, Bend]]) -> None:
    """A stem to the joint, and from there a line to each child."""
    stem = Dot(*joint, "", ("", "", ""), radius=0)
    arrow.stem(head, joint)
    for child, bend in children:
        stop = child.radius + TIP
        if bend == "no":
            arrow.straight(stem, child)
        elif bend == "sideways":
            arrow.curve(joint, (child.x, joint[1]), (child.x, child.y - stop))
        else:
            arrow.curve(joint, (joint[0], child.y), (child.x + (stop if child.x < joint[0] else -stop), child.y))
