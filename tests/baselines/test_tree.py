"""Nested mentions as trees: what is possible, and what must go."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.baselines.tree import (
    ConstituencyTrees,
    is_nested,
    without_crossing,
)
from hyperspan.structures import MentionSet
from tests.baselines.cases_tree import constituency_case, may_go_together
from tests.structures.brute_force import all_mentions, all_sets

some_mentions = st.frozensets(st.sampled_from(all_mentions(6, 2, 6)), max_size=7)


def test_every_quantity_where_mentions_can_cross_twice() -> None:
    """Four words, ten spans: larger than what is drawn at random."""
    generator = torch.Generator().manual_seed(2)
    scores, outside = (torch.randn(1, 4, *rest, generator=generator, dtype=torch.float64) for rest in ((4, 1), ()))
    case = constituency_case(scores, outside, [4], 1e-9)
    (brute,), trees = case.brute, case.vectorised
    for mention in all_mentions(4, 1, 4):
        i, j, k = mention
        assert math.isclose(trees.marginals[0, i, j - i - 1, k].item(), brute.marginal(mention), abs_tol=1e-9)
    expected = brute.ranked()
    ranked = trees.topk(1000)[0]
    assert [mentions for mentions, _ in ranked] == [mentions for mentions, _ in expected]
    assert [value for _, value in ranked] == pytest.approx([value for _, value in expected])
    assert trees.argmax()[0] == expected[0][0]


def test_outside_scores_words_in_no_mention() -> None:
    trees = ConstituencyTrees(torch.zeros(1, 2, 2, 1), [2], outside=torch.tensor([[-math.inf, 1.0]]))
    sets = [set(), {(0, 1, 0)}, {(0, 2, 0)}, {(1, 2, 0)}, {(0, 2, 0), (1, 2, 0)}]
    values = torch.stack([trees.log_prob([mentions])[0] for mentions in sets]) + trees.log_partition
    torch.testing.assert_close(values, torch.tensor([-math.inf, 1.0, 0.0, -math.inf, 0.0]))


@given(some_mentions)
def test_is_nested(mentions: MentionSet) -> None:
    assert is_nested(mentions) == may_go_together(mentions)


@given(some_mentions)
def test_without_crossing_keeps_the_most(mentions: MentionSet) -> None:
    """As many as any subset that has a tree, and of those as many words; the whole set, if that has one."""
    kept = without_crossing(mentions)
    assert kept <= mentions and is_nested(kept)

    def size(some: MentionSet) -> tuple[int, int]:
        return len(some), sum(end - start for start, end, _ in some)

    assert size(kept) == max(size(some) for some in all_sets(mentions) if is_nested(some))


def test_a_tree_has_a_width() -> None:
    with pytest.raises(ValueError, match="c >= 1"):
        ConstituencyTrees(torch.zeros(1, 2, 0, 1), [2])
