"""The kernels in Triton give what PyTorch gives: on a GPU, or with TRITON_INTERPRET=1 in Triton's interpreter."""

from __future__ import annotations

import os
import random

import pytest
import torch
from torch import Tensor, nn

from hyperspan.config import Config
from hyperspan.kernels.chain_dense import DenseLogPartition
from hyperspan.kernels.chain_layout import ChainLayout
from hyperspan.kernels.lstm import SpanLayout, run_in_one_launch
from hyperspan.nn.batch import Batch, collate
from hyperspan.nn.layers import SpanLSTM
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence

pytest.importorskip("triton")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if DEVICE.type == "cpu" and not os.environ.get("TRITON_INTERPRET"):
    pytest.skip("there is no GPU, and TRITON_INTERPRET=1 is not set", allow_module_level=True)

from hyperspan.kernels.triton_chains import DeviceLayout, log_partition, posteriors  # noqa: E402
from hyperspan.kernels.triton_lstm import SpanStates  # noqa: E402
from hyperspan.kernels.triton_spans import DeviceSpans  # noqa: E402

CASES = [((3, 0, 5, 1), 4), ((2, 2), 2), ((1,), 1), ((7, 20, 3), 20), ((40, 3), 6)]


def batch_of(lengths: tuple[int, ...], device: torch.device = DEVICE) -> Batch:
    sentences = [Sentence([f"w{i}" for i in range(length)]) for length in lengths]
    return collate(sentences, Vocabulary.of(sentences, Config()), characters=False, device=device)


def assert_close(found: Tensor, expected: Tensor) -> None:
    """To about ten bits, as many as products keep."""
    assert (found - expected).norm() <= 2e-3 * expected.norm() + 1e-7


def gradients(states: Tensor, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    weights = torch.linspace(-1, 1, states.numel(), device=DEVICE).view_as(states)
    return torch.autograd.grad((states * weights).sum(), inputs)


@pytest.mark.parametrize(("lengths", "max_width"), CASES)
def test_rows_stand_where_they_should(lengths: tuple[int, ...], max_width: int) -> None:
    n = max(lengths)
    expected, found = ChainLayout(lengths, n, max_width, DEVICE), DeviceLayout(lengths, n, max_width, DEVICE)
    assert (found.counts, found.chains) == (expected.counts, expected.chains)
    assert (found.starts.tolist(), found.widths.tolist()) == (expected.starts.tolist(), expected.widths.tolist())
    for name in ("chain", "place", "going_on"):
        assert torch.equal(getattr(found, name), getattr(expected, name))
    for name in ("_chain_index", "_width_index", "_extend_index"):
        one, other = getattr(found, name), getattr(expected, name)
        assert one.shape == other.shape and torch.equal(one.kept, other.kept) and torch.equal(one.back, other.back)


@pytest.mark.parametrize(("lengths", "max_width"), CASES)
def test_rows_of_spans_are_those_of_the_host(lengths: tuple[int, ...], max_width: int) -> None:
    given = (lengths, max(lengths), max_width, DEVICE)
    expected, found = SpanLayout(*given), DeviceSpans(*given)
    assert found.counts == expected.counts
    for name in ("start", "end", "width", "read", "backward_row", "_previous"):
        assert torch.equal(getattr(found, name), getattr(expected, name))
    rows = torch.randn(len(expected.start), 2, device=DEVICE)
    assert torch.equal(found.to_padded(rows), expected.to_padded(rows))
    longer = rows[expected.longer]
    assert torch.equal(found.steps_to_padded(longer), expected.steps_to_padded(longer))


@pytest.mark.parametrize(("lengths", "max_width"), CASES)
@pytest.mark.parametrize("hidden", [5, 33])
def test_span_states_and_gradients(lengths: tuple[int, ...], max_width: int, hidden: int) -> None:
    torch.manual_seed(hidden)
    batch, n = batch_of(lengths), max(lengths)
    encoder = SpanLSTM(6, hidden).to(DEVICE)
    words = torch.randn(sum(lengths), 6, device=DEVICE, requires_grad=True)
    layout = DeviceSpans(lengths, n, max_width, DEVICE)
    gates = torch.baddbmm(encoder.bias, words.expand(2, -1, -1), encoder.inputs)
    found = SpanStates.apply(layout.over(batch.row_of), gates, encoder.recurrent, layout.rank, layout.room)
    alone = SpanLSTM(6, hidden)
    alone.load_state_dict(encoder.state_dict())
    on_cpu = words.detach().cpu().requires_grad_()
    here = torch.device("cpu")
    spans = SpanLayout(lengths, n, max_width, here)
    expected = alone(on_cpu, batch_of(lengths, here), spans).transpose(0, 1)
    assert_close(found.cpu(), expected)
    ours = gradients(found, (words, *encoder.parameters()))
    theirs = torch.autograd.grad(
        (expected * torch.linspace(-1, 1, expected.numel()).view_as(expected)).sum(), (on_cpu, *alone.parameters())
    )
    for one, other in zip(ours, theirs, strict=True):
        assert_close(one.cpu(), other)


@pytest.mark.parametrize("hidden", [5, 33])
def test_word_states_and_gradients(hidden: int) -> None:
    torch.manual_seed(hidden)
    lengths = tuple(sorted((random.Random(hidden).randint(1, 9) for _ in range(20)), reverse=True))
    layer = nn.LSTM(6, hidden, bidirectional=True).to(DEVICE)
    rows = torch.randn(sum(lengths), 6, device=DEVICE, requires_grad=True)
    counts = torch.tensor([sum(length > step for length in lengths) for step in range(lengths[0])])
    expected = layer(nn.utils.rnn.PackedSequence(rows, counts))[0].data
    found = run_in_one_launch(layer, rows, lengths)
    assert_close(found, expected)
    inputs = (rows, *layer.parameters())
    for one, other in zip(gradients(found, inputs), gradients(expected, inputs), strict=True):
        assert_close(one, other)


@pytest.mark.parametrize(("lengths", "max_width"), CASES)
def test_log_partitions_and_posteriors(lengths: tuple[int, ...], max_width: int) -> None:
    torch.manual_seed(0)
    shape, m = (len(lengths), max(lengths)), 3
    shapes = [(*shape, m), (*shape, m), (*shape, max_width - 1, m), (*shape, max_width, m)]
    scores = [torch.randn(each, dtype=torch.float64) for each in shapes]
    scores[3][0, 0, :1] = -torch.inf
    scores[3][-1, -1, 1:] = torch.nan  # padding
    known = torch.tensor(lengths)
    followed = [tensor.requires_grad_() for tensor in scores]
    expected = DenseLogPartition.apply(*followed, known)
    gradient = torch.randn_like(expected)
    theirs = torch.autograd.grad((expected * gradient).sum(), followed)
    absent, present, extend, close = (tensor.detach().to(DEVICE) for tensor in scores)
    found = log_partition(absent, present, extend, close, known.to(DEVICE))
    torch.testing.assert_close(found.cpu(), expected.detach())
    ours = posteriors(absent, present, extend, close, known.to(DEVICE), found, gradient.to(DEVICE))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one.cpu(), other)
