"""A recogniser of overlapping mentions: an encoder, scores, and a structure over the sentence."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from hyperspan.batching import AT_ONCE, Batch, Vocabulary, collate
from hyperspan.config import Config
from hyperspan.encoders import fast
from hyperspan.encoders.spans import SpanLayout, SpanLSTM, span_layout
from hyperspan.encoders.words import NeighbourWords, WordEncoder
from hyperspan.structures import EdgeScores, SegmentalHypergraph, negative_log_likelihood
from hyperspan.structures.losses import Loss
from hyperspan.types import Sentence

WIDEST = 30
"""Spans of this many words and more share what is learnt about their width."""


class SpanScorer(nn.Module):
    """Scores of hyperedges from the vectors of words and spans.

    T → X and T → I are linear in h^w_i. What the I edges need of a span (to close here, to go on from here, to have come
    here) is linear in h^s, as in the paper, or goes through a hidden layer that also sees its first and last word and its
    width.
    """

    def __init__(self, words: int, spans: int, types: int, config: Config):
        super().__init__()
        self.types, self.tied, self.interactions = types, config.model.tied, config.model.interactions
        self.dropout = nn.Dropout(config.encoder.span_dropout)
        self.start = nn.Linear(words, 2 * types)
        parts = types * (1 + 2 * self.interactions + 2 * (not self.tied))
        hidden = config.model.scorer
        self.from_spans = nn.Parameter(torch.empty(2, spans, hidden or parts))
        nn.init.uniform_(self.from_spans, -((2 * spans) ** -0.5), (2 * spans) ** -0.5)
        self.ends = nn.Linear(words, 2 * hidden, bias=False) if hidden else None
        self.width = nn.Embedding(WIDEST, hidden) if hidden else None
        self.last = nn.Linear(hidden, parts, bias=False) if hidden else None
        self.bias = nn.Parameter(torch.zeros(parts))
        with torch.no_grad():  # begin with few mentions: a sentence has very many sets of many
            self.bias[:types] = -3.0

    def forward(self, words: Tensor, spans: Tensor, batch: Batch, layout: SpanLayout) -> EdgeScores:
        """(N, d1), (rows, 2, d2) -> the scores of the batch's hyperedges."""
        m, chains = self.types, layout.chains
        shape = (len(batch.lengths), batch.longest)
        absent, present = self.start(words).index_select(0, batch.row_of).view(*shape, 2 * m).split(m, dim=2)
        parts = iter(self.span_parts(words, spans, batch, layout).float().split(m, dim=1))
        close = chains.unpack_widths(next(parts))

        def step() -> Tensor:
            """The next two parts together: leaving one span, arriving at the next."""
            return chains.unpack_extensions(chains.shorter(next(parts)) + next(parts)[chains.longer])

        extend = step() if self.interactions else close.new_zeros(*shape, close.shape[2] - 1, m)
        return EdgeScores(absent.float(), present.float(), extend, close, None if self.tied else step())

    def span_parts(self, words: Tensor, spans: Tensor, batch: Batch, layout: SpanLayout) -> Tensor:
        """(rows, parts * m)"""
        forward, backward = torch.bmm(self.dropout(spans).transpose(0, 1), self.from_spans)
        together = forward + backward.index_select(0, layout.backward_row)
        if self.ends is None or self.width is None or self.last is None:
            return together + self.bias
        starts, ends = self.ends(words).chunk(2, dim=1)
        together = together + starts.index_select(0, batch.row_of.index_select(0, layout.start))
        together = together + ends.index_select(0, batch.row_of.index_select(0, layout.end))
        together = together + self.width(layout.width.clamp(max=WIDEST - 1))
        return self.last(self.dropout(torch.relu(together))) + self.bias


class Recognizer(nn.Module):
    """The neural segmental hypergraph: words → h^w → h^s → scores → a distribution over sets of mentions."""

    def __init__(self, config: Config, vocabulary: Vocabulary):
        super().__init__()
        self.config, self.vocabulary = config, vocabulary
        self.labels = tuple(vocabulary.labels)
        self.tokenizer = config.model.tokenizer
        self.max_width = None if config.model.max_width == "n" else config.model.max_width
        """c, or None for no limit."""
        self.precision = "float32"
        """Of products in use on the CPU; "bfloat16" is quicker where the processor has it, and a little less exact."""
        self.words = WordEncoder(config, vocabulary)
        self.spans = SpanLSTM(self.words.dimension, config.encoder.span_hidden)
        self.scorer = SpanScorer(self.words.dimension, config.encoder.span_hidden, len(self.labels), config)

    @property
    def device(self) -> torch.device:
        return self.spans.bias.device

    @property
    def at_once(self) -> int:
        """Sentences × words × widths of a batch, in use."""
        return fast.ENTRIES if fast.serves(self) else AT_ONCE

    def collate(self, sentences: Sequence[Sentence]) -> Batch:
        """The sentences as this model reads them, on its device."""
        return collate(sentences, self.vocabulary, letters=self.words.characters is not None, device=self.device)

    def forward(self, batch: Batch, temperature: float = 1.0) -> EdgeScores:
        """The scores of all hyperedges of a batch, divided by a temperature."""
        if batch.longest == 0:
            empty = self.spans.bias.new_zeros(len(batch.lengths), 0, len(self.labels))
            return EdgeScores(empty, empty, empty[:, :, None][:, :, :0], empty[:, :, None])
        if fast.usable(self, batch):
            return fast.edge_scores(self, batch, temperature)
        scores = self.score(self.words(batch)[-1], batch)
        return scores / temperature if temperature != 1.0 else scores

    def score(self, words: Tensor, batch: Batch) -> EdgeScores:
        """(N, dimension), h^w -> the scores of all hyperedges."""
        width = min(self.max_width or batch.longest, batch.longest)
        layout = span_layout(tuple(batch.lengths), batch.longest, width, self.device)
        return self.scorer(words, self.spans(words, batch, layout), batch, layout)

    def distribution(self, sentences: Sequence[Sentence]) -> SegmentalHypergraph:
        """The distribution over the mention sets of each sentence; types are indices into `labels`."""
        batch = self.collate(sentences)
        return SegmentalHypergraph(self(batch, self.config.model.temperature), batch.lengths)

    def loss(self, sentences: Sequence[Sentence], neighbours: NeighbourWords | None = None) -> Loss:
        """What training minimises, for each sentence; with `neighbours`, also for guessing the words around each word."""
        batch, training = self.collate(sentences), self.config.training
        gold = [self.vocabulary.gold(sentence) for sentence in sentences]
        layers = self.words(batch)
        scores = self.score(layers[-1], batch)
        loss = negative_log_likelihood(scores, gold, batch.lengths, training.beta if training.margin else None)
        if neighbours is None:
            return loss
        return loss._replace(values=loss.values + training.neighbours * neighbours(layers[0], batch))
