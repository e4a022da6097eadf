"""The semi-Markov model: segments of bounded width, and what the tensors must bear."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from hyperspan.baselines.linear_chain import LinearChain
from hyperspan.baselines.semi_markov import SegmentScores, SemiMarkov, semi_markov_hypergraph, semi_markov_mentions
from hyperspan.structures import Mention
from hyperspan.structures.graphs import Counting, hyperpaths, inside
from tests.baselines.cases_linear_chain import flat_sets, tag_scores
from tests.baselines.cases_semi_markov import segment_scores


def every_value(distribution: SemiMarkov, gold: list[set[Mention]]) -> list[torch.Tensor]:
    return [
        distribution.log_partition,
        distribution.log_prob(gold),
        distribution.entropy,
        distribution.marginals,
    ]


@pytest.mark.parametrize(("n", "m", "c"), [(0, 2, 1), (1, 3, 2), (4, 2, 2), (5, 1, 5), (3, 0, 3)])
def test_hyperpaths_and_flat_sets_are_one_to_one(n: int, m: int, c: int) -> None:
    paths = list(hyperpaths(semi_markov_hypergraph(n, m, c)))
    assert sorted(map(sorted, map(semi_markov_mentions, paths))) == sorted(map(sorted, flat_sets(n, m, c)))


def test_the_explicit_graph_takes_names_and_long_sentences() -> None:
    graph = semi_markov_hypergraph(60, ["PER", "ORG"])
    uniform = SemiMarkov(segment_scores((1, 60, 60, 2), torch.float64, seed=0, spread=0.0), [60])
    paths = inside(graph, lambda edge: 0.0, Counting())[graph.root]
    assert math.isclose(math.log(paths), uniform.log_partition.item(), rel_tol=1e-12)


def test_a_chain_whose_steps_score_nothing_is_semi_markov() -> None:
    """Two structures, one distribution: a segment scores what its words' tags do."""
    n, m, lengths = 12, 2, [12, 7]
    tags = tag_scores(2, n, m, torch.float64, seed=1)
    tags = replace(tags, **{name: torch.zeros_like(getattr(tags, name)) for name in ("step", "first", "last")})
    segment = torch.zeros(2, n, n, m).double()
    for start in range(n):
        for width in range(n - start):
            for kind in range(m):
                begin, inside_tag, last, unit = (tags.emit[..., 4 * kind + place] for place in range(1, 5))
                within = inside_tag[:, start + 1 : start + width].sum(1)
                longer = begin[:, start] + within + last[:, start + width]
                segment[:, start, width, kind] = longer if width else unit[:, start]
    chain, segments = LinearChain(tags, lengths), SemiMarkov(SegmentScores(tags.emit[..., 0], segment), lengths)
    for name in ("log_partition", "marginals", "entropy"):
        torch.testing.assert_close(getattr(chain, name), getattr(segments, name))
    assert chain.argmax() == segments.argmax()
    assert [[s for s, _ in ranked] for ranked in chain.topk(20)] == [
        [s for s, _ in ranked] for ranked in segments.topk(20)
    ]


@pytest.mark.parametrize("impossible", [0.0, 0.3])
def test_gradcheck(impossible: float) -> None:
    """First and second derivatives; -inf scores stay fixed, so they are masked in rather than varied."""
    scores = segment_scores((2, 3, 2, 2), torch.float64, seed=3, impossible=impossible)
    original = [scores.outside, scores.segment]
    free = [tensor.masked_fill(tensor == -math.inf, 0.0).requires_grad_() for tensor in original]
    gold = [set() if impossible else {(0, 2, 0)}, set()]

    def distribution(*values: torch.Tensor) -> SemiMarkov:
        kept = [torch.where(old == -math.inf, old, new) for old, new in zip(original, values, strict=True)]
        return SemiMarkov(SegmentScores(*kept), [3, 2])

    for value in (
        lambda *values: distribution(*values).log_partition,
        lambda *values: distribution(*values).log_prob(gold),
        lambda *values: distribution(*values).marginals,
        lambda *values: distribution(*values).entropy,
    ):
        assert torch.autograd.gradcheck(value, free, fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda *values: distribution(*values).log_partition, free, fast_mode=True)


def test_gradient_of_log_partition_is_the_marginals() -> None:
    scores = segment_scores((2, 15, 6, 3), torch.float64, seed=4, impossible=0.1)
    segment = scores.segment.requires_grad_()
    distribution = SemiMarkov(scores, [15, 9])
    (gradient,) = torch.autograd.grad(distribution.log_partition.sum(), segment)
    torch.testing.assert_close(gradient, distribution.marginals)


@pytest.mark.parametrize("rubbish", [math.nan, math.inf, -math.inf, 1e30])
def test_padding_never_leaks(rubbish: float) -> None:
    """Values and gradients are those of each sentence alone, whatever stands in padding, and padding gets no
    gradient."""
    n, c, lengths = 5, 4, [5, 0, 3, 1]
    clean = segment_scores((len(lengths), n, c, 2), torch.float64, seed=1)
    words = torch.arange(n) >= torch.tensor(lengths)[:, None]
    spans = (torch.arange(n)[:, None] + torch.arange(c)) >= torch.tensor(lengths)[:, None, None]
    outside = clean.outside.masked_fill(words, rubbish).requires_grad_()
    segment = clean.segment.masked_fill(spans[..., None], rubbish).requires_grad_()
    gold = [{(0, 3, 1), (4, 5, 0)}, set(), {(1, 3, 0)}, {(0, 1, 1)}]
    whole = SemiMarkov(SegmentScores(outside, segment), torch.tensor(lengths))
    sum(value.sum() for value in every_value(whole, gold)).backward()  # type: ignore[union-attr]
    for tensor, padding in ((outside, words), (segment, spans)):
        assert tensor.grad is not None and tensor.grad.isfinite().all() and (tensor.grad[padding] == 0).all()
    best, ranked = whole.argmax(), whole.topk(5)
    whole.sample(3)
    for sentence, length in enumerate(lengths):
        own = slice(sentence, sentence + 1)
        width = min(c, max(length, 1))
        alone = SegmentScores(clean.outside[own, :length], clean.segment[own, :length, :width])
        single = SemiMarkov(alone, [length])
        assert single.argmax()[0] == best[sentence]
        assert [mentions for mentions, _ in single.topk(5)[0]] == [mentions for mentions, _ in ranked[sentence]]
        for value, other in zip(every_value(whole, gold), every_value(single, [gold[sentence]]), strict=True):
            torch.testing.assert_close(value[sentence][tuple(map(slice, other.shape[1:]))], other[0], rtol=0, atol=1e-9)
            assert math.isclose(value[sentence].sum().item(), other[0].sum().item(), abs_tol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_huge_scores_neither_overflow_nor_give_nan(dtype: torch.dtype) -> None:
    scores = segment_scores((3, 12, 5, 2), dtype, seed=5, spread=1e4)
    outside, segment = scores.outside.requires_grad_(), scores.segment.requires_grad_()
    distribution = SemiMarkov(scores, [12, 7, 1])
    values = every_value(distribution, [{(0, 5, 1)}, set(), {(0, 1, 0)}])
    assert all(value.isfinite().all() for value in values)
    assert ((values[3] >= 0) & (values[3] <= 1)).all() and (values[2] >= 0).all()
    sum(value.sum() for value in values).backward()  # type: ignore[union-attr]
    assert all(tensor.grad is not None and tensor.grad.isfinite().all() for tensor in (outside, segment))
    assert [ranked[0][0] for ranked in distribution.topk(1)] == distribution.argmax()


def test_the_callers_tensors_are_left_alone() -> None:
    scores = segment_scores((2, 4, 3, 2), torch.float64, seed=6)
    outside, segment = scores.outside.clone(), scores.segment.clone()
    distribution = SemiMarkov(scores, [4, 3])
    every_value(distribution, [set(), {(0, 2, 1)}])
    for decode in (lambda: distribution.topk(3), distribution.sample, distribution.argmax):
        decode()
    assert torch.equal(scores.outside, outside) and torch.equal(scores.segment, segment)
    assert not scores.outside.requires_grad and not scores.segment.requires_grad


@pytest.mark.parametrize(("n", "c", "m"), [(0, 1, 2), (1, 1, 1), (1, 5, 3), (3, 2, 0)])
def test_degenerate_sizes(n: int, c: int, m: int) -> None:
    distribution = SemiMarkov(segment_scores((2, n, c, m), torch.float64, seed=7), [n, 0])
    values = every_value(distribution, [set(), set()])
    assert all(value.isfinite().all() for value in values)
    assert values[0][1] == 0 and values[1][1] == 0 and values[2][1] == 0
    assert values[3].shape == (2, n, c, m)
    assert distribution.argmax()[1] == frozenset() and distribution.topk(3)[1] == [(frozenset(), 0.0)]
    assert distribution.sample(2)[1] == [frozenset(), frozenset()]
    assert distribution.topk(0) == [[], []] and distribution.sample(0) == [[], []]
    nothing = SemiMarkov(segment_scores((0, n, c, m), torch.float64, seed=7), [])
    assert nothing.argmax() == nothing.topk(2) == nothing.sample() == [] and nothing.log_prob([]).shape == (0,)


def test_topk_of_a_thousand_in_a_long_sentence() -> None:
    """Far beyond enumeration: best first, no set twice, and each log-probability is the one that log_prob gives."""
    distribution = SemiMarkov(segment_scores((2, 30, 6, 2), torch.float64, seed=8), [30, 3])
    ranked, short = distribution.topk(1000)
    values = [value for _, value in ranked]
    assert len({mentions for mentions, _ in ranked}) == 1000 and len(short) == len(list(flat_sets(3, 2, 3)))
    assert values == sorted(values, reverse=True)
    assert ranked[0][0] == distribution.argmax()[0]
    for mentions, value in ranked[::97]:
        assert math.isclose(distribution.log_prob([mentions, set()])[0].item(), value, abs_tol=1e-9)


def test_a_tie_goes_to_no_mention() -> None:
    zeros = segment_scores((1, 6, 3, 2), torch.float32, seed=0, spread=0.0)
    assert SemiMarkov(zeros, [6]).argmax() == [frozenset()]


def test_impossible_sentences() -> None:
    """No set at all is possible in sentence 1: probabilities are 0, decoders say so, and nothing is NaN."""
    scores = segment_scores((2, 2, 2, 1), torch.float64, seed=9)
    scores.outside[1, 1] = scores.segment[1, 1, 0] = scores.segment[1, 0, 1] = -math.inf
    tensors = [scores.outside.requires_grad_(), scores.segment.requires_grad_()]
    distribution = SemiMarkov(scores, [2, 2])
    values = every_value(distribution, [set(), set()])
    assert values[0][1] == values[1][1] == -math.inf
    assert values[3][1].sum() == 0 and not any(value.isnan().any() for value in values)
    assert distribution.topk(3)[1] == [] and len(distribution.topk(3)[0]) == 3
    for value in values:
        for gradient in torch.autograd.grad(value[0].sum(), tensors, retain_graph=True):
            assert gradient.isfinite().all()
    for decode in (distribution.argmax, distribution.sample):
        with pytest.raises(ValueError, match="sentence 1 has no possible mention set: every one has a score of -inf"):
            decode()


def test_nan_scores_are_named() -> None:
    scores = segment_scores((2, 2, 2, 1), torch.float64, seed=9)
    scores.segment[1, 1, 0, 0] = math.nan
    distribution = SemiMarkov(scores, [2, 2])
    for decode in (distribution.argmax, distribution.sample, lambda: distribution.topk(2)):
        with pytest.raises(ValueError, match="sentence 1 has no possible mention set: a score is NaN"):
            decode()


def test_overlapping_and_wide_sets_have_probability_zero() -> None:
    distribution = SemiMarkov(segment_scores((4, 4, 3, 2), torch.float64, seed=10), [4, 4, 4, 4])
    sets = [{(0, 3, 0), (1, 2, 0)}, {(1, 2, 0), (1, 2, 1)}, {(0, 4, 0)}, {(0, 3, 0), (3, 4, 1)}]
    assert [value > -math.inf for value in distribution.log_prob(sets).tolist()] == [False, False, False, True]


def test_a_temperature_is_that_of_every_score() -> None:
    scores = segment_scores((1, 3, 3, 1), torch.float64, seed=11)
    cold, warm = SemiMarkov(scores, [3]), SemiMarkov(scores / 2.0, [3])
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
        (lambda d: SemiMarkov(d.scores, [4]), "expected 2 whole numbers as lengths"),
        (lambda d: SemiMarkov(d.scores, [4, 5]), "from 0 to n = 4, got 5 for sentence 1"),
        (lambda d: replace(d.scores, segment=d.scores.segment[0]), "segment of shape"),
        (lambda d: replace(d.scores, segment=d.scores.segment[:, :, :0]), "c >= 1 widths"),
        (lambda d: replace(d.scores, outside=d.scores.outside[0]), "outside of shape \\(2, 4\\) beside segment"),
        (lambda d: d.scores.to(torch.float16), "float32 or float64 scores"),
        (lambda d: replace(d.scores, outside=d.scores.outside.float()), "torch.float64 on cpu, got outside"),
    ],
)
def test_mistakes_are_explained(call: Callable[[SemiMarkov], object], message: str) -> None:
    distribution = SemiMarkov(segment_scores((2, 4, 3, 2), torch.float64, seed=12), [4, 3])
    with pytest.raises(ValueError, match=message):
        call(distribution)


def test_every_value_has_a_graph_of_its_own() -> None:
    """Whatever was asked before, and in whatever mode, a value can be differentiated and sees the scores as they
    are."""
    scores, gold = segment_scores((2, 4, 3, 1), torch.float64, seed=13), [{(0, 2, 0)}, {(1, 2, 0)}]
    tensors = [scores.outside.requires_grad_(), scores.segment.requires_grad_()]
    expected = torch.autograd.grad(SemiMarkov(scores, [4, 3]).log_prob(gold).sum(), tensors)
    with torch.inference_mode():
        distribution = SemiMarkov(scores, [4, 3])
        every_value(distribution, gold)
    for value in every_value(distribution, gold):
        value.sum().backward()
    torch.testing.assert_close(torch.autograd.grad(distribution.log_prob(gold).sum(), tensors), expected)
    before = distribution.log_partition.detach()
    with torch.no_grad():
        scores.outside.add_(1)
    assert (distribution.log_partition > before).all()


def test_the_default_device_does_not_matter() -> None:
    distribution = SemiMarkov(segment_scores((2, 4, 3, 2), torch.float64, seed=14), [4, 1])
    expected = every_value(distribution, [set(), {(0, 1, 0)}])
    with torch.device("meta"):
        found = every_value(distribution, [set(), {(0, 1, 0)}])
        assert len(distribution.argmax()) == len(distribution.topk(2)) == len(distribution.sample(2)) == 2
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(one, two)
