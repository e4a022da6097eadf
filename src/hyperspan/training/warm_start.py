"""Warm starts: a new model that takes over what a trained one has learnt, for other words and other labels.

Its encoder is the trained one's, with the user's words and characters added. Before the first step it computes the
same, because what the trained model does not know begins as what it reads as unknown. Labels of the same name keep
their weights, and new ones begin as a mean of the labels that the trained model finds at their mentions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from hyperspan.batching import batches_by_length
from hyperspan.config import Config
from hyperspan.encoders.registry import ENCODERS
from hyperspan.errors import InputError
from hyperspan.model_folders import folder_of
from hyperspan.models import Recognizer, load_model
from hyperspan.models.storage import check_learnable
from hyperspan.models.validation import check_start
from hyperspan.training.optimisation import LearntParameters
from hyperspan.types import Sentence
from hyperspan.vocabulary import Vocabulary

SAME = {
    "model": ("kind", "tied", "scorer_hidden"),
    "words": ("dimension", "lowercase", "tag_dimension", "cluster_dimension"),
    "characters": ("encoder", "dimension", "hidden"),
    "transformer": ("name", "pooling", "layers"),
    "encoder": ("kind", "layers", "hidden", "span_hidden"),
    "segmental": ("interactions",),
}
"""Keys that are those of the trained model, by section: without them its parameters would not fit."""
FOLLOWED = {"model": ("tokenizer",), "transformer": ("window", "stride", "context")}
"""Keys that are those of the trained model unless the user has set them. Its version of the tokenizer is not: a newer
one cuts other scripts better, and what the model has learnt to read in the same way."""
MOST_COMPARED = 2_000
"""Training sentences that say which of the trained model's labels new ones are like."""
SMALL_PROBABILITY = 0.01
"""Of mentions that the trained model does not find: where it finds none, new labels are like all of its labels."""
DEFAULTS = Config()


@dataclass(frozen=True)
class WarmStart:
    """The trained model that a run starts from, and what the configuration calls it."""

    name: str
    model: Recognizer

    @property
    def config(self) -> Config:
        """That of the model, as far as others can follow it: it has tag embeddings only if it has seen tags."""
        config = self.model.config
        return config if self.model.reads_tags else replace(config, words=replace(config.words, tag_dimension=0))

    def fingerprint(self) -> str:
        """The same for the same labels and parameters; the words show in the model that is built from it."""
        digest = hashlib.sha256(repr(self.model.labels).encode())
        for name, tensor in self.model.state_dict().items():
            digest.update(name.encode())
            digest.update(tensor.cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    def describe(self, model: Recognizer, sentences: Sequence[Sentence]) -> str:
        """What a model has from this one, in one sentence."""
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
    """The model that training.start names; its folder may come from anywhere."""
    name = config.training.start
    model = load_model(folder_of(name))
    try:
        check_start(model.config)
    except InputError as error:
        raise InputError(f"training.start is {name}, which no model can start from: {error}") from None
    assert isinstance(model, Recognizer), "check_start lets no others through"
    return WarmStart(name.rstrip("/").rpartition("/")[2], model)


def inherited(config: Config, start: Config, *, text_is_read: bool = False) -> Config:
    """A configuration with all that a model must have in common with the one it starts from, given that of the latter.

    With `text_is_read` the tokenizer stays the one that has cut the training text.
    """
    if config.words.clusters:
        raise InputError(
            f"words.clusters is {config.words.clusters}, but a model that starts from {config.training.start} has its clusters; "
            "leave words.clusters out"
        )
    changes: dict[str, dict[str, Any]] = {"model": {}}
    for keys, must in ((SAME, True), (FOLLOWED, False)):
        for section, names in keys.items():
            for key in names:
                given, theirs = (getattr(getattr(one, section), key) for one in (config, start))
                if not _is_set(section, key, given):
                    changes.setdefault(section, {})[key] = theirs
                elif must and given != theirs:
                    raise InputError(
                        f"{section}.{key} is {given}, but {config.training.start}, which training.start names, has {theirs}; "
                        f"leave {section}.{key} out, or start from another model"
                    )
    if text_is_read:
        changes["model"].pop("tokenizer", None)
    return replace(config, **{name: replace(getattr(config, name), **values) for name, values in changes.items()})


def _is_set(section: str, key: str, value: Any) -> bool:
    """Whether the user has chosen a value."""
    return value not in ("auto", getattr(getattr(DEFAULTS, section), key))


def new_warm_model(config: Config, start: Recognizer, sentences: Sequence[Sentence]) -> Recognizer:
    """A model for the words and labels of training sentences that has all that another model has learnt and it can use.

    The configuration is one that :func:`inherited` returns.
    """
    config = config.settled()
    encoder = ENCODERS[config.encoder.kind]
    vocabulary, resources = encoder.prepare_from(start.vocabulary, config, sentences)
    vocabulary = replace(vocabulary, labels=sorted({*vocabulary.labels, *_named(start.labels, sentences)}))
    check_learnable(vocabulary, config)
    torch.manual_seed(config.training.seed)
    model = Recognizer(config, vocabulary)
    model.encoder.copy_from(start.vocabulary, start.encoder.state_dict(), resources)
    model.scorer.copy_from(start.scorer.state_dict(), resemblance(start, vocabulary, sentences))
    return model


def _named(labels: Iterable[str], sentences: Sequence[Sentence]) -> set[str]:
    """Those labels that a sentence says it is annotated with, also where it has no such mention: they are not
    forgotten."""
    scopes = {sentence.annotated for sentence in sentences if sentence.annotated is not None}
    return {label for scope in scopes for label in scope.types or ()}.intersection(labels)


@torch.no_grad()
def resemblance(start: Recognizer, vocabulary: Vocabulary, sentences: Sequence[Sentence]) -> Tensor:
    """(labels, labels of the start): how much each label of a vocabulary is like each of the start's; rows sum to 1.

    A label of the same name is like that alone. Others are like those that the start finds at their mentions in the
    sentences, or like all if it finds none.
    """
    new = set(vocabulary.labels) - set(start.labels)
    some = sentences[:MOST_COMPARED] if new else ()
    kinds: list[int] = []
    probabilities = [torch.zeros(0, len(start.labels))]
    for places in batches_by_length([len(sentence) for sentence in some], start.max_width, start.batch_entries):
        marginals = start.distribution([some[place] for place in places]).marginals  # (B, n, c, m)
        for row, place in enumerate(places):
            for begin, end, kind in vocabulary.gold(some[place]):
                if end - begin <= marginals.shape[2]:
                    kinds.append(kind)
                    probabilities.append(marginals[row, begin, end - begin - 1][None])
    types, counts = torch.tensor(kinds, dtype=torch.long), torch.zeros(len(vocabulary.labels))
    found = torch.zeros(len(counts), len(start.labels)).index_add_(0, types, torch.cat(probabilities))
    counts.index_add_(0, types, torch.ones(len(kinds)))
    weights = found / counts.clamp(min=1)[:, None] + SMALL_PROBABILITY
    for place, label in enumerate(vocabulary.labels):
        if label not in new:
            weights[place] = torch.tensor([float(label == other) for other in start.labels])
    return weights / weights.sum(1, keepdim=True)


def learnt_parameters(model: Recognizer, start: WarmStart) -> LearntParameters:
    """Those that a model has from its start: the encoder, and of the scorer what is the same for all labels.

    A tensor has one learning rate, so new words and characters learn as the known ones do, and known labels as the new
    ones; if there are none, known labels count as learnt.
    """
    parameters = set(model.encoder.parameters())
    axes, new = model.scorer.type_axes(), set(model.labels) - set(start.model.labels)
    if axes:
        parameters.update(part for name, part in model.scorer.named_parameters() if not new or name not in axes)
    return LearntParameters(frozenset(parameters), start.fingerprint())
