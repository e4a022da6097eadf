"""The linear chain: tags and mentions, and what the tensors must bear."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchcrf import CRF

from hyperspan.baselines.linear_chain import (
    LinearChain,
    TagChain,
    TagScores,
    legal_tags,
    linear_chain_hypergraph,
    linear_chain_mentions,
    mentions_of_tags,
    outermost,
    tags_of,
)
from hyperspan.structures import Mention
from hyperspan.structures.graphs import Counting, hyperpaths, inside
from tests.baselines.cases_linear_chain import flat_sets, tag_of, tag_scores
from tests.structures.brute_force import all_mentions


def every_value(distribution: LinearChain, gold: list[set[Mention]]) -> list[torch.Tensor]:
    return [
        distribution.log_partition,
        distribution.log_prob(gold),
        distribution.entropy,
        distribution.marginals,
    ]


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
        or (
            legal.first[tags[0]] and legal.last[tags[-1]] and all(legal.step[a, b] for a, b in itertools.pairwise(tags))
        )
    ]
    sets = list(flat_sets(n, m, n))
    assert len(sequences) == len(sets) == len(set(sets))
    assert {mentions_of_tags(tags) for tags in sequences} == set(sets)
    assert all(tags_of(mentions_of_tags(tags), n, m) == tags for tags in sequences)
    paths = list(hyperpaths(linear_chain_hypergraph(n, m)))
    assert sorted(map(sorted, map(linear_chain_mentions, paths))) == sorted(map(sorted, sets))


def test_the_explicit_graph_takes_names_and_long_sentences() -> None:
    graph = linear_chain_hypergraph(60, ["PER", "ORG"])
    uniform = LinearChain(tag_scores(1, 60, 2, torch.float64, seed=0, spread=0.0), [60])
    paths = inside(graph, lambda edge: 0.0, Counting())[graph.root]
    assert math.isclose(math.log(paths), uniform.log_partition.item(), rel_tol=1e-12)


def test_outermost_keeps_the_longest_from_left_to_right() -> None:
    kept, dropped = outermost({(0, 2, 0), (0, 3, 1), (0, 3, 0), (2, 6, 0), (3, 4, 1), (4, 5, 0)})
    assert kept == {(0, 3, 0), (3, 4, 1), (4, 5, 0)}
    assert dropped == {(0, 2, 0), (0, 3, 1), (2, 6, 0)}
    assert outermost([]) == (frozenset(), frozenset())


@pytest.mark.parametrize("legal_only", [False, True])
def test_the_chain_agrees_with_pytorch_crf(legal_only: bool) -> None:
    """The same scores in another library: log-likelihoods, their gradients, and the best tags."""
    lengths, m = [7, 1, 4], 2
    scores = tag_scores(len(lengths), 7, m, torch.float64, seed=2)
    if legal_only:  # torchcrf knows no -inf: a very low score takes its place
        legal, never = legal_tags(m), -1e6
        names = legal._asdict()
        scores = replace(
            scores, **{n: getattr(scores, n).masked_fill(torch.from_numpy(~ok), never) for n, ok in names.items()}
        )
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
    chain = TagChain(scores, lengths)
    ours = LinearChain(scores, lengths).log_prob(sets) if legal_only else chain.score(tags) - chain.log_partition
    torch.testing.assert_close(ours, theirs)
    their_tensors = [scores.emit, other.transitions, other.start_transitions, other.end_transitions]
    expected = torch.autograd.grad(theirs.sum(), their_tensors)
    torch.testing.assert_close(torch.autograd.grad(ours.sum(), tensors), expected)
    assert [list(tags) for tags in chain.argmax()] == other.decode(scores.emit, mask=mask)  # pyright: ignore[reportArgumentType]: any mask will do


def test_marginals_add_up_to_the_tags() -> None:
    """Over all mentions around a word, and for beginnings alone, beyond what can be enumerated."""
    distribution = LinearChain(tag_scores(2, 20, 2, torch.float64, seed=4), [20, 13])
    before, after = distribution.tag_chain.messages()
    tags = (before + after - distribution.log_partition[:, None, None]).exp()
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


@pytest.mark.parametrize("impossible", [0.0, 0.2])
def test_gradcheck(impossible: float) -> None:
    """First and second derivatives; -inf scores stay fixed, so they are masked in rather than varied."""
    scores = tag_scores(2, 3, 1, torch.float64, seed=3, impossible=impossible)
    original = [scores.emit, scores.step, scores.first, scores.last]
    free = [tensor.masked_fill(tensor == -math.inf, 0.0).requires_grad_() for tensor in original]
    gold = [set() if impossible else {(0, 3, 0)}, set()]

    def distribution(*values: torch.Tensor) -> LinearChain:
        kept = [torch.where(old == -math.inf, old, new) for old, new in zip(original, values, strict=True)]
        return LinearChain(TagScores(*kept), [3, 2])

    for value in (
        lambda *values: distribution(*values).log_partition,
        lambda *values: distribution(*values).log_prob(gold),
        lambda *values: distribution(*values).marginals,
        lambda *values: distribution(*values).entropy,
    ):
        assert torch.autograd.gradcheck(value, free, fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda *values: distribution(*values).log_partition, free, fast_mode=True)


@pytest.mark.parametrize("rubbish", [math.nan, math.inf, -math.inf, 1e30])
def test_padding_never_leaks(rubbish: float) -> None:
    """Values and gradients are those of each sentence alone, whatever stands in padding, and padding gets no
    gradient."""
    n, lengths = 5, [5, 0, 3, 1]
    clean = tag_scores(len(lengths), n, 2, torch.float64, seed=1)
    padding = torch.arange(n) >= torch.tensor(lengths)[:, None]
    emit = clean.emit.masked_fill(padding[..., None], rubbish).requires_grad_()
    gold = [{(0, 3, 1), (4, 5, 0)}, set(), {(1, 3, 0)}, {(0, 1, 1)}]
    whole = LinearChain(replace(clean, emit=emit), torch.tensor(lengths))
    sum(value.sum() for value in every_value(whole, gold)).backward()  # type: ignore[union-attr]
    assert emit.grad is not None and emit.grad.isfinite().all() and (emit.grad[padding] == 0).all()
    best, ranked = whole.argmax(), whole.topk(5)
    whole.sample(3)
    for sentence, length in enumerate(lengths):
        own = slice(sentence, sentence + 1)
        single = LinearChain(replace(clean, emit=clean.emit[own, :length]), [length])
        assert single.argmax()[0] == best[sentence]
        assert [mentions for mentions, _ in single.topk(5)[0]] == [mentions for mentions, _ in ranked[sentence]]
        for value, other in zip(every_value(whole, gold), every_value(single, [gold[sentence]]), strict=True):
            torch.testing.assert_close(value[sentence][tuple(map(slice, other.shape[1:]))], other[0], rtol=0, atol=1e-9)
            assert math.isclose(value[sentence].sum().item(), other[0].sum().item(), abs_tol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_huge_scores_neither_overflow_nor_give_nan(dtype: torch.dtype) -> None:
    scores = tag_scores(3, 12, 2, dtype, seed=5, spread=1e4)
    for tensor in (scores.emit, scores.step, scores.first, scores.last):
        tensor.requires_grad_()
    distribution = LinearChain(scores, [12, 7, 1])
    values = every_value(distribution, [{(0, 12, 1)}, set(), {(0, 1, 0)}])
    assert all(value.isfinite().all() for value in values)
    assert ((values[3] >= 0) & (values[3] <= 1)).all() and (values[2] >= 0).all()
    sum(value.sum() for value in values).backward()  # type: ignore[union-attr]
    assert scores.step.grad is not None and scores.step.grad.isfinite().all()
    assert [ranked[0][0] for ranked in distribution.topk(1)] == distribution.argmax()


def test_the_callers_tensors_are_left_alone() -> None:
    scores = tag_scores(2, 4, 2, torch.float64, seed=6)
    before = [tensor.clone() for tensor in (scores.emit, scores.step, scores.first, scores.last)]
    distribution = LinearChain(scores, [4, 3])
    every_value(distribution, [set(), {(0, 2, 1)}])
    for decode in (lambda: distribution.topk(3), distribution.sample, distribution.argmax):
        decode()
    for tensor, old in zip((scores.emit, scores.step, scores.first, scores.last), before, strict=True):
        assert torch.equal(tensor, old) and not tensor.requires_grad


@pytest.mark.parametrize(
    ("n", "m", "width"), [(0, 2, None), (1, 1, None), (1, 3, 5), (3, 0, None), (4, 2, 1), (4, 2, 2)]
)
def test_degenerate_sizes(n: int, m: int, width: int | None) -> None:
    distribution = LinearChain(tag_scores(2, n, m, torch.float64, seed=7), [n, 0], width)
    values = every_value(distribution, [set(), set()])
    assert all(value.isfinite().all() for value in values)
    assert values[0][1] == 0 and values[1][1] == 0 and values[2][1] == 0
    assert values[3].shape == (2, n, distribution.max_width, m)
    assert distribution.argmax()[1] == frozenset() and distribution.topk(3)[1] == [(frozenset(), 0.0)]
    assert distribution.sample(2)[1] == [frozenset(), frozenset()]
    assert distribution.topk(0) == [[], []] and distribution.sample(0) == [[], []]
    nothing = LinearChain(tag_scores(0, n, m, torch.float64, seed=7), [])
    assert nothing.argmax() == nothing.topk(2) == nothing.sample() == [] and nothing.log_prob([]).shape == (0,)


def test_topk_of_a_thousand_in_a_long_sentence() -> None:
    """Far beyond enumeration: best first, no set twice, and each log-probability is the one that log_prob gives."""
    distribution = LinearChain(tag_scores(2, 30, 2, torch.float64, seed=8), [30, 3])
    ranked, short = distribution.topk(1000)
    values = [value for _, value in ranked]
    assert len({mentions for mentions, _ in ranked}) == 1000 and len(short) == len(list(flat_sets(3, 2, 3)))
    assert values == sorted(values, reverse=True)
    assert ranked[0][0] == distribution.argmax()[0]
    for mentions, value in ranked[::97]:
        assert math.isclose(distribution.log_prob([mentions, set()])[0].item(), value, abs_tol=1e-9)


def test_a_tie_goes_to_no_mention() -> None:
    assert LinearChain(tag_scores(1, 6, 3, torch.float32, seed=0, spread=0.0), [6]).argmax() == [frozenset()]


def test_impossible_sentences() -> None:
    """No set at all is possible in sentence 1: probabilities are 0, decoders say so, and nothing is NaN."""
    scores = tag_scores(2, 2, 1, torch.float64, seed=9)
    scores.emit[1, 0] = -math.inf
    emit = scores.emit.requires_grad_()
    distribution = LinearChain(scores, [2, 2])
    values = every_value(distribution, [set(), set()])
    assert values[0][1] == values[1][1] == -math.inf
    assert values[3][1].sum() == 0 and not any(value.isnan().any() for value in values)
    assert distribution.topk(3)[1] == [] and len(distribution.topk(3)[0]) == 3
    for value in values:
        (gradient,) = torch.autograd.grad(value[0].sum(), emit, retain_graph=True)
        assert gradient.isfinite().all()
    for decode in (distribution.argmax, distribution.sample):
        with pytest.raises(ValueError, match="sentence 1 has no possible mention set: every one has a score of -inf"):
            decode()


def test_nan_scores_are_named() -> None:
    scores = tag_scores(2, 2, 1, torch.float64, seed=9)
    scores.emit[1, 1, 0] = math.nan
    distribution = LinearChain(scores, [2, 2])
    for decode in (distribution.argmax, distribution.sample, lambda: distribution.topk(2)):
        with pytest.raises(ValueError, match="sentence 1 has no possible mention set: a score is NaN"):
            decode()


def test_overlapping_sets_have_probability_zero() -> None:
    distribution = LinearChain(tag_scores(3, 4, 2, torch.float64, seed=10), [4, 4, 4])
    sets = [{(0, 3, 0), (1, 2, 0)}, {(1, 2, 0), (1, 2, 1)}, {(0, 4, 0)}]
    assert [value > -math.inf for value in distribution.log_prob(sets).tolist()] == [False, False, True]


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
        (lambda d: d.log_prob([set()]), "one mention set a sentence, 2 in all, got 1"),
        (lambda d: d.log_prob([set(), {(2, 4, 0)}]), "0 <= start < end <= 3, the length of sentence 1"),
        (lambda d: d.log_prob([{(0, 1, 2)}, set()]), "type index from 0 to 1"),
        (lambda d: d.topk(-1), "k >= 0"),
        (lambda d: d.sample(-1), "k >= 0"),
        (lambda d: LinearChain(d.scores, [4]), "expected 2 whole numbers as lengths"),
        (lambda d: LinearChain(d.scores, [4, 5]), "from 0 to n = 4, got 5 for sentence 1"),
        (lambda d: LinearChain(d.scores, [4, 3], max_width=0), "max_width >= 1, got 0"),
        (
            lambda d: LinearChain(TagScores(torch.zeros(1, 1, 3), torch.zeros(3, 3), *torch.zeros(2, 3)), [1]),
            "4 m \\+ 1",
        ),
        (lambda d: tags_of({(0, 2, 0), (1, 3, 0)}, 3, 1), "do not overlap"),
        (lambda d: d.tag_chain.score([(0,), (0,)]), "expected \\[4, 3\\] tags, got \\[1, 1\\]"),
        (lambda d: replace(d.scores, emit=d.scores.emit[0]), "emit of shape"),
        (lambda d: replace(d.scores, step=d.scores.first), "step of shape \\(9, 9\\) beside emit"),
        (lambda d: d.scores.to(torch.float16), "float32 or float64 scores"),
        (lambda d: replace(d.scores, last=d.scores.last.float()), "torch.float64 on cpu, got last"),
    ],
)
def test_mistakes_are_explained(call: Callable[[LinearChain], object], message: str) -> None:
    distribution = LinearChain(tag_scores(2, 4, 2, torch.float64, seed=12), [4, 3])
    with pytest.raises(ValueError, match=message):
        call(distribution)


def test_every_value_has_a_graph_of_its_own() -> None:
    """Whatever was asked before, and in whatever mode, a value can be differentiated and sees the scores as they
    are."""
    scores, gold = tag_scores(2, 4, 1, torch.float64, seed=13), [{(0, 2, 0)}, {(1, 2, 0)}]
    tensors = [tensor.requires_grad_() for tensor in (scores.emit, scores.step, scores.first)]
    expected = torch.autograd.grad(LinearChain(scores, [4, 3]).log_prob(gold).sum(), tensors)
    with torch.inference_mode():
        distribution = LinearChain(scores, [4, 3])
        every_value(distribution, gold)
    for value in every_value(distribution, gold):
        value.sum().backward()
    torch.testing.assert_close(torch.autograd.grad(distribution.log_prob(gold).sum(), tensors), expected)
    before = distribution.log_partition.detach()
    with torch.no_grad():
        scores.emit.add_(1)
    assert (distribution.log_partition > before).all()


def test_the_default_device_does_not_matter() -> None:
    distribution = LinearChain(tag_scores(2, 4, 2, torch.float64, seed=14), [4, 1])
    expected = every_value(distribution, [set(), {(0, 1, 0)}])
    with torch.device("meta"):
        found = every_value(distribution, [set(), {(0, 1, 0)}])
        assert len(distribution.argmax()) == len(distribution.topk(2)) == len(distribution.sample(2)) == 2
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(one, two)
