"""Training objectives: the loss of gold mentions or, with a teacher, also the cross-entropy with its distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from torch import Tensor

from hyperspan.nn.batch import Batch
from hyperspan.nn.language_model import LanguageModelLoss
from hyperspan.nn.model import Model
from hyperspan.structures.expected_rates import ExpectedRates
from hyperspan.structures.losses import Loss
from hyperspan.types import Sentence


@dataclass(frozen=True)
class MicroBatch:
    """Sentences that are computed together, and their collated batch."""

    sentences: list[Sentence]
    batch: Batch
    teacher_batches: tuple[Batch, ...] = ()
    """The sentences as each teacher reads them."""
    labelled: Tensor | None = None
    """(B,): 1 for labelled sentences, 0 for the others; None if unused or if there are no labelled sentences."""


class Objective(Protocol):
    """A loss for every sentence of a micro-batch."""

    def collate(self, sentences: list[Sentence], labelled: Sequence[bool]) -> MicroBatch:
        """Collate sentences for `loss`; `labelled` marks those with gold mentions."""
        ...

    def loss(self, part: MicroBatch, lm_loss: LanguageModelLoss | None) -> Loss:
        """The training loss of each sentence; `lm_loss` adds that of a language model."""
        ...

    def unlabelled(self, epoch: int) -> Sequence[Sentence]:
        """The unlabelled sentences that an epoch reads besides the training sentences, equally many in every epoch."""
        ...

    def fingerprint(self) -> str:
        """A fingerprint of the teacher and the unlabelled sentences; empty if there are none."""
        ...


class GoldObjective:
    """Only the loss of gold mentions."""

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
