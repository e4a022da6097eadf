"""What tests of pictures read off an SVG."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import combinations

from hypothesis import strategies as st

from hyperspan import Mention

SVG = "{http://www.w3.org/2000/svg}"
WORDS = ["A", "B", "C", "D"]
TYPES = ["X", "Y"]
SETS = st.frozensets(
    st.tuples(st.integers(0, 3), st.integers(1, 4), st.integers(0, 1)).filter(lambda mention: mention[0] < mention[1]),
    max_size=4,
)


def as_mentions(triples) -> list[Mention]:
    return sorted(Mention(start, end, TYPES[kind]) for start, end, kind in triples)


def heads(svg: str, strength: str) -> list[int]:
    """How many arrowheads each hyperedge of this strength has."""
    groups = ET.fromstring(svg).findall(f"{SVG}g[@class='edge {strength}']")
    return [len(group.findall(f"{SVG}path[@marker-end]")) for group in groups]


def check_places(svg: str) -> None:
    """Nodes are inside the picture, and no two touch."""
    root = ET.fromstring(svg)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    dots = [dot for strength in ("strong", "faint") for dot in root.findall(f"{SVG}g[@class='{strength}']/{SVG}circle")]
    places = [tuple(float(dot.attrib[name]) for name in ("cx", "cy", "r")) for dot in dots]
    for x, y, radius in places:
        assert radius <= x <= width - radius and radius <= y <= height - radius
    for (x, y, radius), (other_x, other_y, other_radius) in combinations(places, 2):
        assert (x - other_x) ** 2 + (y - other_y) ** 2 > (radius + other_radius) ** 2


def texts(svg: str) -> str:
    """All text of a picture, a line each."""
    return "\n".join(element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}text"))
