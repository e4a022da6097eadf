"""Complete the settings of a run: what the user leaves out follows from the model that training starts from, then from
the corpus.

The numbers come from runs on subsets of 30 to 3,000 sentences of GENIA, LitBank and GUM, chosen on dev.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hyperspan.config import Config, default_of, keys
from hyperspan.errors import InputError
from hyperspan.nn.bundled import BUNDLED
from hyperspan.nn.vectors import vectors_dimension
from hyperspan.runtime.folders import bundled_models, folder_of
from hyperspan.text.language import looks_english
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence

START = "english"
"""The bundled model that small English corpora start from."""
MOST_TO_START = 3_000
"""The largest number of sentences for which a warm start helps."""
LARGE = 5_000
"""The number of sentences from which a larger model helps."""
SCORINGS = 20
"""The number of dev evaluations in a run."""
SMALL, SAME_SCORES = 300, 5
"""With fewer sentences than this, training ends after so many dev evaluations without a better F1, and models of halves
take part in calibration."""
NO_LSTM = "fofe"
"""The kind of model without a word LSTM, for which the language-model loss is impossible."""


@dataclass(frozen=True)
class CorpusFacts:
    """The facts about a corpus that the choices depend on."""

    sentences: int
    """The number of distinct sentences."""
    english: bool

    @classmethod
    def of(cls, sentences: Sequence[Sentence]) -> CorpusFacts:
        return cls(len({id(sentence) for sentence in sentences}), looks_english(sentences))


def complete(config: Config, corpus: CorpusFacts) -> Config:
    """A configuration that leaves nothing to a corpus. What is given stays; the rest comes from the model that training
    starts from, then from the corpus.

    >>> small = complete(Config(), CorpusFacts(300, english=False))
    >>> small.training.batch_size, small.training.epochs, small.training.learning_rate
    (8, 40, 0.004)
    """
    config = _chosen(config, {"training.start": _start(config, corpus)})
    if config.training.start:
        config = following(config, start_config(config.training.start))
    for rule in (_features if config.encoder.kind != "neural" else _neural, _schedule, _rest):
        config = _chosen(config, rule(config, corpus))
    return config


def _chosen(config: Config, values: Mapping[str, Any]) -> Config:
    """The configuration with those of the values that it leaves to the corpus."""
    return config.with_values({key: value for key, value in values.items() if config.is_auto(key)})


def typical(config: Config) -> Config:
    """The configuration as a typical corpus completes it, for checks before any corpus or vectors are read."""
    if config.is_auto("words.dimension") and not config.training.start:
        config = config.with_values({"words.dimension": 100})
    return complete(config, CorpusFacts(1_000, english=False))


def usual_steps(config: Config, corpus: CorpusFacts) -> dict[str, float]:
    """The default size and number of steps for a corpus, ignoring the configuration's values."""
    names = ("training.batch_size", "training.learning_rate", "training.epochs")
    return complete(config.left_out(names), corpus).values(names)


def untuned(config: Config) -> Config:
    """The configuration without what training will choose on dev, so that the dev scores of a run depend on nothing
    that an earlier one chose."""
    tuned = keys("tuned", config.tables())
    if not config.training.tune_mention_bias:
        tuned.remove("model.mention_bias")
    return config.with_values({key: default_of(key) for key in tuned})


# -- from another model -----------------------------------------------------------------------------------------------


def start_config(name: str) -> Config:
    """The configuration of the model that `training.start` names, as models that start from it have it: with embeddings
    of tags only if it has seen tags."""
    folder = folder_of(name)
    config = Config.of_model(folder)
    if config.words.tag_dimension and not Vocabulary.load(folder).tags:
        config = config.with_values({"words.tag_dimension": 0})
    return config


def following(config: Config, start: Config) -> Config:
    """The configuration with the shape of the model it starts from; an InputError if another one is given."""
    for key, theirs in start.values(keys("shape")).items():
        if config.is_given(key) and config.value(key) != theirs:
            raise InputError(
                f"{key} is {config.value(key)}, but {config.training.start}, which training.start names, has {theirs}; "
                f"leave {key} out, or start from another model"
            )
    names = [key for key in (*keys("shape"), *keys("follows")) if not config.is_given(key)]
    return config.with_values(start.values(names))


def as_text_is_read(config: Config) -> Config:
    """The configuration with what decides how text is read: that of the model it starts from, unless given."""
    if not config.training.start:
        return config
    names = [key for key in keys("follows") if not config.is_given(key)]
    return config.with_values(start_config(config.training.start).values(names))


def _start(config: Config, corpus: CorpusFacts) -> str:
    """The model that a run starts from by default: small English corpora have a bundled one, if it has their shape."""
    vectors = config.is_auto("words.vectors") or config.words.vectors == BUNDLED
    fits = corpus.english and corpus.sentences <= MOST_TO_START and vectors
    return START if fits and can_start(config) else ""


def can_start(config: Config) -> bool:
    """Whether a model of this configuration can start from :data:`START`: what is given of its shape is the same."""
    if config.distillation.teachers or START not in bundled_models():
        return False
    shape = start_config(START).values(keys("shape"))
    return all(config.value(key) == theirs for key, theirs in shape.items() if config.is_given(key))


# -- from the corpus --------------------------------------------------------------------------------------------------


def _features(config: Config, corpus: CorpusFacts) -> dict[str, Any]:
    """Handcrafted features: many weights, each of which learns quickly."""
    return {
        "words.vectors": "",
        "characters.encoder": "none",
        "encoder.input_dropout": 0.5,
        "training.batch_size": 8 if corpus.sentences < LARGE else 32,
        "training.learning_rate": 0.005 if corpus.sentences < LARGE else 0.002,
        "training.lm_loss_weight": 0.0,
    }


def _neural(config: Config, corpus: CorpusFacts) -> dict[str, Any]:
    """A small model with high dropout for small corpora; English uses the bundled word vectors."""
    large, transformer = corpus.sentences >= LARGE, bool(config.transformer.name)
    taught = bool(config.distillation.teachers)
    units, layers = (200, 2) if large and not transformer else (128, 1)
    rate = 0.002 if transformer else 0.003 if large else 0.004
    depth = layers if config.is_auto("encoder.layers") else config.encoder.layers
    predicts = depth and config.model.kind != NO_LSTM and not (transformer or taught)
    named = config.is_auto("words.dimension") and config.words.vectors
    bundled = corpus.english and not taught and (config.is_auto("words.dimension") or config.words.dimension == 100)
    return {
        "encoder.layers": layers,
        "encoder.hidden": units,
        "encoder.span_hidden": units,
        "characters.encoder": "lstm",
        "words.dimension": vectors_dimension(config.words.vectors) if named else 100,
        "words.vectors": BUNDLED if bundled else "",
        "encoder.input_dropout": 0.5,
        "encoder.output_dropout": 0.5,
        "training.batch_size": 8 if corpus.sentences < 2_000 else 16 if not large else 32,
        "training.learning_rate": rate,
        "training.lm_loss_weight": 0.03 if predicts else 0.0,
    }


def _schedule(config: Config, corpus: CorpusFacts) -> dict[str, Any]:
    """Fewer passes over more sentences: 100 over 30, 62 over 100, 40 over 300, 25 over 1,000, 16 over 3,000, 12 from
    6,000 on.

    Training on a small corpus ends early, when its dev F1 has long been the same. Larger ones still gain from the low
    learning rate of the last epochs. Where the number of epochs is given, all are run.
    """
    epochs = min(max(round(40 * (300 / max(corpus.sentences, 1)) ** 0.4), 12), 100)
    every = _eval_epochs(epochs) if config.is_auto("training.eval_epochs") else config.training.eval_epochs
    ends_early = corpus.sentences < SMALL and config.is_auto("training.epochs") and config.is_auto("training.schedule")
    return {
        "training.epochs": epochs,
        "training.schedule": "cosine",
        "training.patience": SAME_SCORES * every if ends_early else 0,
    }


def _eval_epochs(epochs: int) -> int:
    return max(1, epochs // SCORINGS)


def _rest(config: Config, corpus: CorpusFacts) -> dict[str, Any]:
    """The values that follow from the choices so far; the others have their defaults."""
    training = config.training
    steps = training.epochs * max(1, -(-corpus.sentences // training.batch_size))
    old = training.learning_rate if training.start else default_of("training.start_learning_rate")
    knows_neither = training.start in ("", *bundled_models())  # a model of one's own may have read both halves
    return config.values(keys("auto")) | {
        "training.start_learning_rate": old,
        "training.warmup_epochs": round(0.05 * training.epochs, 2),
        "training.ema_decay": round(min(max(1 - 20 / steps, 0.9), 0.9995), 4),
        "training.eval_epochs": _eval_epochs(training.epochs),
        "training.cross_fit": corpus.sentences < SMALL and not config.distillation.teachers and knows_neither,
    }
