"""What all models have, whatever they are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor, nn

from hyperspan.batch import Batch, collate
from hyperspan.config import Config
from hyperspan.encoders.words import WordVectors
from hyperspan.errors import InputError
from hyperspan.kernels.choice import batch_entries
from hyperspan.kernels.encoder import InferenceOptions, check_precision
from hyperspan.structures.distribution import Distribution
from hyperspan.structures.losses import Loss
from hyperspan.structures.scores import Mention
from hyperspan.types import Sentence
from hyperspan.vocabulary import Vocabulary

if TYPE_CHECKING:
    from hyperspan.encoders.words import NeighbourWords


class Model(nn.Module):
    """A model that can be trained, kept in a folder, and asked for mentions."""

    holds: str = "overlapping in any way"
    """Which mentions a sentence may have."""
    over_spans: bool = True
    """Whether all spans of a sentence are looked at, so that long ones need much memory."""
    words: Any
    """The encoder of words: :class:`hyperspan.encoders.words.WordEncoder`, or what stands in its place."""

    def __init__(self, config: Config, vocabulary: Vocabulary, *, limited: bool = True):
        super().__init__()
        self.config, self.vocabulary = config, vocabulary
        self.labels = tuple(vocabulary.labels)
        self.tokenizer = config.model.tokenizer
        width = config.model.max_width
        if width != "n" and not limited:
            raise InputError(
                f'model.max_width is {width}, but model.kind {config.model.kind} looks at no spans that it could limit; set it to "n"'
            )
        self.max_width = None if width == "n" else width
        """c, or None for no limit."""
        self.options = InferenceOptions()
        """What is traded for speed in use."""

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def for_inference(self, precision: str = "float32", skip: float = math.inf) -> Self:
        """The model itself, ready for use; :func:`hyperspan.load` says what precision and skip are."""
        check_precision(precision, self.device.type)
        kind = self.config.model.kind
        if skip != math.inf and (math.isnan(skip) or kind != "segmental"):
            raise InputError(
                f"skip is {skip} for a model of kind {kind!r}; it must be a number, and the kind 'segmental'"
            )
        self.options = InferenceOptions(precision, skip)
        return self.eval()

    @property
    def batch_entries(self) -> int:
        """Sentences × words × widths of a batch, in use."""
        return batch_entries(self.device.type)

    @property
    def context(self) -> int:
        """How many words of the document it reads before and after a sentence, where the sentence has them."""
        return self.config.transformer.context if self.config.transformer.name else 0

    @property
    def joined(self) -> bool:
        """Whether documents of one sentence that follow each other are one text for it."""
        return self.config.data.joined

    @property
    def reads_letters(self) -> bool:
        return isinstance(self.words, WordVectors) and self.words.characters is not None

    def collate(self, sentences: Sequence[Sentence]) -> Batch:
        """The sentences as this model reads them, on its device."""
        transformer = self.words.transformer if isinstance(self.words, WordVectors) else None
        subwords = transformer.subwords if transformer is not None else None
        return collate(sentences, self.vocabulary, letters=self.reads_letters, device=self.device, subwords=subwords)

    def encoded(self, batch: Batch) -> list[Tensor]:
        """What each layer of the encoder says of words, (N, dimension); the last is for scores."""
        if batch.longest == 0 and isinstance(self.words, WordVectors):
            return [torch.zeros(0, self.words.dimension, device=self.device)]
        return self.words(batch)

    def loss(
        self, sentences: Sequence[Sentence], neighbours: NeighbourWords | None = None, batch: Batch | None = None
    ) -> Loss:
        """What training minimises, for each sentence; with `neighbours`, also for guessing the words around each word.

        `batch` are the sentences collated, if they are already.
        """
        batch = batch or self.collate(sentences)
        layers = self.encoded(batch)
        loss = self.loss_of(layers[-1], [self.vocabulary.gold(sentence) for sentence in sentences], batch)
        if neighbours is None:
            return loss
        return loss._replace(values=loss.values + self.config.training.lm_loss_weight * neighbours(layers[0], batch))

    def loss_of(self, words: Tensor, gold: Sequence[set[Mention]], batch: Batch) -> Loss:
        """(N, dimension), what the encoder says of words, and the gold mentions of each sentence -> its loss."""
        raise NotImplementedError

    def distribution(self, sentences: Sequence[Sentence]) -> Distribution:
        """What the model says of each sentence; types are indices into `labels`."""
        raise NotImplementedError

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        """Those mentions that the model can represent together, in a batch with sentences up to so many words."""
        return mentions

    def tune(self, sentences: Sequence[Sentence]) -> None:
        """Chooses on dev, once training is over, what training does not; and puts it into the configuration."""
