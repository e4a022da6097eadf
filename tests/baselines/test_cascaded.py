"""Cascaded chains whose types depend on earlier ones, against enumeration; the shared tests have those that do not."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
import torch

from hyperspan.baselines.cascaded import CascadedChains, CascadeScores
from hyperspan.baselines.linear_chain import outermost
from hyperspan.structures import NotSupportedError
from hyperspan.structures.mentions import MentionSet

LENGTH, TYPES = 2, 2


def chains(seed: int = 0, order: tuple[int, ...] = (1, 0)) -> CascadedChains:
    torch.manual_seed(seed)
    shapes = ((2, LENGTH + 1, TYPES, 5), (TYPES, 5, 5), (TYPES, 5), (TYPES, 5), (TYPES, TYPES, 3, 5, 5))
    return CascadedChains(
        CascadeScores(*(torch.randn(shape).double() for shape in shapes)), [LENGTH, LENGTH + 1], order
    )


def all_sets(length: int) -> list[MentionSet]:
    """All sets in which mentions of one type do not overlap."""
    spans = [(i, j) for i in range(length) for j in range(i + 1, length + 1)]
    single = [s for size in range(length + 1) for s in itertools.combinations(spans, size)]
    flat = [s for s in single if not outermost({(i, j, 0) for i, j in s})[1]]
    return [
        frozenset((i, j, k) for k, s in enumerate(chosen) for i, j in s) for chosen in itertools.product(flat, flat)
    ]


@pytest.mark.parametrize("seed", range(5))
def test_probabilities_of_all_sets_sum_to_one(seed: int) -> None:
    given = chains(seed)
    total = sum(given.log_prob([mentions, ()]).exp()[0] for mentions in all_sets(LENGTH))
    torch.testing.assert_close(total, torch.tensor(1.0).double())
    assert given.log_prob([{(0, 2, 1), (1, 2, 1)}, {(0, 1, 0)}])[0] == -torch.inf


def test_cascaded_chains_depend_on_earlier_types_alone() -> None:
    given = chains()
    both = {mentions: given.log_prob([mentions, ()])[0].exp() for mentions in all_sets(LENGTH)}

    def probability(kind: int, own: MentionSet) -> float:
        return float(sum(p for mentions, p in both.items() if {m for m in mentions if m[2] == kind} == own))

    changed = given.scores.to(torch.float64)
    changed.emit[:, :, 0] += torch.randn(2, LENGTH + 1, 5)
    other = CascadedChains(changed, given.lengths, given.order)
    first = frozenset({(0, 1, 1)})
    again = sum(
        p
        for mentions in all_sets(LENGTH)
        if {m for m in mentions if m[2] == 1} == first
        for p in [other.log_prob([mentions, ()])[0].exp()]
    )
    assert float(again) == pytest.approx(probability(1, first)), "type 1 comes first, and does not see type 0"


def test_argmax_takes_the_best_of_each_type_in_turn() -> None:
    given = chains(3)
    best = given.argmax()[0]
    probabilities = {mentions: float(given.log_prob([mentions, ()])[0].exp()) for mentions in all_sets(LENGTH)}
    by_first: dict[MentionSet, float] = {}
    for mentions, probability in probabilities.items():
        of_first = frozenset(m for m in mentions if m[2] == 1)
        by_first[of_first] = by_first.get(of_first, 0.0) + probability
    first = max(by_first, key=by_first.__getitem__)
    fitting = {s: p for s, p in probabilities.items() if {m for m in s if m[2] == 1} == first}
    assert best == max(fitting, key=fitting.__getitem__)


@pytest.mark.parametrize("seed", range(5))
def test_topk_ranks_by_the_probability_of_each_set(seed: int) -> None:
    given = chains(seed)
    ranked = given.topk(300)[0]  # more than a portion, and more than there are
    assert {mentions for mentions, _ in ranked} == set(all_sets(LENGTH)) and len(ranked) == len(all_sets(LENGTH))
    for mentions, value in ranked:
        assert value == pytest.approx(float(given.log_prob([mentions, ()])[0]), abs=1e-9)
    assert [value for _, value in ranked] == sorted((value for _, value in ranked), reverse=True)
    assert given.argmax()[0] in {mentions for mentions, _ in given.topk(4)[0]} and given.topk(0) == [[], []]


def test_topk_leaves_out_what_earlier_tags_make_impossible() -> None:
    given = chains()
    given.scores.earlier[0, 1, 1, 1:, 1:] = -torch.inf  # nothing of type 0 where a word is in a mention of type 1
    ranked = given.topk(300)[0]
    assert 0 < len(ranked) < len(all_sets(LENGTH)) and all(value > -torch.inf for _, value in ranked)


def test_topk_of_some_types_looks_at_a_limited_number_of_sets() -> None:
    class Counted(CascadedChains):
        def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]:
            asked.append(k)
            return super().topk(k)

    given, asked = chains(), list[int]()
    some = Counted(given.scores, given.lengths, given.order).restrict([1])
    for k in (2, 3_000, 30_000):
        some.topk(k)
    assert asked == [100, 10_000, 30_000]


def test_entropy_and_marginals_say_where_they_are_not_exact() -> None:
    given = chains()
    with pytest.raises(NotSupportedError, match="has no entropy: each chain is normalised by itself, given the tags"):
        _ = given.entropy
    assert not given.exact_marginals and not given.restrict([0]).exact_marginals
    given.scores.earlier[0, 1] = 0.0  # what type 1, which comes first, would take from type 0 does not count
    assert given.exact_marginals
    probabilities = torch.stack([given.log_prob([mentions, ()])[0] for mentions in all_sets(LENGTH)])
    torch.testing.assert_close(given.entropy[0], -(probabilities.exp() * probabilities).sum())


def test_samples_come_as_often_as_they_should() -> None:
    given = chains(1)
    drawn = Counter(given.sample(4000, torch.Generator().manual_seed(0))[0])
    for mentions, count in drawn.most_common(5):
        assert count / 4000 == pytest.approx(float(given.log_prob([mentions, ()])[0].exp()), abs=0.03)


def test_marginals_are_those_of_the_chains_given_the_best_earlier_types() -> None:
    given = chains(2)
    marginals = given.marginals
    assert marginals.shape == (2, LENGTH + 1, LENGTH + 1, TYPES)
    first = sum(given.log_prob([mentions, ()])[0].exp() for mentions in all_sets(LENGTH) if (0, 2, 1) in mentions)
    torch.testing.assert_close(marginals[0, 0, 1, 1], torch.as_tensor(first))
    assert not marginals[0, LENGTH:].any()


def test_what_cannot_be_is_refused() -> None:
    scores = chains().scores
    with pytest.raises(ValueError, match="expected an order of the types 0 to 1"):
        CascadedChains(scores, [2, 3], [0, 0])
    with pytest.raises(ValueError, match="expected emit of shape"):
        CascadeScores(scores.emit[..., :4], scores.step, scores.first, scores.last, scores.earlier)
