"""The kernels in Triton give what PyTorch gives: on a GPU, or with TRITON_INTERPRET=1 in Triton's interpreter."""

from __future__ import annotations

import os
import random

import pytest
import torch
from torch import Tensor, nn

from hyperspan.config import Config
from hyperspan.kernels.lstm import SpanLayout, run_in_one_launch
from hyperspan.nn.batch import Batch, collate
from hyperspan.nn.layers import SpanLSTM
from hyperspan.runtime.layers import SpanLstm
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence

pytest.importorskip("triton")
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if DEVICE.type == "cpu" and not os.environ.get("TRITON_INTERPRET"):
    pytest.skip("there is no GPU, and TRITON_INTERPRET=1 is not set", allow_module_level=True)

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
    encoder = SpanLSTM(SpanLstm(6, hidden)).to(DEVICE)
    words = torch.randn(sum(lengths), 6, device=DEVICE, requires_grad=True)
    layout = DeviceSpans(lengths, n, max_width, DEVICE)
    gates = torch.baddbmm(encoder.bias, words.expand(2, -1, -1), encoder.inputs)
    found = SpanStates.apply(layout.over(batch.row_of), gates, encoder.recurrent, layout.rank, layout.room)
    alone = SpanLSTM(SpanLstm(6, hidden))
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
