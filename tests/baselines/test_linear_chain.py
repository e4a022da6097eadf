"""The linear chain: tags and mentions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchcrf import CRF

from experiments.figures.graphs import linear_chain_hypergraph, linear_chain_mentions
from hyperspan.baselines.linear_chain import LinearChain, TagScores, legal_tags, mentions_of_tags, outermost, tags_of
from hyperspan.structures import Mention
from hyperspan.structures.graphs import hyperpaths
from tests.baselines.cases_linear_chain import flat_sets, tag_of, tag_scores
from tests.structures.brute_force import all_mentions


@st.composite
def mention_sets(draw: st.DrawFn) -> tuple[set[Mention], int, int]:
    """Mentions that may overlap, the sentence's length, the number of types."""
    length, types = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    pool = all_mentions(length, types, length)
    return draw(st.sets(st.sampled_from(pool), max_size=8)), length, types


@given(case=mention_sets())
@settings(max_examples=100)
def test_tags_and_mentions_are_one_to_one(case: tuple[set[Mention], int, int]) -> None:
    mentions, length, types = case
    kept, dropped = outermost(mentions)
    assert kept | dropped == mentions and not kept & dropped
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(sorted(kept)))
    assert all(any(start <= dropped_start < end for start, end, _ in kept) for dropped_start, _, _ in dropped)
    tags = tags_of(kept, length, types)
    assert list(tags) == [tag_of(word, kept) for word in range(length)]
    assert mentions_of_tags(tags) == kept


@pytest.mark.parametrize(("n", "m"), [(0, 2), (1, 3), (3, 2), (5, 1), (3, 0)])
def test_legal_tag_sequences_and_flat_sets_are_one_to_one(n: int, m: int) -> None:
    legal = legal_tags(m)
    sequences = [
        tags
        for tags in itertools.product(range(4 * m + 1), repeat=n)
        if not tags
        or (legal[0, tags[0]] and legal[tags[-1], 0] and all(legal[a, b] for a, b in itertools.pairwise(tags)))
    ]
    sets = list(flat_sets(n, m, n))
    assert len(sequences) == len(sets) == len(set(sets))
    assert {mentions_of_tags(tags) for tags in sequences} == set(sets)
    assert all(tags_of(mentions_of_tags(tags), n, m) == tags for tags in sequences)
    paths = list(hyperpaths(linear_chain_hypergraph(n, m)))
    assert sorted(map(sorted, map(linear_chain_mentions, paths))) == sorted(map(sorted, sets))


def test_outermost_keeps_the_longest_from_left_to_right() -> None:
    kept, dropped = outermost({(0, 2, 0), (0, 3, 1), (0, 3, 0), (2, 6, 0), (3, 4, 1), (4, 5, 0)})
    assert kept == {(0, 3, 0), (3, 4, 1), (4, 5, 0)}
    assert dropped == {(0, 2, 0), (0, 3, 1), (2, 6, 0)}
    assert outermost([]) == (frozenset(), frozenset())


def test_the_chain_agrees_with_pytorch_crf() -> None:
    """The same scores in another library: log-likelihoods, their gradients, and the best tags."""
    lengths, m = [7, 1, 4], 2
    scores, legal = tag_scores(len(lengths), 7, m, torch.float64, seed=2), torch.from_numpy(legal_tags(m))
    # torchcrf knows no -inf: a very low score takes its place
    step, first, last = scores.step, scores.first, scores.last
    given = (step.masked_fill(~legal, -1e6), first.masked_fill(~legal[0], -1e6), last.masked_fill(~legal[:, 0], -1e6))
    scores = TagScores(scores.emit, *given)
    tensors = [scores.emit, scores.step, scores.first, scores.last]
    for tensor in tensors:
        tensor.requires_grad_()
    other = CRF(scores.tags, batch_first=True).double()
    with torch.no_grad():
        other.transitions.copy_(scores.step)
        other.start_transitions.copy_(scores.first)
        other.end_transitions.copy_(scores.last)
    mask = torch.arange(7) < torch.tensor(lengths)[:, None]
    sets = [{(0, 3, 1), (5, 6, 0)}, set(), {(0, 1, 0), (1, 4, 0)}]
    tags = [tags_of(mentions, length, m) for mentions, length in zip(sets, lengths, strict=True)]
    padded = torch.tensor([[*sequence, *[0] * (7 - len(sequence))] for sequence in tags])
    theirs = other(scores.emit, padded, mask=mask, reduction="none")
    chain = LinearChain(scores, lengths)
    ours = chain.log_prob(sets)
    torch.testing.assert_close(ours, theirs)
    their_tensors = [scores.emit, other.transitions, other.start_transitions, other.end_transitions]
    expected = torch.autograd.grad(theirs.sum(), their_tensors)
    torch.testing.assert_close(torch.autograd.grad(ours.sum(), tensors), expected)
    best = other.decode(scores.emit, mask=mask)  # pyright: ignore[reportArgumentType]: any mask will do
    assert chain.argmax() == [mentions_of_tags(tags) for tags in best]


def test_marginals_add_up_to_the_tags() -> None:
    """Over all mentions around a word, and for beginnings alone, beyond what can be enumerated."""
    distribution = LinearChain(tag_scores(2, 20, 2, torch.float64, seed=4), [20, 13])
    tags = distribution.steps.by_tag(distribution.exact_posteriors.view(21, -1, 2))[:-1].permute(2, 0, 1)
    marginals = distribution.marginals
    for sentence, length in enumerate(distribution.lengths):
        torch.testing.assert_close(
            marginals[sentence].sum(1)[:length], (tags[..., 1::4] + tags[..., 4::4])[sentence, :length]
        )
        outside = torch.ones(20).double()
        for start, end, kind in all_mentions(length, 2, length):
            outside[start:end] -= marginals[sentence, start, end - start - 1, kind]
        torch.testing.assert_close(outside[:length], tags[sentence, :length, 0])
    for width in (1, 2, 3, 25):
        narrow = LinearChain(distribution.scores, distribution.lengths, max_width=width).marginals
        assert narrow.shape == (2, 20, width, 2)
        torch.testing.assert_close(narrow[:, :, :20], marginals[:, :, :width])


@pytest.mark.parametrize("width", [1, 2, 5])
def test_degenerate_sizes_have_marginals_of_the_width_asked_for(width: int) -> None:
    for n, m in ((0, 2), (1, 3), (3, 0), (4, 2)):
        distribution = LinearChain(tag_scores(2, n, m, torch.float64, seed=7), [n, 0], width)
        assert distribution.marginals.shape == (2, n, width, m)
        assert distribution.marginals.isfinite().all() and distribution.argmax()[1] == frozenset()


def test_a_temperature_is_that_of_every_score() -> None:
    scores = tag_scores(1, 3, 1, torch.float64, seed=11)
    cold, warm = LinearChain(scores, [3]), LinearChain(scores / 2.0, [3])
    (ranked,), (flatter,) = cold.topk(50), warm.topk(50)
    assert [mentions for mentions, _ in ranked] == [mentions for mentions, _ in flatter]
    shift = warm.log_partition.item() - cold.log_partition.item() / 2
    assert all(math.isclose(b, a / 2 - shift, abs_tol=1e-9) for (_, a), (_, b) in zip(ranked, flatter, strict=True))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: LinearChain(d.scores, [4, 3], max_width=0), "max_width >= 1, got 0"),
        (
            lambda d: LinearChain(TagScores(torch.zeros(1, 1, 3), torch.zeros(3, 3), *torch.zeros(2, 3)), [1]),
            "4 m \\+ 1",
        ),
        (lambda d: tags_of({(0, 2, 0), (1, 3, 0)}, 3, 1), "do not overlap"),
    ],
)
def test_mistakes_are_explained(call: Callable[[LinearChain], object], message: str) -> None:
    distribution = LinearChain(tag_scores(2, 4, 2, torch.float64, seed=12), [4, 3])
    with pytest.raises(ValueError, match=message):
        call(distribution)
