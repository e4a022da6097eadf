"""The segmental hypergraph as a graph: the paper's theorem and figures. No tensor and no kernel takes part."""

from __future__ import annotations

import itertools

import pytest

from hyperspan.structures.graphs import (
    Counting,
    Hypergraph,
    SegmentalNode,
    hyperpath_of,
    hyperpaths,
    inside,
    mentions_of,
    segmental_hypergraph,
)
from tests.structures.brute_force import all_mentions, all_sets

SMALL = [
    (n, m, c) for n in range(13) for m in range(5) for c in range(1, max(n, 1) + 2) if len(all_mentions(n, m, c)) <= 10
]


def count(graph: Hypergraph) -> int:
    return inside(graph, lambda _: 0.0, Counting())[graph.root]


@pytest.mark.parametrize(("n", "m", "c"), SMALL)
def test_theorem_hyperpaths_and_mention_sets_are_one_to_one(n: int, m: int, c: int) -> None:
    graph = segmental_hypergraph(n, m, c)
    sets = set(all_sets(all_mentions(n, m, c)))
    paths = list(hyperpaths(graph))
    assert len(paths) == len(set(paths)) == len(sets) == 2 ** len(all_mentions(n, m, c))
    assert {mentions_of(path) for path in paths} == sets
    assert all(hyperpath_of(mentions_of(path), graph) == path for path in paths[:: -(-len(paths) // 50)])


@pytest.mark.parametrize(("n", "m", "c"), [(40, 7, 40), (100, 5, 6), (30, 1, 1), (0, 3, 4), (1, 10, 5)])
def test_theorem_for_sizes_too_large_to_enumerate(n: int, m: int, c: int) -> None:
    assert count(segmental_hypergraph(n, m, c)) == 2 ** len(all_mentions(n, m, c))


def test_types_may_be_named_and_width_unrestricted() -> None:
    assert count(segmental_hypergraph(3, ["PER", "ORG"])) == 2**12


def test_paper_figure_node_sequences() -> None:
    """ "Israeli UN Ambassador Danny", counted as the paper counts: words and types from 1, ORG is 1 and PER is 2."""
    organization, person = 0, 1
    mentions = {(0, 3, person), (0, 4, person), (1, 2, organization)}
    graph = segmental_hypergraph(4, ["ORG", "PER"])
    path = hyperpath_of(mentions, graph)

    def nodes_of(mention: tuple[int, int, int]) -> list[SegmentalNode]:
        """The nodes, from the root to X, along which a hyperpath captures one mention."""
        start, end, kind = mention
        above = [*(SegmentalNode("A", i) for i in range(start + 1)), SegmentalNode("E", start)]
        inside = (SegmentalNode("I", start, kind, j) for j in range(start, end))
        return [*above, SegmentalNode("T", start, kind), *inside, SegmentalNode("X")]

    def written(node: SegmentalNode) -> str:
        inner = f",{node.last + 1}" if node.symbol == "I" else ""
        above = f"^{node.kind + 1}" if node.symbol in "TI" else ""
        return node.symbol if node.symbol == "X" else f"{node.symbol}{above}_{node.start + 1}{inner}"

    def sequence(mention: tuple[int, int, int]) -> str:
        return " ".join(map(written, nodes_of(mention)))

    assert sequence((0, 3, person)) == "A_1 E_1 T^2_1 I^2_1,1 I^2_1,2 I^2_1,3 X"
    assert sequence((0, 4, person)) == "A_1 E_1 T^2_1 I^2_1,1 I^2_1,2 I^2_1,3 I^2_1,4 X"
    assert sequence((1, 2, organization)) == "A_1 A_2 E_2 T^1_2 I^1_2,2 X"
    steps = {(edge.head, child) for edge in path for child in edge.tail}
    for mention in mentions:
        nodes = nodes_of(mention)
        assert set(itertools.pairwise(nodes)) <= steps
    assert mentions_of(path) == mentions


def test_abcd_is_unambiguous() -> None:
    """{B C, A B C D} and the same with A B C are different hyperpaths."""
    graph = segmental_hypergraph(4, 1)
    two, three = {(1, 3, 0), (0, 4, 0)}, {(1, 3, 0), (0, 4, 0), (0, 3, 0)}
    assert hyperpath_of(two, graph) != hyperpath_of(three, graph)
    assert [path for path in hyperpaths(graph) if mentions_of(path) == two] == [hyperpath_of(two, graph)]


@pytest.mark.parametrize("mention", [(0, 4, 0), (2, 4, 0), (0, 1, 1), (-1, 1, 0)])
def test_mentions_outside_the_hypergraph_are_refused(mention: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="not"):
        hyperpath_of({mention}, segmental_hypergraph(3, 1, 2))
