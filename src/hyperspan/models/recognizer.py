"""A recogniser of overlapping mentions: an encoder, a scorer, and a structure over the sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from torch import Tensor

from hyperspan.batch import Batch
from hyperspan.config import Config
from hyperspan.encoders.handcrafted import AttributeEncoder, AttributeLayers
from hyperspan.encoders.layers import NeuralLayers
from hyperspan.encoders.spans import SpanLSTM
from hyperspan.encoders.words import WordEncoder
from hyperspan.kernels.choice import batch_entries
from hyperspan.kernels.encoder import EncoderParts, WholeEncoder
from hyperspan.kernels.span_layout import SpanLayout
from hyperspan.kernels.span_lstm import span_layout
from hyperspan.models.base import Model
from hyperspan.models.scorers import SCORERS
from hyperspan.structures import EdgeScores
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
        self.whole = self._whole()
        """Encoder and scorer in one, for use; None where the model is another than this computes."""

    def _whole(self) -> WholeEncoder | None:
        model = self.config.model
        plain = model.kind == "segmental" and model.scorer_hidden == 0 and self.config.encoder.layers > 0
        if not plain or self.spans is None:
            return None
        return WholeEncoder(
            EncoderParts(
                *(self.words.layers, self.spans, self.scorer.start, self.scorer.parts),  # type: ignore[arg-type]: of a SegmentalScorer
                *(len(self.labels), model.tied, model.interactions),
            )
        )

    @property
    def batch_entries(self) -> int:
        """Sentences × words × widths of a batch, in use."""
        return batch_entries(self.device.type, whole=self.whole is not None)

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
        if self.whole is not None and not self.training:
            found = self.whole.scores(
                partial(self.words.vectors, batch), batch.lengths, self.max_width, self.options, temperature
            )
            if found is not None:
                return EdgeScores(*found)
        scores = self.score(self.encoded(batch)[-1], batch)
        if self.options.skip < math.inf:
            scores = scores.skipping(self.options.skip)
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
