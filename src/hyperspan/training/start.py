"""How a new model begins: with random parameters, from a trained model, or with the words of its teacher.

*Warm start*: the encoder of a trained model is copied, with the user's words and characters added. Before the first
step it computes the same output, because new symbols start as copies of the unknown symbol. Labels with the same
name keep their weights; new ones start as a mean of the labels that the trained model finds at their mentions.

*Student*: a model with a teacher may copy its vocabulary, word vectors and character encoder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import torch
from attrs import evolve
from torch import Tensor

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.kernels.numbers import to_numpy
from hyperspan.nn import Model, Recognizer, load_model, new_model
from hyperspan.nn.folders import built, check_learnable
from hyperspan.nn.model import gold_of
from hyperspan.plugins import ENCODERS
from hyperspan.runtime.batches import batches_by_length
from hyperspan.runtime.folders import folder_of
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.training.loss import add_tensors, check_labels_known
from hyperspan.training.optimiser import NOTHING_LEARNT, LearntParameters
from hyperspan.types import AnnotationScope, Sentence

MOST_COMPARED = 2_000
"""The number of training sentences used to compare new labels with those of the trained model."""
SMALL_PROBABILITY = 0.01
"""The probability of mentions that the trained model does not find: if it finds none, a new label resembles all labels
equally."""


@dataclass(frozen=True)
class Beginning:
    """A model that training begins with, and all that comes with it."""

    model: Model
    train: Sequence[Sentence]
    """The training sentences, with what of them is annotated for this model."""
    teachers: Sequence[Recognizer] = ()
    learnt: LearntParameters = NOTHING_LEARNT
    """The parameters that come from a trained model."""
    notes: Sequence[str] = ()


def begin(
    config: Config, train: Sequence[Sentence], device: torch.device | str, *, labels: Iterable[str] = ()
) -> Beginning:
    """Make the model of a configuration for training sentences, and for labels that they may lack."""
    teachers = read_teachers(config, device)
    check_labels_known({mention.label for sentence in train for mention in sentence.mentions}, teachers)
    if teachers and config.distillation.copy_embeddings:
        student = new_student(config, teachers[0])
        return Beginning(student.to(device), with_annotated(train, student.labels), teachers)
    if not config.training.start:
        return Beginning(new_model(config, train, labels).to(device), train, teachers)
    start = read_start(config)
    model = new_warm_model(config, start.model, train, labels).to(device)
    return Beginning(model, train, teachers, learnt_parameters(model, start), [start.describe(model, train)])


# -- from a trained model ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WarmStart:
    """The trained model that a run starts from, and its name in the configuration."""

    name: str
    model: Recognizer

    def fingerprint(self) -> str:
        """A fingerprint of labels and parameters; the words show in the model built from it."""
        digest = hashlib.sha256(repr(self.model.labels).encode())
        add_tensors(digest, self.model.state_dict())
        return digest.hexdigest()

    def describe(self, model: Recognizer, sentences: Sequence[Sentence]) -> str:
        """Describe in one sentence what a model takes from this one."""
        own, old = set(model.labels), set(self.model.labels)
        kept = own & old if model.scorer.type_axes() else set[str]()
        labels = {"kept": kept, "new": own - kept, "left out, as the training data has none": old - own}
        listed = "; ".join(f"{what}: {', '.join(sorted(some))}" for what, some in labels.items() if some)
        words = (
            f" and vectors of {len(self.model.vocabulary.words):,} words" if self.model.config.words.dimension else ""
        )
        untagged = self.model.reads_tags and not any(sentence.tags for sentence in sentences)
        tags = "; it reads part-of-speech tags, which the training data has not" if untagged else ""
        return f"starts from {self.name}: encoders{words}; labels {listed}{tags}"


def read_start(config: Config) -> WarmStart:
    """Load the model named by training.start, whose configuration has been checked; its folder is untrusted."""
    name = config.training.start
    model = load_model(folder_of(name))
    assert isinstance(model, Recognizer), "no others can be a start"
    return WarmStart(name.rstrip("/").rpartition("/")[2], model)


def new_warm_model(
    config: Config, start: Recognizer, sentences: Sequence[Sentence], labels: Iterable[str] = ()
) -> Recognizer:
    """Create a model for the words and labels of training sentences, and for the given labels, initialised from another
    model where possible.

    The configuration must have the shape of the other (:func:`hyperspan.training.settings.following`).
    """
    config = config.settled()
    encoder = ENCODERS[config.encoder.kind]
    vocabulary, resources = encoder.prepare_from(start.vocabulary, config, sentences)
    vocabulary = replace(vocabulary, labels=sorted({*vocabulary.labels, *labels, *_named(start.labels, sentences)}))
    check_learnable(vocabulary, config)
    torch.manual_seed(config.training.seed)
    model = Recognizer(config, vocabulary)
    model.encoder.copy_from(start.vocabulary, start.encoder.state_dict(), resources)
    model.scorer.copy_from(start.scorer.state_dict(), resemblance(start, vocabulary, sentences))
    return model


def _named(labels: Iterable[str], sentences: Sequence[Sentence]) -> set[str]:
    """The labels that sentences declare as annotated, even without mentions: they are kept."""
    scopes = {sentence.annotated for sentence in sentences if sentence.annotated is not None}
    return {label for scope in scopes for label in scope.types or ()}.intersection(labels)


@torch.no_grad()
def resemblance(start: Recognizer, vocabulary: Vocabulary, sentences: Sequence[Sentence]) -> Tensor:
    """(labels, labels of the start): the similarity of each label of a vocabulary to each label of the start; rows sum
    to 1.

    A label with the same name matches only that one. Others match the labels that the start finds at their mentions in
    the sentences, or all labels equally if it finds none.
    """
    new = set(vocabulary.labels) - set(start.labels)
    some = sentences[:MOST_COMPARED] if new else ()
    kinds: list[int] = []
    probabilities = [torch.zeros(0, len(start.labels))]
    for places in batches_by_length([len(sentence) for sentence in some], start.max_width, start.batch_entries):
        marginals = to_numpy(start.distribution([some[place] for place in places]).marginals)  # (B, n, c, m)
        for row, place in enumerate(places):
            for begin, end, kind in gold_of(some[place], vocabulary.labels):
                if end - begin <= marginals.shape[2]:
                    kinds.append(kind)
                    probabilities.append(torch.from_numpy(marginals[row, begin, end - begin - 1])[None])
    types, counts = torch.tensor(kinds, dtype=torch.long), torch.zeros(len(vocabulary.labels))
    found = torch.zeros(len(counts), len(start.labels)).index_add_(0, types, torch.cat(probabilities))
    counts.index_add_(0, types, torch.ones(len(kinds)))
    weights = found / counts.clamp(min=1)[:, None] + SMALL_PROBABILITY
    for place, label in enumerate(vocabulary.labels):
        if label not in new:
            weights[place] = torch.tensor([float(label == other) for other in start.labels])
    return weights / weights.sum(1, keepdim=True)


def learnt_parameters(model: Recognizer, start: WarmStart) -> LearntParameters:
    """The parameters that a model takes from its start: the encoder, and the scorer's parameters shared by all labels.

    A tensor has one learning rate, so new words and characters learn like the known ones, and known labels like the new
    ones; if there are no new labels, known labels count as learnt.
    """
    parameters = set(model.encoder.parameters())
    axes, new = model.scorer.type_axes(), set(model.labels) - set(start.model.labels)
    if axes:
        parameters.update(part for name, part in model.scorer.named_parameters() if not new or name not in axes)
    return LearntParameters(frozenset(parameters), start.fingerprint())


# -- from a teacher ---------------------------------------------------------------------------------------------------

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


def with_annotated(train: Sequence[Sentence], labels: Iterable[str]) -> Sequence[Sentence]:
    """Mark the labels of a student that no training sentence has as unannotated.

    Only the teacher teaches these labels.
    """
    found = frozenset(mention.label for sentence in train for mention in sentence.mentions)
    if found.issuperset(labels):
        return train
    scope = AnnotationScope(found)
    return [evolve(sentence, annotated=scope) if sentence.annotated is None else sentence for sentence in train]
