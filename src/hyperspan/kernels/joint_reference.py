"""Joint inference over the chains of a group of types that begin at one word, in plain PyTorch.

At width w a set S of types is *active*: each has a mention that ends here or later. Each active type ends here,
continues, or both. So a type has four states at a width, and g types have 4^g *local choices*::

    0  inactive      2  goes on, no mention ends here      (digit = ends + 2 * goes on)
    1  ends          3  a mention ends here, and a wider one follows

A choice has a set of types that end, M, and a set that continues, S'. The active set is their union: S = M ∪ S'. Its
score sums its edges, `together` of each two types in M, and `within` of each type in M with each other one in S'. The
sum over everything that follows is

    β_w(S) = log Σ_{M ∪ S' = S} exp(local_w(M, S') + β_{w+1}(S'))        β_c(∅) = 0, and -inf for others

Tensors have one row for each word of a padded batch. `room` is the number of words from it to the end of its sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function
from torch.nn.functional import pad

from hyperspan.kernels.numbers import MINUS_INFINITY, finite, log_sum

PORTION = 2**26
"""The number of local choices (all rows and widths) to process at once."""
Fold = Callable[[Tensor, int], Tensor]
"""Reduces one dimension: a sum of exponentials, or a maximum."""


class GroupScores(NamedTuple):
    """The scores of one group of g types, row by row; 0 beyond a sentence."""

    absent: Tensor  # (R, g)
    present: Tensor  # (R, g)
    extend: Tensor  # (R, c - 1, g)
    close: Tensor  # (R, c, g)
    branch: Tensor | None  # (R, c - 1, g); None if tied
    together: Tensor | None  # (R, c, g, g): of k < l
    within: Tensor | None  # (R, c, g, g): of k that ends and l that continues

    def rows(self, some: Any) -> GroupScores:
        """The scores of some rows."""
        return GroupScores(*(None if tensor is None else tensor[some] for tensor in self))  # type: ignore[arg-type]


class LocalChoices(NamedTuple):
    """The local choices of g types, as indices and indicators."""

    active: Tensor  # (4^g,): S, of which the first type is the highest bit
    on: Tensor  # (4^g,): S'
    ends: Tensor  # (4^g, g): whether each type is in M
    goes: Tensor  # (4^g, g): whether each type is in S'


@lru_cache(maxsize=64)
def choices_of(g: int, device: torch.device) -> LocalChoices:
    """The local choices of g types."""
    with torch.inference_mode(False):
        digits = torch.arange(4**g, device=device)[:, None] >> torch.arange(2 * g - 2, -1, -2, device=device) & 3
        ends, goes = (digits & 1).bool(), (digits >> 1).bool()
        powers = 2 ** torch.arange(g - 1, -1, -1, device=device)
        return LocalChoices(((ends | goes) * powers).sum(1), (goes * powers).sum(1), ends, goes)


@lru_cache(maxsize=64)
def _pair_masks(device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """(4, 4) each, by the digits of two types: both end; the first ends and the second continues; the reverse."""
    with torch.inference_mode(False):
        ends, goes = torch.tensor([[0, 1, 0, 1], [0, 0, 1, 1]], dtype=torch.bool, device=device)
        return ends[:, None] & ends, ends[:, None] & goes, goes[:, None] & ends


def local_scores(scores: GroupScores, width: int) -> Tensor:
    """(R, 4^g): the score of each local choice at one width."""
    extend, branch = _steps(scores)
    pairs = (None if one is None else one[:, width] for one in (scores.together, scores.within))
    return _local(scores.close[:, width], extend[:, width], branch[:, width], *pairs)


def all_local_scores(scores: GroupScores) -> Tensor:
    """(R, c, 4^g): the same at all widths, in few large operations."""
    extend, branch = _steps(scores)
    rows = (None if one is None else one.flatten(0, 1) for one in (scores.close, extend, branch, *scores[5:]))
    return _local(*rows).view(*scores.close.shape[:2], 4 ** scores.close.shape[2])  # type: ignore[arg-type]


def _steps(scores: GroupScores) -> tuple[Tensor, Tensor]:
    """(R, c, g) each: the scores of continuing, without and with a mention; -inf at the last width."""
    branch = scores.extend + scores.close[:, :-1] if scores.branch is None else scores.branch
    return (
        pad(scores.extend, (0, 0, 0, 1), value=MINUS_INFINITY),
        pad(branch, (0, 0, 0, 1), value=MINUS_INFINITY),
    )


def _local(close: Tensor, extend: Tensor, branch: Tensor, together: Tensor | None, within: Tensor | None) -> Tensor:
    """(R, g) and (R, g, g) -> (R, 4^g)"""
    alone = torch.stack([torch.zeros_like(close), close, extend, branch], dim=2)  # (R, g, 4)
    table = alone[:, 0]
    for kind in range(1, close.shape[1]):
        added = alone[:, None, kind]  # (R, 1, 4)
        if together is not None or within is not None:
            added = added + _with_earlier(close, together, within, kind)
        table = (table[:, :, None] + added).flatten(1)
    return table


def _with_earlier(close: Tensor, together: Tensor | None, within: Tensor | None, kind: int) -> Tensor:
    """(R, 4^kind, 4): the pair scores of a type with all types before it, by their digits."""
    both, first, second = _pair_masks(close.device)
    total: Tensor | None = None
    for other in range(kind):
        pair = close.new_zeros(1, 1, 1)
        if together is not None:
            pair = pair + _where(both, together[:, other, kind])
        if within is not None:
            pair = pair + _where(first, within[:, other, kind])
            pair = pair + _where(second, within[:, kind, other])
        total = pair if total is None else (total[:, :, None] + pair[:, None]).flatten(1, 2)
    assert total is not None
    return total


def _where(mask: Tensor, values: Tensor) -> Tensor:
    """(R, 4, 4): the value of each row where the mask is true, 0 otherwise."""
    return torch.where(mask, values[:, None, None], 0.0)


def start_scores(scores: GroupScores) -> Tensor:
    """(R, 2^g): the score of each set of types of which a mention begins."""
    table = torch.stack([scores.absent[:, 0], scores.present[:, 0]], dim=1)
    for kind in range(1, scores.absent.shape[1]):
        one = torch.stack([scores.absent[:, kind], scores.present[:, kind]], dim=1)
        table = (table[:, :, None] + one[:, None]).flatten(1)
    return table


def fold(values: Tensor, g: int, reduce: Fold) -> Tensor:
    """(R, 4^g) -> (R, 2^g): over all choices with the same active types."""
    for kind in range(g):
        split = values.view(len(values), 2**kind, 4, 4 ** (g - kind - 1))
        values = torch.stack([split[:, :, 0], reduce(split[:, :, 1:], 2)], dim=2).flatten(1)
    return values


def highest(values: Tensor, dimension: int) -> Tensor:
    """The maximum, for :func:`fold`."""
    return values.amax(dimension)


def inward(scores: GroupScores, room: Tensor, reduce: Fold = log_sum, local: Tensor | None = None) -> Iterator[Tensor]:
    """β_c, β_{c-1}, …, β_0: (R, 2^g) each; `local` (R, c, 4^g) are the scores of all local choices, if known."""
    rows, c, g = scores.close.shape
    on = choices_of(g, scores.close.device).on
    nothing = scores.close.new_full((rows, 2**g), MINUS_INFINITY)
    nothing[:, 0] = 0.0
    sums = nothing
    yield sums
    for width in range(c - 1, -1, -1):
        here = local_scores(scores, width) if local is None else local[:, width]
        found = fold(here + sums[:, on], g, reduce)
        sums = torch.where((room > width)[:, None], found, nothing)
        yield sums


def conditional(scores: GroupScores, width: int, here: Tensor, after: Tensor, local: Tensor | None = None) -> Tensor:
    """(R, 4^g): the log-probability of each local choice at a width, given the active types; from β_w and β_{w+1}."""
    choices = choices_of(scores.close.shape[2], scores.close.device)
    before = here[:, choices.active]
    found = (local_scores(scores, width) if local is None else local[:, width]) + after[:, choices.on] - finite(before)
    return found.masked_fill(before == MINUS_INFINITY, MINUS_INFINITY)


def next_states(probabilities: Tensor, g: int) -> Tensor:
    """(R, 4^g) -> (R, 2^g): the probability that each set of types continues."""
    digits = probabilities.view(len(probabilities), *[2] * (2 * g))
    return digits.sum(tuple(range(2, 2 * g + 1, 2))).flatten(1)


def log_partition(scores: GroupScores, room: Tensor, local: Tensor | None = None) -> Tensor:
    """(R,): the log-partition of the group's mentions from each word; 0 in padding. Twice differentiable."""
    *_, sums = inward(scores, room, local=local)
    return log_sum(start_scores(scores) + sums, 1).masked_fill(room <= 0, 0.0)


def choice_probabilities(
    scores: GroupScores, room: Tensor, local: Tensor | None = None
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield the probability of each set of starting types, with its logarithm; then, width by width, that of each local
    choice, with its logarithm given the active types."""
    g = scores.close.shape[2]
    active = choices_of(g, scores.close.device).active
    sums = list(inward(scores, room, local=local))[::-1]
    total = start_scores(scores) + sums[0]
    logs = total - finite(log_sum(total, 1))[:, None]
    states = logs.exp()
    yield states, logs
    for width in range(scores.close.shape[1]):
        logs = conditional(scores, width, sums[width], sums[width + 1], local)
        found = states[:, active] * logs.exp()
        yield found, logs
        states = next_states(found, g)


class Uses(NamedTuple):
    """The expected uses of each score of a group: the gradients of its log-partition. As GroupScores."""

    absent: Tensor
    present: Tensor
    extend: Tensor
    close: Tensor
    branch: Tensor | None
    together: Tensor | None
    within: Tensor | None


def uses(scores: GroupScores, room: Tensor) -> Uses:
    """The expected uses of all scores; 0 in padding."""
    found = [_uses(scores.rows(some), room[some]) for some in _portions(scores)]
    return Uses(*(None if one[0] is None else torch.cat(one) for one in zip(*found, strict=True)))  # type: ignore[type-var]


def _portions(scores: GroupScores) -> list[slice]:
    rows, c, g = scores.close.shape
    size = max(1, PORTION // (c * 4**g))
    return [slice(first, first + size) for first in range(0, max(rows, 1), size)]


def _uses(scores: GroupScores, room: Tensor) -> Uses:
    _, c, g = scores.close.shape
    choices = choices_of(g, scores.close.device)
    ends, goes = choices.ends.to(scores.close.dtype), choices.goes.to(scores.close.dtype)
    steps = choice_probabilities(scores, room, all_local_scores(scores))
    inside = (room > 0)[:, None]
    states = next(steps)[0] * inside
    present = states @ _members(g, states)
    columns = [ends * (1 - goes), goes * (1 - ends), ends * goes]
    sizes = [g, g, g]
    if scores.together is not None:
        upper = torch.ones(g, g, dtype=ends.dtype, device=ends.device).triu(1)
        columns.append((ends[:, :, None] * ends[:, None] * upper).flatten(1))
        sizes.append(g * g)
    if scores.within is not None:
        others = 1 - torch.eye(g, dtype=ends.dtype, device=ends.device)
        columns.append((ends[:, :, None] * goes[:, None] * others).flatten(1))
        sizes.append(g * g)
    counted = torch.cat(columns, dim=1)
    totals = torch.stack([(found * inside) @ counted for found, _ in steps], dim=1)  # (R, c, columns)
    close, extend, branch, *pairs = totals.split(sizes, dim=2)
    more = iter(pair.unflatten(2, (g, g)) for pair in pairs)
    together = next(more) if scores.together is not None else None
    within = next(more) if scores.within is not None else None
    extend, branch = extend[:, : c - 1], branch[:, : c - 1]
    if scores.branch is None:  # going on with a mention uses both of the others
        extend, close, branch = extend + branch, close + pad(branch, (0, 0, 0, 1)), None
    return Uses(inside.to(present.dtype) - present, present, extend, close, branch, together, within)


def _members(g: int, like: Tensor) -> Tensor:
    """(2^g, g): whether each type is in each set."""
    sets = torch.arange(2**g, device=like.device)[:, None]
    return (sets >> torch.arange(g - 1, -1, -1, device=like.device) & 1).to(like.dtype)


class ExplicitLogPartition(Function):
    """The log-partition with the expected uses as its gradient, so that the 4^g choices at every width need not be
    stored."""

    @staticmethod
    def forward(ctx: Any, room: Tensor, *tensors: Any) -> Tensor:
        scores = GroupScores(*tensors)
        ctx.save_for_backward(room, *tensors)
        parts = ((scores.rows(some), room[some]) for some in _portions(scores))
        return torch.cat([log_partition(part, rest, all_local_scores(part)) for part, rest in parts])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        room, *tensors = ctx.saved_tensors
        if torch.is_grad_enabled():  # a second derivative is needed
            return None, *differentiable_backward(room, tensors, gradient)
        scores = GroupScores(*tensors)
        return None, *scaled(uses(scores, room), gradient)


def scaled(found: Uses, gradient: Tensor) -> list[Tensor | None]:
    """The gradients of all scores, given that of each row's log-partition."""
    return [None if part is None else part * gradient.view(-1, *[1] * (part.dim() - 1)) for part in found]


def differentiable_backward(room: Tensor, tensors: list[Any], gradient: Tensor) -> list[Tensor | None]:
    """The gradients of all scores, as functions of them."""
    # Views, because the caller's tensors may depend on each other, and only direct gradients count here.
    views = [None if tensor is None else tensor.view_as(tensor) for tensor in tensors]
    varied = [tensor for tensor in views if tensor is not None and tensor.requires_grad]
    total = log_partition(GroupScores(*views), room)  # type: ignore[arg-type]
    found = iter(torch.autograd.grad(total, varied, gradient, create_graph=True, materialize_grads=True))
    return [next(found) if tensor is not None and tensor.requires_grad else None for tensor in views]
