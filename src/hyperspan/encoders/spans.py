"""h^s, a vector for every span of at most c words (:mod:`hyperspan.kernels.span_lstm`), and the layer from it to
scores."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hyperspan.batch import Batch
from hyperspan.config import Config
from hyperspan.kernels.span_layout import SpanLayout
from hyperspan.kernels.span_lstm import span_states

WIDEST = 30
"""Spans of at least this many words share one width embedding."""


class SpanLSTM(nn.Module):
    """The two LSTMs over spans."""

    def __init__(self, dimension: int, hidden: int):
        super().__init__()
        self.hidden = hidden
        self.inputs = nn.Parameter(torch.empty(2, dimension, 4 * hidden))
        self.recurrent = nn.Parameter(torch.empty(2, hidden, 4 * hidden))
        self.bias = nn.Parameter(torch.zeros(2, 1, 4 * hidden))
        for weight in (self.inputs, self.recurrent):
            nn.init.uniform_(weight, -(hidden**-0.5), hidden**-0.5)
        with torch.no_grad():
            self.bias[:, :, hidden : 2 * hidden] = 1.0  # forget gates start open

    def forward(self, words: Tensor, batch: Batch, layout: SpanLayout) -> Tensor:
        """(N, dimension) -> (rows, 2, hidden): the states of the forward rows, and of the backward rows in backward
        order."""
        return span_states(self, (self.inputs, self.bias, self.recurrent), words, batch.row_of, layout)


class SpanLinear(nn.Module):
    """Linear in h^s, as in the paper, or through a hidden layer that also sees a span's first and last word and its
    width."""

    def __init__(self, words: int, spans: int, outputs: int, config: Config):
        super().__init__()
        hidden = config.model.scorer_hidden
        self.dropout = nn.Dropout(config.encoder.span_dropout)
        self.from_spans = nn.Parameter(torch.empty(2, spans, hidden or outputs))
        nn.init.uniform_(self.from_spans, -((2 * spans) ** -0.5), (2 * spans) ** -0.5)
        self.ends = nn.Linear(words, 2 * hidden, bias=False) if hidden else None
        self.width = nn.Embedding(WIDEST, hidden) if hidden else None
        self.last = nn.Linear(hidden, outputs, bias=False) if hidden else None
        self.bias = nn.Parameter(torch.zeros(outputs))

    @property
    def output_axes(self) -> dict[str, tuple[int, ...]]:
        """The axes of its parameters, by name, that go over outputs."""
        return {"bias": (0,)} | ({"from_spans": (2,)} if self.last is None else {"last.weight": (0,)})

    def forward(self, words: Tensor, spans: Tensor, batch: Batch, layout: SpanLayout) -> Tensor:
        """(N, d1), (rows, 2, d2) -> (rows, outputs)"""
        forward, backward = torch.bmm(self.dropout(spans).transpose(0, 1), self.from_spans)
        together = forward + backward.index_select(0, layout.backward_row)
        if self.ends is None or self.width is None or self.last is None:
            return together + self.bias
        starts, ends = self.ends(words).chunk(2, dim=1)
        together = together + starts.index_select(0, batch.row_of.index_select(0, layout.start))
        together = together + ends.index_select(0, batch.row_of.index_select(0, layout.end))
        together = together + self.width(layout.width.clamp(max=WIDEST - 1))
        return self.last(self.dropout(torch.relu(together))) + self.bias
