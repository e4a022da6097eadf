"""The diagram of each structure shows its whole hypergraph and the hyperpath of the mentions."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import chain, combinations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan import Mention, draw_hypergraph
from hyperspan.errors import InputError, SpanError
from hyperspan.render.hypergraphs import DIAGRAMS, diagram_of
from hyperspan.render.hypergraphs.readings import sets_with_structure_of
from hyperspan.structures import closure, is_nested, outermost, structure_of
from hyperspan.structures.graphs import (
    constituents_of,
    discontinuous_mentions,
    joint_mentions,
    linear_chain_mentions,
    mentions_of,
    semi_markov_mentions,
    separated_mentions,
)

SVG = "{http://www.w3.org/2000/svg}"
WORDS = ["A", "B", "C", "D"]
TYPES = ["X", "Y"]
DECODERS: dict[str, Any] = {
    "segmental": mentions_of,
    "discontinuous": discontinuous_mentions,
    "joint": joint_mentions,
    "linear-chain": linear_chain_mentions,
    "semi-markov": semi_markov_mentions,
    "mention-hypergraph": mentions_of,
    "mention-separators": separated_mentions,
    "tree": constituents_of,
}
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


def fits(structure: str, triples) -> bool:
    if structure in ("linear-chain", "semi-markov"):
        return not outermost(triples)[1]
    return structure != "tree" or is_nested(triples)


@pytest.mark.parametrize("structure", DIAGRAMS)
@settings(max_examples=30, deadline=None)
@given(triples=SETS)
def test_diagram_path_encodes_the_mentions(structure, triples) -> None:
    mentions = as_mentions(triples)
    if not fits(structure, triples):
        with pytest.raises(SpanError, match="cannot represent both"):
            draw_hypergraph(WORDS, mentions, types=TYPES, structure=structure)
        return
    diagram = diagram_of(structure)(WORDS, TYPES, mentions, None)
    path = diagram.path()
    assert set(path) <= set(diagram.graph.edges)
    assert DECODERS[structure](path) == (closure(triples) if diagram.is_ambiguous else triples)
    both = draw_hypergraph(WORDS, mentions, types=TYPES, structure=structure)
    alone = draw_hypergraph(WORDS, mentions, types=TYPES, structure=structure, show="path")
    assert len(heads(both, "strong")) == len(heads(alone, "strong")) == len(set(path))
    assert len(heads(both, "faint")) == len(diagram.graph.edges) - len(set(path)) and not heads(alone, "faint")


@pytest.mark.parametrize("structure", DIAGRAMS)
def test_diagram_arrows_have_a_head_for_each_child(structure) -> None:
    diagram = diagram_of(structure)(WORDS, TYPES, [], None)
    nodes = {
        node
        for edge in diagram.graph.edges
        for node in edge.tail
        if getattr(node, "end", -2) != getattr(node, "start", -1)
    }
    drawn = heads(draw_hypergraph(WORDS, types=TYPES, structure=structure, show="graph"), "strong")
    assert sorted(drawn) == sorted(sum(node in nodes for node in edge.tail) for edge in diagram.graph.edges)


@pytest.mark.parametrize("structure", DIAGRAMS)
@pytest.mark.parametrize("show", ["both", "graph", "path"])
def test_diagram_nodes_are_inside_the_picture_and_apart(structure, show) -> None:
    words, mentions = ["a", "rather-long-word", "c", "d", "e"], [Mention(1, 3, "X"), Mention(4, 5, "long label")]
    check_places(draw_hypergraph(words, mentions, structure=structure, show=show))


@pytest.mark.parametrize("parts", [((0, 1), (2, 3)), ((0, 1), (3, 5)), ((0, 1), (2, 3), (4, 6)), ((0, 3), (5, 6))])
def test_diagram_of_discontinuous_mentions_has_nodes_apart_and_arrows_that_never_rise(parts) -> None:
    mentions = [Mention(0, parts[-1][1], "X", parts)]
    check_places(draw_hypergraph(list("abcdefg"), mentions, structure="discontinuous"))
    diagram = diagram_of("discontinuous")(list("abcdefg"), ["X"], mentions, None)
    diagram.layout()
    for edge in diagram.graph.edges:
        assert all(diagram.dots[node].y >= diagram.dots[edge.head].y for node in edge.tail if node.symbol != "X")


def test_diagram_of_discontinuous_mentions_shares_rows() -> None:
    diagram = diagram_of("discontinuous")(list("abcdefgh"), ["X"], [Mention(0, 3, "X", ((0, 1), (2, 3)))], None)
    diagram.layout()
    first = {diagram.dots[node].y for node in diagram.graph.nodes if node.symbol == "G" and node.parts[0][0] == 0}
    assert len(first) == 1  # with gaps of one word, what follows the parts is in columns of its own


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


@pytest.mark.parametrize("structure", DIAGRAMS)
def test_diagram_names_types_and_escapes_text(structure) -> None:
    root = ET.fromstring(
        draw_hypergraph(["<script>", "&amp;"], [Mention(0, 1, "<&>")], types=["<&>", "never"], structure=structure)
    )
    texts = "\n".join(element.text or "" for element in root.iter(f"{SVG}text"))
    assert "<script>" in texts and "&amp;" in texts and "<&>" in texts and "never" in texts


def test_diagram_of_discontinuous_mentions_has_their_parts_and_no_others_draw_them() -> None:
    words = ["left", "and", "right", "ventricle"]
    mentions = [Mention(0, 4, "part", ((0, 1), (3, 4))), Mention(2, 4, "part")]
    diagram = diagram_of("discontinuous")(words, ["part"], mentions, None)
    assert discontinuous_mentions(diagram.path()) == {(0, 4, 0, ((0, 1), (3, 4))), (2, 4, 0)}
    svg = draw_hypergraph(words, mentions, structure="discontinuous")
    assert "left … ventricle (part); right ventricle (part)" in svg and len(heads(svg, "strong")) == len(diagram.path())
    assert svg.count("v8 H") == 3 and svg.count('stroke-dasharray="2 4"') == 1  # a bracket for each part
    for structure in DIAGRAMS.keys() - {"discontinuous"}:
        with pytest.raises(
            SpanError, match=r"mention 0:1,3:4:part is discontinuous, .*; draw the structure discontinuous"
        ):
            draw_hypergraph(words, mentions[:1], structure=structure)


@pytest.mark.parametrize("show", ["both", "path"])
@pytest.mark.parametrize("types", [1, 2, 3])
def test_diagram_of_joint_types_has_nodes_apart_whatever_their_number(types, show) -> None:
    labels = ["X", "Y", "Z"][:types]
    mentions = [Mention(0, 2, label) for label in labels] + [Mention(0, 1, "X"), Mention(1, 3, labels[-1])]
    svg = draw_hypergraph(list("abc"), mentions, types=labels, structure="joint", show=show)
    check_places(svg)
    assert len(heads(svg, "strong")) == len(diagram_of("joint")(list("abc"), labels, mentions, None).path())


def test_diagram_of_joint_types_draws_the_end_of_each_type_on_the_arrow() -> None:
    """At one word both types end, and the second goes on: one arrow through both ends to the next word."""
    mentions = [Mention(0, 1, "X"), Mention(0, 1, "Y"), Mention(0, 2, "Y")]
    svg = draw_hypergraph(["a", "b"], mentions, structure="joint", show="path")
    dots = ET.fromstring(svg).findall(f"{SVG}g[@class='strong']")
    labels = [[text.text for text in dot.findall(f"{SVG}text")] for dot in dots]
    assert sorted(label for label in labels if label[0] == "X") == [["X", "1"], ["X", "2"], ["X", "2"]]
    assert sorted(heads(svg, "strong"))[-2:] == [2, 3]  # A to A and E, and this arrow


def test_diagram_of_joint_types_refuses_more_than_can_be_read() -> None:
    with pytest.raises(InputError, match=r"there are 5 types, and up to 4 are drawn together.*choose fewer types"):
        draw_hypergraph(WORDS, types=list("ABCDE"), structure="joint")


@pytest.mark.parametrize("structure", ["semi-markov", "tree", "joint"])
def test_diagram_max_width_removes_wider_mentions(structure) -> None:
    narrow = draw_hypergraph(WORDS, types=TYPES, structure=structure, max_width=2)
    assert len(heads(narrow, "faint")) < len(heads(draw_hypergraph(WORDS, types=TYPES, structure=structure), "faint"))


def test_draw_hypergraph_rejects_an_unknown_structure() -> None:
    with pytest.raises(
        InputError, match="'forest' is unknown; it must be one of segmental, discontinuous, joint, linear-chain"
    ):
        draw_hypergraph(WORDS, types=TYPES, structure="forest")


@given(triples=SETS)
def test_sets_with_structure_of_finds_all_such_sets(triples) -> None:
    largest = sorted(closure(triples))
    subsets = chain.from_iterable(combinations(largest, size) for size in range(len(largest) + 1))
    alike = [found for _, found in sets_with_structure_of(triples)]
    assert len(alike) == len(set(alike))
    assert set(alike) == {frozenset(subset) for subset in subsets if structure_of(subset) == structure_of(triples)}
