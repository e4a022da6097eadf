"""What the diagrams of the package have of their own; test_pictures.py has what all pictures of hypergraphs show."""

from __future__ import annotations

import pytest

from hyperspan import Mention, draw_hypergraph
from hyperspan.errors import InputError, SpanError
from hyperspan.render.diagram import DiscontinuousDiagram
from hyperspan.structures.graphs import discontinuous_mentions
from tests.render.pictures import TYPES, WORDS, check_places, heads


@pytest.mark.parametrize("parts", [((0, 1), (2, 3)), ((0, 1), (3, 5)), ((0, 1), (2, 3), (4, 6)), ((0, 3), (5, 6))])
def test_diagram_of_discontinuous_mentions_has_nodes_apart_and_arrows_that_never_rise(parts) -> None:
    mentions = [Mention(0, parts[-1][1], "X", parts)]
    check_places(draw_hypergraph(list("abcdefg"), mentions, structure="discontinuous"))
    diagram = DiscontinuousDiagram(list("abcdefg"), ["X"], mentions, None)
    diagram.layout()
    for edge in diagram.graph.edges:
        assert all(diagram.dots[node].y >= diagram.dots[edge.head].y for node in edge.tail if node.symbol != "X")


def test_diagram_of_discontinuous_mentions_shares_rows() -> None:
    diagram = DiscontinuousDiagram(list("abcdefgh"), ["X"], [Mention(0, 3, "X", ((0, 1), (2, 3)))], None)
    diagram.layout()
    first = {diagram.dots[node].y for node in diagram.graph.nodes if node.symbol == "G" and node.parts[0][0] == 0}
    assert len(first) == 1  # with gaps of one word, what follows the parts is in columns of its own


def test_diagram_of_discontinuous_mentions_has_their_parts_and_the_segmental_one_refuses_them() -> None:
    words = ["left", "and", "right", "ventricle"]
    mentions = [Mention(0, 4, "part", ((0, 1), (3, 4))), Mention(2, 4, "part")]
    diagram = DiscontinuousDiagram(words, ["part"], mentions, None)
    assert discontinuous_mentions(diagram.path()) == {(0, 4, 0, ((0, 1), (3, 4))), (2, 4, 0)}
    svg = draw_hypergraph(words, mentions, structure="discontinuous")
    assert "left … ventricle (part); right ventricle (part)" in svg and len(heads(svg, "strong")) == len(diagram.path())
    assert svg.count("v8 H") == 3 and svg.count('stroke-dasharray="2 4"') == 1  # a bracket for each part
    with pytest.raises(SpanError, match=r"mention 0:1,3:4:part is discontinuous, .*; draw the structure discontinuous"):
        draw_hypergraph(words, mentions[:1])


@pytest.mark.parametrize("structure", ["forest", "tree", "joint"])
def test_draw_hypergraph_names_what_it_draws_and_where_other_structures_are_drawn(structure) -> None:
    said = (
        f"^the structure '{structure}' is not drawn, only segmental and discontinuous; in a clone of the repository, "
        "python -m experiments.figures draws the structures of other systems$"
    )
    with pytest.raises(InputError, match=said):
        draw_hypergraph(WORDS, types=TYPES, structure=structure)
