"""Sums, derivatives, k best and samples of packed graphs, beside an enumeration of their hyperpaths and the generic
engine."""

from __future__ import annotations

import math
import random
from collections import Counter as Counts
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan.kernels.numbers import highest
from hyperspan.structures.graphs import Graph, Hyperedge, Log, hyperpaths, inside
from hyperspan.structures.graphs.paths import Values
from hyperspan.structures.graphs.sums import log_partition, posteriors

MOST = 2_000
"""Graphs with more hyperpaths are not enumerated."""


def random_graph(generator: random.Random, roots: int) -> Graph:
    """Blocks of nodes with edges to any nodes below, with one tail or two, some to nowhere, that share their scores."""
    graph = Graph(some=(2, 3), more=(2,))
    below = [graph.end]
    for _ in range(generator.randint(0, 3)):
        rows, ways = generator.randint(1, 3), generator.randint(1, 3)

        def drawn(pool: list[int], shape: tuple[int, int] = (rows, ways)) -> np.ndarray:
            return np.array([generator.choice(pool) for _ in range(shape[0] * shape[1])]).reshape(shape)

        slots = [*range(graph.nothing + 1)]
        others = drawn([graph.end, *below]) if generator.random() < 0.5 else None
        heads = graph.add(drawn([graph.nowhere, *below]), drawn(slots), others)
        below += [node for node in heads.tolist() if node != graph.nowhere]
    return graph.finish(generator.choices(below, k=roots))


def enumerated(graph: Graph) -> Iterator[list[int]]:
    """Every hyperpath, as the scores that it takes in pre-order."""

    def ways(node: int) -> Iterator[list[int]]:
        if node == graph.end:
            yield []
            return
        for edge in range(graph.first[node], graph.first[node + 1]):
            if graph.tails[edge] == graph.nowhere:
                continue
            own = [int(graph.taken[edge])] if graph.taken[edge] != graph.nothing else []
            for path in below([int(graph.tails[edge]), int(graph.others[edge])]):
                yield own + path

    def below(nodes: list[int]) -> Iterator[list[int]]:
        if not nodes:
            yield []
            return
        for path in ways(nodes[0]):
            for rest in below(nodes[1:]):
                yield path + rest

    return below(graph.roots.tolist())


@dataclass
class Case:
    graph: Graph
    paths: list[list[int]]
    scores: torch.Tensor  # (scores, B)

    def totals(self, sentence: int) -> list[float]:
        scores = [*self.scores[:, sentence].tolist(), 0.0]
        return [math.fsum(scores[slot] for slot in path) for path in self.paths]


@st.composite
def cases(draw: st.DrawFn, impossible: float = 0.2) -> Case:
    """A graph with all its hyperpaths, and scores of two sentences."""
    generator = random.Random(draw(st.integers(0, 10**6)))
    graph = random_graph(generator, draw(st.integers(1, 3)))
    while len(paths := list(islice(enumerated(graph), MOST))) == MOST:
        graph = random_graph(generator, 1)
    values = [[generator.gauss(0, 2) for _ in range(2)] for _ in range(graph.nothing)]
    scores = torch.tensor(values, dtype=torch.float64)
    blocked = [[generator.random() < impossible for _ in range(2)] for _ in range(graph.nothing)]
    return Case(graph, paths, scores.masked_fill(torch.tensor(blocked), -math.inf))


def plain_log_sum(values: list[float]) -> float:
    top = max(values, default=-math.inf)
    return top if top == -math.inf else top + math.log(math.fsum(math.exp(value - top) for value in values))


@given(case=cases())
@settings(max_examples=60)
def test_log_partition_and_posteriors(case: Case) -> None:
    """In float64 and float32; the posteriors are the derivatives, and finite where nothing is possible."""
    for dtype, tolerance in ((torch.float64, 1e-9), (torch.float32, 1e-4)):
        scores = case.scores.to(dtype).requires_grad_()
        total = log_partition(case.graph, scores).sum(0)
        found = posteriors(case.graph, scores)
        (gradient,) = torch.autograd.grad(total.sum(), scores)
        torch.testing.assert_close(gradient, found)
        for sentence in range(2):
            totals = case.totals(sentence)
            expected = plain_log_sum(totals)
            assert total[sentence].item() == pytest.approx(expected, rel=tolerance, abs=tolerance)
            if expected > -math.inf:
                weights = [math.exp(value - expected) for value in totals]
                for slot in range(case.graph.nothing):
                    used = math.fsum(w * path.count(slot) for w, path in zip(weights, case.paths, strict=True))
                    assert found[slot, sentence].item() == pytest.approx(used, abs=10 * tolerance)
        assert found.isfinite().all()


@given(case=cases(impossible=0.0))
@settings(max_examples=30)
def test_derivatives(case: Case) -> None:
    """Once and twice, of sums with weights for each root, and of posteriors."""
    scores = case.scores.requires_grad_()
    assert torch.autograd.gradcheck(lambda given: log_partition(case.graph, given), scores, fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda given: log_partition(case.graph, given), scores, fast_mode=True)
    assert torch.autograd.gradcheck(lambda given: posteriors(case.graph, given), scores, fast_mode=True)


def test_derivatives_beside_impossible_scores_are_finite() -> None:
    graph = Graph(score=(3,))
    leaf = graph.add([graph.end, graph.end], slots=[0, 1])
    graph.finish(graph.add([leaf, graph.end], slots=[2, graph.nothing]))
    for values in ([0.0, -math.inf, 1.0], [-math.inf, -math.inf, 0.0], [0.0, 1.0, -math.inf]):
        scores = torch.tensor(values, dtype=torch.float64)[:, None].requires_grad_()
        found = posteriors(graph, scores)
        (gradient,) = torch.autograd.grad((found * found).sum(), scores)
        assert found.isfinite().all() and gradient.isfinite().all()


@given(case=cases())
@settings(max_examples=60)
def test_the_best_hyperpaths_in_order(case: Case) -> None:
    values = Values(case.graph, case.scores.numpy(), highest)
    for sentence in range(2):
        totals = case.totals(sentence)
        possible = sorted((value for value in totals if value > -math.inf), reverse=True)
        ranked = list(values.ranked(sentence))
        assert [value for value, _ in ranked] == pytest.approx(possible)
        assert Counts(tuple(taken) for _, taken in ranked) == Counts(
            tuple(path) for path, value in zip(case.paths, totals, strict=True) if value > -math.inf
        )
        if possible:
            best = values.best(sentence)
            assert best in case.paths
            assert math.fsum(case.scores[slot, sentence].item() for slot in best) == pytest.approx(possible[0])


@given(case=cases())
@settings(max_examples=60)
def test_spelled_out_it_is_an_explicit_hypergraph_with_the_same_hyperpaths(case: Case) -> None:
    if len(case.graph.roots) > 1:
        return
    numbers = iter(range(2, 10_000))
    named = Graph(some=(2, 3), more=(2,))
    assert named.nothing == case.graph.nothing
    for block in case.graph.blocks:  # the same graph, whose nodes have names

        def columns(of: np.ndarray, edges: slice = block.edges, ways: int = block.ways) -> np.ndarray:
            return of[edges].reshape(-1, ways)

        rows = [next(numbers) for _ in range(block.heads.stop - block.heads.start)]
        named.add(columns(case.graph.tails), columns(case.graph.taken), columns(case.graph.others), number=rows)
    explicit = named.finish(case.graph.roots).spelled_out(
        lambda number: number, lambda name, place: (name, place), end="end"
    )
    scores = dict(zip(((n, p) for n, s in named.slots.items() for p in np.ndindex(s.shape)), case.scores, strict=True))

    def weight(edge: Hyperedge) -> float:
        return math.fsum(scores[node][0].item() for node in edge.tail if isinstance(node, tuple))

    assert len(list(hyperpaths(explicit))) == len(case.paths)
    generic = inside(explicit, weight, Log())[explicit.root]
    assert generic == pytest.approx(plain_log_sum(case.totals(0)), abs=1e-9)


def test_a_hyperpath_may_be_as_long_as_a_text() -> None:
    """Ten thousand words, which no recursion could follow."""
    n = 10_000
    graph = Graph(mention=(n, 1, 1))
    rest = np.array(graph.end)
    for word in reversed(range(n)):
        rest = graph.add([rest, rest], slots=[graph.nothing, word])
    graph.finish(rest)
    scores = torch.full((n, 1), -1.0, dtype=torch.float64)
    values = Values(graph, scores.numpy(), highest)
    assert values.best(0) == []
    assert [value for value, _ in islice(values.ranked(0), 3)] == [0.0, -1.0, -1.0]
    assert log_partition(graph, scores).item() == pytest.approx(n * math.log1p(math.exp(-1)))
