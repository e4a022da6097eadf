"""The interface of all models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor, nn

from hyperspan.batch import Batch
from hyperspan.config import Config
from hyperspan.encoders.base import Encoder
from hyperspan.encoders.language_model import LanguageModelLoss
from hyperspan.errors import InputError
from hyperspan.kernels.choice import batch_entries
from hyperspan.kernels.encoder_arrays import InferenceOptions, check_precision
from hyperspan.models.scorers.base import WeightColumns
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.distribution import Distribution
from hyperspan.structures.expected_rates import ExpectedRates
from hyperspan.structures.losses import Loss
from hyperspan.structures.mentions import Mention
from hyperspan.text.tokenize import Tokenizer
from hyperspan.types import Sentence
from hyperspan.vocabulary import Vocabulary


class Model(nn.Module):
    """A model that can be trained, kept in a folder, and asked for mentions."""

    allowed_mentions: str = "overlapping in any way"
    """Which mentions a sentence may have."""
    over_spans: bool = True
    """Whether all spans of a sentence are looked at, so that long ones need much memory."""
    can_skip: bool = False
    """Whether words at which no mention is likely to begin can be passed over in inference."""
    needs_vectors: ClassVar[bool] = True
    """Whether its encoder must be dense."""
    encoder: Encoder

    def __init__(self, config: Config, vocabulary: Vocabulary):
        super().__init__()
        self.config, self.vocabulary = config, vocabulary
        self.labels = tuple(vocabulary.labels)
        self.tokenizer = Tokenizer(config.model.tokenizer, config.model.tokenizer_version)
        width = config.model.max_width
        self.max_width = None if width == "n" else width
        """c, or None for no limit."""
        self.options = InferenceOptions()
        """Precision and skipping, which trade exactness for speed in inference."""

    @classmethod
    def limits_width(cls, config: Config) -> bool:
        """Whether mentions can be limited to `model.max_width` words."""
        return False

    @classmethod
    def has_independent_types(cls, config: Config) -> bool:
        """Whether it can learn from sentences that are annotated with some of its types only."""
        return False

    @classmethod
    def can_condition(cls, config: Config) -> bool:
        """Whether it can learn from sentences that are annotated in part in any way, since it sums over all sets that
        agree."""
        return False

    @classmethod
    def can_learn_from_teachers(cls, config: Config) -> bool:
        """Whether its distributions have a cross-entropy under those of another model of its kind."""
        return False

    @classmethod
    def finds_discontinuous(cls, config: Config) -> bool:
        """Whether mentions may have several parts, with words between them."""
        return False

    @property
    def discontinuous(self) -> bool:
        """The same of this model."""
        return self.finds_discontinuous(self.config)

    @classmethod
    def can_calibrate(cls, config: Config) -> bool:
        """Whether each type can have a temperature and a bias of its own."""
        return False

    @classmethod
    def can_couple(cls, config: Config) -> bool:
        """Whether couplings can make its mentions depend on each other."""
        return False

    @classmethod
    def settled(cls, config: Config, labels: Sequence[str], sentences: Sequence[Sentence]) -> Config:
        """The configuration with what this model takes from the training sentences, as far as it is not given."""
        return config

    @classmethod
    def check(cls, config: Config) -> None:
        """Raises an InputError where a configuration asks for what this model cannot do."""

    @classmethod
    def dropouts(cls, config: Config) -> dict[str, float]:
        """The dropout of this model, by its key; that of its encoder apart."""
        return {}

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def parameter_count(self) -> int:
        """How many numbers it has learnt."""
        return sum(parameter.numel() for parameter in self.parameters())

    def for_inference(self, precision: str = "float32", skip: float | None = None) -> Self:
        """The model itself, ready for use; :func:`hyperspan.load` says what precision and skip are."""
        check_precision(precision, self.device.type)
        skip = math.inf if skip is None else skip
        kind = self.config.model.kind
        if skip != math.inf and (math.isnan(skip) or not self.can_skip):
            raise InputError(
                f"skip is {skip} for a model of kind {kind!r}; it must be a number, and the kind 'segmental' or 'discontinuous'"
            )
        # Scores are compared before the bias is added.
        self.options = InferenceOptions(precision, skip + self.config.model.mention_bias)
        return self.eval()

    def inference(self) -> AbstractContextManager[Any]:
        """Within it nothing is kept for gradients."""
        return torch.inference_mode()

    def save(self, folder: Path) -> None:
        """Writes the model to a folder."""
        from hyperspan.models.storage import save_model

        save_model(self, folder)

    @property
    def batch_entries(self) -> int:
        """Sentences × words × widths of a batch in inference."""
        return batch_entries(self.device.type)

    @property
    def context(self) -> int:
        """How many words of the document it reads before and after a sentence, where the sentence has them."""
        return self.encoder.context

    @property
    def reads_tags(self) -> bool:
        """Whether it was trained with part-of-speech tags, without which it finds less."""
        return self.encoder.reads_tags

    @property
    def joins_documents(self) -> bool:
        """Whether documents of one sentence that follow each other are one text for it."""
        return self.config.data.joined

    @property
    def reads_ids(self) -> bool:
        """Whether `distribution_of` takes batches that others have collated, as :mod:`hyperspan.collation` does."""
        return False

    def collate(self, sentences: Sequence[Sentence]) -> Batch:
        """The sentences as this model reads them, on its device."""
        return self.encoder.collate(sentences, self.device)

    def gold(self, sentence: Sentence) -> set[Mention]:
        """The mentions of a sentence as its distributions take them; those with gaps only where it finds such, or as
        hulls."""
        hulls = self.config.model.discontinuous == "hull"
        return self.vocabulary.gold(sentence, discontinuous=self.discontinuous, hulls=hulls)

    def marks(self, sentences: Sequence[Sentence]) -> PartialMarks | None:
        """What sentences say of partial annotation, as its distributions take it; None where all of all of them is
        annotated."""
        return self.vocabulary.marks(sentences, discontinuous=self.discontinuous)

    def loss(
        self,
        sentences: Sequence[Sentence],
        lm_loss: LanguageModelLoss | None = None,
        batch: Batch | None = None,
        rates: ExpectedRates | None = None,
    ) -> Loss:
        """What training minimises, for each sentence; with `lm_loss`, that of a language model is added.

        `batch` are the sentences collated, if they are already; `rates` how many mentions sentences that are annotated
        in part have.
        """
        batch = batch or self.collate(sentences)
        layers = self.encoder(batch)
        gold, marks = [self.gold(s) for s in sentences], self.marks(sentences)
        if marks is None:
            loss = self.loss_of(layers[-1], gold, batch)
        else:
            loss = self.loss_of_partial(layers[-1], gold, batch, marks, rates)
        if lm_loss is None:
            return loss
        return loss._replace(values=loss.values + self.config.training.lm_loss_weight * lm_loss(layers[0], batch))

    def loss_of(self, words: Tensor, gold: Sequence[set[Mention]], batch: Batch) -> Loss:
        """(N, …), the encoded words, and the gold mentions of each sentence -> its loss."""
        raise NotImplementedError

    def loss_of_partial(
        self,
        words: Tensor,
        gold: Sequence[set[Mention]],
        batch: Batch,
        marks: PartialMarks,
        rates: ExpectedRates | None = None,
    ) -> Loss:
        """The same of sentences that are annotated in part; of models that can learn from them."""
        raise NotImplementedError

    def distribution(self, sentences: Sequence[Sentence]) -> Distribution:
        """The distribution over the mention sets of each sentence; types are indices into `labels`."""
        raise NotImplementedError

    def quick_distribution(self, sentences: Sequence[Sentence]) -> Distribution:
        """The same: passing words over saves no time here."""
        return self.distribution(sentences)

    def distribution_of(self, batch: Batch) -> Distribution:
        """The same for a batch that is collated already."""
        raise NotImplementedError

    def weight_columns(self) -> list[WeightColumns]:
        """The weights of features that have names, and the roles of their columns; none where a model has only
        vectors."""
        return []

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        """Those mentions that the model can represent together, in a batch whose longest sentence has `longest`
        words."""
        return mentions

    def tune(self, sentences: Sequence[Sentence]) -> None:
        """Chooses on dev, once training is over, what training does not; and puts it into the configuration."""
