"""Distillation: a student learns from one or several teachers (Hinton et al. 2015), also on unlabelled text.

The loss of a sentence is the exact cross-entropy of the student's distribution over mention sets under the teacher's
(:meth:`hyperspan.structures.Distribution.cross_entropy`). For training sentences it is mixed with the loss of their
gold mentions. With several teachers, the target is their normalised geometric mean, whose scores are the mean of
theirs.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby, islice
from pathlib import Path

import numpy as np
import torch
from attrs import evolve

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.files import TEXT_ERRORS, TEXT_SUFFIXES, open_text
from hyperspan.kernels.transfer import to_device
from hyperspan.nn import Recognizer, load_model
from hyperspan.nn.batch import Batch
from hyperspan.nn.folders import built, check_learnable
from hyperspan.nn.language_model import LanguageModelLoss
from hyperspan.runtime.folders import folder_of
from hyperspan.structures.distribution import Distribution
from hyperspan.structures.losses import Loss
from hyperspan.text.sentences import iter_sentences, with_context
from hyperspan.text.tokens import Tokenizer
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.training.objectives import MicroBatch
from hyperspan.types import AnnotationScope, Sentence

LONGEST = 150
"""The maximum length of unlabelled sentences in words; longer ones are mostly tables and lists."""
COPIED = ("encoder.words.", "encoder.tags.", "encoder.characters.")
"""The parameters that a student may copy from its teacher: all context-free word representations."""


def read_teachers(config: Config, device: torch.device | str) -> list[Recognizer]:
    """Load the teachers of a configuration."""
    return [_read_teacher(name, config, device) for name in config.distillation.teachers]


def _read_teacher(name: str, config: Config, device: torch.device | str) -> Recognizer:
    teacher = load_model(folder_of(name), device)
    if not isinstance(teacher, Recognizer) or teacher.config.model.kind != config.model.kind:
        raise InputError(
            f"distillation.teacher is {name}, a model of kind {teacher.config.model.kind}, but a student of kind {config.model.kind} "
            f"learns from a teacher of its own kind; name a model of kind {config.model.kind}"
        )
    return teacher.requires_grad_(False)


def context_of(config: Config) -> int:
    """The largest document context, in words, that a model or one of its teachers reads."""
    teachers = (Config.of_model(folder_of(name)) for name in config.distillation.teachers)
    return max(given.transformer.context if given.transformer.name else 0 for given in (config, *teachers))


def new_student(config: Config, teacher: Recognizer) -> Recognizer:
    """An untrained model with its teacher's vocabulary and word vectors, and its character encoder if it has the same
    one."""
    config = config.settled()
    torch.manual_seed(config.training.seed)
    vocabulary = _vocabulary_of_student(config, teacher.vocabulary)
    check_learnable(vocabulary, config)
    student = built(config, vocabulary)
    assert isinstance(student, Recognizer), "validate lets only such models have a teacher"
    if config.words.dimension != teacher.config.words.dimension:
        raise InputError(
            f"words.dimension is {config.words.dimension}, but the vectors of distillation.teacher have "
            f"{teacher.config.words.dimension}; set it to that, or set distillation.copy_embeddings = false"
        )
    state, taught = student.state_dict(), teacher.state_dict()
    for name, tensor in state.items():
        if name.startswith(COPIED) and name in taught and taught[name].shape == tensor.shape:
            tensor.copy_(taught[name])
    return student


def _vocabulary_of_student(config: Config, taught: Vocabulary) -> Vocabulary:
    """The teacher's vocabulary, without the tags and the pretrained encoder that the student does not use."""
    tags = taught.tags if config.words.tag_dimension else []
    if tags == taught.tags and not taught.transformer:
        return taught
    return replace(taught, tags=tags, transformer={})


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


def with_annotated(train: Sequence[Sentence], labels: Iterable[str]) -> Sequence[Sentence]:
    """Mark the labels of a student that no training sentence has as unannotated.

    Only the teacher teaches these labels.
    """
    found = frozenset(mention.label for sentence in train for mention in sentence.mentions)
    if found.issuperset(labels):
        return train
    scope = AnnotationScope(found)
    return [evolve(sentence, annotated=scope) if sentence.annotated is None else sentence for sentence in train]


class Distillation:
    """The objective of a student."""

    def __init__(
        self,
        student: Recognizer,
        teachers: Sequence[Recognizer],
        sentences: Sequence[Sentence],
        digest_of_text: str = "",
    ):
        self.student, self.teachers, self.sentences = student, teachers, sentences
        self.digest_of_text = digest_of_text
        """A digest of all text, not of the sentences: more epochs read more of them."""
        self.config = student.config.distillation
        check_labels_known(student.labels, teachers)
        self.orders = [_order_of_labels(student, teacher) for teacher in teachers]
        self.portion = self.config.sentences or len(sentences)
        models = [student, *teachers]
        self.readers = [
            next(index for index, other in enumerate(models) if index == place or _read_alike(model, other))
            for place, model in enumerate(models)
        ]
        """For the student and each teacher, the first of them that collates sentences in the same way, whose batch it
        shares."""

    def unlabelled(self, epoch: int) -> Sequence[Sentence]:
        """Every epoch reads the next sentences of the text, and starts over at its end."""
        count = len(self.sentences)
        return [self.sentences[(epoch * self.portion + place) % count] for place in range(self.portion if count else 0)]

    def fingerprint(self) -> str:
        digest = hashlib.sha256(self.digest_of_text.encode())
        for teacher in self.teachers:
            for name, tensor in teacher.state_dict().items():
                digest.update(name.encode())
                digest.update(tensor.cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def collate(self, sentences: list[Sentence], labelled: Sequence[bool]) -> MicroBatch:
        batches: list[Batch] = []
        for place, (model, reader) in enumerate(zip([self.student, *self.teachers], self.readers, strict=True)):
            batches.append(model.collate(sentences) if reader == place else batches[reader])
        known = to_device([np.array(labelled)], self.student.device)[0] if any(labelled) else None
        return MicroBatch(sentences, batches[0], tuple(batches[1:]), known)

    def loss(self, part: MicroBatch, lm_loss: LanguageModelLoss | None) -> Loss:
        """The cross-entropy, and for labelled sentences the loss of gold mentions with its weight."""
        student, batch = self.student, part.batch
        layers = student.encoder(batch)
        scores = student.score(layers[-1], batch)
        own, taught = student.scorer.distribution(scores, batch.lengths), self._teacher(part)
        unrepresentable: tuple[int, ...] = (0,) * len(part.sentences)
        if part.labelled is None or not self.config.gold_weight:
            values = own.cross_entropy(taught)
        else:
            weights = self.config.gold_weight * part.labelled  # (B,): 0 for unlabelled sentences
            known = [student.gold(sentence) for sentence in part.sentences]
            marks = student.marks(part.sentences)
            gold, unrepresentable = student.scorer.loss(scores, known, batch.lengths, marks)
            if marks is None:
                rest = (1 - weights) * own.cross_entropy(taught)
            else:  # only the teacher supervises what is not annotated
                by_chain = 1 - weights[:, None, None] * to_device([own.known_chains(marks)], student.device)[0]
                rest = own.cross_entropy(taught, by_chain)
            values = weights * gold + rest
        if lm_loss is not None:
            values = values + student.config.training.lm_loss_weight * lm_loss(layers[0], batch)
        return Loss(values, unrepresentable)

    @torch.no_grad()
    def _teacher(self, part: MicroBatch) -> Distribution:
        """The mean of the teachers' distributions."""
        found: list[Distribution] = []
        for teacher, batch, order in zip(self.teachers, part.teacher_batches, self.orders, strict=True):
            whole = teacher.scorer.distribution(teacher(batch), batch.lengths)
            found.append(whole if order is None else whole.restrict(order))
        return found[0].geometric_mean(found[1:])


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


def read_unlabelled(config: Config, read: Callable[[str], Iterable[Sentence]], context: int = 0) -> list[Sentence]:
    """Read as many unlabelled sentences as all epochs need, without empty or overlong ones.

    `read` returns the sentences of a corpus; those of plain text get `context` words of document context.
    """
    path, needed = Path(config.distillation.text), config.distillation.sentences * config.training.epochs or None
    tokenizer = Tokenizer(config.model.tokenizer)
    sentences = chain.from_iterable(_sentences_of(file, tokenizer, read, context) for file in _parts(path))
    found = list(islice((sentence for sentence in sentences if 0 < len(sentence) <= LONGEST), needed))
    if not found:
        raise InputError(f"{path} holds no sentences; name a file of text in distillation.text")
    return found


def digest_of_text(config: Config) -> str:
    """A digest of the files' bytes, independent of their names."""
    digest = hashlib.sha256()
    for part in _parts(Path(config.distillation.text)):
        for path in sorted(part.rglob("*")) if part.is_dir() else [part]:
            if path.is_file():
                with path.open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _parts(path: Path) -> list[Path]:
    """The text files of a folder; a file, or a folder without text files (perhaps a corpus), is one part."""
    files = sorted(file for file in path.iterdir() if file.name.endswith(TEXT_SUFFIXES)) if path.is_dir() else []
    return files or [path]


def _sentences_of(
    file: Path, tokenizer: Tokenizer, read: Callable[[str], Iterable[Sentence]], context: int
) -> Iterator[Sentence]:
    if not file.name.endswith(TEXT_SUFFIXES):
        for one in read(str(file)):
            yield Sentence(one.tokens, tags=one.tags, before=one.before, after=one.after)
        return
    try:
        with open_text(file) as lines:
            for written, document in groupby(lines, lambda line: not line.isspace()):
                if written:
                    yield from with_context(_sentences_in(document, tokenizer), context)
    except TEXT_ERRORS as error:
        raise InputError(
            f"{file} cannot be read as text in UTF-8 ({error}); name another file in distillation.text"
        ) from None


def _sentences_in(lines: Iterable[str], tokenizer: Tokenizer) -> Iterator[Sentence]:
    """The sentences of a document's lines."""
    for line in lines:
        yield from (Sentence(map(sys.intern, sentence.tokens)) for sentence in iter_sentences(line, tokenizer))
