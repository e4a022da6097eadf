"""What the tensors of joint types must bear: padding, pairs that do not exist, extremes, no words, no types, any
implementation."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from hyperspan import kernels
from hyperspan.kernels.choice import COMPUTATIONS
from hyperspan.structures import JointSegmentalHypergraph
from hyperspan.structures.joint_scores import JointScores
from tests.structures.test_joint import decoded, every_value, from_tensors, random_scores

GOLD = [{(0, 4, 1), (0, 2, 1), (0, 2, 0), (1, 3, 0)}, set(), {(1, 2, 0), (1, 3, 1)}, {(0, 1, 1)}]
PADDED = [5, 0, 3, 1]


@pytest.fixture(params=COMPUTATIONS["joint"])
def implementation(request: pytest.FixtureRequest) -> Iterator[str]:
    with kernels.only(request.param):
        yield request.param


def unused(scores: JointScores, lengths: list[int]) -> dict[str, Tensor]:
    """Which scores no set uses: those beyond a sentence, and of pairs that no two mentions are."""
    _, n, c, m = scores.close.shape
    room = torch.tensor(lengths)[:, None] - torch.arange(n)  # (B, n)
    spans = room[..., None] <= torch.arange(c)  # (B, n, c)
    wider = (room[..., None] <= torch.arange(1, c + 1)) | (torch.arange(c) == c - 1)
    diagonal = torch.eye(m, dtype=torch.bool)
    masks = {"absent": room <= 0, "present": room <= 0, "close": spans, "extend": wider[..., :-1]}
    masks = {name: mask[..., None] for name, mask in masks.items()} | {"branch": wider[..., :-1, None]}
    masks["together"] = spans[..., None, None] | ~torch.ones(m, m, dtype=torch.bool).triu(1)
    masks["within"] = wider[..., None, None] | diagonal
    return {name: masks[name].expand_as(tensor) for name, tensor in scores.tensors().items()}


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize("rubbish", [math.nan, math.inf, -math.inf, 1e30])
@pytest.mark.parametrize("untied", [False, True])
def test_joint_never_uses_padding_and_pairs_that_do_not_exist(rubbish, untied) -> None:
    """Values, gradients and sets are those of each sentence alone, whatever stands there, and no gradient goes
    there."""
    clean = random_scores((4, 5, 4, 2), untied=untied)
    nowhere = unused(clean, PADDED)
    dirty = {
        name: tensor.masked_fill(nowhere[name], rubbish).requires_grad_() for name, tensor in clean.tensors().items()
    }
    whole = JointSegmentalHypergraph(from_tensors(dirty), torch.tensor(PADDED))
    values = every_value(whole, GOLD)
    sum(value.sum() for value in values).backward()  # type: ignore[union-attr]
    for name, tensor in dirty.items():
        assert tensor.grad is not None and tensor.grad.isfinite().all() and not tensor.grad[nowhere[name]].any()
    sets = list(decoded(whole))
    assert [len(drawn) for drawn in whole.sample(3)] == [3] * 4
    required = whole.condition(require=[{(0, 2, 0)}, (), {(1, 3, 1)}, ()]).marginals
    assert required.isfinite().all()
    assert whole.restrict([1, 0]).log_partition.isfinite().all()
    for sentence, length in enumerate(PADDED):
        width = min(4, max(length, 1))
        own = clean.map(lambda tensor, at=sentence: tensor[at : at + 1])
        cut = {
            name: tensor[:, :length, : width - (name in ("extend", "branch"))]
            if tensor.dim() > 3
            else tensor[:, :length]
            for name, tensor in own.tensors().items()
        }
        single = JointSegmentalHypergraph(from_tensors(cut), [length])
        assert [part[0] for part in decoded(single)] == [part[sentence] for part in sets]
        for value, other in zip(values, every_value(single, [GOLD[sentence]]), strict=True):
            torch.testing.assert_close(value[sentence][tuple(map(slice, other.shape[1:]))], other[0])
            assert math.isclose(value[sentence].sum().item(), other[0].sum().item(), abs_tol=1e-9)


@pytest.mark.parametrize("untied", [False, True])
@pytest.mark.parametrize("impossible", [0.0, 0.3])
def test_joint_gradients_are_finite_differences(untied: bool, impossible: float) -> None:
    """First and second derivatives; -inf scores stay fixed, so they are masked in rather than varied."""
    scores = random_scores((2, 3, 3, 2), untied=untied, impossible=impossible)
    original = scores.tensors()
    free = [tensor.masked_fill(tensor == -math.inf, 0.0).requires_grad_() for tensor in original.values()]

    def words(*values: Tensor) -> JointSegmentalHypergraph:
        kept = [torch.where(old == -math.inf, old, new) for old, new in zip(original.values(), values, strict=True)]
        return JointSegmentalHypergraph(from_tensors(dict(zip(original, kept, strict=True))), [3, 2])

    gold = [set(), set()] if impossible else [{(0, 1, 0), (0, 1, 1), (0, 3, 1)}, {(0, 2, 0)}]
    for value in (
        lambda *values: words(*values).log_partition,
        lambda *values: words(*values).log_prob(gold),
        lambda *values: words(*values).marginals,
        lambda *values: words(*values).entropy,
    ):
        assert torch.autograd.gradcheck(value, free, fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda *values: words(*values).log_partition, free, fast_mode=True)


@pytest.mark.parametrize("impossible", [0.0, 0.3])
@pytest.mark.parametrize("untied", [False, True])
@pytest.mark.parametrize("pairs", [(), ("together",), ("within",), ("together", "within")])
def test_joint_implementations_give_values_and_gradients_of_the_reference(
    implementation, pairs, untied, impossible
) -> None:
    found: list[list[Tensor]] = []
    for engine in ("reference", implementation):
        scores = random_scores((2, 4, 3, 3), untied=untied, impossible=impossible, pairs=pairs)
        leaves = [tensor.requires_grad_() for tensor in scores.tensors().values()]
        with kernels.only(engine):
            words = JointSegmentalHypergraph(scores, [4, 2])
            values = every_value(words, [set(), set()])
            weight = torch.tensor([2.0, -1.0], dtype=torch.float64)
            first = torch.autograd.grad(words.log_partition, leaves, weight, create_graph=True)
            second = torch.autograd.grad(sum((one**2).sum() for one in first), leaves)  # type: ignore[arg-type]
            plain = torch.autograd.grad(words.log_partition, leaves, weight)
        found.append([*(value.detach() for value in values), *(one.detach() for one in first), *second, *plain])
    assert all(value.isfinite().all() for value in found[0])
    for value, other in zip(*found, strict=True):
        torch.testing.assert_close(other, value)


@pytest.mark.usefixtures("implementation")
def test_joint_impossible_sentences_have_true_minus_infinity() -> None:
    scores = random_scores((2, 2, 2, 2))
    for tensor in scores.tensors().values():
        tensor[1] = -math.inf
        tensor.requires_grad_()
    words = JointSegmentalHypergraph(scores, [2, 2])
    assert words.log_partition[1] == words.log_prob([set(), set()])[1] == -math.inf
    assert words.constraint_log_prob(require=[(), {(0, 1, 0)}])[1] == -math.inf
    assert words.marginals.isfinite().all() and words.entropy.isfinite().all()
    assert words.topk(3)[1] == [] and len(words.topk(3)[0]) == 3
    values = [words.log_partition[0], words.log_partition.sum(), words.marginals.sum(), words.entropy.sum()]
    for value in values:
        for gradient in torch.autograd.grad(value, list(scores.tensors().values()), allow_unused=True):
            assert gradient is None or gradient.isfinite().all()
    for decode in (words.argmax, words.sample):
        with pytest.raises(ValueError, match="sentence 1 has no possible mention set: every one has a score of -inf"):
            decode()


def test_joint_nan_scores_are_named() -> None:
    scores = random_scores((2, 2, 2, 2))
    assert scores.within is not None
    scores.within[1, 0, 0, 0, 1] = math.nan
    words = JointSegmentalHypergraph(scores, [2, 2])
    for decode in (words.argmax, words.sample, lambda: words.topk(2)):
        with pytest.raises(ValueError, match=r"sentence 1 has no possible mention set: a score is NaN"):
            decode()


@pytest.mark.usefixtures("implementation")
@pytest.mark.parametrize(("n", "c", "m"), [(0, 1, 2), (1, 1, 1), (1, 5, 3), (3, 2, 0), (0, 2, 0)])
def test_joint_degenerate_sizes(n: int, c: int, m: int) -> None:
    scores = random_scores((2, n, c, m))
    leaves = [tensor.requires_grad_() for tensor in scores.tensors().values()]
    words = JointSegmentalHypergraph(scores, [n, 0])
    values = every_value(words, [set(), set()])
    assert all(value.isfinite().all() for value in values) and values[3].shape == (2, n, c, m)
    assert values[0][1] == values[1][1] == values[2][1] == 0
    assert words.argmax()[1] == frozenset() and words.topk(3)[1] == [(frozenset(), 0.0)]
    assert words.topk(0) == [[], []] and words.sample(0) == [[], []] and words.sample(2)[1] == [frozenset()] * 2
    assert words.above(0.5)[1] == frozenset()
    for value in values:
        for gradient in torch.autograd.grad(value.sum(), leaves, allow_unused=True) if value.grad_fn else ():
            assert gradient is None or gradient.isfinite().all()
    nothing = JointSegmentalHypergraph(random_scores((0, n, c, m)), [])
    assert nothing.argmax() == nothing.topk(2) == nothing.sample(2) == nothing.above(0.5) == []
    assert all(len(value) == 0 for value in every_value(nothing, []))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_joint_huge_scores_neither_overflow_nor_give_nan(dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(5)
    scores = random_scores((3, 6, 6, 2), dtype).map(
        lambda one: ((torch.randint(0, 3, one.shape, generator=generator) - 1) * 1e4).to(dtype).requires_grad_()
    )
    words = JointSegmentalHypergraph(scores, [6, 4, 1])
    values = every_value(words, [{(0, 6, 1), (3, 4, 0)}, set(), {(0, 1, 0)}])
    assert all(value.isfinite().all() for value in values)
    most = 1.05 if dtype == torch.float32 else 1 + 1e-6  # float32 keeps sums of 1e4 to within 0.004, width by width
    assert ((values[3] >= 0) & (values[3] <= most)).all()
    sum(value.sum() for value in values).backward()  # type: ignore[union-attr]
    assert all(one.grad is not None and one.grad.isfinite().all() for one in scores.tensors().values())
    for value, ranked in zip(words.log_prob(words.argmax()).tolist(), words.topk(1), strict=True):
        assert math.isclose(value, ranked[0][1], abs_tol=0.2)  # float32 keeps 1e5 to within 0.01, over many edges


def test_joint_float32_is_close_to_float64() -> None:
    exact = JointSegmentalHypergraph(random_scores((2, 5, 4, 3)), [5, 3])
    rounded = JointSegmentalHypergraph(random_scores((2, 5, 4, 3), torch.float32), [5, 3])
    gold = [{(0, 4, 1), (0, 2, 1), (0, 2, 0)}, {(1, 2, 2)}]
    for value, other in zip(every_value(rounded, gold), every_value(exact, gold), strict=True):
        assert value.dtype == torch.float32
        torch.testing.assert_close(value.double(), other, atol=1e-4, rtol=1e-5)
    assert list(decoded(rounded)) == list(decoded(exact))


def test_joint_leaves_the_callers_tensors_alone_in_any_mode_and_on_any_default_device() -> None:
    scores = random_scores((2, 4, 3, 2))
    before, gold = scores.map(torch.clone).tensors(), [{(0, 2, 1), (0, 2, 0)}, {(1, 2, 0)}]
    words = JointSegmentalHypergraph(scores, [4, 3])
    expected = [*every_value(words, gold), words.condition(require=[{(0, 1, 0)}, ()]).marginals]
    answers = [*decoded(words), words.sample(2, torch.Generator().manual_seed(0))]
    for mode in (torch.inference_mode(), torch.device("meta"), torch.no_grad()):
        with mode:
            again = JointSegmentalHypergraph(scores, [4, 3])
            values = [*every_value(again, gold), again.condition(require=[{(0, 1, 0)}, ()]).marginals]
            assert [*decoded(again), again.sample(2, torch.Generator().manual_seed(0))] == answers
        for value, other in zip(values, expected, strict=True):
            torch.testing.assert_close(value.clone(), other)
    words.restrict([1, 0]).log_prob(gold)
    for name, tensor in scores.tensors().items():
        assert torch.equal(tensor, before[name]) and not tensor.requires_grad
