"""Joint inference over the chains of a group of types that begin at one word: a formula for arrays and tensors, and C.

At width w a set S of types is *active*: each has a mention that ends here or later. Each active type ends here,
continues, or both. So a type has four states at a width, and g types have 4^g *local choices*::

    0  inactive      2  goes on, no mention ends here      (digit = ends + 2 * goes on)
    1  ends          3  a mention ends here, and a wider one follows

A choice has a set of types that end, M, and a set that continues, S'. The active set is their union: S = M ∪ S'. Its
score sums its edges, `together` of each two types in M, and `within` of each type in M with each other one in S'. The
sum over everything that follows is

    β_w(S) = log Σ_{M ∪ S' = S} exp(local_w(M, S') + β_{w+1}(S'))        β_c(∅) = 0, and -inf for others

Scores have one row for each word of a padded batch. `room` (R,) is the number of words from it to the end of its
sentence. On CPUs :mod:`hyperspan.kernels.native` computes the same in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from hyperspan.kernels.choice import choose
from hyperspan.kernels.libraries import BatchStruct, ScoresStruct, address, call, check_memory
from hyperspan.kernels.numbers import (
    MINUS_INFINITY,
    finite,
    highest,
    is_array,
    log_sum,
    namespace,
    placed,
    replaced,
    to_numpy,
)
from hyperspan.kernels.threads import thread_count, torch_openmp

PORTION = 2**26
"""The number of local choices (all rows and widths) that the formula processes at once."""
MOST_TYPES = 8
"""The largest group that joint.c supports."""
CHOICES_A_THREAD = 200_000
"""The number of local choices (4^g per row and width) per thread of joint.c."""
Fold = Callable[[Any, int], Any]
"""Reduces one axis: a sum of exponentials, or a maximum."""


class GroupScores(NamedTuple):
    """The scores of one group of g types, row by row, 0 beyond a sentence; or how often each is expected to be used."""

    absent: Any  # (R, g)
    present: Any  # (R, g)
    extend: Any  # (R, c - 1, g)
    close: Any  # (R, c, g)
    branch: Any = None  # (R, c - 1, g); None if tied
    together: Any = None  # (R, c, g, g): of k < l
    within: Any = None  # (R, c, g, g): of k that ends and l that continues

    def struct(self) -> ScoresStruct:
        """Their addresses for C, where they are arrays."""
        return ScoresStruct.of(self[:5], together=self.together, within=self.within)

    def rows(self, some: Any) -> GroupScores:
        """The scores of some rows."""
        return self.map(lambda values: values[some])

    def map(self, function: Callable[[Any], Any]) -> GroupScores:
        """The same with a function applied to what is given."""
        return GroupScores(*(None if values is None else function(values) for values in self))


class GroupResults(NamedTuple):
    """The results of one pass over the scores; 0 in padding."""

    log_partition: Any  # (R, 1)
    expected: GroupScores
    """The gradient of the log-partition: the uses of `branch` count towards `extend` and `close` if it is None."""


# -- the fronts: what runs is chosen here ------------------------------------------------------------------------------


def log_partition(scores: GroupScores, room: Any) -> Any:
    """(R,): the log-partition of the group's mentions from each word; 0 in padding. Tensors are twice
    differentiable."""
    if is_array(scores.close):
        return run(scores, room, with_expected=False).log_partition[:, 0]
    from hyperspan.kernels.autograd import LogPartition

    def kernel(given: Sequence[Any], with_expected: bool) -> GroupResults:
        return run(GroupScores(*given), room, with_expected=with_expected)

    def differentiable(given: Sequence[Any]) -> GroupScores:
        return formula(GroupScores(*given), room).expected

    return LogPartition.apply(kernel, differentiable, *scores)[:, 0]


def run(scores: GroupScores, room: Any, *, with_expected: bool = True) -> GroupResults:
    """The log-partition of each row and, unless unwanted, how often each score is expected to be used. No gradient."""
    given = scores.map(lambda values: values if is_array(values) else values.detach())
    if _chosen(scores) != "c":
        return formula(given, room, with_expected=with_expected)
    if is_array(scores.close):
        return run_c(given, room, with_expected=with_expected)
    import torch

    found = run_c(given.map(to_numpy), to_numpy(room), with_expected=with_expected, openmp=torch_openmp())
    return GroupResults(torch.from_numpy(found.log_partition), found.expected.map(torch.from_numpy))


def highest_sums(scores: GroupScores, room: np.ndarray) -> np.ndarray:
    """(R, c + 1, 2^g): the highest sum of what follows at each width, by active types: β_0, …, β_c, of arrays; NaN
    where a score is NaN or +inf."""
    if _chosen(scores) == "c":
        return highest_sums_c(scores, room)
    return np.stack(list(inward(scores, room, highest))[::-1], axis=1)


def _chosen(scores: GroupScores) -> str:
    device = "cpu" if is_array(scores.close) else scores.close.device.type
    return choose("joint", device, ("c",) if scores.close.shape[2] > MOST_TYPES else ())


# -- the formula -------------------------------------------------------------------------------------------------------


class LocalChoices(NamedTuple):
    """The local choices of g types, as indices and indicators."""

    active: Any  # (4^g,): S, of which the first type is the highest bit
    on: Any  # (4^g,): S'
    ends: Any  # (4^g, g): whether each type is in M
    goes: Any  # (4^g, g): whether each type is in S'


def choices_of(g: int, like: Any) -> LocalChoices:
    """The local choices of g types, placed as values are."""
    return _choices_on(g, None if is_array(like) else like.device)


@lru_cache(maxsize=64)
def _choices_on(g: int, device: Any) -> LocalChoices:
    digits = np.arange(4**g)[:, None] >> np.arange(2 * g - 2, -1, -2) & 3
    ends, goes = (digits & 1).astype(bool), (digits >> 1).astype(bool)
    powers = 2 ** np.arange(g - 1, -1, -1)
    found = LocalChoices(((ends | goes) * powers).sum(1), (goes * powers).sum(1), ends, goes)
    if device is None:
        return found
    import torch

    with torch.inference_mode(False):
        return LocalChoices(*(torch.from_numpy(one).to(device) for one in found))


def local_scores(scores: GroupScores, width: int) -> Any:
    """(R, 4^g): the score of each local choice at one width."""
    extend, branch = _steps(scores)
    return _local(*(one if one is None else one[:, width] for one in (scores.close, extend, branch, *scores[5:])))


def all_local_scores(scores: GroupScores) -> Any:
    """(R, c, 4^g): the same at all widths, in few large operations."""
    extend, branch = _steps(scores)
    rows, c, g = scores.close.shape
    flat = (
        one if one is None else one.reshape(rows * c, *one.shape[2:])
        for one in (scores.close, extend, branch, *scores[5:])
    )
    return _local(*flat).reshape(rows, c, 4**g)


def _steps(scores: GroupScores) -> tuple[Any, Any]:
    """(R, c, g) each: the scores of continuing, without and with a mention; -inf at the last width."""
    xp, never = namespace(scores.close), 0 * finite(scores.close[:, :1]) + MINUS_INFINITY
    branch = scores.extend + scores.close[:, :-1] if scores.branch is None else scores.branch
    return xp.concatenate([scores.extend, never], 1), xp.concatenate([branch, never], 1)


def _local(close: Any, extend: Any, branch: Any, together: Any, within: Any) -> Any:
    """(R, g) and (R, g, g) -> (R, 4^g)"""
    xp = namespace(close)
    alone = xp.stack([xp.zeros_like(close), close, extend, branch], 2)  # (R, g, 4)
    table = alone[:, 0]
    for kind in range(1, close.shape[1]):
        added = alone[:, None, kind]  # (R, 1, 4)
        if together is not None or within is not None:
            added = added + _with_earlier(together, within, kind)
        table = (table[:, :, None] + added).reshape(len(close), 4 ** (kind + 1))
    return table


def _with_earlier(together: Any, within: Any, kind: int) -> Any:
    """(R, 4^kind, 4): the pair scores of a type with all types before it, by their digits."""
    total: Any = None
    for other in range(kind):
        pair: Any = 0.0
        if together is not None:
            pair = pair + _where("both", together[:, other, kind])
        if within is not None:
            pair = pair + _where("first", within[:, other, kind])
            pair = pair + _where("second", within[:, kind, other])
        total = pair if total is None else (total[:, :, None] + pair[:, None]).reshape(len(pair), 4 ** (other + 1), 4)
    return total


_ENDS, _GOES = np.array([[0, 1, 0, 1], [0, 0, 1, 1]], dtype=bool)
_PAIRS = {"both": _ENDS[:, None] & _ENDS, "first": _ENDS[:, None] & _GOES, "second": _GOES[:, None] & _ENDS}
"""(4, 4) each, by the digits of two types: both end; the first ends and the second continues; the reverse."""


def _where(pair: str, values: Any) -> Any:
    """(R, 4, 4): the value of each row where the digits of two types are such, 0 otherwise."""
    mask = placed(_PAIRS[pair], values)
    return namespace(values).where(mask, values[:, None, None], 0.0)


def start_scores(scores: GroupScores) -> Any:
    """(R, 2^g): the score of each set of types of which a mention begins."""
    xp = namespace(scores.absent)
    table = xp.stack([scores.absent[:, 0], scores.present[:, 0]], 1)
    for kind in range(1, scores.absent.shape[1]):
        one = xp.stack([scores.absent[:, kind], scores.present[:, kind]], 1)
        table = (table[:, :, None] + one[:, None]).reshape(len(table), 2 ** (kind + 1))
    return table


def fold(values: Any, g: int, reduce: Fold) -> Any:
    """(R, 4^g) -> (R, 2^g): over all choices with the same active types."""
    for kind in range(g):
        rest = 4 ** (g - kind - 1)
        split = values.reshape(len(values), 2**kind, 4, rest)
        values = namespace(values).stack([split[:, :, 0], reduce(split[:, :, 1:], 2)], 2)
        values = values.reshape(len(values), 2 ** (kind + 1) * rest)
    return values


def inward(scores: GroupScores, room: Any, reduce: Fold = log_sum, local: Any = None) -> Iterator[Any]:
    """β_c, β_{c-1}, …, β_0: (R, 2^g) each; `local` (R, c, 4^g) are the scores of all local choices, if known."""
    _, c, g = scores.close.shape
    xp, on = namespace(scores.close), choices_of(g, scores.close).on
    nothing = xp.full_like(start_scores(scores), MINUS_INFINITY)
    nothing[:, 0] = 0.0
    sums = nothing
    yield sums
    for width in range(c - 1, -1, -1):
        here = local_scores(scores, width) if local is None else local[:, width]
        sums = xp.where((room > width)[:, None], fold(here + sums[:, on], g, reduce), nothing)
        yield sums


def conditional(scores: GroupScores, width: int, here: Any, after: Any, local: Any = None) -> Any:
    """(R, 4^g): the log-probability of each local choice at a width, given the active types; from β_w and β_{w+1}."""
    choices = choices_of(scores.close.shape[2], scores.close)
    before = here[:, choices.active]
    found = (local_scores(scores, width) if local is None else local[:, width]) + after[:, choices.on] - finite(before)
    return replaced(found, before == MINUS_INFINITY, MINUS_INFINITY)


def choice_probabilities(scores: GroupScores, sums: Sequence[Any], local: Any) -> Iterator[Any]:
    """Yield the probability of each set of starting types; then, width by width, that of each local choice."""
    g = scores.close.shape[2]
    active = choices_of(g, scores.close).active
    total = start_scores(scores) + sums[0]
    states = namespace(total).exp(total - finite(log_sum(total, 1))[:, None])
    yield states
    for width in range(scores.close.shape[1]):
        logs = conditional(scores, width, sums[width], sums[width + 1], local)
        found = states[:, active] * namespace(logs).exp(logs)
        yield found
        digits = found.reshape(len(found), *[2] * (2 * g))
        states = digits.sum(tuple(range(2, 2 * g + 1, 2))).reshape(len(found), 2**g)


@np.errstate(invalid="ignore")  # scores that are NaN or +inf are named later
def formula(scores: GroupScores, room: Any, *, with_expected: bool = True) -> GroupResults:
    """What :func:`run` gives, differentiable."""
    rows, c, g = scores.close.shape
    size, found = max(1, PORTION // (c * 4**g)), list[GroupResults]()
    for first in range(0, max(rows, 1), size):
        some = slice(first, first + size)
        part, rest = scores.rows(some), room[some]
        local = all_local_scores(part)
        sums = list(inward(part, rest, local=local))[::-1]
        total = replaced(log_sum(start_scores(part) + sums[0], 1), rest <= 0, 0.0)
        expected = _expected(part, rest, sums, local) if with_expected else GroupScores(*(None,) * 7)
        found.append(GroupResults(total[:, None], expected))
    join = namespace(scores.close).concatenate
    totals, parts = zip(*found, strict=True)
    return GroupResults(
        join(totals), GroupScores(*(None if one[0] is None else join(one) for one in zip(*parts, strict=True)))
    )


def _expected(scores: GroupScores, room: Any, sums: Sequence[Any], local: Any) -> GroupScores:
    """The expected uses of all scores, from β_0, …, β_c; 0 in padding."""
    (_, c, g), xp, inside = scores.close.shape, namespace(scores.close), (room > 0)[:, None]
    counts = {name: _like(placed(values, inside), scores.close) for name, values in _counts(g).items()}
    steps = choice_probabilities(scores, sums, local)
    states = next(steps) * inside
    present = states @ counts["present"]
    names = ["close", "extend", "branch"]
    names += [name for name in ("together", "within") if getattr(scores, name) is not None]
    each = list(steps)
    used = {name: xp.stack([(found * inside) @ counts[name] for found in each], 1) for name in names}
    close, extend, branch = used["close"], used["extend"][:, : c - 1], used["branch"][:, : c - 1]
    if scores.branch is None:  # going on with a mention uses both of the others
        extend, close, branch = extend + branch, close + used["branch"], None  # which is 0 at the last width
    pairs = (used[name].reshape(len(close), c, g, g) if name in used else None for name in ("together", "within"))
    return GroupScores(_like(inside, present) - present, present, extend, close, branch, *pairs)


@lru_cache(maxsize=16)
def _counts(g: int) -> dict[str, np.ndarray]:
    """(4^g, g) or (4^g, g²), and (2^g, g) of those that start: which scores each choice uses."""
    ends, goes = (one.astype(int) for one in _choices_on(g, None)[2:])
    pairs = ends[:, :, None] * ends[:, None] * np.triu(np.ones((g, g), dtype=int), 1)
    wider = ends[:, :, None] * goes[:, None] * (1 - np.eye(g, dtype=int))
    return {
        "present": np.arange(2**g)[:, None] >> np.arange(g - 1, -1, -1) & 1,
        "close": ends * (1 - goes),
        "extend": goes * (1 - ends),
        "branch": ends * goes,
        "together": pairs.reshape(4**g, g * g),
        "within": wider.reshape(4**g, g * g),
    }


def _like(values: Any, other: Any) -> Any:
    """Values as numbers of the same type as others."""
    return values.astype(other.dtype) if is_array(values) else values.to(other.dtype)


# -- C: joint.c --------------------------------------------------------------------------------------------------------


def run_c(
    scores: GroupScores, room: np.ndarray, *, with_expected: bool = True, openmp: int | None = None
) -> GroupResults:
    """What :func:`run` gives, in arrays; the formula computes rows beyond the kernel's range."""
    given, log_z, expected, failed = _in_c(scores, room, with_expected=with_expected, openmp=openmp)
    total, rows = log_z.astype(scores.close.dtype)[:, None], failed.nonzero()[0]
    if len(rows):
        again = formula(given.rows(rows), room[rows], with_expected=with_expected)
        total[rows] = again.log_partition
        for one, other in zip(expected, again.expected, strict=True):
            if one is not None:
                one[rows] = other
    return GroupResults(total, expected)


def _in_c(
    scores: GroupScores, room: np.ndarray, *, with_expected: bool, openmp: int | None
) -> tuple[GroupScores, np.ndarray, GroupScores, np.ndarray]:
    """The scores, log Z, expected uses, and the rows whose weights exceed the kernel's range, such as those without a
    possible choice: their results are meaningless."""
    given = scores.map(np.ascontiguousarray)
    log_z, failed = np.zeros(len(room)), np.zeros(len(room), dtype=np.uint8)
    expected = given.map(np.zeros_like) if with_expected else GroupScores(*(None,) * 7)
    _call("joint", given, room, openmp, address(log_z), expected.struct(), address(failed))
    return given, log_z, expected, failed


def highest_sums_c(scores: GroupScores, room: np.ndarray) -> np.ndarray:
    """What :func:`highest_sums` gives, in float64."""
    rows, c, g = scores.close.shape
    tables = np.zeros((rows, c + 1, 2**g))
    _call("joint_highest", scores.map(np.ascontiguousarray), room, None, address(tables))
    return tables


def _call(name: str, given: GroupScores, room: np.ndarray, openmp: int | None, *more: Any) -> None:
    """Call a function of joint_rows.h."""
    rows, c, g = given.close.shape
    types = np.arange(g, dtype=np.int32)
    threads = max(1, min(thread_count(), 1 + rows * c * 4**g // CHOICES_A_THREAD, rows))
    batch = BatchStruct.of(np.ascontiguousarray(room, dtype=np.int64), (rows, 1, c, g), threads, openmp)
    check_memory(call(name, given.close, batch, given.struct(), address(types), g, *more))
