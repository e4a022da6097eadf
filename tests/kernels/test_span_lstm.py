"""The span LSTM against torch's own LSTM, run over each span by itself."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from hyperspan import kernels
from hyperspan.config import Config
from hyperspan.kernels.lstm import SpanLayout, span_layout
from hyperspan.nn.batch import Batch, collate
from hyperspan.nn.layers import SpanLSTM
from hyperspan.runtime.layers import SpanLstm
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence

DIMENSION, HIDDEN = 3, 2


def batch_of(lengths: list[int]) -> Batch:
    sentences = [Sentence([f"w{i}" for i in range(length)]) for length in lengths]
    return collate(sentences, Vocabulary.of(sentences, Config()), characters=False)


def layout_of(batch: Batch, max_width: int) -> SpanLayout:
    return span_layout(tuple(batch.lengths), batch.longest, min(max_width, batch.longest), torch.device("cpu"))


def one_by_one(encoder: SpanLSTM, words: Tensor, batch: Batch, layout: SpanLayout) -> Tensor:
    """(rows, 2 * hidden), from an LSTM that reads every span from its first word to its last, and back."""
    lstm = nn.LSTM(DIMENSION, HIDDEN, bidirectional=True, dtype=words.dtype)
    state = {}
    for index, suffix in enumerate(("", "_reverse")):
        state[f"weight_ih_l0{suffix}"] = encoder.inputs[index].T
        state[f"weight_hh_l0{suffix}"] = encoder.recurrent[index].T
        state[f"bias_ih_l0{suffix}"] = encoder.bias[index, 0]
        state[f"bias_hh_l0{suffix}"] = torch.zeros_like(encoder.bias[index, 0])
    rows = []
    for start, end in zip(layout.start.tolist(), layout.end.tolist(), strict=True):
        span = words.index_select(0, batch.row_of[start : end + 1])
        _, (last, _) = torch.func.functional_call(lstm, state, (span,))
        rows.append(last.flatten())
    return torch.stack(rows)


@given(
    lengths=st.lists(st.integers(0, 6), min_size=1, max_size=4).filter(any),
    max_width=st.integers(1, 7),
    seed=st.integers(0, 99),
)
@settings(max_examples=25)
def test_states_and_gradients_are_those_of_an_lstm_over_each_span(
    lengths: list[int], max_width: int, seed: int
) -> None:
    torch.manual_seed(seed)
    batch = batch_of(lengths)
    layout = layout_of(batch, max_width)
    encoder = SpanLSTM(SpanLstm(DIMENSION, HIDDEN)).double()
    words = torch.randn(sum(lengths), DIMENSION, dtype=torch.float64, requires_grad=True)
    with kernels.reference():
        forward, backward = encoder(words, batch, layout).unbind(1)
    found = torch.cat([forward, backward.index_select(0, layout.backward_row)], dim=1)
    expected = one_by_one(encoder, words, batch, layout)
    torch.testing.assert_close(found, expected)

    weights = torch.randn_like(found)
    inputs = (words, *encoder.parameters())
    for ours, theirs in zip(
        torch.autograd.grad((found * weights).sum(), inputs),
        torch.autograd.grad((expected * weights).sum(), inputs),
        strict=True,
    ):
        torch.testing.assert_close(ours, theirs)


def test_rows_are_all_spans_up_to_the_widest_and_no_more() -> None:
    layout = layout_of(batch_of([3, 0, 2]), max_width=2)
    spans = {
        (start // 3, start % 3, end % 3) for start, end in zip(layout.start.tolist(), layout.end.tolist(), strict=True)
    }
    assert len(layout.start) == len(spans) == 5 + 3
    assert spans == {(0, 0, 0), (0, 1, 1), (0, 2, 2), (0, 0, 1), (0, 1, 2), (2, 0, 0), (2, 1, 1), (2, 0, 1)}
