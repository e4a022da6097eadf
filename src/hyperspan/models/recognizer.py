"""A recogniser of overlapping mentions: an encoder, a scorer, and a structure over the sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from hyperspan.batch import Batch
from hyperspan.config import Config
from hyperspan.encoders import fast
from hyperspan.encoders.handcrafted import AttributeEncoder, AttributeLayers
from hyperspan.encoders.layers import NeuralLayers
from hyperspan.encoders.spans import SpanLayout, SpanLSTM, span_layout
from hyperspan.encoders.words import WordEncoder
from hyperspan.models.base import Model
from hyperspan.models.scorers import SCORERS
from hyperspan.structures.distribution import Distribution
from hyperspan.structures.losses import Loss
from hyperspan.structures.scores import Mention
from hyperspan.types import Sentence
from hyperspan.vocabulary import Vocabulary


class Recognizer(Model):
    """Words → vectors or attributes of words and spans → scores → a distribution over sets of mentions."""

    def __init__(self, config: Config, vocabulary: Vocabulary):
        kind = SCORERS[config.model.kind]
        super().__init__(config, vocabulary, limited=kind.over_spans)
        if config.encoder.kind == "neural":
            self.words = WordEncoder(config, vocabulary)
            self.spans = SpanLSTM(self.words.dimension, config.encoder.span_hidden) if kind.over_spans else None
            layers = NeuralLayers(self.words.dimension, config.encoder.span_hidden, config)
        else:
            self.words = AttributeEncoder(config, vocabulary)
            self.spans = None
            layers = AttributeLayers(self.words)
        self.scorer = kind(layers, self.labels, config)
        self.holds, self.over_spans = kind.holds, kind.over_spans

    @property
    def at_once(self) -> int:
        """Sentences × words × widths of a batch, in use."""
        return fast.ENTRIES if fast.serves(self) else super().at_once

    def collate(self, sentences: Sequence[Sentence]) -> Batch:
        """The sentences as this model reads them, on its device."""
        batch = super().collate(sentences)
        if isinstance(self.words, AttributeEncoder):
            return self.words.collate(sentences, batch, self._layout(batch))
        return batch

    def _layout(self, batch: Batch) -> SpanLayout | None:
        """Where the spans of a batch stand; None where none are looked at."""
        if not self.scorer.over_spans or batch.longest == 0:
            return None
        width = min(self.max_width or batch.longest, batch.longest)
        return span_layout(tuple(batch.lengths), batch.longest, width, self.device)

    def forward(self, batch: Batch, temperature: float = 1.0) -> Any:
        """The scores of a batch, divided by a temperature, as the distribution of this model takes them."""
        if fast.usable(self, batch):
            return fast.edge_scores(self, batch, temperature)
        scores = self.score(self.encoded(batch)[-1], batch)
        if self.skip < math.inf:
            scores = scores.skipping(self.skip)
        return scores / temperature if temperature != 1.0 else scores

    def score(self, words: Tensor, batch: Batch) -> Any:
        """(N, dimension), what the encoder says of words -> scores."""
        layout = self._layout(batch)
        encoder = self.words.spans if isinstance(self.words, AttributeEncoder) else self.spans
        spans = None if layout is None or encoder is None else encoder(words, batch, layout)
        return self.scorer(words, spans, batch, layout)

    def distribution(self, sentences: Sequence[Sentence]) -> Distribution:
        """The distribution over the mention sets of each sentence; types are indices into `labels`."""
        batch, model = self.collate(sentences), self.config.model
        scores = self(batch, model.temperature)
        if model.mention_bias:
            scores = self.scorer.add_mention_bias(scores, model.mention_bias / model.temperature)
        return self.scorer.distribution(scores, batch.lengths)

    def loss_of(self, words: Tensor, gold: Sequence[set[Mention]], batch: Batch) -> Loss:
        return self.scorer.loss(self.score(words, batch), gold, batch.lengths)

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        return self.scorer.representable(mentions, longest)

    def tune(self, sentences: Sequence[Sentence]) -> None:
        from hyperspan.models.tuning import tune

        tune(self, sentences)
