"""The generic engine and the lazy k best, on random graphs."""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.structures.graphs import (
    Counting,
    Hyperedge,
    Hypergraph,
    KBest,
    Log,
    hyperpaths,
    inside,
    viterbi,
)
from hyperspan.structures.kbest import Alternatives, cheapest_combinations, cheapest_subsets


def random_graph(generator: random.Random) -> tuple[Hypergraph, dict[Hyperedge, float]]:
    """Nodes 0..5, edges from lower to higher numbers with tails of 0 to 3 nodes, repeated nodes included."""
    edges = {
        Hyperedge(head, tuple(generator.choices(range(head + 1, 6), k=generator.randint(0, 3) if head < 5 else 0)))
        for head in generator.choices(range(6), k=8)
    }
    weights = {edge: generator.choice([-math.inf, -1.0, 0.0, 0.5, 2.0]) for edge in edges}
    return Hypergraph(0, sorted(edges, key=str)), weights


@given(seed=st.integers(0, 10**6))
def test_semirings_against_enumeration(seed: int) -> None:
    graph, weights = random_graph(random.Random(seed))
    paths = list(itertools.islice(hyperpaths(graph), 3000))
    if len(paths) == 3000:
        return
    scores = [math.fsum(map(weights.get, path)) if path else 0.0 for path in paths]  # type: ignore[arg-type]
    possible = sorted((score for score in scores if score > -math.inf), reverse=True)
    weight = weights.__getitem__
    assert inside(graph, weight, Counting())[0] == len(possible)
    log_sum, best = inside(graph, weight, Log())[0], inside(graph, weight, KBest(7))[0]
    total = math.log(math.fsum(map(math.exp, possible))) if possible else -math.inf
    assert log_sum == total or math.isclose(log_sum, total, abs_tol=1e-9)
    assert [score for score, _ in best] == pytest.approx(possible[:7])
    for score, path in best:
        assert path in paths and math.fsum(weights[edge] for edge in path) == pytest.approx(score)
    if possible:
        assert viterbi(graph, weight)[0] == pytest.approx(possible[0])
    else:
        with pytest.raises(ValueError, match="no hyperpath is possible"):
            viterbi(graph, weight)


def test_cycles_are_refused() -> None:
    with pytest.raises(ValueError, match="its own descendant"):
        Hypergraph("A", [Hyperedge("A", ("B",)), Hyperedge("B", ("C", "A"))])


def test_a_long_chain_does_not_exhaust_the_stack() -> None:
    length = 5000
    graph = Hypergraph(0, [Hyperedge(i, (i + 1,)) for i in range(length)])
    assert inside(graph, lambda _: 0.5, Log())[0] == length * 0.5


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=4), max_size=4))
def test_cheapest_combinations(costs: list[list[int]]) -> None:
    ranked = [sorted(alternatives) for alternatives in costs]
    choices = [Alternatives([(float(c), index) for index, c in enumerate(alternatives)]) for alternatives in ranked]
    found = list(cheapest_combinations(choices))
    everything = sorted(
        sum(c - best[0] for c, best in zip(way, ranked, strict=True)) for way in itertools.product(*ranked)
    )
    assert [cost for cost, _ in found] == everything
    assert len({tuple(sorted(changed.items())) for _, changed in found}) == len(everything)
    for cost, changed in found:
        assert cost == sum(ranked[index][rank] - ranked[index][0] for index, rank in changed.items())


@given(st.lists(st.integers(0, 5), max_size=7))
def test_cheapest_subsets(costs: list[int]) -> None:
    costs = sorted(costs)
    found = list(cheapest_subsets(costs))
    everything = [
        chosen for size in range(len(costs) + 1) for chosen in itertools.combinations(range(len(costs)), size)
    ]
    assert sorted(chosen for _, chosen in found) == sorted(everything)
    assert [cost for cost, _ in found] == sorted(sum(costs[index] for index in chosen) for chosen in everything)


def test_alternatives_are_drawn_only_as_far_as_needed() -> None:
    drawn = []

    def endless() -> itertools.chain[tuple[float, int]]:
        return itertools.chain.from_iterable(((float(i), i),) for i in itertools.count() if drawn.append(i) is None)

    found = list(itertools.islice(cheapest_combinations([Alternatives(endless()) for _ in range(3)]), 10))
    assert [cost for cost, _ in found] == [0.0, *[1.0] * 3, *[2.0] * 6]
    assert max(drawn) <= 4
