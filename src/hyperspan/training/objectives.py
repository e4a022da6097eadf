"""What a step of training minimises: the loss of gold mentions, or with a teacher also the distance from its
distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from hyperspan.batch import Batch
from hyperspan.encoders.language_model import LanguageModelLoss
from hyperspan.models.base import Model
from hyperspan.structures.expected_rates import ExpectedRates
from hyperspan.structures.losses import Loss
from hyperspan.types import Sentence


@dataclass(frozen=True)
class MicroBatch:
    """Sentences that are computed together, and the same collated."""

    sentences: list[Sentence]
    batch: Batch
    teacher_batches: tuple[Batch, ...] = ()
    """The sentences as each teacher reads them."""
    labelled: Tensor | None = None
    """(B,): 1 for sentences whose mentions are known, 0 for the others; None where nobody asks or none is."""


class Objective(Protocol):
    """A loss for every sentence of a micro-batch."""

    def collate(self, sentences: list[Sentence], labelled: Sequence[bool]) -> MicroBatch:
        """The sentences as `loss` takes them; `labelled` says of which the mentions are known."""
        ...

    def loss(self, part: MicroBatch, lm_loss: LanguageModelLoss | None) -> Loss:
        """What training minimises, for each sentence; with `lm_loss`, that of a language model is added."""
        ...

    def unlabelled(self, epoch: int) -> Sequence[Sentence]:
        """The sentences without known mentions that an epoch reads beside the training sentences, as many in every
        epoch."""
        ...

    def fingerprint(self) -> str:
        """The same for the same teacher and unlabelled sentences; empty where there are none."""
        ...


class GoldObjective:
    """The loss of gold mentions alone."""

    def __init__(self, model: Model, rates: ExpectedRates | None = None):
        self.model, self.rates = model, rates

    def collate(self, sentences: list[Sentence], labelled: Sequence[bool]) -> MicroBatch:
        return MicroBatch(sentences, self.model.collate(sentences))

    def loss(self, part: MicroBatch, lm_loss: LanguageModelLoss | None) -> Loss:
        return self.model.loss(part.sentences, lm_loss, part.batch, self.rates)

    def unlabelled(self, epoch: int) -> Sequence[Sentence]:
        return ()

    def fingerprint(self) -> str:
        return ""
