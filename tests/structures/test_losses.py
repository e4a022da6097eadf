"""Softmax-margin costs and the loss."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan.structures import SegmentalHypergraph, negative_log_likelihood, softmax_margin
from hyperspan.structures.constraints import PartialMarks
from tests.structures.brute_force import BruteForce, all_mentions, all_sets, arrays
from tests.structures.cases import edge_scores, segmental_score

SHAPE = (2, 3, 2, 2)
LENGTHS = [3, 2]


@settings(max_examples=20, deadline=None)
@given(data=st.data(), beta=st.sampled_from([1.0, 1.5, 3.0]))
def test_softmax_margin_is_the_papers_cost(data: st.DataObject, beta: float) -> None:
    """The loss is log Σ_y exp(score(y) + cost(y)) - score(gold), the cost counted start by start from its
    definition."""
    scores = edge_scores(SHAPE, torch.float64, data.draw(st.integers(0, 1000)), 1.0, 0.0, untied=False)
    pools = [all_mentions(length, 2, 2) for length in LENGTHS]
    gold = [data.draw(st.sets(st.sampled_from(pool), max_size=4)) for pool in pools]
    loss = negative_log_likelihood(scores, gold, LENGTHS, beta)
    assert loss.unrepresentable == (0, 0)
    known = arrays(scores.untied())
    for sentence, length in enumerate(LENGTHS):

        def cost(mentions: frozenset[tuple[int, int, int]], length: int = length, sentence: int = sentence) -> float:
            total = 0.0
            for start in range(length):
                for kind in range(2):
                    is_there, should_be = (
                        any((s, k) == (start, kind) for s, _, k in either) for either in (mentions, gold[sentence])
                    )
                    total += beta * (should_be and not is_there) + 1.0 * (is_there and not should_be)
            return total

        brute = BruteForce(
            {s: segmental_score(known, sentence, length, s) + cost(s) for s in all_sets(pools[sentence])}
        )
        expected = brute.log_partition - segmental_score(known, sentence, length, frozenset(gold[sentence]))
        assert math.isclose(loss.values[sentence].item(), expected, abs_tol=1e-9)


def test_what_is_not_annotated_gets_no_gradient() -> None:
    scores = edge_scores(SHAPE, torch.float64, 3, 1.0, 0.0, untied=False)
    gold = [{(0, 2, 0)}, {(0, 1, 1)}]
    marks = PartialMarks(np.array([[True, False], [False, True]]), [None, None], [(), ()])
    leaves = [tensor.detach().requires_grad_() for tensor in scores.tensors().values()]

    def loss(*given: torch.Tensor) -> torch.Tensor:
        return negative_log_likelihood(type(scores)(*given), gold, LENGTHS, 1.5, marks).values

    assert torch.autograd.gradcheck(loss, leaves, fast_mode=True)
    for gradient in torch.autograd.grad(loss(*leaves).sum(), leaves):
        assert gradient[0, ..., 0].any() and not gradient[0, ..., 1].any()
        assert gradient[1, ..., 1].any() and not gradient[1, ..., 0].any()


def test_without_beta_it_is_the_plain_likelihood() -> None:
    scores = edge_scores(SHAPE, torch.float64, 0, 1.0, 0.0, untied=True)
    gold = [{(0, 2, 0), (1, 2, 1)}, set()]
    values = negative_log_likelihood(scores, gold, LENGTHS).values
    torch.testing.assert_close(values, -SegmentalHypergraph(scores, LENGTHS).log_prob(gold))


def test_gold_wider_than_c_is_left_out_and_counted() -> None:
    """The same loss as without those mentions, the count reported, and no margin for a start that only they have."""
    scores = edge_scores(SHAPE, torch.float64, 1, 1.0, 0.0, untied=False)
    wide, narrow = [{(0, 3, 0), (0, 3, 1), (1, 3, 1)}, {(0, 1, 0)}], [{(1, 3, 1)}, {(0, 1, 0)}]
    for beta in (None, 2.0):
        loss, without = (negative_log_likelihood(scores, gold, torch.tensor(LENGTHS), beta) for gold in (wide, narrow))
        assert loss.unrepresentable == (2, 0) and without.unrepresentable == (0, 0)
        torch.testing.assert_close(loss.values, without.values)
    augmented, expected = (softmax_margin(scores, gold, LENGTHS, 2.0) for gold in (wide, narrow))
    torch.testing.assert_close(augmented.absent, expected.absent)
    torch.testing.assert_close(augmented.present, expected.present)


@given(seed=st.integers(0, 10**6), spread=st.sampled_from([0.1, 10.0, 1e4]), beta=st.sampled_from([None, 1.0, 3.0]))
def test_the_loss_is_never_negative(seed: int, spread: float, beta: float | None) -> None:
    scores = edge_scores((1, 6, 3, 2), torch.float32, seed, spread, 0.0, untied=False)
    best = SegmentalHypergraph(scores, [6]).argmax()
    loss = negative_log_likelihood(scores, [best[0] | {(0, 6, 0)}], [6], beta)
    assert loss.values.item() >= 0 and loss.unrepresentable == (1,)


def test_beta_below_one_is_refused() -> None:
    scores = edge_scores(SHAPE, torch.float64, 1, 1.0, 0.0, untied=False)
    with pytest.raises(ValueError, match="beta >= 1"):
        softmax_margin(scores, [set(), set()], LENGTHS, beta=0.5)


def test_gold_may_be_anything_that_can_be_gone_through_once() -> None:
    scores = edge_scores(SHAPE, torch.float64, 1, 1.0, 0.0, untied=False)
    once = negative_log_likelihood(scores, [iter([(0, 1, 0)]), iter([])], LENGTHS, beta=2.0)
    torch.testing.assert_close(
        once.values, negative_log_likelihood(scores, [[(0, 1, 0)], []], LENGTHS, beta=2.0).values
    )
