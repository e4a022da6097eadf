"""Warm starts: a new model that takes over what a trained one has learnt, for other words and other labels.

Its encoder is the trained one's, with the user's words and characters added. Before the first step it computes the same, because
what the trained model does not know begins as what it reads as unknown. Labels of the same name keep their weights, and new ones
begin as the mean of the old.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from hyperspan.config import Config
from hyperspan.encoders.registry import ENCODERS
from hyperspan.errors import InputError
from hyperspan.model_folders import folder_of
from hyperspan.models import Recognizer, load_model
from hyperspan.models.storage import check_learnable
from hyperspan.models.validation import check_start
from hyperspan.training.optimisation import LearntParameters
from hyperspan.types import Sentence

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
"""Keys that are those of the trained model unless the user has set them. Its version of the tokenizer is not: a newer one cuts
other scripts better, and what the model has learnt to read in the same way."""
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


def inherited(config: Config, start: Config) -> Config:
    """A configuration with all that a model must have in common with the one it starts from, given that of the latter."""
    if config.words.clusters:
        raise InputError(
            f"words.clusters is {config.words.clusters}, but a model that starts from {config.training.start} has its clusters; "
            "leave words.clusters out"
        )
    changes: dict[str, dict[str, Any]] = {}
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
    check_learnable(vocabulary, config)
    torch.manual_seed(config.training.seed)
    model = Recognizer(config, vocabulary)
    model.encoder.copy_from(start.vocabulary, start.encoder.state_dict(), resources)
    old = {label: index for index, label in enumerate(start.labels)}
    model.scorer.copy_from(start.scorer.state_dict(), [old.get(label) for label in model.labels], len(old))
    return model


def learnt_parameters(model: Recognizer, start: WarmStart) -> LearntParameters:
    """Those that a model has from its start: the encoder, and of the scorer what is the same for all labels.

    A tensor has one learning rate, so new words and characters learn as the known ones do, and known labels as the new ones;
    if there are none, known labels count as learnt.
    """
    parameters = set(model.encoder.parameters())
    axes, new = model.scorer.type_axes(), set(model.labels) - set(start.model.labels)
    if axes:
        parameters.update(part for name, part in model.scorer.named_parameters() if not new or name not in axes)
    return LearntParameters(frozenset(parameters), start.fingerprint())
