"""The C kernel for groups of types whose chains run together = the reference, also where numbers reach their limits."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hyperspan import kernels
from hyperspan.kernels import joint, libraries
from hyperspan.kernels.joint import GroupScores
from hyperspan.kernels.numbers import to_numpy
from hyperspan.structures import EdgeScores, JointScores, JointSegmentalHypergraph

pytestmark = pytest.mark.skipif(libraries.compiled().library is None, reason="the C kernels are not compiled")
PAIRS = ((), ("together",), ("within",), ("together", "within"))


def group_scores(
    sizes: tuple[int, int, int],
    seed: int,
    spread: float = 1.0,
    impossible: float = 0.0,
    pairs: tuple[str, ...] = ("together", "within"),
    *,
    tied: bool = True,
) -> GroupScores:
    """Scores in float64 of (R, c, g) entries, some of them -inf."""
    rows, c, g = sizes
    generator = torch.Generator().manual_seed(seed)

    def some(*shape: int) -> Tensor:
        values = torch.randn(rows, *shape, generator=generator, dtype=torch.float64) * spread
        return values.masked_fill(torch.rand(values.shape, generator=generator) < impossible, -math.inf)

    edges = some(g), some(g), some(c - 1, g), some(c, g), None if tied else some(c - 1, g)
    return GroupScores(*edges, *(some(c, g, g) if name in pairs and g > 1 else None for name in PAIRS[3]))


def random_room(rows: int, c: int, seed: int) -> Tensor:
    """From none, in padding, to more than there are widths."""
    return torch.randint(0, c + 3, (rows,), generator=torch.Generator().manual_seed(seed))


def padded(scores: GroupScores, room: Tensor, value: float) -> GroupScores:
    """The same with a value for all that is beyond the end of a sentence."""
    widths = torch.arange(scores.close.shape[1])
    beyond = room[:, None] <= widths  # (R, c)

    def fill(tensor: Tensor | None, outside: Tensor) -> Tensor | None:
        if tensor is None:
            return None
        return tensor.masked_fill(outside.view(*outside.shape, *[1] * (tensor.dim() - outside.dim())), value)

    starts, steps = beyond[:, 0], beyond[:, 1:]
    outside = (starts, starts, steps, beyond, steps, beyond, beyond)
    return GroupScores(*map(fill, scores, outside))  # type: ignore[arg-type]


def rows_left(scores: GroupScores, room: Tensor) -> int:
    """How many rows the kernel leaves to the formula."""
    *_, failed = joint._in_c(scores.map(to_numpy), room.numpy(), with_expected=True, openmp=None)
    return int(failed.sum())


def assert_as_reference(scores: GroupScores, room: Tensor, tolerance: float) -> None:
    """Of scores in float32, the reference is computed in float64, unless the kernel hands rows over to it."""
    scores = padded(scores, room, 0.0)
    tolerances = {"rtol": tolerance, "atol": tolerance, "equal_nan": True, "check_dtype": False}
    with kernels.only("c"):
        total, uses = joint.run(scores, room)
    exact = joint.formula(scores.map(Tensor.double), room)
    assert total.dtype == scores.close.dtype
    torch.testing.assert_close(total, exact.log_partition, **tolerances)
    for found, expected in zip(uses, exact.expected, strict=True):
        assert (found is None) == (expected is None)
        if found is not None:
            torch.testing.assert_close(found, expected, **tolerances)
            assert found.dtype == scores.close.dtype and not bool((found < -1e-9).any())


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_joint_c_equals_the_reference(data: st.DataObject) -> None:
    sizes = data.draw(st.tuples(st.integers(0, 11), st.integers(1, 5), st.integers(1, 6)))
    seed, tied, single = data.draw(st.integers(0, 2**31)), data.draw(st.booleans()), data.draw(st.booleans())
    spread, impossible = data.draw(st.sampled_from([0.0, 1.0, 5.0])), data.draw(st.sampled_from([0.0, 0.2, 0.7]))
    scores = group_scores(sizes, seed, spread, impossible, data.draw(st.sampled_from(PAIRS)), tied=tied)
    room = random_room(sizes[0], sizes[1], seed)
    assert_as_reference(scores.map(Tensor.float) if single else scores, room, 1e-5 if single else 1e-9)


@pytest.mark.parametrize("tied", [True, False])
def test_joint_c_never_reads_what_is_beyond_a_sentence(tied: bool) -> None:
    scores, room = group_scores((23, 4, 4), 4, impossible=0.1, tied=tied), random_room(23, 4, 4)
    zeros, nans = (joint.run_c(padded(scores, room, value).map(to_numpy), room.numpy()) for value in (0.0, math.nan))
    for one, other in zip((zeros[0], *zeros[1]), (nans[0], *nans[1]), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("g", [7, 8])
@pytest.mark.parametrize("tied", [True, False])
def test_joint_c_computes_large_groups(g: int, tied: bool) -> None:
    for pairs in PAIRS:
        assert_as_reference(group_scores((3, 2, g), g, 2.0, 0.1, pairs, tied=tied), torch.tensor([2, 1, 2]), 1e-9)


def test_larger_groups_are_left_to_the_reference() -> None:
    scores, room = group_scores((1, 1, 9), 0, pairs=()), torch.tensor([1])
    assert joint.highest_sums(scores.map(to_numpy), room.numpy()).shape == (1, 2, 2**9)
    torch.testing.assert_close(joint.log_partition(scores, room), joint.formula(scores, room).log_partition[:, 0])


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_joint_c_is_exact_for_extreme_scores(data: st.DataObject) -> None:
    sizes = data.draw(st.tuples(st.integers(1, 6), st.integers(1, 4), st.integers(1, 4)))
    seed, tied = data.draw(st.integers(0, 2**31)), data.draw(st.booleans())
    spread, pairs = data.draw(st.sampled_from([50.0, 200.0, 1000.0])), data.draw(st.sampled_from(PAIRS))
    scores = group_scores(sizes, seed, spread, data.draw(st.sampled_from([0.0, 0.3])), pairs, tied=tied)
    assert_as_reference(scores, random_room(sizes[0], sizes[1], seed), 1e-9)


def test_joint_c_is_exact_where_what_is_forced_is_improbable() -> None:
    scores = group_scores((8, 5, 3), 0)
    scores.absent[:, 1] = -math.inf  # the second type is there
    for score in (-400.0, -700.0, -1000.0, -30_000.0):
        scores.close[:, :, 1] = score
        assert_as_reference(scores, torch.full((8,), 5), 1e-9)
    scores.extend[:, :, 1] = -1000.0  # what makes up for it comes after what was lost
    scores.present[:, 1] = 30_000.0
    assert_as_reference(scores, torch.full((8,), 5), 1e-9)


def test_joint_c_gives_true_infinity_and_nan() -> None:
    scores = group_scores((4, 2, 2), 0)
    scores.absent[0], scores.present[0] = -math.inf, -math.inf
    scores.close[1, 1, 0], scores.together[2, 0, 0, 1] = math.nan, math.inf  # type: ignore[index]
    found, uses = joint.run(scores, torch.full((4,), 2))
    assert (
        found[0] == -math.inf and bool(found[1].isnan()) and not bool(found[2].isfinite()) and bool(found[3].isfinite())
    )
    assert bool((uses.close[0] == 0).all())


@pytest.mark.parametrize("tied", [True, False])
def test_joint_c_leaves_nothing_ordinary_to_the_reference(tied: bool) -> None:
    """Neither many widths, nor strong scores, nor sets that are as good as impossible."""
    for number, (c, spread, g) in enumerate([(60, 1.0, 5), (60, 1.0, 6), (12, 8.0, 5), (200, 2.0, 2)]):
        scores = group_scores((6, c, g), number, spread, tied=tied)
        if number == 2:
            scores.together[:] = -1e4  # type: ignore[index]
        assert rows_left(scores, torch.full((6,), c)) == 0, (c, spread, g)


def test_joint_c_shares_rows_among_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, room = group_scores((103, 4, 3), 2), random_room(103, 4, 2)
    arrays = scores.map(to_numpy)
    alone = joint.run_c(arrays, room.numpy())
    monkeypatch.setattr(joint, "thread_count", lambda: 3)
    monkeypatch.setattr(joint, "CHOICES_A_THREAD", 1)
    together = joint.run_c(arrays, room.numpy())
    np.testing.assert_allclose(together.log_partition, alone.log_partition, rtol=1e-14)
    np.testing.assert_allclose(together.expected.close, alone.expected.close, atol=1e-14)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_best_mentions_are_those_of_the_reference(data: st.DataObject) -> None:
    sizes = data.draw(st.tuples(st.integers(0, 11), st.integers(1, 5), st.integers(1, 6)))
    seed, tied, single = data.draw(st.integers(0, 2**31)), data.draw(st.booleans()), data.draw(st.booleans())
    impossible, pairs = data.draw(st.sampled_from([0.0, 0.2])), data.draw(st.sampled_from(PAIRS))
    scores = group_scores(sizes, seed, 2.0, impossible, pairs, tied=tied)
    if data.draw(st.booleans()):  # many choices are equally good
        scores = scores.map(Tensor.round)
    scores.absent.clamp_(min=-50.0)  # so that all rows have a choice
    scores = scores.map(Tensor.float) if single else scores
    edges = EdgeScores(*(None if one is None else one[None] for one in scores[:5]))  # type: ignore[arg-type]
    found = JointSegmentalHypergraph(
        JointScores(edges, *(None if one is None else one[None] for one in scores[5:])), [sizes[0]]
    )
    rows = found.best_rows()
    with kernels.reference():
        expected = found.best_rows()
    np.testing.assert_array_equal(rows, expected)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_highest_sums_are_those_of_the_reference(data: st.DataObject) -> None:
    sizes = data.draw(st.tuples(st.integers(0, 11), st.integers(1, 5), st.integers(1, 6)))
    seed, tied = data.draw(st.integers(0, 2**31)), data.draw(st.booleans())
    scores = group_scores(sizes, seed, 5.0, 0.2, data.draw(st.sampled_from(PAIRS)), tied=tied)
    room = random_room(sizes[0], sizes[1], seed)
    found, inside = joint.highest_sums(padded(scores, room, math.nan).map(to_numpy), room.numpy()), room.numpy() > 0
    with kernels.reference():
        expected = joint.highest_sums(padded(scores, room, 0.0).map(to_numpy), room.numpy())
    np.testing.assert_allclose(found[inside], expected[inside], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_highest_sums_say_what_is_undefined(value: float) -> None:
    scores = group_scores((3, 2, 2), 0)
    scores.within[1, 1, 0, 1] = value  # type: ignore[index]
    arrays = scores.map(to_numpy)
    undefined = np.isnan(joint.highest_sums(arrays, np.array([2, 2, 2]))).any((1, 2))
    assert undefined.tolist() == [False, True, False]
    assert not np.isnan(joint.highest_sums(arrays, np.array([2, 1, 2]))).any()  # beyond the end of its sentence
