"""The LSTMs in C, for training, against those of PyTorch."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from hyperspan import kernels
from hyperspan.kernels import libraries, lstm_c
from hyperspan.kernels.lstm import unfit, word_states
from hyperspan.nn.layers import SpanLSTM
from hyperspan.runtime.layers import SpanLstm
from tests.kernels.test_span_lstm import batch_of, layout_of

pytestmark = pytest.mark.skipif(
    not libraries.variants(), reason="the encoder is not compiled: install hyperspan where a C compiler is"
)
DIMENSION = 3
Run = Callable[[], Tensor]


@pytest.fixture(params=[1, 2, 5])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    kept = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(kept)


def in_pytorch(run: Run) -> Tensor:
    with kernels.reference():
        return run()


def spans(lengths: Sequence[int], max_width: int, hidden: int, seed: int = 0) -> tuple[Run, list[Tensor]]:
    """Runs an LSTM over spans; and its inputs."""
    torch.manual_seed(seed)
    batch = batch_of(list(lengths))
    layout = layout_of(batch, max_width)
    encoder = SpanLSTM(SpanLstm(DIMENSION, hidden))
    words = torch.randn(sum(lengths), DIMENSION, requires_grad=True)
    return lambda: encoder(words, batch, layout), [words, *encoder.parameters()]


def sentences(lengths: Sequence[int], hidden: int, seed: int = 0) -> tuple[Run, list[Tensor]]:
    """Runs an LSTM over words; and its inputs."""
    torch.manual_seed(seed)
    layer = nn.LSTM(DIMENSION, hidden, bidirectional=True)
    rows = torch.randn(sum(lengths), DIMENSION, requires_grad=True)
    return lambda: word_states(layer, rows, sorted(lengths, reverse=True)), [rows, *layer.parameters()]


def gradients(states: Tensor, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    weights = torch.linspace(-1, 1, states.numel()).view(states.shape)
    return torch.autograd.grad((states * weights).sum(), inputs, retain_graph=True)


def check(run: Run, inputs: Sequence[Tensor]) -> None:
    check_same(run(), in_pytorch(run), inputs)


def check_same(found: Tensor, expected: Tensor, inputs: Sequence[Tensor]) -> None:
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
    for ours, theirs in zip(gradients(found, inputs), gradients(expected, inputs), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-4 * max(1.0, float(theirs.abs().max())))


@given(
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=12).filter(any),
    max_width=st.integers(1, 13),
    hidden=st.sampled_from([1, 7, 16, 20, 64, 72]),
    seed=st.integers(0, 99),
)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_spans(variant: str, lengths: list[int], max_width: int, hidden: int, seed: int) -> None:
    check(*spans(lengths, max_width, hidden, seed))


@given(
    lengths=st.lists(st.integers(1, 12), min_size=1, max_size=20),
    hidden=st.sampled_from([1, 7, 16, 20, 64, 72]),
    seed=st.integers(0, 99),
)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_words(variant: str, lengths: list[int], hidden: int, seed: int) -> None:
    check(*sentences(lengths, hidden, seed))


@pytest.mark.parametrize("implementation", ["c", "reference"])
@given(lengths=st.lists(st.integers(1, 7), min_size=1, max_size=20), hidden=st.integers(1, 40), seed=st.integers(0, 99))
@settings(max_examples=8)
def test_words_are_read_sentence_by_sentence(implementation: str, lengths: list[int], hidden: int, seed: int) -> None:
    torch.manual_seed(seed)
    lengths.sort(reverse=True)
    layer = nn.LSTM(DIMENSION, hidden, bidirectional=True)
    given_rows = [torch.randn(length, DIMENSION, requires_grad=True) for length in lengths]

    def packed(rows: Sequence[Tensor]) -> Tensor:
        return torch.stack([own[step] for step in range(lengths[0]) for own in rows if step < len(own)])

    with kernels.only(implementation):
        found = word_states(layer, packed(given_rows), lengths)
    check_same(found, packed([layer(rows)[0] for rows in given_rows]), [*given_rows, *layer.parameters()])


def test_more_rows_than_are_multiplied_at_once(threads: int) -> None:
    check(*spans([70, 31, 30, 9, 0, 1], max_width=70, hidden=24))
    check(*sentences([5, 2, 2] * 60, hidden=24))


def test_results_are_the_same_bit_by_bit(threads: int) -> None:
    run, inputs = spans([40, 30, 20], max_width=9, hidden=20)
    one, other = run(), run()
    assert torch.equal(one, other)
    for first, second in zip(gradients(one, inputs), gradients(other, inputs), strict=True):
        assert torch.equal(first, second)


def test_memory_is_used_again_but_never_while_it_is_needed() -> None:
    run, inputs = spans([9, 8], max_width=9, hidden=16)
    first = run()
    expected = gradients(first, inputs)
    second = run()  # the first one may still go back, again
    for states in (first, second, first):
        for ours, theirs in zip(gradients(states, inputs), expected, strict=True):
            assert torch.equal(ours, theirs)
    del first, second, states
    gc.collect()
    pooled = [memory.data_ptr() for memory in lstm_c._Workspace.pool.values()]
    third = run()
    assert third.grad_fn is not None
    assert len(lstm_c._Workspace.pool) == len(pooled) - 1
    for ours, theirs in zip(gradients(third, inputs), expected, strict=True):
        assert torch.equal(ours, theirs)
    del run, inputs, third
    gc.collect()
    assert len(lstm_c._Workspace.pool) < len(pooled)


def test_gates_that_are_wide_open_or_shut_have_gradients() -> None:
    run, inputs = spans([5, 4], max_width=5, hidden=16)
    with torch.no_grad():
        for parameter in inputs:
            parameter.mul_(100.0)
    check(run, inputs)


def test_with_autocast_torch_does_the_work() -> None:
    rows = torch.zeros(3, 4)
    assert "c" not in unfit(rows, hidden=4)
    with torch.autocast("cpu", torch.bfloat16):
        assert "c" in unfit(rows, hidden=4)
