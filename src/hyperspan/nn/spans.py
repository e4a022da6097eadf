"""h^s, a vector for every span of at most c words (:mod:`hyperspan.kernels.span_lstm`), and the layer from it to
scores."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from hyperspan.kernels.span_layout import SpanLayout
from hyperspan.kernels.span_lstm import span_states
from hyperspan.nn.batch import Batch
from hyperspan.nn.encoder import Spans
from hyperspan.nn.outputs import OutputLayer, Outputs


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


class SpanLinear(OutputLayer):
    """Scores that are linear in h^s."""

    output_axes: ClassVar[dict[str, int]] = {"bias": 0, "from_spans": 2}

    def __init__(self, spans: int, outputs: Outputs):
        super().__init__()
        self.outputs = outputs
        self.from_spans = nn.Parameter(torch.empty(2, spans, outputs.count))
        nn.init.uniform_(self.from_spans, -((2 * spans) ** -0.5), (2 * spans) ** -0.5)
        self.bias = nn.Parameter(torch.zeros(outputs.count))

    def forward(self, words: Tensor, spans: Spans, batch: Batch) -> Tensor:
        """(rows, 2, d) -> (rows, outputs); what words and the batch are is for other encoders."""
        forward, backward = torch.bmm(spans.states.transpose(0, 1), self.from_spans)
        return forward + backward.index_select(0, spans.layout.backward_row) + self.bias
