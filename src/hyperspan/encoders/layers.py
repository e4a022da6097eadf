"""From the vectors of words and spans to scores: the last layer of a neural model."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hyperspan.batch import Batch
from hyperspan.config import Config
from hyperspan.kernels.span_layout import SpanLayout

WIDEST = 30
"""Spans of this many words and more share what is learnt about their width."""


class SpanLinear(nn.Module):
    """Linear in h^s, as in the paper, or through a hidden layer that also sees a span's first and last word and its width."""

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
