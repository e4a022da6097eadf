"""The hypergraph of mentions with gaps over arrays against the one over tensors, which is tested against brute
force."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan.kernels.encoder_arrays import ScoreArrays
from hyperspan.kernels.encoder_gaps import PartScores
from hyperspan.kernels.menu_arrays import run_menus
from hyperspan.structures import DiscontinuousHypergraph, DiscontinuousScores
from hyperspan.structures.constraints import inside
from hyperspan.structures.discontinuous_arrays import DiscontinuousArrayHypergraph
from hyperspan.structures.discontinuous_menus import Menus, PartArrays, event_probabilities
from hyperspan.structures.mentions import AnyMention

Sizes = tuple[int, int, int, int]
"""c, g, c' and m."""
SIZES = st.tuples(st.integers(1, 5), st.integers(0, 4), st.integers(0, 3), st.integers(1, 3)).map(
    lambda given: (max(given[0], given[2]), *given[1:])
)
LENGTHS = st.lists(st.integers(0, 7), min_size=1, max_size=4)


def both(
    lengths: list[int], sizes: Sizes, parts: int, seed: int, dtype: torch.dtype = torch.float64
) -> tuple[DiscontinuousArrayHypergraph, DiscontinuousHypergraph]:
    """The same distribution twice; some edges are impossible, but never that nothing begins."""
    generator, n, (c, g, later, m) = torch.Generator().manual_seed(seed), max(lengths), sizes
    widths = [(), (), (c - 1,), (c,), (c,), (g,), (later,)]
    tensors = [torch.randn(len(lengths), n, *one, m, generator=generator, dtype=dtype) * 2 for one in widths]
    for tensor in tensors[1:]:
        tensor[torch.rand(tensor.shape, generator=generator) < 0.1] = -math.inf
    arrays = [tensor.numpy() for tensor in tensors]
    array = DiscontinuousArrayHypergraph(ScoreArrays(*arrays[:4]), PartScores(*arrays[4:]), lengths, parts)
    return array, DiscontinuousHypergraph(DiscontinuousScores(*tensors), lengths, parts)


def check_equal(array: DiscontinuousArrayHypergraph, tensor: DiscontinuousHypergraph, tolerance: float) -> None:
    assert array.types == tensor.types and array.lengths == tensor.lengths
    assert array.log_partition == pytest.approx(tensor.log_partition.numpy(), rel=tolerance, abs=tolerance)
    assert array.marginals == pytest.approx(tensor.marginals.numpy(), abs=tolerance)
    assert array.argmax() == tensor.argmax()
    wanted = [None, [0.3] * array.types]
    for ours, theirs in zip(array.places(wanted), tensor.places(wanted), strict=True):
        assert ours.rows.tolist() == theirs.rows.tolist() and list(ours.parts) == list(theirs.parts)
        assert ours.probabilities == pytest.approx(theirs.probabilities, abs=tolerance)
    for ours, theirs in zip(array.discontinuous_marginals(0.05), tensor.discontinuous_marginals(0.05), strict=True):
        assert ours == pytest.approx(theirs, abs=tolerance)


@settings(max_examples=6, deadline=None)
@given(LENGTHS, SIZES, st.integers(1, 3), st.integers(0, 999))
def test_discontinuous_arrays_given_what_is_known_equal_tensors(
    lengths: list[int], sizes: Sizes, parts: int, seed: int
) -> None:
    array, tensor = both(lengths, sizes, parts, seed)
    found = [sorted(some, key=len, reverse=True) for some in tensor.argmax()]  # those of several parts first
    require, forbid = [some[:1] for some in found], [some[1:2] for some in found]
    known, wanted = array.condition(require, forbid), tensor.condition(require, forbid)  # type: ignore[arg-type]
    check_equal(known, wanted, 1e-9)
    again = [some[2:3] for some in found]
    check_equal(known.condition(forbid=again), wanted.condition(forbid=again), 1e-9)  # type: ignore[arg-type]
    for one, other in ((array, tensor), (known, wanted)):
        assert one.entropy == pytest.approx(other.entropy.numpy(), abs=1e-8)
        sets = [set(some[:1]) for some in found]
        assert one.log_prob(sets) == pytest.approx(other.log_prob(sets).numpy(), abs=1e-8)
        for ours, theirs in zip(one.topk(4), other.topk(4), strict=True):
            assert [mentions for mentions, _ in ours] == [mentions for mentions, _ in theirs]
            assert [value for _, value in ours] == pytest.approx([value for _, value in theirs], abs=1e-8)


def test_discontinuous_arrays_give_sets_beyond_their_limits_no_probability() -> None:
    array, tensor = both([7], (2, 1, 1, 1), 2, 1)
    beyond: list[AnyMention] = [
        (0, 3, 0),
        (0, 4, 0, ((0, 1), (3, 4))),
        (0, 4, 0, ((0, 1), (2, 4))),
        (0, 5, 0, ((0, 1), (2, 3), (4, 5))),
    ]
    for mention in beyond:
        assert array.log_prob([{mention}]).tolist() == tensor.log_prob([{mention}]).tolist() == [-math.inf]


@settings(max_examples=40, deadline=None)
@given(LENGTHS, SIZES, st.integers(1, 4), st.integers(0, 999), st.booleans(), st.booleans())
def test_menus_in_c_are_those_of_the_reference(
    lengths: list[int], sizes: Sizes, parts: int, seed: int, best: bool, single: bool
) -> None:
    array, _ = both(lengths, sizes, parts, seed, torch.float32 if single else torch.float64)
    opening, gap, last = array.longer
    last = np.where(inside(lengths, last.shape), last, np.array(-np.inf, dtype=last.dtype))
    arrays, tolerance = PartArrays(array.first.close, opening, gap, last), 1e-4 if single else 1e-9
    found, wanted = run_menus(arrays, lengths, parts, best=best), Menus(arrays, parts, best=best)
    there = np.broadcast_to(inside(lengths, found.events.shape), found.events.shape)
    for ours, theirs in ((found.more, wanted.more), (found.events, wanted.events)):
        np.testing.assert_allclose(ours[there], theirs[there], rtol=tolerance, atol=tolerance)
        assert ours.dtype == theirs.dtype
    for ours, theirs in zip(
        (*found.gap_items, *found.part_items), (*wanted.gap_items, *wanted.part_items[1:]), strict=True
    ):
        words = np.arange(ours.shape[1]) < np.array(lengths)[:, None]
        np.testing.assert_allclose(ours[words], theirs[words], rtol=tolerance, atol=tolerance)
    if found.alone is not None and found.goes_on is not None:
        alone, goes_on = event_probabilities(wanted, there.astype(opening.dtype))
        np.testing.assert_allclose(found.alone, alone, atol=tolerance)
        np.testing.assert_allclose(found.goes_on, goes_on, atol=tolerance)


def test_discontinuous_arrays_say_where_a_score_is_no_number() -> None:
    array, _ = both([4], (2, 2, 1, 1), 2, 3)
    array.longer.gap[:] = math.nan
    with pytest.raises(ValueError, match="a score is NaN"):
        array.argmax()
