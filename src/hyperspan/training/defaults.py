"""Defaults that depend on the corpus: the one place that chooses the values of "auto" keys.

The numbers come from runs on subsets of 30 to 3,000 sentences of GENIA, LitBank and GUM, chosen on dev.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hyperspan.config import AUTO, SETTLED, Config
from hyperspan.nn.bundled import BUNDLED
from hyperspan.nn.vectors import vectors_dimension
from hyperspan.runtime.folders import bundled_models, folder_of
from hyperspan.text.language import looks_english
from hyperspan.types import Sentence

START = "english"
"""The bundled model that small English corpora start from."""
MOST_TO_START = 3_000
"""The largest number of sentences for which a warm start helps."""
LARGE = 5_000
"""The number of sentences from which a larger model helps."""
SCORINGS = 20
"""The number of dev evaluations in a run."""
SHAPE = (
    "encoder.layers",
    "encoder.hidden",
    "encoder.span_hidden",
    "characters.encoder",
    "words.dimension",
)
"""The keys that a warm start takes from its model. A user who changes one of these, or the vectors, gets no warm
start."""

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


@dataclass(frozen=True)
class Fitted:
    """A configuration without "auto", and the values that were chosen for it, by key."""

    config: Config
    choices: dict[str, Any]


def fitted(config: Config, corpus: CorpusFacts) -> Fitted:
    """Replace every "auto" of a configuration by a value for a corpus; everything else stays.

    >>> small = fitted(Config(), CorpusFacts(300, english=False)).config
    >>> small.training.batch_size, small.training.epochs, small.training.learning_rate
    (8, 40, 0.004)
    """
    choices: dict[str, Any] = {}
    for rule in (_features if config.encoder.kind != "neural" else _neural, _schedule, _rest):
        values = {key: value for key, value in rule(config, corpus).items() if config.is_auto(key)}
        config, choices = config.with_values(values), choices | values
    return Fitted(config, choices)


def usual_steps(config: Config, corpus: CorpusFacts) -> dict[str, float]:
    """The default size and number of steps for a corpus, ignoring the configuration's values."""
    keys = ("training.batch_size", "training.learning_rate", "training.epochs")
    return fitted(config.with_values(dict.fromkeys(keys, AUTO)), corpus).config.values(keys)


def typical(config: Config) -> Config:
    """The configuration for a typical corpus, for checks before any file is read."""
    if config.is_auto("words.dimension"):
        config = config.with_values({"words.dimension": 100})
    return fitted(config, CorpusFacts(1_000, english=False)).config


def _features(config: Config, corpus: CorpusFacts) -> dict[str, Any]:
    """Handcrafted features: many weights, each of which learns quickly."""
    return {
        "words.vectors": "",
        "characters.encoder": "none",
        "training.start": "",
        "encoder.input_dropout": 0.5,
        "training.batch_size": 8 if corpus.sentences < LARGE else 32,
        "training.learning_rate": 0.005 if corpus.sentences < LARGE else 0.002,
        "training.lm_loss_weight": 0.0,
    }


def _neural(config: Config, corpus: CorpusFacts) -> dict[str, Any]:
    """A small model with high dropout for small corpora; English uses the bundled word vectors."""
    large, transformer = corpus.sentences >= LARGE, bool(config.transformer.name)
    start = _start(config, corpus) if config.is_auto("training.start") else config.training.start
    taught = bool(config.distillation.teachers)
    units, layers = (200, 2) if large and not transformer else (128, 1)
    rate = 0.002 if transformer else 0.003 if large else 0.004
    shape: dict[str, Any] = dict(zip(SHAPE, (layers, units, units, "lstm", 100), strict=True))
    if start:
        shape = Config.of_model(folder_of(start)).values(SHAPE)
    elif config.is_auto("words.dimension") and config.words.vectors not in ("auto", ""):
        shape["words.dimension"] = vectors_dimension(config.words.vectors)
    depth = shape["encoder.layers"] if config.is_auto("encoder.layers") else config.encoder.layers
    predicts = depth and config.model.kind != NO_LSTM and not (transformer or taught)
    return shape | {
        "training.start": start,
        "words.vectors": "bundled" if corpus.english and not taught and config.words.dimension in ("auto", 100) else "",
        "encoder.input_dropout": 0.5,
        "encoder.output_dropout": 0.5,
        "training.batch_size": 8 if corpus.sentences < 2_000 else 16 if not large else 32,
        "training.learning_rate": rate,
        "training.lm_loss_weight": 0.03 if predicts else 0.0,
    }


def _start(config: Config, corpus: CorpusFacts) -> str:
    """The model that a run starts from by default."""
    fits = corpus.english and corpus.sentences <= MOST_TO_START and config.words.vectors in (AUTO, BUNDLED)
    return START if fits and can_start(config) else ""


def can_start(config: Config) -> bool:
    """Whether a model of this configuration can start from :data:`START`: same kind, same shape."""
    others = config.transformer.name or config.distillation.teachers
    if others or config.model.kind != "segmental" or START not in bundled_models():
        return False
    shape = Config.of_model(folder_of(START)).values(SHAPE)
    return all(config.is_auto(key) or value == config.values([key])[key] for key, value in shape.items())


def _schedule(config: Config, corpus: CorpusFacts) -> dict[str, Any]:
    """Fewer passes over more sentences: 100 over 30, 62 over 100, 40 over 300, 25 over 1,000, 16 over 3,000, 12 from
    6,000 on."""
    return {
        "training.epochs": min(max(round(40 * (300 / max(corpus.sentences, 1)) ** 0.4), 12), 100),
        "training.schedule": "cosine",
        "training.patience": 0,
    }


def _rest(config: Config, corpus: CorpusFacts) -> dict[str, Any]:
    """The values that follow from the choices so far."""
    training = config.training
    steps = training.epochs * max(1, -(-corpus.sentences // training.batch_size))
    return SETTLED | {
        "training.start_learning_rate": training.learning_rate
        if training.start
        else SETTLED["training.start_learning_rate"],
        "training.warmup_epochs": round(0.05 * training.epochs, 2),
        "training.ema_decay": round(min(max(1 - 20 / steps, 0.9), 0.9995), 4),
        "training.eval_epochs": max(1, training.epochs // SCORINGS),
    }
