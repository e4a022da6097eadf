"""Mentions with gaps: what is not the same for all structures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan.structures import DiscontinuousHypergraph, DiscontinuousScores, EdgeScores, SegmentalHypergraph
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.discontinuous_limits import Limits
from hyperspan.structures.graphs import (
    discontinuous_hypergraph,
    discontinuous_hyperpath,
    discontinuous_mentions,
    hyperpaths,
)
from tests.structures.brute_force import BruteForce, all_sets
from tests.structures.cases_discontinuous import (
    all_discontinuous,
    brute_force_of,
    discontinuous_case,
    discontinuous_scores,
)

LENGTHS = [3, 2]
SMALL = [Limits(2, 2, 2, 1), Limits(2, 1, 3, 1), Limits(3, 1, 2, 1)]
GAP: Any = (0, 4, 0, ((0, 1), (3, 4)))


def gap_case(limits: Limits, seed: int, n: int = 4, m: int = 1, impossible: float = 0.1):
    """A sentence of n words and one of n - 1, with mentions of several parts in each."""
    scores = discontinuous_scores(2, n, limits, m, seed=seed, impossible=impossible)
    return discontinuous_case(scores, [n, n - 1], limits.parts, 1e-9)


def some_of(pool: Iterable[Any], generator: np.random.Generator, most: int) -> frozenset[Any]:
    mentions = list(pool)
    order = generator.permutation(len(mentions))[: generator.integers(most + 1)]
    return frozenset(mentions[place] for place in order)


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


@settings(max_examples=8, deadline=None)
@given(limits=st.sampled_from(SMALL), seed=st.integers(0, 1000))
def test_conditions_compose(limits: Limits, seed: int) -> None:
    """Three times in a row: each is the distribution of the one before, given more; also where nothing is left."""
    generator, case = np.random.default_rng(seed), gap_case(limits, seed)
    whole, brute, pools = case.vectorised, case.brute, case.pools()
    for _ in range(3):
        require = [some_of(pool, generator, 1) for pool in pools]
        forbid = [some_of(pool, generator, 2) - some for pool, some in zip(pools, require, strict=True)]
        expected = [one.given(*known) for one, *known in zip(brute, require, forbid, strict=True)]
        mass = [
            math.exp(one.log_partition - before.log_partition) if before.log_partition > -math.inf else 0.0
            for one, before in zip(expected, brute, strict=True)
        ]
        possible = [before.log_partition > -math.inf for before in brute]
        found = whole.constraint_log_prob(require, forbid).exp().numpy()
        np.testing.assert_allclose(found[possible], np.array(mass)[possible], atol=1e-9)
        whole, brute = whole.condition(require, forbid), expected
        np.testing.assert_allclose(whole.log_partition.numpy(), [one.log_partition for one in brute], atol=1e-9)
        for ranked, one in zip(whole.topk(6), brute, strict=True):
            np.testing.assert_allclose([v for _, v in ranked], [v for _, v in one.ranked()[:6]], atol=1e-9)
        if all(one.log_partition > -math.inf for one in brute):
            for drawn, one in zip(whole.sample(4, torch.Generator().manual_seed(0)), brute, strict=True):
                assert all(one.scores[mentions] > -math.inf for mentions in drawn)


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
    """All that can be differentiated, each computed when it is asked for."""
    yield given.log_partition
    yield given.log_prob([[GAP, (0, 1, 0)], [(1, 2, 0)]])
    yield given.marginals
    yield given.entropy
    marks = PartialMarks(np.array([[True], [False]]), [[(0, 3)], None], [(), [GAP[:3]]])
    yield given.log_prob_of_known([[GAP], []], marks)
    known = given.condition(require=[[GAP], []], forbid=[[(0, 3, 0, ((0, 1), (2, 3)))], [(0, 1, 0)]])
    yield known.log_partition
    yield known.log_prob([[GAP], []])
    yield known.marginals
    yield known.entropy


@pytest.mark.parametrize("index", range(9))
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
    whole, beyond = DiscontinuousHypergraph(discontinuous_scores(1, 5, SMALL[0], 1), [5]), (0, 5, 0, ((0, 1), (4, 5)))
    torch.testing.assert_close(whole.condition(forbid=[[beyond, (0, 3, 0)]]).log_partition, whole.log_partition)
    assert whole.log_prob([[beyond]]).item() == -math.inf


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


@pytest.mark.parametrize("limits", [Limits(2, 2, 2, 1), Limits(3, 1, 2, 1)])
def test_topk_of_few_are_the_first_of_many(limits: Limits) -> None:
    """Few sets change few of the chains: those whose second best costs least."""
    for seed in range(6):
        scores = discontinuous_scores(1, 6, limits, 2, seed=seed)
        whole = DiscontinuousHypergraph(scores, [6], limits.parts)
        many = [value for _, value in whole.topk(40)[0]]
        for k in (2, 3, 5):
            np.testing.assert_allclose([value for _, value in whole.topk(k)[0]], many[:k], atol=1e-9)


def test_forbidden_mentions_have_no_marginal_though_longer_ones_begin_like_them() -> None:
    whole = DiscontinuousHypergraph(discontinuous_scores(1, 4, SMALL[0], 1, seed=2), [4])
    without = whole.condition(forbid=[[(0, 1, 0)]])
    assert without.marginals[0, 0, 0, 0].item() == 0.0
    assert any(mention[3][0] == (0, 1) for mention in without.discontinuous_marginals()[0] if len(mention) == 4)


@pytest.mark.parametrize("own", [Limits(2, 2, 1, 1), Limits(2, 1, 1, 1), Limits(1, 2, 1, 1)])
@pytest.mark.parametrize("taught", [Limits(2, 2, 1, 1), Limits(3, 3, 2, 2), Limits(1, 1, 1, 1)])
def test_cross_entropy_is_the_sum_over_all_sets(own: Limits, taught: Limits) -> None:
    """-Σ p(set) log q(set), set by set; p is the teacher's given that no mention is beyond the student's limits."""
    scores, other = discontinuous_scores(2, 3, own, 1, seed=1), discontinuous_scores(2, 3, taught, 1, seed=2)
    student = DiscontinuousHypergraph(scores, LENGTHS, own.parts)
    teacher = DiscontinuousHypergraph(other, LENGTHS, taught.parts)
    values = student.cross_entropy(teacher)
    for sentence, (q, whole) in enumerate(
        zip(brute_force_of(scores, LENGTHS, own.parts), brute_force_of(other, LENGTHS, taught.parts), strict=True)
    ):
        p = BruteForce({found: score for found, score in whole.scores.items() if found in q.scores})
        expected = -sum(p.probabilities[found] * q.log_prob(found) for found in p.scores)
        assert math.isclose(values[sentence].item(), expected, abs_tol=1e-9)


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


def test_geometric_mean_is_normalised() -> None:
    each = [
        DiscontinuousHypergraph(discontinuous_scores(2, 3, limits, 1, seed=seed), LENGTHS, limits.parts)
        for seed, limits in enumerate([Limits(2, 2, 1, 1), Limits(3, 3, 2, 1), Limits(2, 2, 2, 2)])
    ]
    mean = each[0].geometric_mean(each[1:])
    assert mean.limits_of_mentions == Limits(2, 2, 1, 1)
    sets = list(brute_force_of(mean.scores, [3], 2)[0].scores)[::5]
    found = torch.stack([torch.stack([one.log_prob([some, ()])[0] for one in each]).mean() for some in sets])
    normalised = found - torch.stack([mean.log_prob([some, ()])[0] for some in sets])
    torch.testing.assert_close(normalised, normalised[0].expand_as(normalised))


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
