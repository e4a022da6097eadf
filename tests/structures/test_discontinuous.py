"""Mentions with gaps: what is not the same for all structures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan import kernels
from hyperspan.kernels.numbers import inside, to_numpy
from hyperspan.structures import DiscontinuousHypergraph, DiscontinuousScores, EdgeScores, SegmentalHypergraph
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.gaps import Menus
from hyperspan.structures.graphs import (
    discontinuous_hypergraph,
    discontinuous_hyperpath,
    discontinuous_mentions,
    hyperpaths,
)
from hyperspan.structures.mentions import Limits
from tests.structures.brute_force import all_sets
from tests.structures.cases_discontinuous import (
    all_discontinuous,
    discontinuous_case,
    discontinuous_scores,
)

LENGTHS = [3, 2]
SMALL = [Limits(2, 2, 2, 1), Limits(2, 1, 3, 1), Limits(3, 1, 2, 1)]
GAP: Any = (0, 4, 0, ((0, 1), (3, 4)))


def over_arrays(scores: DiscontinuousScores, lengths: list[int], parts: int) -> DiscontinuousHypergraph:
    return DiscontinuousHypergraph(scores.map(to_numpy), lengths, parts)


def gap_case(limits: Limits, seed: int, n: int = 4, m: int = 1, impossible: float = 0.1):
    """A sentence of n words and one of n - 1, with mentions of several parts in each."""
    scores = discontinuous_scores(2, n, limits, m, seed=seed, impossible=impossible)
    return discontinuous_case(scores, [n, n - 1], limits.parts, 1e-9)


@pytest.mark.parametrize(("n", "limits"), [(3, Limits(2, 3, 1, 1)), (4, Limits(2, 2, 2, 2)), (5, Limits(3, 1, 3, 1))])
def test_every_set_is_one_hyperpath_and_the_other_way_round(n: int, limits: Limits) -> None:
    graph = discontinuous_hypergraph(n, 1, limits)
    paths = list(hyperpaths(graph))
    read = [discontinuous_mentions(path) for path in paths]
    assert len(set(paths)) == len(paths) == 2 ** len(all_discontinuous(n, 1, limits))
    assert set(read) == set(all_sets(all_discontinuous(n, 1, limits)))
    assert [discontinuous_hyperpath(mentions, graph) for mentions in read[::7]] == paths[::7]
    with pytest.raises(ValueError, match="are not in this hypergraph"):
        discontinuous_hyperpath([(0, 1, 1)], graph)


def test_with_one_part_it_is_the_segmental_hypergraph() -> None:
    scores = discontinuous_scores(2, 5, Limits(1, 3, 2, 2), 2, torch.float32, seed=1)
    ours = DiscontinuousHypergraph(scores, [5, 3], parts=1)
    edges = EdgeScores(scores.absent, scores.present, scores.extend, scores.close)
    theirs = SegmentalHypergraph(edges, [5, 3])
    for name in ("log_partition", "marginals", "entropy"):
        torch.testing.assert_close(getattr(ours, name), getattr(theirs, name))
    assert ours.argmax() == theirs.argmax() and ours.above(0.3) == theirs.above(0.3)
    for one, other in zip(ours.topk(30), theirs.topk(30), strict=True):
        assert [mentions for mentions, _ in one] == [mentions for mentions, _ in other]
        np.testing.assert_allclose([value for _, value in one], [value for _, value in other])
    given = {"require": [[(0, 2, 0)], []], "forbid": [[(1, 2, 1)], [(0, 1, 0)]]}
    torch.testing.assert_close(ours.condition(**given).marginals, theirs.condition(**given).marginals)
    torch.testing.assert_close(ours.constraint_log_prob(**given), theirs.constraint_log_prob(**given))


def test_partial_annotation_also_holds_given_something_else() -> None:
    case = gap_case(SMALL[0], seed=3, impossible=0.0)
    given, [brute, _] = case.vectorised.condition(require=[[GAP], []]), case.brute
    everything = PartialMarks(np.ones((2, 1), dtype=bool), [None, None], [(), ()])
    assert given.log_prob_of_known([[], []], everything)[0] == -math.inf, (
        "the required mention is not among the gold ones"
    )
    found = given.log_prob_of_known([[GAP], []], everything)[0].item()
    assert math.isclose(found, brute.given([GAP], []).log_prob([GAP]), abs_tol=1e-9)


def differentiable(given: DiscontinuousHypergraph) -> Iterator[torch.Tensor]:
    """What can be differentiated beside what every structure has, each computed when it is asked for."""
    yield given.log_prob([[GAP, (0, 1, 0)], [(1, 2, 0)]])
    marks = PartialMarks(np.array([[True], [False]]), [[(0, 3)], None], [(), [GAP[:3]]])
    yield given.log_prob_of_known([[GAP], []], marks)
    known = given.condition(require=[[GAP], []], forbid=[[(0, 3, 0, ((0, 1), (2, 3)))], [(0, 1, 0)]])
    yield known.log_partition
    yield known.log_prob([[GAP], []])
    yield known.marginals
    yield known.entropy


@pytest.mark.parametrize("index", range(6))
def test_gradients_are_finite_differences(index: int) -> None:
    scores = discontinuous_scores(2, 4, Limits(3, 2, 2, 1), 1, seed=index)
    leaves = [tensor.requires_grad_() for tensor in scores.tensors().values()]

    def value(*tensors: torch.Tensor) -> torch.Tensor:
        whole = DiscontinuousHypergraph(DiscontinuousScores(*tensors), [4, 3], 3)
        return next(islice(differentiable(whole), index, None))

    assert torch.autograd.gradcheck(value, leaves, fast_mode=True)


@pytest.mark.parametrize(
    ("require", "forbid", "message"),
    [
        ([[GAP]], [[GAP]], r"required or forbidden, not both, got \[\(0, 4, 0, "),
        ([[(0, 5, 0, ((0, 1), (4, 5)))]], None, r"at most 2 parts, .* and 2 in each gap, got \(0, 5, 0"),
        ([[(0, 3, 0)]], None, "at most c = 2 words"),
        ([[(0, 4, 0, ((0, 2), (1, 4)))]], None, "whose parts are in order"),
        (None, [[(0, 9, 0)]], "the length of sentence 0"),
    ],
)
def test_condition_names_what_cannot_be(require: Any, forbid: Any, message: str) -> None:
    whole = DiscontinuousHypergraph(discontinuous_scores(1, 5, SMALL[0], 1), [5])
    with pytest.raises(ValueError, match=message):
        whole.condition(require, forbid)


def test_what_is_beyond_the_limits_may_be_forbidden_and_has_no_probability() -> None:
    scores = discontinuous_scores(1, 6, SMALL[0], 1)
    whole, beyond = DiscontinuousHypergraph(scores, [6]), (0, 5, 0, ((0, 1), (4, 5)))
    torch.testing.assert_close(whole.condition(forbid=[[beyond, (0, 3, 0)]]).log_partition, whole.log_partition)
    arrays = over_arrays(scores, [6], 2)
    three: Any = (0, 5, 0, ((0, 1), (2, 3), (4, 5)))
    for mention in (beyond, (0, 3, 0), (0, 6, 0, ((0, 1), (3, 6))), three):
        assert whole.log_prob([[mention]]).item() == arrays.log_prob([[mention]]).item() == -math.inf


def test_discontinuous_arrays_say_where_a_score_is_no_number() -> None:
    scores = discontinuous_scores(1, 4, SMALL[0], 1)
    scores.gap[:] = math.nan
    with pytest.raises(ValueError, match="a score is NaN"):
        over_arrays(scores, [4], 2).argmax()


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 7), min_size=1, max_size=4),
    limits=st.builds(Limits, st.integers(1, 4), st.integers(3, 5), st.integers(0, 4), st.integers(0, 3)),
    m=st.integers(1, 3),
    seed=st.integers(0, 999),
    best=st.booleans(),
    single=st.booleans(),
)
def test_menus_in_c_are_those_of_the_reference(
    lengths: list[int], limits: Limits, m: int, seed: int, best: bool, single: bool
) -> None:
    dtype = torch.float32 if single else torch.float64
    scores = discontinuous_scores(len(lengths), max(lengths), limits, m, dtype, seed, spread=2.0, impossible=0.1)
    arrays, tolerance = scores.map(to_numpy), 1e-4 if single else 1e-9
    found = Menus(arrays, lengths, limits.parts, best=best)
    with kernels.reference():
        wanted = Menus(arrays, lengths, limits.parts, best=best)
    there = np.broadcast_to(inside(lengths, found.events, found.events.shape[2]), found.events.shape)
    for ours, theirs in ((found.more, wanted.more), (found.events, wanted.events)):
        np.testing.assert_allclose(ours[there], theirs[there], rtol=tolerance, atol=tolerance)
        assert ours.dtype == theirs.dtype
    for ours, theirs in zip(
        (*found.shared.gaps, *found.shared.parts), (*wanted.shared.gaps, *wanted.shared.parts), strict=True
    ):
        words = np.arange(ours.shape[1]) < np.array(lengths)[:, None]
        np.testing.assert_allclose(ours[words], theirs[words], rtol=tolerance, atol=tolerance)
    if not best:
        np.testing.assert_allclose(found.shares[:, there], wanted.shares[:, there], atol=tolerance)


@pytest.mark.parametrize("parts", [2, 3])
def test_topk_of_a_long_sentence_is_in_order_and_has_the_right_probabilities(parts: int) -> None:
    scores = discontinuous_scores(1, 30, Limits(parts, 6, 6, 6), 3, torch.float32, seed=6)
    rare = {name: scores.tensors()[name] - 2 for name in ("present", "close", "gap", "last")}
    whole = DiscontinuousHypergraph(DiscontinuousScores(**(scores.tensors() | rare)), [30], parts)
    [ranked] = whole.topk(25)
    values = [value for _, value in ranked]
    assert values == sorted(values, reverse=True) and len({mentions for mentions, _ in ranked}) == 25
    exact = DiscontinuousHypergraph(whole.scores.to(torch.float64), [30], parts)
    np.testing.assert_allclose(values, [exact.log_prob([mentions]).item() for mentions, _ in ranked], atol=1e-9)
    assert [ranked[0][0]] == whole.argmax()
    assert any(len(mention) == 4 for mentions, _ in ranked for mention in mentions)


def test_forbidden_mentions_have_no_marginal_though_longer_ones_begin_like_them() -> None:
    whole = DiscontinuousHypergraph(discontinuous_scores(1, 4, SMALL[0], 1, seed=2), [4])
    without = whole.condition(forbid=[[(0, 1, 0)]])
    assert without.marginals[0, 0, 0, 0].item() == 0.0
    assert any(mention[3][0] == (0, 1) for mention in without.discontinuous_marginals()[0] if len(mention) == 4)


def test_cross_entropy_weighs_chains_and_its_gradients_are_finite_differences() -> None:
    limits = Limits(3, 2, 1, 1)
    scores = discontinuous_scores(2, 5, limits, 2, seed=3)
    teacher = DiscontinuousHypergraph(discontinuous_scores(2, 5, limits, 2, seed=4), [5, 4], 3)
    weights = torch.rand(2, 5, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    student = DiscontinuousHypergraph(scores, [5, 4], 3)
    each = torch.stack(
        [student.cross_entropy(teacher, torch.eye(20, dtype=torch.float64)[i].view(2, 5, 2)) for i in range(20)]
    )  # (chains, 2)
    torch.testing.assert_close(each.sum(0), student.cross_entropy(teacher))
    torch.testing.assert_close((each * weights.view(20, 1)).sum(0), student.cross_entropy(teacher, weights))
    leaves = [tensor.requires_grad_() for tensor in scores.tensors().values()]

    def loss(*given: torch.Tensor) -> torch.Tensor:
        return DiscontinuousHypergraph(type(scores)(*given), [5, 4], 3).cross_entropy(teacher, weights)

    assert torch.autograd.gradcheck(loss, leaves, fast_mode=True)


@pytest.mark.parametrize("regions", [[(first, first + 4) for first in range(0, 36, 5)], [(0, 17), (18, 40)]])
def test_regions_of_a_long_sentence_are_as_if_their_mentions_were_forbidden(regions: list[tuple[int, int]]) -> None:
    """Menus are shared by regions that are far apart, and closed where a region is longer than mentions."""
    n, generator = 40, torch.Generator().manual_seed(3)
    shapes = [(1, n, 1), (1, n, 1), (1, n, 1, 1), (1, n, 2, 1), (1, n, 2, 1), (1, n, 2, 1), (1, n, 1, 1)]
    scores = DiscontinuousScores(*(torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes))
    words = DiscontinuousHypergraph(scores, [n], parts=2)
    inside = [
        mention
        for first, last in regions
        for start in range(first, last)
        for end in range(start + 1, min(start + 2, last) + 1)
        for mention in [
            (start, end, 0),
            *((start, end + gap + 1, 0, ((start, end), (end + gap, end + gap + 1))) for gap in (1, 2)),
        ]
        if mention[1] <= last
    ]
    marks = PartialMarks(np.ones((1, 1), dtype=bool), [regions], [()])
    expected = words.constraint_log_prob(forbid=[inside])
    torch.testing.assert_close(words.log_prob_of_known([set()], marks), expected, rtol=1e-9, atol=1e-9)
