"""What the tensors of every structure must bear: padding, extremes, no words, no types, any mode."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from experiments.figures.graphs import (
    constituency_hypergraph,
    linear_chain_hypergraph,
    mention_network,
    semi_markov_hypergraph,
    separators_hypergraph,
)
from hyperspan.structures.graphs import Counting, Hypergraph, inside, segmental_hypergraph
from tests.structures.subjects import LENGTHS, SUBJECTS, Gold, Subject, widest

SHORT: Gold = [{(0, 2, 1)}, {(1, 2, 0)}]
"""Sets of two sentences."""


@pytest.fixture(params=SUBJECTS)
def subject(request: pytest.FixtureRequest) -> Subject:
    return SUBJECTS[request.param]


def check_gradients(value: Tensor, tensors: Any) -> None:
    """They are finite, where there are any."""
    if value.requires_grad:
        gradients = torch.autograd.grad(value.sum(), list(tensors), allow_unused=True, retain_graph=True)
        assert all(gradient is None or gradient.isfinite().all() for gradient in gradients)


@pytest.mark.parametrize("rubbish", [(math.nan,), (math.inf, -math.inf, 1e30)], ids=str)
def test_padding_never_leaks(subject: Subject, rubbish: tuple[float, ...]) -> None:
    """Values, gradients and sets are those of each sentence alone, whatever stands in padding, which gets no
    gradient."""
    clean, padding = subject.random(len(LENGTHS), max(LENGTHS), 2), subject.padding(LENGTHS, 2)
    wild = torch.tensor(rubbish, dtype=torch.float64)
    dirty = {
        name: torch.where(padding[name], wild.repeat(tensor.numel())[: tensor.numel()].view(tensor.shape), tensor)
        for name, tensor in clean.items()
    }
    for tensor in dirty.values():
        tensor.requires_grad_()
    whole = subject.build(dirty, torch.tensor(LENGTHS))
    values = subject.values(whole, subject.gold) + subject.taught(whole)
    sum(value.sum() for value in values).backward()  # type: ignore[union-attr]
    for name, tensor in dirty.items():
        assert tensor.grad is not None and tensor.grad.isfinite().all()
        assert (tensor.grad[padding[name]] == 0).all()
    sets = list(subject.decoded(whole))
    assert [len(drawn) for drawn in whole.sample(3)] == [3] * len(LENGTHS)
    for sentence, length in enumerate(LENGTHS):
        shapes = subject.shapes(1, length, 2)
        alone = {
            name: tensor[sentence : sentence + 1][tuple(map(slice, shapes[name]))].clone().requires_grad_()
            for name, tensor in clean.items()
            if name not in subject.shared
        }
        single = subject.build(clean | alone, [length])
        own = subject.values(single, [subject.gold[sentence]]) + subject.taught(single)
        for value, other in zip(values, own, strict=True):
            torch.testing.assert_close(value[sentence][tuple(map(slice, other.shape[1:]))], other[0])
            assert math.isclose(value[sentence].sum().item(), other[0].sum().item(), abs_tol=1e-9)
        assert [part[0] for part in subject.decoded(single)] == [part[sentence] for part in sets]
        sum(value.sum() for value in own).backward()  # type: ignore[union-attr]
        for name, tensor in alone.items():
            gradient = dirty[name].grad
            assert gradient is not None
            if tensor.numel():
                assert tensor.grad is not None
                torch.testing.assert_close(gradient[sentence][tuple(map(slice, tensor.shape[1:]))], tensor.grad[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_huge_scores_neither_overflow_nor_give_nan(subject: Subject, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(5)
    tensors = {
        name: ((torch.randint(0, 3, shape, generator=generator) - 1) * 1e4).to(dtype).requires_grad_()
        for name, shape in subject.shapes(3, 7, 2).items()
    }
    distribution = subject.build(tensors, [7, 4, 1])
    values = subject.values(distribution, [{(0, 6, 1), (6, 7, 0)}, set(), {(0, 1, 0)}])
    assert all(value.isfinite().all() for value in values)
    sum(value.sum() for value in values).backward()  # type: ignore[union-attr]
    assert all(tensor.grad is not None and tensor.grad.isfinite().all() for tensor in tensors.values())
    most = 1 + (subject.excess if dtype == torch.float32 else 1e-6)
    assert ((values[3] >= 0) & (values[3] <= most)).all() and (values[2] >= 0).all()
    best = distribution.log_prob(distribution.argmax())
    for value, ranked in zip(best.tolist(), distribution.topk(1), strict=True):
        assert math.isclose(value, ranked[0][1], abs_tol=0.2)  # float32 keeps 1e5 to within 0.01, over many edges


def test_float32_is_close_to_float64(subject: Subject) -> None:
    exact, rounded = (
        subject.build(subject.random(len(LENGTHS), max(LENGTHS), 2, dtype), LENGTHS)
        for dtype in (torch.float64, torch.float32)
    )
    for value, other in zip(subject.values(rounded, subject.gold), subject.values(exact, subject.gold), strict=True):
        assert value.dtype == torch.float32
        torch.testing.assert_close(value.double(), other, atol=1e-4, rtol=1e-5)
    if subject.same_sets:
        assert list(subject.decoded(rounded)) == list(subject.decoded(exact))


@pytest.mark.parametrize("impossible", [0.0, 0.3])
def test_gradients(subject: Subject, impossible: float) -> None:
    """Values and their derivatives, once and twice, against finite differences, which cannot be taken at -inf: those
    scores stay as they are."""
    tensors = subject.random(2, 3, 2, impossible=impossible)
    leaves = [tensor.masked_fill(tensor == -math.inf, 0.0).requires_grad_() for tensor in tensors.values()]

    def build(*values: Tensor) -> Any:
        given = zip(tensors.items(), values, strict=True)
        return subject.build({name: torch.where(old == -math.inf, old, new) for (name, old), new in given}, [3, 2])

    gold = [ranked[-1][0] for ranked in build(*leaves).topk(5)]
    for value in (
        lambda *values: build(*values).log_partition,
        lambda *values: build(*values).log_prob(gold),
        lambda *values: build(*values).entropy,
        lambda *values: build(*values).marginals,
    ):
        assert torch.autograd.gradcheck(value, leaves, fast_mode=True)  # along random directions
    if impossible:
        return
    assert torch.autograd.gradgradcheck(lambda *values: build(*values).log_partition, leaves, fast_mode=True)
    if subject.teaches:
        teacher = subject.build({name: (2 - tensor).requires_grad_() for name, tensor in tensors.items()}, [3, 2])
        assert torch.autograd.gradcheck(lambda *values: build(*values).cross_entropy(teacher), leaves, fast_mode=True)
        build(*leaves).cross_entropy(teacher).sum().backward()
        assert all(tensor.grad is None for tensor in teacher.scores.tensors().values())
        own = build(*leaves)
        torch.testing.assert_close(own.cross_entropy(own), own.entropy)
        assert (teacher.cross_entropy(own) > own.entropy).all()


@pytest.mark.parametrize(("n", "m"), [(0, 2), (1, 3), (3, 0), (0, 0)])
def test_degenerate_sizes(subject: Subject, n: int, m: int) -> None:
    tensors = {name: tensor.requires_grad_() for name, tensor in subject.random(2, n, m).items()}
    distribution = subject.build(tensors, [n, 0])
    values = subject.values(distribution, [set(), set()])
    assert all(value.isfinite().all() for value in values)
    assert values[0][1] == 0 or "outside" not in tensors
    assert values[1][1] == 0 and values[2][1] == 0 and values[3][1].sum() == 0
    assert all(part[1] in (frozenset(), [frozenset()]) for part in subject.decoded(distribution))
    assert distribution.topk(3)[1] == [(frozenset(), 0.0)]
    assert distribution.topk(0) == [[], []] and distribution.sample(0) == [[], []]
    assert distribution.sample(2)[1] == [frozenset(), frozenset()]
    nothing = subject.build(subject.random(0, n, m), [])
    assert not any(subject.decoded(nothing)) and nothing.sample(2) == []
    assert all(len(value) == 0 for value in subject.values(nothing, []))
    for value in values:
        check_gradients(value, tensors.values())


def test_any_mode_and_any_default_device(subject: Subject) -> None:
    """In all of them the answers are the same, and the caller's tensors are left alone."""
    tensors = subject.random(2, 4, 2)
    before = {name: tensor.clone() for name, tensor in tensors.items()}

    def answers() -> list[Any]:
        distribution = subject.build(tensors, [4, 2])
        drawn = distribution.sample(2, torch.Generator().manual_seed(0))
        return [subject.values(distribution, SHORT), *subject.decoded(distribution), drawn]

    values, *sets = answers()
    assert not any(value.requires_grad for value in values)
    for mode in (torch.inference_mode(), torch.device("meta"), torch.no_grad()):
        with mode:
            again, *others = answers()
        assert others == sets
        for value, other in zip(again, values, strict=True):
            torch.testing.assert_close(value.clone(), other)
    for name, tensor in tensors.items():
        assert torch.equal(tensor, before[name]) and not tensor.requires_grad


def test_every_value_has_a_graph_of_its_own(subject: Subject) -> None:
    """Whatever was asked before, and in whatever mode, a value can be differentiated and sees the scores as they
    are."""
    tensors = {name: tensor.requires_grad_() for name, tensor in subject.random(2, 4, 2).items()}
    expected = torch.autograd.grad(subject.build(tensors, [4, 3]).log_prob(SHORT).sum(), list(tensors.values()))
    with torch.inference_mode():
        distribution = subject.build(tensors, [4, 3])
        subject.values(distribution, SHORT)
        list(subject.decoded(distribution))
    for value in subject.values(distribution, SHORT)[:4]:
        value.sum().backward()
    found = torch.autograd.grad(distribution.log_prob(SHORT).sum(), list(tensors.values()))
    torch.testing.assert_close(found, expected)
    before = distribution.log_partition.detach()
    with torch.no_grad():
        for tensor in tensors.values():
            tensor += 1
    assert (distribution.log_partition > before).all()


def test_backward_may_be_called_again_and_gradients_are_ones_own(subject: Subject) -> None:
    """Whoever changes a gradient in place changes nothing else, and a retained graph gives the same gradient again."""
    tensors = subject.random(2, 4, 2)
    leaves = [tensor.requires_grad_() for tensor in tensors.values()]
    log_partition = subject.build(tensors, [4, 3]).log_partition
    weight = torch.tensor([2.0, -1.0], dtype=torch.float64)
    found = torch.autograd.grad(log_partition, leaves, weight, retain_graph=True)
    kept = [gradient.clone() for gradient in found]
    for gradient in found:
        gradient.zero_()
    assert all(map(torch.equal, torch.autograd.grad(log_partition, leaves, weight), kept))


def test_scores_need_not_be_contiguous(subject: Subject) -> None:
    tensors = subject.random(2, 4, 2)
    turned = {name: tensor.transpose(0, -1).contiguous().transpose(0, -1) for name, tensor in tensors.items()}
    values = subject.values(subject.build(tensors, [4, 3]), SHORT)
    for value, other in zip(subject.values(subject.build(turned, [4, 3]), SHORT), values, strict=True):
        torch.testing.assert_close(value, other)


def test_impossible_sentences(subject: Subject) -> None:
    """No set at all is possible in sentence 1: probabilities are 0, decoders say so, and nothing is NaN."""
    tensors = subject.random(2, 2, 1)
    for name, tensor in tensors.items():
        if name not in subject.shared:
            tensor[1] = -math.inf
        tensor.requires_grad_()
    distribution = subject.build(tensors, [2, 2])
    assert distribution.log_partition[1] == distribution.log_prob([set(), set()])[1] == -math.inf
    assert distribution.marginals.isfinite().all() and distribution.entropy.isfinite().all()
    assert not distribution.marginals[1].any()
    if subject.conditions:
        assert distribution.constraint_log_prob(require=[(), {(0, 1, 0)}])[1] == -math.inf
    assert distribution.topk(3)[1] == [] and len(distribution.topk(3)[0]) == 3
    for value in (distribution.log_partition, distribution.marginals, distribution.entropy):
        check_gradients(value[0], tensors.values())
        check_gradients(value, tensors.values())
    for decode in (distribution.argmax, distribution.sample):
        with pytest.raises(ValueError, match=r"sentence 1 has no possible mention set: .*-inf"):
            decode()


def test_nan_scores_are_named(subject: Subject) -> None:
    """Wherever the only one is, but for branches: the C kernel passes over those when it looks for the best set."""
    for name in subject.shapes(2, 3, 2).keys() - {*subject.shared, "branch"}:
        tensors, blocks = subject.random(2, 3, 2), subject.used(name, 3)
        tensors[name][1][blocks[-1] if name == "last" else blocks[0]] = math.nan  # no first part is the last of several
        distribution = subject.build(tensors, [3, 3])
        for decode in (distribution.argmax, distribution.sample, lambda given=distribution: given.topk(2)):
            with pytest.raises(ValueError, match=r"sentence 1 has no possible mention set.* NaN"):
                decode()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d: d.log_prob([set()]), "one mention set a sentence, 2 in all, got 1"),
        (lambda d: d.log_prob([set(), {(2, 4, 0)}]), "0 <= start < end <= 3, the length of sentence 1"),
        (lambda d: d.log_prob([{(0, 1, 2)}, set()]), "type index from 0 to 1"),
        (lambda d: d.topk(-1), "k >= 0"),
        (lambda d: d.sample(-1), "k >= 0"),
        (lambda d: d.restrict([2]), "expected types from 0 to 1"),
    ],
)
def test_mistakes_are_explained(subject: Subject, call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(subject.build(subject.random(2, 4, 2), [4, 3]))


def test_mentions_wider_than_c_are_impossible(subject: Subject) -> None:
    """Beside others of their sentence too; another sentence is as probable as before."""
    if subject.conditions:
        words = subject.build(subject.random(2, 4, 2), [4, 3])
        for sets in ([{(0, 4, 0)}, set()], [{(0, 4, 0), (0, 1, 1)}, set()]):
            assert words.log_prob(sets)[0] == -math.inf < words.log_prob(sets)[1]


def test_thresholds_are_probabilities(subject: Subject) -> None:
    words = subject.build(subject.random(1, 3, 2), [3])
    for threshold in (0.0, 1.5) if hasattr(words, "above") else ():
        with pytest.raises(ValueError, match="a threshold above 0 and at most 1"):
            words.above(threshold)


def test_wrong_tensors_are_explained(subject: Subject) -> None:
    tensors = subject.random(2, 4, 2)
    for lengths, message in (([4], "2 whole numbers as lengths"), ([4, 5], "from 0 to n = 4, got 5 for sentence 1")):
        with pytest.raises(ValueError, match=message):
            subject.build(tensors, lengths)
    with pytest.raises(ValueError, match="float32 or float64"):
        subject.build({name: tensor.half() for name, tensor in tensors.items()}, [4, 4])
    for name, tensor in tensors.items():
        with pytest.raises(ValueError, match=f"expected {name} of shape"):
            subject.build(tensors | {name: tensor[0]}, [4, 4])
        if len(tensors) > 1:
            with pytest.raises(
                ValueError, match=r"dtype and device, torch\.float.. on cpu, got \w+ in .* move it with"
            ):
                subject.build(tensors | {name: tensor.float()}, [4, 4])


def test_a_long_sentence(subject: Subject) -> None:
    """Far beyond enumeration: the k best are in order, each as log_prob says; samples are as probable as entropy
    expects."""
    distribution = subject.build(subject.random(1, 20, 3), [20])
    ranked = distribution.topk(40)[0]
    values = [value for _, value in ranked]
    assert len({mentions for mentions, _ in ranked}) == 40 and values == sorted(values, reverse=True)
    assert ranked[0][0] == distribution.argmax()[0]
    if subject.same_sets:
        for mentions, value in ranked[::13]:
            assert math.isclose(distribution.log_prob([mentions]).item(), value, abs_tol=1e-9)
        drawn = distribution.sample(60, torch.Generator().manual_seed(0))[0]
        mean = sum(-distribution.log_prob([mentions]).item() for mentions in drawn) / len(drawn)
        assert abs(mean - distribution.entropy.item()) < 0.1 * mean


TYPES = ["PER", "ORG"]
GRAPHS: dict[str, tuple[int, Callable[[int], Hypergraph]]] = {
    "segmental": (30, lambda n: segmental_hypergraph(n, TYPES, widest(n))),
    "linear chain": (60, lambda n: linear_chain_hypergraph(n, TYPES)),
    "semi-Markov": (60, lambda n: semi_markov_hypergraph(n, TYPES, widest(n))),
    "constituency": (12, lambda n: constituency_hypergraph(n, 2, n)),
    "mention separators": (30, lambda n: separators_hypergraph(n, 2)),
    "mention hypergraph": (30, lambda n: mention_network(n, 2)),
}


@pytest.mark.parametrize("subject", GRAPHS, indirect=True)
def test_equal_scores_count_the_hyperpaths_of_long_sentences(subject: Subject, request: pytest.FixtureRequest) -> None:
    n, made = GRAPHS[request.node.callspec.params["subject"]]
    graph = made(n)
    count = math.log(inside(graph, lambda _: 0.0, Counting())[graph.root])
    equal = {name: torch.zeros_like(tensor) for name, tensor in subject.random(1, n, 2).items()}
    distribution = subject.build(equal, [n])
    assert math.isclose(distribution.log_partition.item(), count, rel_tol=1e-12)
    assert math.isclose(distribution.entropy.item(), count, rel_tol=1e-12)
    assert distribution.argmax() == [frozenset()], "fewer mentions come first"
