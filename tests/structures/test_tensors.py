"""What the tensors of the paper's earlier structures must bear: padding, extremes, no words, no types, any mode."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from hyperspan.structures import ConstituencyTrees, MentionHypergraph, MentionSeparators, WordEdgeScores

Tensors = dict[str, Tensor]
GOLD = [{(0, 4, 1), (0, 2, 1), (2, 3, 0)}, set(), {(1, 2, 0)}, {(0, 1, 1)}]
LENGTHS = [5, 0, 3, 1]


@pytest.fixture(autouse=True, scope="module")
def engine() -> None:
    """Once is enough: these structures have no kernels of their own."""


@dataclass(frozen=True)
class Subject:
    """How to make one structure from named tensors, and which of their places are in a sentence."""

    build: Callable[[Tensors, Any], Any]
    shapes: Callable[[int, int, int], dict[str, tuple[int, ...]]]
    """From B, n and m."""
    used: Callable[[str, int], tuple[slice, ...] | list[tuple[slice, ...]]]
    """For a tensor's name and a sentence's length, the blocks of its own part that are no padding."""

    def random(self, batch: int, n: int, m: int, dtype: torch.dtype = torch.float64) -> Tensors:
        generator = torch.Generator().manual_seed(3)
        shapes = self.shapes(batch, n, m)
        return {
            name: torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)
            for name, shape in shapes.items()
        }


def trees_in_use(name: str, length: int) -> list[tuple[slice, ...]]:
    if name == "outside":
        return [(slice(length),)]
    return [(slice(start, start + 1), slice(length - start)) for start in range(length)]


def network_in_use(name: str, length: int) -> list[tuple[slice, ...]]:
    return [(slice(max(length - 1, 0) if name in ("extend", "branch") else length),)]


def edges(names: tuple[str, ...]) -> Callable[[int, int, int], dict[str, tuple[int, ...]]]:
    return lambda batch, n, m: dict.fromkeys(names, (batch, n, m))


TIED = ("absent", "present", "extend", "close")
SUBJECTS = {
    "constituency": Subject(
        lambda tensors, lengths: ConstituencyTrees(tensors["scores"], lengths, tensors["outside"]),
        lambda batch, n, m: {"scores": (batch, n, max(n, 1), m), "outside": (batch, n)},
        trees_in_use,
    ),
    "mention separators": Subject(
        lambda tensors, lengths: MentionSeparators(tensors["scores"], lengths),
        lambda batch, n, m: {"scores": (batch, n + 1, 8, m)},
        lambda name, length: [(slice(length + 1),)],
    ),
    "mention hypergraph": Subject(
        lambda tensors, lengths: MentionHypergraph(WordEdgeScores(**tensors), lengths), edges(TIED), network_in_use
    ),
    "mention hypergraph, untied": Subject(
        lambda tensors, lengths: MentionHypergraph(WordEdgeScores(**tensors), lengths),
        edges((*TIED, "branch")),
        network_in_use,
    ),
}
subjects = pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS)


def every_value(distribution: Any, gold: list[set[tuple[int, int, int]]]) -> list[Tensor]:
    return [distribution.log_partition, distribution.log_prob(gold), distribution.entropy, distribution.marginals]


def decoded(distribution: Any) -> Iterator[Any]:
    yield distribution.argmax()
    yield [[mentions for mentions, _ in ranked] for ranked in distribution.topk(5)]


@subjects
@pytest.mark.parametrize("rubbish", [math.nan, math.inf, -math.inf, 1e30])
def test_padding_never_leaks(subject: Subject, rubbish: float) -> None:
    """Values, gradients and sets are those of each sentence alone, whatever stands in padding, which gets no
    gradient."""
    clean = subject.random(len(LENGTHS), max(LENGTHS), 2)
    padding = {name: torch.ones_like(tensor, dtype=torch.bool) for name, tensor in clean.items()}
    for name, mask in padding.items():
        for sentence, length in enumerate(LENGTHS):
            for block in subject.used(name, length):
                mask[sentence][block] = False
    dirty = {name: tensor.masked_fill(padding[name], rubbish).requires_grad_() for name, tensor in clean.items()}
    whole = subject.build(dirty, torch.tensor(LENGTHS))
    values = every_value(whole, GOLD)
    sum(value.sum() for value in values).backward()  # type: ignore[union-attr]
    for name, tensor in dirty.items():
        assert tensor.grad is not None and tensor.grad.isfinite().all()
        assert (tensor.grad[padding[name]] == 0).all()
    sets = list(decoded(whole))
    assert [len(drawn) for drawn in whole.sample(3)] == [3] * len(LENGTHS)
    for sentence, length in enumerate(LENGTHS):
        shapes = subject.shapes(1, length, 2)
        alone = {
            name: tensor[sentence : sentence + 1][tuple(map(slice, shapes[name]))].clone().requires_grad_()
            for name, tensor in clean.items()
        }
        single = subject.build(alone, [length])
        own = every_value(single, [GOLD[sentence]])
        for value, other in zip(values, own, strict=True):
            torch.testing.assert_close(value[sentence][tuple(map(slice, other.shape[1:]))], other[0])
            assert math.isclose(value[sentence].sum().item(), other[0].sum().item(), abs_tol=1e-9)
        assert [part[0] for part in decoded(single)] == [part[sentence] for part in sets]
        sum(value.sum() for value in own).backward()  # type: ignore[union-attr]
        for name, tensor in alone.items():
            gradient = dirty[name].grad
            assert gradient is not None
            if tensor.numel():
                assert tensor.grad is not None
                torch.testing.assert_close(gradient[sentence][tuple(map(slice, tensor.shape[1:]))], tensor.grad[0])


@subjects
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_huge_scores_neither_overflow_nor_give_nan(subject: Subject, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(5)
    tensors = {
        name: ((torch.randint(0, 3, shape, generator=generator) - 1) * 1e4).to(dtype).requires_grad_()
        for name, shape in subject.shapes(3, 7, 2).items()
    }
    distribution = subject.build(tensors, [7, 4, 1])
    values = every_value(distribution, [{(0, 7, 1), (3, 4, 0)}, set(), {(0, 1, 0)}])
    assert all(value.isfinite().all() for value in values)
    sum(value.sum() for value in values).backward()  # type: ignore[union-attr]
    assert all(tensor.grad is not None and tensor.grad.isfinite().all() for tensor in tensors.values())
    assert ((values[3] >= 0) & (values[3] <= 1 + 1e-6)).all() and (values[2] >= 0).all()
    best = distribution.log_prob(distribution.argmax())
    for value, ranked in zip(best.tolist(), distribution.topk(1), strict=True):
        assert math.isclose(value, ranked[0][1], abs_tol=0.2)  # float32 keeps 1e5 to within 0.01


@subjects
def test_gradients(subject: Subject) -> None:
    """Values and their derivatives, once and twice, against finite differences; some scores are -inf."""
    tensors = subject.random(2, 3, 2)
    impossible = next(name for name in ("scores", "close") if name in tensors)
    tensors[impossible][0, 1, -1] = -math.inf
    names = list(tensors)
    # Finite differences cannot be taken at -inf, so that place is put in again each time.
    free = torch.ones_like(tensors[impossible], dtype=torch.bool)
    free[0, 1, -1] = False
    leaves = [tensor.masked_fill(tensor == -math.inf, 0.0).requires_grad_() for tensor in tensors.values()]

    def build(*values: Tensor) -> Any:
        given = dict(zip(names, values, strict=True))
        given[impossible] = given[impossible].masked_fill(~free, -math.inf)
        return subject.build(given, [3, 2])

    gold = [{(0, 2, 0), (0, 1, 1)}, {(0, 2, 1)}]
    assert torch.autograd.gradcheck(lambda *v: build(*v).log_partition, leaves, fast_mode=True)
    assert torch.autograd.gradcheck(lambda *v: build(*v).log_prob(gold), leaves, fast_mode=True)
    assert torch.autograd.gradcheck(lambda *v: build(*v).entropy, leaves, fast_mode=True)
    assert torch.autograd.gradcheck(lambda *v: build(*v).marginals, leaves, fast_mode=True)
    assert torch.autograd.gradgradcheck(lambda *v: build(*v).log_partition, leaves, fast_mode=True)


@subjects
def test_the_callers_tensors_are_left_alone(subject: Subject) -> None:
    tensors = subject.random(2, 4, 2)
    before = {name: tensor.clone() for name, tensor in tensors.items()}
    distribution = subject.build(tensors, [4, 3])
    values = every_value(distribution, [set(), {(0, 2, 1)}])
    assert not any(value.requires_grad for value in values)
    list(decoded(distribution))
    distribution.sample(2)
    for name, tensor in tensors.items():
        assert torch.equal(tensor, before[name]) and not tensor.requires_grad


@subjects
@pytest.mark.parametrize(("n", "m"), [(0, 2), (1, 1), (1, 3), (3, 0), (0, 0)])
def test_degenerate_sizes(subject: Subject, n: int, m: int) -> None:
    tensors = {name: tensor.requires_grad_() for name, tensor in subject.random(2, n, m).items()}
    distribution = subject.build(tensors, [n, 0])
    values = every_value(distribution, [set(), set()])
    assert all(value.isfinite().all() for value in values)
    assert values[1][1] == 0 and values[2][1] == 0 and values[3][1].sum() == 0
    assert distribution.argmax()[1] == frozenset() and distribution.topk(3)[1] == [(frozenset(), 0.0)]
    assert distribution.topk(0) == [[], []] and distribution.sample(0) == [[], []]
    assert distribution.sample(2)[1] == [frozenset(), frozenset()]
    nothing = subject.build(subject.random(0, n, m), [])
    assert nothing.argmax() == nothing.topk(2) == nothing.sample(2) == []
    assert all(len(value) == 0 for value in every_value(nothing, []))
    for value in values:
        gradients = torch.autograd.grad(value.sum(), list(tensors.values()), allow_unused=True) if value.grad_fn else []
        assert all(gradient is None or gradient.isfinite().all() for gradient in gradients)


@subjects
def test_any_mode_and_any_default_device(subject: Subject) -> None:
    tensors = subject.random(2, 4, 2)
    gold = [{(0, 2, 1)}, {(1, 2, 0)}]
    expected = every_value(subject.build(tensors, [4, 2]), gold)
    with torch.inference_mode():
        within = every_value(subject.build(tensors, [4, 2]), gold)
        subject.build(tensors, [4, 2]).argmax()
        subject.build(tensors, [4, 2]).sample(2)
    with torch.device("meta"):
        elsewhere = every_value(subject.build(tensors, [4, 2]), gold)
        assert len(subject.build(tensors, [4, 2]).topk(2)) == 2
        assert len(subject.build(tensors, [4, 2]).sample(2)) == 2
    for tensor in tensors.values():
        tensor.requires_grad_()
    followed = every_value(subject.build(tensors, [4, 2]), gold)
    for value, *others in zip(expected, within, elsewhere, followed, strict=True):
        for other in others:
            torch.testing.assert_close(value, other.detach())


@subjects
def test_impossible_sentences(subject: Subject) -> None:
    """No set at all is possible in sentence 1: probabilities are 0, decoders say so, and nothing is NaN."""
    tensors = subject.random(2, 2, 1)
    for tensor in tensors.values():
        tensor[1] = -math.inf
        tensor.requires_grad_()
    distribution = subject.build(tensors, [2, 2])
    assert distribution.log_partition[1] == distribution.log_prob([set(), set()])[1] == -math.inf
    assert distribution.marginals[1].isfinite().all() and distribution.entropy.isfinite().all()
    assert distribution.topk(3)[1] == [] and len(distribution.topk(3)[0]) == 3
    for gradient in torch.autograd.grad(distribution.log_partition[0], list(tensors.values())):
        assert gradient.isfinite().all()
    for decode in (distribution.argmax, distribution.sample):
        with pytest.raises(ValueError, match="sentence 1 has no possible mention set"):
            decode()


@subjects
def test_nan_scores_are_named(subject: Subject) -> None:
    tensors = subject.random(2, 2, 1)
    for tensor in tensors.values():
        tensor[1] = math.nan
    distribution = subject.build(tensors, [2, 2])
    for decode in (distribution.argmax, distribution.sample, lambda: distribution.topk(2)):
        with pytest.raises(ValueError, match=r"sentence 1 has no possible mention set.* NaN"):
            decode()


@subjects
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.log_prob([set()]), "one mention set a sentence, 2 in all, got 1"),
        (lambda d: d.log_prob([set(), {(2, 4, 0)}]), "0 <= start < end <= 3, the length of sentence 1"),
        (lambda d: d.log_prob([{(0, 1, 2)}, set()]), "type index from 0 to 1"),
        (lambda d: d.topk(-1), "k >= 0"),
        (lambda d: d.sample(-1), "k >= 0"),
    ],
)
def test_mistakes_are_explained(subject: Subject, call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(subject.build(subject.random(2, 4, 2), [4, 3]))


@subjects
def test_wrong_tensors_are_explained(subject: Subject) -> None:
    tensors = subject.random(2, 4, 2)
    for lengths in ([4], [4, 5]):
        with pytest.raises(ValueError, match="lengths"):
            subject.build(tensors, lengths)
    with pytest.raises(ValueError, match="float32 or float64"):
        subject.build({name: tensor.half() for name, tensor in tensors.items()}, [4, 4])
    with pytest.raises(ValueError, match="of shape"):
        subject.build({name: tensor[0] for name, tensor in tensors.items()}, [4, 4])
    if len(tensors) > 1:
        with pytest.raises(ValueError, match="move it with"):
            subject.build({name: t.float() if i else t for i, (name, t) in enumerate(tensors.items())}, [4, 4])


@subjects
def test_a_long_sentence(subject: Subject) -> None:
    """Far beyond enumeration: the k best are in order, each as log_prob says; samples are as probable as entropy
    expects."""
    tensors = subject.random(1, 20, 3)
    distribution = subject.build(tensors, [20])
    ranked = distribution.topk(100)[0]
    values = [value for _, value in ranked]
    assert len({mentions for mentions, _ in ranked}) == 100 and values == sorted(values, reverse=True)
    assert ranked[0][0] == distribution.argmax()[0]
    if not isinstance(distribution, MentionHypergraph):  # whose log_prob is that of another, consistent, hyperpath
        for mentions, value in ranked[::31]:
            assert math.isclose(distribution.log_prob([mentions]).item(), value, abs_tol=1e-9)
        drawn = distribution.sample(300, torch.Generator().manual_seed(0))[0]
        mean = sum(-distribution.log_prob([mentions]).item() for mentions in drawn) / len(drawn)
        assert abs(mean - distribution.entropy.item()) < 0.1 * mean
