"""Arrows that pass through one child on their way to another, and arrows that fork."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

from hyperspan.render.svg import Arrow, Dot, Point, towards

TIP = 2  # how far before a node the tip of an arrow stops


def straight_through(arrow: Arrow, dots: Sequence[Dot]) -> None:
    """Straight from each dot to the next."""
    for head, child in pairwise(dots):
        arrow.straight(head, child)


def arch(arrow: Arrow, head: Dot, top: Dot, child: Dot, *, shift: float = 8) -> None:
    """Up from the head to the top of an arch, and down to the child; `shift` is the horizontal offset from their
    centres.
    """
    up, down = head.x + shift, child.x - shift
    rise = (head.radius**2 - shift**2) ** 0.5
    land = (child.radius**2 - shift**2) ** 0.5 + TIP
    arrow.curve((up, head.y - rise), (up, top.y), (top.x - top.radius - TIP, top.y))
    arrow.curve((top.x + top.radius, top.y), (down, top.y), (down, child.y - land))


def along_lane(arrow: Arrow, head: Dot, dots: Sequence[Dot], child: Dot) -> None:
    """From the head into the lane of the dots, through all of them, and out to the child."""
    if not dots:
        arrow.straight(head, child)
        return
    first, last = dots[0], dots[-1]
    into, out = (head.x + head.radius + 12, first.y), (child.x - child.radius - 30, first.y)
    arrow.curve(_beside(head, into, head.radius), into, (first.x - first.radius - TIP, first.y))
    straight_through(arrow, dots)
    arrow.curve((last.x + last.radius, last.y), out, _beside(child, out, child.radius + TIP))


def _beside(dot: Dot, bend: Point, distance: float) -> Point:
    """Where an arrow touches a dot: at its side if the bend is far, so that steep arrows avoid dots above and below."""
    down = bend[1] - dot.y
    if abs(down) > 5 * dot.radius:
        down = 0.7 * dot.radius * (1 if down > 0 else -1)
    return towards((dot.x, dot.y), (bend[0], dot.y + down), distance)


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
