"""Partial annotation: the loss is a sum over all sets that agree with what is known, and how many mentions are
expected."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan.structures import EdgeScores, NotSupportedError, SegmentalHypergraph
from hyperspan.structures import negative_log_likelihood as loss_of
from hyperspan.structures.constraints import PartialMarks
from hyperspan.training.loss import ExpectedRates
from tests.structures.brute_force import BruteForce, all_mentions, all_sets, arrays
from tests.structures.cases import agrees, edge_scores, is_known, partial_annotations, segmental_score

SHAPE = (2, 3, 2, 2)
LENGTHS = [3, 2]
POOLS = [all_mentions(length, 2, 2) for length in LENGTHS]
Set = frozenset[tuple[int, int, int]]


def cost(found: Set, gold: Set, marks: PartialMarks, sentence: int, beta: float) -> float:
    """The margin: β where a sure mention starts and none is found, 1 where all is known, nothing starts and one is
    found."""
    total = 0.0
    for start in range(LENGTHS[sentence]):
        for kind in range(2):
            of_chain = [mention for mention in POOLS[sentence] if (mention[0], mention[2]) == (start, kind)]
            sure, there = not gold.isdisjoint(of_chain), not found.isdisjoint(of_chain)
            empty = not sure and all(is_known(marks, sentence, mention) for mention in of_chain)
            total += beta * (sure and not there) + 1.0 * (empty and there)
    return total


@settings(max_examples=15, deadline=None)
@given(
    annotation=partial_annotations(POOLS, LENGTHS, 2),
    beta=st.sampled_from([None, 1.0, 2.5]),
    untied=st.booleans(),
    single=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_partial_loss_is_the_sum_over_all_sets_that_agree(
    annotation: tuple[list[Set], PartialMarks], beta: float | None, untied: bool, single: bool, seed: int
) -> None:
    gold, marks = annotation
    dtype = torch.float32 if single else torch.float64
    scores = edge_scores(SHAPE, dtype, seed, 1.0, 0.1, untied=untied)
    values, _ = loss_of(scores, gold, LENGTHS, beta, marks)
    known = arrays(scores.to(torch.float64).untied())
    for sentence, length in enumerate(LENGTHS):
        brute = BruteForce(
            {
                found: segmental_score(known, sentence, length, found)
                + (0.0 if beta is None else cost(found, gold[sentence], marks, sentence, beta))
                for found in all_sets(POOLS[sentence])
            }
        )
        mass = sum(p for found, p in brute.probabilities.items() if agrees(found, gold[sentence], marks, sentence))
        expected = -math.log(mass) if mass > 0 else math.inf
        assert math.isclose(values[sentence].item(), expected, abs_tol=1e-4 if single else 1e-9)


@settings(max_examples=2, deadline=None)
@given(annotation=partial_annotations(POOLS, LENGTHS, 2), seed=st.integers(0, 1000))
def test_partial_loss_has_right_gradients_also_beside_impossible_edges(
    annotation: tuple[list[Set], PartialMarks], seed: int
) -> None:
    gold, marks = annotation
    leaves = [
        one.requires_grad_()
        for one in edge_scores(SHAPE, torch.float64, seed, 1.0, 0.0, untied=False).tensors().values()
    ]

    def loss(*tensors: torch.Tensor) -> torch.Tensor:
        return loss_of(EdgeScores(*tensors), gold, LENGTHS, 1.5, marks).values

    assert torch.autograd.gradcheck(loss, leaves, fast_mode=True)
    some = edge_scores(SHAPE, torch.float64, seed, 1.0, 0.2, untied=False)
    impossible = [one.requires_grad_() for one in some.tensors().values()]
    values = loss(*impossible)
    finite = values[values.isfinite()].sum()
    if finite.requires_grad:
        assert all(one.isfinite().all() for one in torch.autograd.grad(finite, impossible))


def test_with_everything_annotated_it_is_the_usual_loss() -> None:
    scores = edge_scores(SHAPE, torch.float64, 5, 1.0, 0.0, untied=False)
    gold: Sequence[set[tuple[int, int, int]]] = [{(0, 2, 0), (0, 1, 0), (1, 3, 1)}, set()]
    marks = PartialMarks(np.ones((2, 2), dtype=bool), [None, [(0, 2)]], [(), ()])
    for beta in (None, 2.0):
        torch.testing.assert_close(
            loss_of(scores, gold, LENGTHS, beta, marks).values, loss_of(scores, gold, LENGTHS, beta).values
        )


def test_expected_rates_count_what_is_beyond_chance() -> None:
    """Of the first type the whole batch is open, of the second only the first sentence, and the third has no rate."""
    scores = edge_scores((2, 3, 2, 3), torch.float64, 3, 1.0, 0.0, untied=False)
    leaves = [one.requires_grad_() for one in scores.tensors().values()]
    marks = PartialMarks(np.array([[False, False, False], [False, True, False]]), [None, None], [(), ()])
    rates = ExpectedRates(np.array([0.01, 10.0, np.nan]), weight=2.0)

    def penalty(*tensors: torch.Tensor) -> torch.Tensor:
        return rates.penalty(SegmentalHypergraph(EdgeScores(*tensors), LENGTHS), marks)

    expected = SegmentalHypergraph(scores, LENGTHS).marginals.sum((1, 2)).detach().numpy()  # (B, m)
    wanted = [expected[:, 0].sum() - 0.05 - math.sqrt(0.05), 30 - math.sqrt(30) - expected[0, 1]]
    assert min(wanted) > 0
    np.testing.assert_allclose(penalty(*leaves).detach().numpy(), [sum(wanted)] * 2)
    assert torch.autograd.gradcheck(penalty, leaves, fast_mode=True)
    fine = ExpectedRates(expected.sum(0) / 5, 2.0).penalty(
        SegmentalHypergraph(scores, LENGTHS), PartialMarks(np.zeros((2, 3), bool), [None] * 2, [(), ()])
    )
    assert not fine.any()


def test_structures_that_cannot_condition_say_so() -> None:
    from hyperspan.baselines.tree import ConstituencyTrees

    trees = ConstituencyTrees(torch.zeros(1, 2, 2, 1), [2])
    with pytest.raises(NotSupportedError, match="use a SegmentalHypergraph"):
        trees.log_prob_of_known([set()], PartialMarks(np.ones((1, 1), dtype=bool), [None], [{(0, 1, 0)}]))
