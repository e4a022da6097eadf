"""Mentions with gaps: what is not the same for all structures."""

from __future__ import annotations

import math

import pytest
import torch

from hyperspan.structures import DiscontinuousHypergraph
from hyperspan.structures.discontinuous_limits import Limits
from tests.structures.brute_force import BruteForce
from tests.structures.cases_discontinuous import (
    brute_force_of,
    discontinuous_scores,
)

LENGTHS = [3, 2]


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


def test_cross_entropy_bears_impossible_edges_and_padding() -> None:
    limits = Limits(2, 2, 1, 1)
    scores = discontinuous_scores(2, 4, limits, 1, torch.float32, seed=5, impossible=0.2)
    plain = DiscontinuousHypergraph(scores, [4, 2]).cross_entropy(DiscontinuousHypergraph(scores, [4, 2]))
    for tensor in scores.tensors().values():
        tensor[1, 2:] = float("nan")
    assert plain.isfinite().all()
    noisy = DiscontinuousHypergraph(scores, [4, 2])
    torch.testing.assert_close(noisy.cross_entropy(noisy), plain)


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
