"""h^s: a vector for every span of at most c words, from a bidirectional LSTM (:mod:`hyperspan.kernels.span_lstm`)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hyperspan.batch import Batch
from hyperspan.kernels.span_layout import SpanLayout
from hyperspan.kernels.span_lstm import span_states


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
            self.bias[:, :, hidden : 2 * hidden] = 1.0  # remember, at first

    def forward(self, words: Tensor, batch: Batch, layout: SpanLayout) -> Tensor:
        """(N, dimension) -> (rows, 2, hidden): the states of the forward rows, and of the backward rows in their own order."""
        return span_states(self, (self.inputs, self.bias, self.recurrent), words, batch.row_of, layout)
