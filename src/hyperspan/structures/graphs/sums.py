"""Sums over the hyperpaths of a graph in torch, with gradients: posteriors are the first, and have gradients as well.

Scores are (scores, B): every sentence of a batch has a column. Values go up the blocks from the children, the
probabilities of edges go down, and so do their derivatives: no graph of autograd is kept, and time and memory are
linear in the edges.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from hyperspan.kernels.numbers import MINUS_INFINITY, finite
from hyperspan.structures.graphs.packed import Graph


class Level(NamedTuple):
    """A block of a graph on a device."""

    heads: slice
    edges: slice
    rows: int
    ways: int
    tails: Tensor  # (edges of the block,)
    others: Tensor | None
    incoming: Tensor | None  # (rows * most,): the edges that lead to its nodes
    most: int


class Plan:
    """A graph on a device."""

    def __init__(self, graph: Graph, device: torch.device):
        def there(numbers: np.ndarray) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(numbers.ravel(), dtype=np.int32)).to(device)

        self.graph = graph
        self.roots, self.taken = there(graph.roots), there(graph.taken)
        self.with_slots = [(rows.shape, there(rows)) for rows in map(graph.edges_with, graph.slots.values())]
        """For each group of scores, the edges that take each: (scores, most)."""
        self.levels: list[Level] = []
        tails, others = there(graph.tails), there(graph.others)
        for heads, edges, ways, forks, _ in graph.blocks:
            incoming = graph.edges_to(heads)
            rows, most = incoming.shape
            second = others[edges] if forks else None
            above = there(incoming) if most else None
            self.levels.append(Level(heads, edges, rows, ways, tails[edges], second, above, most))


@lru_cache(maxsize=64)
def plan_of(graph: Graph, device: torch.device) -> Plan:
    """The graph on a device."""
    with torch.inference_mode(False):
        return Plan(graph, device)


def log_partition(graph: Graph, scores: Tensor) -> Tensor:
    """(scores, B) -> (roots, B): the log-sum over all that may be below each root."""
    return _HyperpathSum.apply(scores, plan_of(graph, scores.device))  # type: ignore[no-any-return]


def posteriors(graph: Graph, scores: Tensor) -> Tensor:
    """(scores, B): how often a hyperpath takes each score, on average."""
    plan = plan_of(graph, scores.device)
    values, ways = _below(plan, scores.detach())
    ones = scores.new_ones(len(graph.roots), scores.shape[1])
    return _Posteriors.apply(scores, values, ways, ones, plan)  # type: ignore[no-any-return]


def stretches(starts: Tensor, goes_on: Tensor, ends: Tensor, widths: int) -> Tensor:
    """(n, …) each -> (n, …, widths): the probability that a stretch of places starts at each one, by its width.

    `goes_on` and `ends` are conditional: the probability that a stretch that contains a place goes on, or ends there.

    >>> half = torch.full((3,), 0.5)
    >>> stretches(half, half, half, 3)
    tensor([[0.2500, 0.1250, 0.0625],
            [0.2500, 0.1250, 0.0000],
            [0.2500, 0.0000, 0.0000]])
    """

    def from_each(values: Tensor) -> Tensor:
        """(n, …) -> (n, …, widths): the values of a place and of those after it."""
        return torch.cat([values, values.new_zeros(widths, *values.shape[1:])]).unfold(0, widths, 1)[: len(values)]

    reached = torch.cat([starts.unsqueeze(-1), from_each(goes_on)[..., : widths - 1]], dim=-1).cumprod(-1)
    return reached * from_each(ends)


class _HyperpathSum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, plan: Plan) -> Tensor:
        values, ways = _below(plan, scores)
        ctx.save_for_backward(scores, values, ways)
        ctx.plan = plan
        return values.index_select(0, plan.roots)

    @staticmethod
    def backward(ctx: Any, weights: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        return _Posteriors.apply(*ctx.saved_tensors, weights, ctx.plan), None


class _Posteriors(torch.autograd.Function):
    """How often each score is taken, where each root counts with its weights (roots, B)."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, values: Tensor, ways: Tensor, weights: Tensor, plan: Plan) -> Tensor:
        shares = _shares(plan, values, ways)
        reached, flow = _down(plan, shares, weights)
        ctx.save_for_backward(shares, reached)
        ctx.plan = plan
        return _by_slot(plan, flow)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, direction: Tensor) -> tuple[Tensor, None, None, Tensor, None]:  # type: ignore[override]
        """The second derivatives are symmetric: times a direction, they say how posteriors change along it."""
        plan, (shares, reached) = ctx.plan, ctx.saved_tensors
        count = direction.shape[1]
        edges = _of_edges(plan, direction)
        values = torch.zeros_like(reached)
        for level in plan.levels:
            here = edges[level.edges]
            here += values.index_select(0, level.tails)
            if level.others is not None:
                here += values.index_select(0, level.others)
            values[level.heads] = (shares[level.edges] * here).view(level.rows, level.ways, count).sum(1)
        for level in plan.levels:  # now by how much the share of each edge changes, times how often its head is reached
            here = edges[level.edges].view(level.rows, level.ways, count)
            here -= values[level.heads][:, None]
            here *= reached[level.heads][:, None]
        edges *= shares
        _, flow = _down(plan, shares, None, edges)
        return _by_slot(plan, flow), None, None, values.index_select(0, plan.roots), None


def _of_edges(plan: Plan, scores: Tensor) -> Tensor:
    """(scores, B) -> (edges, B)"""
    nothing = scores.new_zeros(1, scores.shape[1])
    return torch.cat([scores, nothing]).index_select(0, plan.taken)


def _below(plan: Plan, scores: Tensor) -> tuple[Tensor, Tensor]:
    """(nodes, B), (edges, B): the log-sum over all that may be below each node, and each edge with all below it."""
    ways, count = _of_edges(plan, scores), scores.shape[1]
    values = scores.new_zeros(plan.graph.nodes, count)
    values[Graph.nowhere] = MINUS_INFINITY
    for level in plan.levels:
        here = ways[level.edges]
        here += values.index_select(0, level.tails)
        if level.others is not None:
            here += values.index_select(0, level.others)
        values[level.heads] = here.view(level.rows, level.ways, count).logsumexp(1)
    return values, ways


def _shares(plan: Plan, values: Tensor, ways: Tensor) -> Tensor:
    """(edges, B): the probability of each edge where its head is reached; 0 where nothing is possible."""
    shares = torch.empty_like(ways)
    known = finite(values)
    for level in plan.levels:
        rows = level.rows, level.ways, ways.shape[1]
        torch.sub(ways[level.edges].view(rows), known[level.heads][:, None], out=shares[level.edges].view(rows))
    return shares.exp_()


def _down(plan: Plan, shares: Tensor, weights: Tensor | None, more: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """(nodes, B), (edges + 1, B): how often each node is reached, and each edge taken, from the roots down.

    Roots are reached as often as `weights` (roots, B) say. `more` (edges, B) is added to how often edges are taken.
    """
    reached = shares.new_zeros(plan.graph.nodes, shares.shape[1])
    if weights is not None:
        reached.index_add_(0, plan.roots, weights)
    count = shares.shape[1]
    flow = shares.new_zeros(len(shares) + 1, count)  # and one edge that is never taken
    for level in reversed(plan.levels):
        here = reached[level.heads]
        if level.incoming is not None:
            here += flow.index_select(0, level.incoming).view(level.rows, level.most, count).sum(1)
        taken = flow[level.edges].view(level.rows, level.ways, count)
        torch.mul(shares[level.edges].view(level.rows, level.ways, count), here[:, None], out=taken)
        if more is not None:
            flow[level.edges] += more[level.edges]
    return reached, flow


def _by_slot(plan: Plan, flow: Tensor) -> Tensor:
    """(edges + 1, B) -> (scores, B)"""
    taken = [flow.index_select(0, edges).view(*rows, flow.shape[1]).sum(1) for rows, edges in plan.with_slots]
    return torch.cat(taken)
