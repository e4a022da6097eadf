"""Inference over the independent chains of a segmental hypergraph: one formula, and the same in one pass in C.

A and E nodes carry no score, so each (sentence, start, type) is independent: a chain that is either *absent* or walks I
nodes of growing width until it stops. Write ``close_w`` for the log-weight of stopping at width w and ``go_w`` for that
of continuing from w, whether or not a mention ends there::

    go_w = log(exp(extend_w) + exp(branch_w))             (tied: extend_w + log(1 + exp(close_w)))

Then the log-weight of "the longest mention has width w" is the closed form ``present + go_0 + … + go_{w-1} +
close_w``, and every shorter width is, independently, a mention with log-odds ``branch - extend`` (tied: close).
That is the whole structure: log-partition, marginals, entropy, samples and the k best follow from it in
O(c m n), with a cumulative sum where the paper passes messages.

Scores are NumPy arrays, which need no torch, or tensors, which carry gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from hyperspan.kernels.choice import choose
from hyperspan.kernels.libraries import BatchStruct, ScoresStruct, address, call, check_memory
from hyperspan.kernels.numbers import (
    MINUS_INFINITY,
    finite,
    inside,
    is_array,
    log_add,
    namespace,
    nonzero,
    replaced,
    sigmoid,
    softplus,
    to_numpy,
    widened,
)
from hyperspan.kernels.threads import thread_count, torch_openmp

ENTRIES_A_THREAD = 20_000
"""The number of entries of `close` per thread."""


class Edges(Protocol):
    """The scores of a padded batch: see the table in :class:`hyperspan.structures.EdgeScores`."""

    @property
    def absent(self) -> Any: ...  # (B, n, m)
    @property
    def present(self) -> Any: ...  # (B, n, m)
    @property
    def extend(self) -> Any: ...  # (B, n, c - 1, m)
    @property
    def close(self) -> Any: ...  # (B, n, c, m)
    @property
    def branch(self) -> Any: ...  # (B, n, c - 1, m); None if tied


class EdgeValues(NamedTuple):
    """A number for each edge, in the place of its score; `branch` is None if scores are tied."""

    absent: Any
    present: Any
    extend: Any
    close: Any
    branch: Any = None

    @classmethod
    def of(cls, scores: Edges) -> EdgeValues:
        return cls(scores.absent, scores.present, scores.extend, scores.close, scores.branch)


class ChainResults(NamedTuple):
    """The results of one pass over the scores; 0 in padding."""

    log_partition: Any  # (B, n, m): of each chain
    edges: EdgeValues
    """The probability of each hyperedge in the place of its score. Tied scores have no `branch`: its probability counts
    towards `extend` and `close`."""


# -- the fronts: what runs is chosen here -----------------------------------------------------------------------------


def run(scores: Edges, lengths: Sequence[int], *, with_edges: bool = True) -> ChainResults:
    """The log-partition of each chain and, unless unwanted, the probabilities of its edges. No gradient."""
    if _chosen("log_partition", scores.close) != "c":
        return formula(EdgeValues(*_without_gradient(EdgeValues.of(scores))), lengths)
    if is_array(scores.close):
        return run_c(scores, lengths, with_edges=with_edges)
    import torch

    found = run_c(scores, lengths, with_edges=with_edges, openmp=torch_openmp())
    edges = (None if array is None else torch.from_numpy(array) for array in found.edges)
    return ChainResults(torch.from_numpy(found.log_partition), EdgeValues(*edges))


def log_partition(scores: Edges, lengths: Sequence[int]) -> Any:
    """(B, n, m): the log-partition of each chain, 0 in padding; tensors are twice differentiable."""
    if is_array(scores.close):
        return run(scores, lengths, with_edges=False).log_partition
    from hyperspan.kernels.autograd import LogPartition

    def kernel(given: Sequence[Any], with_edges: bool) -> ChainResults:
        return run(EdgeValues(*given), lengths, with_edges=with_edges)

    def differentiable(given: Sequence[Any]) -> EdgeValues:
        return formula(EdgeValues(*given), lengths).edges

    return LogPartition.apply(kernel, differentiable, *EdgeValues.of(scores))


def edge_marginals(scores: Edges, lengths: Sequence[int], *, differentiable: bool = False) -> EdgeValues:
    """The probability of each edge in the place of its score, 0 in padding: the gradient of the log-partition."""
    return (formula if differentiable else run)(scores, lengths).edges


def best(scores: Edges, lengths: Sequence[int], leads: np.ndarray | None = None) -> np.ndarray | None:
    """(mentions, 4): the best mentions as (sentence, start, end, type), in that order; None where no set is possible.

    Ties go to the choice with fewer mentions. `leads` (B, n, m), if given, receives how much more the best alternative
    with mentions scores in each chain than none.
    """
    if _chosen("argmax", scores.close) == "c":
        return best_c(scores, lengths, leads)
    return best_formula(scores, lengths, leads)


def check_possible(log_partition: Any) -> None:
    """Raise an error unless every chain has a possible choice: the values (B, n, m) are 0 in padding."""
    value = to_numpy(log_partition)
    if (value > MINUS_INFINITY).all():
        return
    sentence, start, kind = np.argwhere(~(value > MINUS_INFINITY))[0].tolist()
    reason = "a score is NaN" if np.isnan(value[sentence, start, kind]) else "every choice there has a score of -inf"
    raise ValueError(
        f"sentence {sentence} has no possible mention set: for start {start} and type {kind} {reason}; "
        "check the scores, or what was required and forbidden"
    )


def _chosen(computation: str, values: Any) -> str:
    return choose(computation, "cpu" if is_array(values) else values.device.type)


def _without_gradient(values: Sequence[Any]) -> list[Any]:
    return [one if one is None or is_array(one) else one.detach() for one in values]


# -- the formula ------------------------------------------------------------------------------------------------------


class _Walks(NamedTuple):
    """The walks of all chains, widths third; scores in padding are 0, and `longest` is -inf there."""

    absent: Any  # (B, n, m)
    longest: Any  # (B, n, c, m): the log-weight of each longest mention
    odds: Any  # (B, n, c - 1, m): the log-odds of a mention at each shorter width


def _walks(scores: Edges, lengths: Sequence[int], *, maximum: bool = False) -> _Walks:
    """The walks, each summed over the choices at shorter widths or, for the `maximum`, with the better ones."""
    xp, there = namespace(scores.close), inside(lengths, scores.close, scores.close.shape[2])
    outside, between = ~there, ~there[:, :, 1:]
    # Padding may hold anything, even NaN.
    absent, present = (replaced(one, outside[:, :, 0], 0.0) for one in (scores.absent, scores.present))
    close, extend = replaced(scores.close, outside, 0.0), replaced(scores.extend, between, 0.0)
    if scores.branch is None:
        odds = close[:, :, :-1]
        go = extend + (odds.clip(min=0.0) if maximum else softplus(odds))
    else:
        branch = replaced(scores.branch, between, 0.0)
        odds = branch - replaced(extend, branch == MINUS_INFINITY, 0.0)  # -inf, not NaN, where neither is possible
        go = xp.maximum(extend, branch) if maximum else log_add(extend, branch)
    came = xp.concatenate([xp.zeros_like(close[:, :, :1]), xp.cumsum(go, 2)], 2)
    return _Walks(absent, replaced(present[:, :, None] + close + came, outside, MINUS_INFINITY), odds)


def formula(scores: Edges, lengths: Sequence[int]) -> ChainResults:
    """What :func:`run` gives, in either library; of tensors everything can be differentiated."""
    with np.errstate(all="ignore"):  # scores may be NaN, which the caller reports
        xp, there = namespace(scores.close), inside(lengths, scores.close, scores.close.shape[2])
        absent, longest, odds = _walks(scores, lengths)
        pivot = xp.maximum(absent, xp.amax(longest, 2))
        pivot = finite(pivot if is_array(pivot) else pivot.detach())
        missing, stopped = xp.exp(absent - pivot), xp.exp(longest - pivot[:, :, None])
        total = missing + stopped.sum(2)
        log_partition = replaced(pivot + xp.log(total), ~there[:, :, 0], 0.0)
        share = replaced(1.0 / replaced(total, total == 0, 1.0), ~there[:, :, 0], 0.0)
        stopped = stopped * share[:, :, None]
        reached = xp.flip(xp.cumsum(xp.flip(stopped, (2,)), 2), (2,))  # stopped here or later
        extended = reached[:, :, 1:]
        branched = extended * sigmoid(odds)
        if scores.branch is None:
            ended = stopped + widened(branched, stopped.shape[2])
            return ChainResults(log_partition, EdgeValues(missing * share, reached[:, :, 0], extended, ended))
        edges = EdgeValues(missing * share, reached[:, :, 0], extended - branched, stopped, branched)
        return ChainResults(log_partition, edges)


def best_formula(scores: Edges, lengths: Sequence[int], leads: np.ndarray | None = None) -> np.ndarray | None:
    """What :func:`best` gives, in either library."""
    with np.errstate(all="ignore"):
        xp, there = namespace(scores.close), inside(lengths, scores.close, scores.close.shape[2])
        absent, longest, odds = _walks(scores, lengths, maximum=True)
        some, last = xp.amax(longest, 2), longest.argmax(2)
        if not bool((replaced(xp.maximum(absent, some), ~there[:, :, 0], 0.0) > MINUS_INFINITY).all()):
            return None
        if leads is not None:
            leads[:] = to_numpy(replaced(some - absent, ~there[:, :, 0], 0.0))
        present = (some > absent) & there[:, :, 0]  # (B, n, m)
    chains = nonzero(present)
    width = to_numpy(last)[tuple(chains.T)] if is_array(last) else last[present].cpu().numpy()
    shorter = nonzero((odds > 0) & present[:, :, None])
    shorter = shorter[shorter[:, 2] < to_numpy(last)[shorter[:, 0], shorter[:, 1], shorter[:, 3]]]
    rows = np.concatenate([np.column_stack([chains[:, :2], width, chains[:, 2]]), shorter])
    rows[:, 2] += rows[:, 1] + 1
    return rows[np.lexsort(rows.T[::-1])]


# -- C: chains.h ------------------------------------------------------------------------------------------------------


def run_c(scores: Edges, lengths: Sequence[int], *, with_edges: bool = True, openmp: int | None = None) -> ChainResults:
    """What :func:`run` gives, in arrays."""
    given = _contiguous(scores)
    log_partition = np.empty_like(given.absent)
    made = EdgeValues(*[None if array is None or not with_edges else np.empty_like(array) for array in given])
    threads = min(thread_count(), 1 + given.close.size // ENTRIES_A_THREAD)
    batch = BatchStruct.of(np.array(lengths, dtype=np.int64), given.close.shape, threads, openmp)
    structs = ScoresStruct.of(given), ScoresStruct.of(made)
    check_memory(call("chains", given.close, batch, structs[0], address(log_partition), structs[1]))
    return ChainResults(log_partition, made)


def best_c(scores: Edges, lengths: Sequence[int], leads: np.ndarray | None = None) -> np.ndarray | None:
    """What :func:`best` gives."""
    given = _contiguous(scores)
    batch = BatchStruct.of(np.array(lengths, dtype=np.int64), given.close.shape, threads=1)
    struct, space = ScoresStruct.of(given), max(sum(lengths), 1)
    while True:  # at first one mention per word: trained models find far fewer
        mentions = np.empty((space, 4), dtype=np.int32)
        found = call("best", given.close, batch, struct, address(leads), address(mentions), space)
        if found <= space:
            break
        space = found
    check_memory(found == -2)
    return None if found < 0 else mentions[:found]


def _contiguous(scores: Edges) -> EdgeValues:
    given = EdgeValues.of(scores)
    return EdgeValues(*[None if one is None else np.ascontiguousarray(to_numpy(one)) for one in given])
