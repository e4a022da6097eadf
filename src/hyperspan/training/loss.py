"""The training loss of a model: of annotated mentions, of teachers, of expected rates and of a language model.

*Annotation.* -log p of gold mentions or, where sentences are annotated in part, of what is known.

*Teachers* (distillation, Hinton et al. 2015). The exact cross-entropy of the student's distribution over mention sets
under the teacher's (:meth:`hyperspan.structures.Distribution.cross_entropy`), also on unlabelled text. For training
sentences it is mixed with the loss of their annotation. With several teachers, the target is their normalised geometric
mean, whose scores are the mean of theirs.

*Expected rates* (Effland & Collins 2021, *Partially supervised named entity recognition via the expected entity ratio
loss*). If sentences list some mentions and mark none as absent, the likelihood is highest when every mention is
certain. A penalty applies where the expected number of mentions leaves a range around a known rate. Here that number is
exact: the sum of the marginals.

*Language model* (Rei 2017). The cross-entropy of the next and the previous word, predicted from LSTM states, as an
auxiliary loss against overfitting.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.kernels.numbers import inside, placed
from hyperspan.kernels.transfer import to_device
from hyperspan.nn.batch import Batch
from hyperspan.nn.model import Model
from hyperspan.nn.recognizer import Recognizer
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.distribution import Distribution
from hyperspan.structures.losses import Loss
from hyperspan.structures.mentions import Mention
from hyperspan.text.vocabulary import UNKNOWN, Vocabulary
from hyperspan.types import Sentence


@dataclass(frozen=True)
class MicroBatch:
    """Sentences that are computed together, collated, and what is annotated in them."""

    batch: Batch
    gold: list[set[Mention]]
    """The gold mentions of each sentence, as the model's distributions expect them."""
    marks: PartialMarks | None
    """The partial annotation; None if all sentences are fully annotated."""
    teacher_batches: tuple[Batch, ...] = ()
    """The sentences as each teacher reads them."""
    labelled: Tensor | None = None
    """(B,): 1 for labelled sentences, 0 for the others; None if unused or if there are no labelled sentences."""


class TrainingLoss(nn.Module):
    """A loss for every sentence, with all parameters that it trains: those of the model and of the language model."""

    def __init__(self, model: Model, teachers: Sequence[Recognizer] = (), rates: ExpectedRates | None = None):
        super().__init__()
        self.model, self.rates, self.config = model, rates, model.config
        predicts = bool(self.config.training.lm_loss_weight)
        self.lm_loss = LanguageModelLoss(self.config, model.vocabulary).to(model.device) if predicts else None
        self.teachers = Teachers(model, teachers) if teachers else None

    def collate(self, sentences: Sequence[Sentence], labelled: Sequence[bool] | None = None) -> MicroBatch:
        """Collate sentences for :meth:`forward`; `labelled` marks those with gold mentions, by default all."""
        model, batch = self.model, self.model.collate(sentences)
        gold, marks = [model.gold(sentence) for sentence in sentences], model.marks(sentences)
        if self.teachers is None:
            return MicroBatch(batch, gold, marks)
        marked = np.ones(len(sentences), dtype=bool) if labelled is None else np.array(labelled)
        known = to_device([marked], model.device)[0] if marked.any() else None
        return MicroBatch(batch, gold, marks, self.teachers.collate(sentences, batch), known)

    def forward(self, part: MicroBatch) -> Loss:
        """The loss of each sentence, and how many of its gold mentions the model cannot represent."""
        layers = self.model.encoder(part.batch)
        scores = self.model.score(layers[-1], part.batch)
        values, unrepresentable = (
            self._of_annotation(scores, part) if self.teachers is None else self._taught(scores, part)
        )
        if self.rates is not None and part.marks is not None:
            values = values + self.rates.penalty(self._distribution(scores, part), part.marks)
        if self.lm_loss is not None:
            values = values + self.config.training.lm_loss_weight * self.lm_loss(layers[0], part.batch)
        return Loss(values, unrepresentable)

    def _of_annotation(self, scores: Any, part: MicroBatch) -> Loss:
        """The loss of gold mentions or, in sentences that are annotated in part, of what is known."""
        if part.marks is None:
            return self.model.loss_of(scores, part.gold, part.batch)
        return self.model.loss_of_partial(scores, part.gold, part.batch, part.marks)

    def _taught(self, scores: Any, part: MicroBatch) -> Loss:
        """The cross-entropy under the teachers, mixed for labelled sentences with the loss of their annotation."""
        assert self.teachers is not None
        own, taught = self._distribution(scores, part), self.teachers.distribution(part)
        if part.labelled is None or not self.config.distillation.gold_weight:
            return Loss(own.cross_entropy(taught), (0,) * len(part.gold))
        weights = self.config.distillation.gold_weight * part.labelled  # (B,): 0 for unlabelled sentences
        values, unrepresentable = self._of_annotation(scores, part)
        if part.marks is None:
            rest = (1 - weights) * own.cross_entropy(taught)
        else:  # only the teacher supervises what is not annotated
            by_chain = 1 - weights[:, None, None] * to_device([own.known_chains(part.marks)], self.model.device)[0]
            rest = own.cross_entropy(taught, by_chain)
        return Loss(weights * values + rest, unrepresentable)

    def _distribution(self, scores: Any, part: MicroBatch) -> Distribution:
        assert isinstance(self.model, Recognizer), "validate lets no others learn from teachers or partial annotation"
        return self.model.scorer.distribution(scores, part.batch.lengths)

    def fingerprint(self) -> str:
        """A fingerprint of the teachers; empty if there are none."""
        return "" if self.teachers is None else self.teachers.fingerprint()


# -- teachers ---------------------------------------------------------------------------------------------------------


class Teachers:
    """The trained models that a student learns from. Their parameters are not trained."""

    def __init__(self, student: Model, models: Sequence[Recognizer]):
        assert isinstance(student, Recognizer), "validate lets only such models have a teacher"
        self.models = models
        check_labels_known(student.labels, models)
        self.orders = [_order_of_labels(student, teacher) for teacher in models]
        readers = [student, *models]
        self.readers = [
            next(index for index, other in enumerate(readers) if index == place or _read_alike(model, other))
            for place, model in enumerate(readers)
        ]
        """For the student and each teacher, the first of them that collates sentences in the same way, whose batch it
        shares."""

    def collate(self, sentences: Sequence[Sentence], batch: Batch) -> tuple[Batch, ...]:
        """The sentences as each teacher reads them, given the student's batch."""
        batches = [batch]
        for place, (model, reader) in enumerate(zip(self.models, self.readers[1:], strict=True), start=1):
            batches.append(model.collate(sentences) if reader == place else batches[reader])
        return tuple(batches[1:])

    @torch.no_grad()
    def distribution(self, part: MicroBatch) -> Distribution:
        """The mean of the teachers' distributions, over the student's types."""
        found: list[Distribution] = []
        for teacher, batch, order in zip(self.models, part.teacher_batches, self.orders, strict=True):
            scores = teacher(batch).map(lambda one, like=batch.row_of: placed(one, like))
            whole = teacher.scorer.distribution(scores, batch.lengths)
            found.append(whole if order is None else whole.restrict(order))
        return found[0].geometric_mean(found[1:])

    def fingerprint(self) -> str:
        """A fingerprint of all parameters."""
        digest = hashlib.sha256()
        for teacher in self.models:
            add_tensors(digest, teacher.state_dict())
        return digest.hexdigest()


def add_tensors(digest: hashlib._Hash, tensors: Mapping[str, Tensor]) -> None:
    """Add the names and the bytes of tensors to a digest."""
    for name, tensor in tensors.items():
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())


def check_labels_known(labels: Iterable[str], teachers: Sequence[Recognizer]) -> None:
    """Raise an error unless all teachers have all labels of the training data or the student."""
    labels = set(labels)
    for number, teacher in enumerate(teachers):
        if unknown := sorted(labels - set(teacher.labels)):
            which = f"distillation.teacher[{number}]" if len(teachers) > 1 else "distillation.teacher"
            raise InputError(
                f"the training data or the first teacher has the labels {', '.join(unknown)}, which {which} has not "
                f"({', '.join(teacher.labels)}); rename those of the data, or name another teacher"
            )


def _read_alike(one: Recognizer, other: Recognizer) -> bool:
    """Whether two models collate sentences in the same way, regardless of labels."""

    def reading(model: Recognizer) -> tuple[object, ...]:
        given = model.config.transformer
        windows = (given.window, given.context, given.pooling) if given.name else ()
        kind = model.config.encoder.kind
        return kind == "neural", model.encoder.reads_characters, windows, replace(model.vocabulary, labels=[])

    return one.config.encoder.kind == "neural" and reading(one) == reading(other)


def _order_of_labels(student: Recognizer, teacher: Recognizer) -> list[int] | None:
    """The teacher's type index for each type of the student, None if the order is the same; types are independent."""
    if student.labels == teacher.labels:
        return None
    return [teacher.labels.index(label) for label in student.labels]


# -- expected rates ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExpectedRates:
    """The average number of mentions per word of a corpus, by type, and the weight of a model's deviation from it."""

    rates: np.ndarray
    """(m,): mentions per word; NaN where unknown."""
    weight: float
    """The cost of one mention too many or too few, in nats."""

    def penalty(self, distribution: Distribution, marks: PartialMarks) -> Tensor:
        """(B,): the penalty of a batch, divided evenly among its sentences.

        For each type, only sentences with something unknown count, with all their words. A batch of W words is expected
        to have r W mentions of a type with rate r, give or take a standard deviation (Poisson) of √(r W); the excess
        beyond that range is penalised.
        """
        marginals = distribution.marginals  # (B, n, c, m)
        known = marks.known(*marginals.shape[1:3])
        unknown = (~known & inside(distribution.lengths, known, known.shape[2])).any((1, 2))  # (B, m)
        counted = unknown & ~np.isnan(self.rates)
        wanted = np.nan_to_num(self.rates) * (counted * np.array(distribution.lengths)[:, None]).sum(0)  # (m,)
        expected = (marginals.sum((1, 2)) * torch.from_numpy(counted).to(marginals.device)).sum(0)  # (m,)
        target, chance = (marginals.new_tensor(values) for values in (wanted, np.sqrt(wanted)))
        total = ((expected - target).abs() - chance).clamp(min=0.0).sum()
        return (self.weight / len(distribution.lengths) * total).expand(len(distribution.lengths))


# -- the language model -----------------------------------------------------------------------------------------------


class LanguageModelLoss(nn.Module):
    """The cross-entropy of the next and the previous word, predicted from LSTM states."""

    MOST_WORDS = 7_500
    """The number of most frequent words to predict; all others count as one."""

    def __init__(self, config: Config, vocabulary: Vocabulary):
        super().__init__()
        self.words = min(vocabulary.trained, self.MOST_WORDS) + 1
        self.directions = nn.ModuleList(
            nn.Sequential(nn.Linear(config.encoder.hidden, 100), nn.Tanh(), nn.Linear(100, self.words))
            for _ in range(2)
        )

    def forward(self, states: Tensor, batch: Batch) -> Tensor:
        """(N, 2 * hidden), of the first layer, whose states have not seen the words to predict -> (B,): summed
        cross-entropy."""
        words = batch.words.masked_fill(batch.words >= self.words, UNKNOWN)
        later = len(words) - len(batch.before)
        forward, backward = states.chunk(2, dim=1)
        following, preceding = self.directions
        wrong = nn.functional.cross_entropy(following(forward[batch.before]), words[later:], reduction="none")
        wrong = wrong + nn.functional.cross_entropy(preceding(backward[later:]), words[batch.before], reduction="none")
        return wrong.new_zeros(len(batch.lengths)).index_add(0, batch.sentence[later:], wrong)
