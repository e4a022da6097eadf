"""The interface of all models."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor, nn

from hyperspan.config import Config
from hyperspan.errors import InputError, LabelError
from hyperspan.kernels.choice import batch_entries
from hyperspan.kernels.encode import InferenceOptions, check_dtype
from hyperspan.kernels.transfer import to_device
from hyperspan.nn.batch import Batch
from hyperspan.nn.encoder import Encoder, WeightColumns
from hyperspan.runtime.decoding import InferenceModel
from hyperspan.runtime.kinds import KINDS
from hyperspan.runtime.model import skip_margin
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.distribution import Distribution
from hyperspan.structures.losses import Loss
from hyperspan.structures.mentions import Mention, MentionSet
from hyperspan.text.tokens import Tokenizer
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import ANY_LABEL, AnnotationScope, Sentence
from hyperspan.types import Mention as TextMention

DISCONTINUOUS_BIASES = [step / 4 for step in range(17)]
"""From 0 to 4."""
FoundAt = Callable[[Sequence[Sentence]], Callable[[float], list[MentionSet]]]
"""Sentences -> a function from a value to predictions; sentences are encoded once for all values."""


@dataclass(frozen=True)
class Abilities:
    """What a model, or the scorer of one, can do."""

    mentions: str = "overlapping in any way"
    """A description of the mentions that a sentence may have."""
    spans: bool = False
    """Whether it scores spans, so that `model.max_width` applies and long sentences need much memory."""
    gaps: bool = False
    """Whether it finds discontinuous mentions."""
    vectors: bool = False
    """Whether it needs an encoder whose words are vectors."""
    independent_types: bool = False
    """Whether it can learn from sentences annotated with only some of its types."""
    conditions: bool = False
    """Whether it can learn from any partial annotation, by summing over all sets that agree with it."""
    calibrates: bool = False
    """Whether each type can have its own temperature and bias."""
    distils: bool = False
    """Whether its distributions have a cross-entropy with those of a teacher of the same kind."""
    large_batches: bool = False
    """Whether scores and structure need memory linear in sentences × words × widths, so that GPU batches may be
    large."""


@dataclass(frozen=True)
class Setting:
    """A number of the configuration that training chooses on dev after the last epoch."""

    section: str
    key: str
    values: Sequence[float]
    """What is tried; the best F1 wins."""
    neutral: float
    """Of equally good values, the nearest to this one is chosen."""
    found_at: FoundAt
    of_discontinuous: bool = False
    """Whether the F1 of discontinuous mentions decides, among values that cost next to nothing in overall F1."""

    @classmethod
    def discontinuous_bias(cls, found_at: FoundAt) -> Setting:
        """The bias of discontinuous mentions, which are so rare that the most probable set leaves most of them out."""
        return cls("discontinuous", "bias", DISCONTINUOUS_BIASES, 0.0, found_at, of_discontinuous=True)


class Model(nn.Module, InferenceModel):
    """A model that can be trained, saved to a folder, and used to find mentions."""

    abilities: Abilities = Abilities()
    """What it can do, and with it all models of its kind."""
    encoder: Encoder

    def __init__(self, config: Config, vocabulary: Vocabulary):
        super().__init__()
        self.config, self.vocabulary = config, vocabulary
        self.tokenizer = Tokenizer(config.model.tokenizer)
        self.options = InferenceOptions()
        """Number type and skipping, which trade accuracy for speed in inference, in C."""

    @property
    def discontinuous(self) -> bool:
        return self.abilities.gaps

    @classmethod
    def settled(cls, config: Config, labels: Sequence[str], sentences: Sequence[Sentence]) -> Config:
        """Complete the configuration with values that this model derives from the training sentences, unless given."""
        return config

    @classmethod
    def check(cls, config: Config) -> None:
        """Raise an InputError if a configuration asks for something that this model cannot do."""

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    @property
    def parameter_count(self) -> int:
        """The number of trainable parameters."""
        return sum(parameter.numel() for parameter in self.parameters())

    def for_inference(self, dtype: str = "float32", skip: float | None = None) -> Self:
        """Prepare the model for inference and return it; for `dtype` and `skip` see :func:`hyperspan.load`."""
        check_dtype(dtype, self.device.type)
        margin = skip_margin(self.config, skip)
        if margin < math.inf and self.config.model.kind not in KINDS:
            raise InputError(
                f"skip is {skip} for a model of kind {self.config.model.kind!r}; only models of kind {', '.join(KINDS)} skip words"
            )
        self.options = InferenceOptions(dtype, margin)
        return self.eval()

    def inference(self) -> AbstractContextManager[Any]:
        """A context in which nothing is stored for gradients."""
        return torch.inference_mode()

    def save(self, folder: Path) -> None:
        """Write the model to a folder."""
        from hyperspan.nn.folders import save_model

        save_model(self, folder)

    @property
    def batch_entries(self) -> int:
        return batch_entries(self.device.type)

    @property
    def context(self) -> int:
        return self.encoder.context

    def collate(self, sentences: Sequence[Sentence]) -> Batch:
        """Collate the sentences into a batch on the model's device."""
        return self.encoder.collate(sentences, self.device)

    def indices(self, *arrays: np.ndarray) -> list[Tensor]:
        """Integer arrays as tensors on the model's device; to a GPU in a single copy."""
        return to_device(arrays, self.device)

    def gold(self, sentence: Sentence) -> set[Mention]:
        """The gold mentions of a sentence, as its distributions expect them; discontinuous ones only if the model finds
        them, or else as hulls."""
        hulls = self.config.model.discontinuous == "hull"
        return gold_of(sentence, self.vocabulary.labels, discontinuous=self.discontinuous, hulls=hulls)

    def marks(self, sentences: Sequence[Sentence]) -> PartialMarks | None:
        """The partial annotation of sentences, as its distributions expect it; None if all sentences are fully
        annotated."""
        return marks_of(sentences, self.vocabulary.labels, discontinuous=self.discontinuous)

    def score(self, words: Tensor, batch: Batch) -> Any:
        """(N, …), the encoded words -> what the loss is a function of: the words, or the scores of a scorer."""
        return words

    def loss_of(self, scores: Any, /, gold: Sequence[set[Mention]], batch: Batch) -> Loss:
        """What :meth:`score` returns, and the gold mentions of each sentence -> its loss."""
        raise NotImplementedError

    def loss_of_partial(self, scores: Any, /, gold: Sequence[set[Mention]], batch: Batch, marks: PartialMarks) -> Loss:
        """The loss of partially annotated sentences, for models that can learn from them."""
        raise NotImplementedError

    def distribution(self, sentences: Sequence[Sentence]) -> Distribution:
        """The distribution over the mention sets of each sentence; types are indices into `labels`."""
        raise NotImplementedError

    def weight_columns(self) -> list[WeightColumns]:
        """The weights of named features, and the roles of their columns; empty for a model that uses only vectors."""
        return []

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        """The subset of mentions that the model can represent, in a batch whose longest sentence has `longest`
        words."""
        return mentions

    def settings(self) -> list[Setting]:
        """The numbers of the configuration that training chooses on dev after the last epoch, in this order."""
        return []


# -- annotation in the form that structures take -----------------------------------------------------------------------


def gold_of(sentence: Sentence, labels: Sequence[str], *, discontinuous: bool = False, hulls: bool = False) -> set[Any]:
    """Return a sentence's mentions in the form that structures take: (start, end, label index[, parts]).

    Discontinuous mentions are left out, unless `discontinuous` keeps their parts or `hulls` replaces them by the span
    from their first to their last word.

    >>> gold_of(Sentence(["Ann", "Lee"], [TextMention(0, 2, "person")]), ["person"])
    {(0, 2, 0)}
    """
    index = _indices(labels)
    kept = (mention for mention in sentence.mentions if discontinuous or hulls or not mention.fragments)
    try:
        return {
            (
                mention.start,
                mention.end,
                index[mention.label],
                *((mention.fragments,) if mention.fragments and discontinuous else ()),
            )
            for mention in kept
        }
    except KeyError as error:
        raise LabelError(f"the label {error} is not among those trained: {', '.join(labels)}") from None


def marks_of(
    sentences: Sequence[Sentence], labels: Sequence[str], *, discontinuous: bool = False
) -> PartialMarks | None:
    """Return the partial annotation of sentences; None if all are fully annotated.

    Forbidden discontinuous mentions are left out without `discontinuous`: their whole span may be a mention.
    """
    if not any(sentence.is_partial for sentence in sentences):
        return None
    scopes = [sentence.annotated or AnnotationScope() for sentence in sentences]
    types = [[scope.types is None or label in scope.types for label in labels] for scope in scopes]
    forbidden = [list(_forbidden(sentence.forbidden, labels, discontinuous)) for sentence in sentences]
    regions = [scope.regions for scope in scopes]
    if all(map(all, types)) and not any(forbidden) and not any(some is not None for some in regions):
        return None
    return PartialMarks(np.array(types, dtype=bool), regions, forbidden)


def _forbidden(mentions: Iterable[TextMention], labels: Sequence[str], discontinuous: bool) -> Iterator[Any]:
    index = _indices(labels)
    for mention in mentions:
        if mention.fragments and not discontinuous:
            continue
        every = range(len(labels)) if mention.label == ANY_LABEL else [index.get(mention.label)]
        parts = (mention.fragments,) if mention.fragments else ()
        yield from ((mention.start, mention.end, kind, *parts) for kind in every if kind is not None)


def _indices(labels: Sequence[str]) -> dict[str, int]:
    return {label: index for index, label in enumerate(labels)}
