"""What a model is and how it is trained, as frozen dataclasses that are read from TOML and written to it.

A key that is not known, a value of the wrong kind or out of range is an error before anything else happens.
"""

from __future__ import annotations

import difflib
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hyperspan.configs import find_config
from hyperspan.errors import InputError

MOST_LAYERS, MOST_UNITS = 100, 100_000
"""No model here has more: what a configuration asks for beyond that is a mistake."""


RENAMED = {
    "model.scorer": "model.scorer_hidden",
    "model.penalty": "model.mention_bias",
    "words.unknown_rate": "words.word_dropout",
    "words.tags": "words.tag_dimension",
    "transformer.rate": "transformer.learning_rate",
    "transformer.decay": "transformer.layer_decay",
    "transformer.checkpointing": "transformer.gradient_checkpointing",
    "encoder.shared_dropout": "encoder.variational_dropout",
    "fofe.forget": "fofe.forgetting_factor",
    "fofe.forget_letters": "fofe.character_forgetting_factor",
    "fofe.overlapping": "fofe.overlapping_rate",
    "fofe.disjoint": "fofe.disjoint_rate",
    "training.part_size": "training.micro_batch_size",
    "training.rate": "training.learning_rate",
    "training.decay": "training.learning_rate_decay",
    "training.warmup": "training.warmup_epochs",
    "training.clip": "training.max_grad_norm",
    "training.l2": "training.weight_decay",
    "training.margin": "training.softmax_margin",
    "training.neighbours": "training.lm_loss_weight",
    "training.tune_penalty": "training.tune_mention_bias",
    "training.average": "training.ema_decay",
    "training.save_minutes": "training.checkpoint_minutes",
    "attributes": "features",
}
"""Keys and sections of earlier versions, and what they are called now."""


def _number(default: float, low: float | None = None, high: float | None = None) -> Any:
    return field(default=default, metadata={"low": low, "high": high})


@dataclass(frozen=True)
class DataConfig:
    """Where the annotated sentences are: any format that :func:`hyperspan.corpora.read_corpus` reads."""

    train: str = ""
    """Annotated sentences to learn from: a file or a folder."""
    format: str = ""
    """The format of both; recognised by their content if not given."""
    dev: str = ""
    """Those by which the best epoch is chosen; without them the last epoch is kept."""
    joined: bool = False
    """Whether documents of one sentence that follow each other are one text, for transformer.context to read."""


@dataclass(frozen=True)
class ModelConfig:
    """Which structure is put over a sentence, and what its scores see."""

    kind: str = "segmental"
    """Which model: segmental is the segmental hypergraph; docs/models.md tells of the others."""
    max_width: int | Literal["n"] = field(default="n", metadata={"low": 1})
    """c: the widest mention in words; "n" for no limit."""
    tied: bool = True
    """Whether I → (X, I) scores as I → I and I → X together, as in the paper, or has weights of its own."""
    interactions: bool = True
    """Whether I → I edges have weights; without, mentions of one start and type do not influence each other."""
    scorer_hidden: int = _number(0, 0, MOST_UNITS)
    """Hidden units between span vectors and scores; 0 for the paper's linear scores."""
    temperature: float = _number(1.0, 0.01, 1000)
    """What scores are divided by when the model is used; training ends by choosing it on dev."""
    mention_bias: float = _number(0.0, -1000, 1000)
    """What every mention's score is raised by when the model is used: above 0 it finds more, below 0 it errs less."""
    threshold: float = _number(0.3, 0, 1)
    """Of fofe the least probability of a mention, of katiyar-cardie that of a label; training ends by choosing it on dev."""
    reading: Literal["all", "nested"] = "nested"
    """How models whose structures are ambiguous read them: all starts with all ends, or each start with its nearest."""
    order: str = ""
    """Labels in the order in which cascaded models find them; alphabetically if not given."""
    tokenizer: str = "words"
    """How raw text is cut into words: training documents that are not, and all text when the model is used."""
    tokenizer_version: int = _number(1, 1)
    """A tokenizer that changes gets a new version; a model is used with the one it was trained with."""


@dataclass(frozen=True)
class WordsConfig:
    """What is known of a word by itself."""

    vectors: str = ""
    """A file of pretrained vectors (GloVe, word2vec, npz); none for random ones."""
    dimension: int = _number(100, 0, MOST_UNITS)
    """Size of a word vector, which must be that of the file, if there is one; 0 for no word vectors."""
    lowercase: bool = True
    """Whether words are looked up in lower case alone; characters are always read as they are."""
    min_count: int = _number(1, 1)
    """How often a training word must occur to have a vector of its own; pretrained words always have one."""
    word_dropout: float = _number(0.05, 0, 1)
    """How many words are read as unknown in training, so that unknown words mean something later."""
    tag_dimension: int = _number(32, 0, MOST_UNITS)
    """Dimension of part-of-speech embeddings; 0 for none, and none where the training data have no tags."""
    clusters: str = ""
    """A file of Brown clusters, whose bit strings are cut into prefixes and embedded."""
    cluster_dimension: int = _number(24, 1, MOST_UNITS)
    """Size of the embedding of each of the four prefixes."""


@dataclass(frozen=True)
class CharactersConfig:
    """What a word's characters say."""

    encoder: Literal["none", "lstm", "cnn"] = "none"
    """How characters are read; lstm is the paper's + char."""
    dimension: int = _number(30, 1, MOST_UNITS)
    """Size of the embedding of a character."""
    hidden: int = _number(50, 1, MOST_UNITS)
    """Size of the result, per direction or per filter width."""


@dataclass(frozen=True)
class TransformerConfig:
    """A pretrained encoder that reads words beside, or in place of, vectors and characters; docs/transformers.md tells more."""

    name: str = ""
    """An encoder of Hugging Face: a folder, or its name on the hub; none if not given."""
    pooling: Literal["first", "mean", "max"] = "first"
    """How the vectors of a word's subwords become one: that of the first, their mean, or the largest of each number."""
    layers: int = _number(1, 1, MOST_LAYERS)
    """So many of its last layers are mixed, with weights that are learnt; 1 for the last alone."""
    freeze: int | Literal["none", "all"] = field(default="none", metadata={"low": 0})
    """What stays as it is: none or all of it, or its embeddings and so many of its lowest layers."""
    learning_rate: float = _number(5e-5, 0, 10)
    """The learning rate of its top layer at its highest; it follows the schedule of training.learning_rate."""
    layer_decay: float = _number(1.0, 0.01, 1)
    """What the rate of a layer is multiplied by to have that of the layer below it."""
    window: int = _number(0, 0)
    """Subwords of a sentence that it reads at once; 0 for as many as it can. Longer sentences are read in several windows."""
    stride: int = _number(0, 0)
    """Subwords from one such window to the next; 0 for half a window."""
    context: int = _number(0, 0)
    """Words of the document that it reads before and after each sentence, where a sentence is in a document."""
    gradient_checkpointing: bool = False
    """Whether training computes its layers twice instead of remembering them, for less memory."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """bfloat16 runs its matrix products on a CUDA device in half precision, in training and in use."""


@dataclass(frozen=True)
class FeaturesConfig:
    """What the handcrafted encoder looks at."""

    words: str = "words tags bag types flags"
    """Groups of features of words: words, near, lower, shapes, tags, bag, types, flags, clusters, cluster_pairs, affixes,
    near_affixes."""
    spans: str = "text tags types ends context width"
    """Features of spans, of the same names."""
    min_count: int = _number(2, 1)
    """How often a feature must occur in training to have weights; those of spans: at mentions."""


@dataclass(frozen=True)
class EncoderConfig:
    """From words to vectors of words in context, and of all spans."""

    kind: str = "neural"
    """neural: LSTMs over vectors; handcrafted: sparse features of words and spans, with weights."""
    layers: int = _number(1, 0, MOST_LAYERS)
    """Layers of the word LSTM, 0 for none; of fofe, those of its network."""
    hidden: int = _number(128, 1, MOST_UNITS)
    """Units of the word LSTM in each direction; of fofe, those of each layer."""
    span_hidden: int = _number(128, 1, MOST_UNITS)
    """Units of the span LSTM in each direction; of katiyar-cardie, those of the LSTM over labels."""
    input_dropout: float = _number(0.5, 0, 0.95)
    """Dropout on the vectors of words that enter the word LSTM; or how many features are overlooked."""
    output_dropout: float = _number(0.0, 0, 0.95)
    """Dropout on what leaves each layer of the word LSTM, or of fofe's network."""
    span_dropout: float = _number(0.0, 0, 0.95)
    """Dropout on span vectors before they are scored; of transition, on what actions are decided by."""
    variational_dropout: bool = False
    """Whether dropout masks are the same at all words of a sentence."""


@dataclass(frozen=True)
class FofeConfig:
    """How the model fofe reads spans, and which of them it learns from."""

    forgetting_factor: float = _number(0.5, 0, 1)
    """α: what is left of a word's vector one word further on."""
    character_forgetting_factor: float = _number(0.8, 0, 1)
    """What is left of a character's vector one character further on."""
    overlapping_rate: float = _number(0.36, 0, 1)
    """How many of the spans that share words with a mention, but are none, are learnt from; chosen anew every time."""
    disjoint_rate: float = _number(0.09, 0, 1)
    """How many of the spans that share no word with a mention are."""


@dataclass(frozen=True)
class TrainingConfig:
    """How the parameters are found."""

    seed: int = _number(1, 0, 2**31 - 1)
    """All chance comes from it."""
    epochs: int = _number(50, 1)
    """The most times that all training sentences are seen."""
    patience: int = _number(10, 0)
    """So many epochs without a better dev F1 end the training; 0 to never stop early."""
    batch_size: int = _number(32, 1)
    """Sentences a step, of all processes together."""
    micro_batch_size: int = _number(0, 0)
    """The most sentences that a process computes at once, so that large batches fit; steps stay the same. 0 for no limit."""
    optimizer: Literal["adam", "adamw", "lbfgs"] = "adam"
    """adamw takes weight decay apart from the gradient; lbfgs takes one step an epoch, on all sentences."""
    learning_rate: float = _number(1e-3, 0, 10)
    """The learning rate at its highest."""
    schedule: Literal["constant", "decay", "cosine"] = "decay"
    """decay: rate / (1 + decay * epoch); cosine: down to 0 over all epochs. Both after a linear warm-up."""
    learning_rate_decay: float = _number(0.05, 0)
    """How quickly the rate falls with the schedule decay."""
    warmup_epochs: float = _number(0.0, 0)
    """Epochs, or parts of one, over which the rate grows from 0."""
    max_grad_norm: float = _number(3.0, 0)
    """Largest norm of a gradient; 0 to leave gradients as they are."""
    weight_decay: float = _number(0.0, 0)
    """Weight decay; the word vectors are left out of it."""
    softmax_margin: bool = True
    """Softmax-margin training of segmental models: wrong edges cost something in training."""
    beta: float = _number(1.5, 1, 1000)
    """What a missed mention costs more than a false alarm."""
    lm_loss_weight: float = _number(0.0, 0)
    """Weight of guessing the words before and after each word, learnt beside the mentions; 0 for none."""
    tune_mention_bias: bool = False
    """Whether training ends by choosing model.mention_bias, by F1 on dev."""
    ema_decay: float = _number(0.0, 0, 0.99999)
    """Decay of the running average of the parameters that is evaluated and kept; 0 for none."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """bfloat16 runs matrix products of a CUDA device in half precision."""
    checkpoint_minutes: float = _number(10.0, 0)
    """A checkpoint is written after every epoch, and within one whenever so many minutes have passed."""


@dataclass(frozen=True)
class Config:
    """Everything that is needed to train a model again.

    >>> config = Config.from_mapping({"model": {"max_width": 6}}).override(["training.seed=3", "characters.encoder=lstm"])
    >>> config.model.max_width, config.training.seed, config.characters.encoder
    (6, 3, 'lstm')
    >>> Config.from_mapping({"training": {"sed": 3}})
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: the configuration has no key training.sed; did you mean training.seed?
    """

    data: DataConfig = DataConfig()
    model: ModelConfig = ModelConfig()
    words: WordsConfig = WordsConfig()
    characters: CharactersConfig = CharactersConfig()
    transformer: TransformerConfig = TransformerConfig()
    features: FeaturesConfig = FeaturesConfig()
    encoder: EncoderConfig = EncoderConfig()
    fofe: FofeConfig = FofeConfig()
    training: TrainingConfig = TrainingConfig()

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> Config:
        """The configuration that tables of tables describe; what they leave out has its default."""
        return _built(cls, given, "")

    @classmethod
    def read(cls, path: str | Path, overrides: Iterable[str] = ()) -> Config:
        """The configuration in a TOML file, or the shipped one of a name, with ``section.key=value`` overrides."""
        path = find_config(path)
        try:
            config = cls.from_toml(_text_of(path))
        except InputError as error:
            raise InputError(f"{path} {error}" if str(error).startswith("is not") else f"{path}: {error}") from None
        return config.override(overrides)

    @classmethod
    def from_toml(cls, text: str) -> Config:
        """The configuration that a TOML text holds."""
        return cls.from_mapping(read_toml(text))

    def override(self, overrides: Iterable[str]) -> Config:
        """This configuration with some values replaced, each given as ``section.key=value``."""
        config = self
        for given in overrides:
            name, equals, value = given.partition("=")
            section, dot, key = name.strip().partition(".")
            if not equals or not dot:
                raise InputError(f"--set {given!r} is not SECTION.KEY=VALUE; write for example --set training.seed=3")
            _check_key(Config, section, "")
            part = getattr(config, section)
            _check_key(type(part), key, f"{section}.")
            changed = {**_values(part), key: _parsed(value.strip())}
            config = replace(config, **{section: _built(type(part), changed, f"{section}.")})
        return config

    def to_toml(self) -> str:
        """TOML that :meth:`read` reads back to the same configuration."""
        lines: list[str] = []
        for section in fields(self):
            lines.append(f"[{section.name}]")
            lines += [f"{key} = {_toml(value)}" for key, value in _values(getattr(self, section.name)).items()]
            lines.append("")
        return "\n".join(lines)


LARGEST_FILE = 64 * 1024
"""Bytes of a configuration; those that people write have one or two thousand."""
DEEPEST = 100
"""Dots in a key. tomllib takes time that grows with their square."""
_DEEP_KEY = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++\s*+\.\s*+){{{DEEPEST}}}")


def read_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text of any origin; an InputError says why it is none.

    >>> read_toml("seed = " + "[" * 2000)
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: is not TOML: it is nested too deeply; hyperspan/configs/ has examples
    """
    try:
        if _DEEP_KEY.search(text):
            raise RecursionError
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason = str(error)[:200]
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError:  # Python refuses to convert it
        reason = "it holds a number of thousands of digits"
    raise InputError(f"is not TOML: {reason}; hyperspan/configs/ has examples")


def _text_of(path: Path) -> str:
    with path.open("rb") as file:
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise InputError(f"is not a configuration: it has more than {LARGEST_FILE:,} bytes; name another file")
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeError as error:
        raise InputError(f"is not TOML: {error}; hyperspan/configs/ has examples") from None


def _toml(value: Any) -> str:
    """A value in TOML, which is JSON but for one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _values(section: Any) -> dict[str, Any]:
    return {entry.name: getattr(section, entry.name) for entry in fields(section)}


def _parsed(value: str) -> Any:
    """What an override says: TOML where it is that, a plain text otherwise."""
    try:
        return read_toml(f"value = {value}")["value"]
    except InputError:
        return value


def _check_key(cls: type, key: str, prefix: str) -> None:
    known = [entry.name for entry in fields(cls)]
    if new := RENAMED.get(prefix + key):
        raise InputError(f"the configuration has the old key {prefix}{key}, which is now called {new}; rename it")
    if key not in known:
        close = difflib.get_close_matches(key[:100], known, 1)
        hint = f"did you mean {prefix}{close[0]}?" if close else f"it has {', '.join(prefix + name for name in known)}"
        raise InputError(f"the configuration has no key {prefix}{key[:100]}; {hint}")


def _built(cls: Any, given: Any, prefix: str) -> Any:
    """An instance of a (nested) dataclass from a mapping, each value checked."""
    if not isinstance(given, Mapping):
        raise InputError(f"{prefix.removesuffix('.')} is {_shown(given)}, but must be a table with keys of its own")
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    for key, value in given.items():
        _check_key(cls, key, prefix)
        if hasattr(hints[key], "__dataclass_fields__"):
            values[key] = _built(hints[key], value, f"{prefix}{key}.")
        else:
            metadata = next(entry.metadata for entry in fields(cls) if entry.name == key)
            values[key] = _checked(hints[key], value, metadata, prefix + key)
    return cls(**values)


def _checked(hint: Any, value: Any, metadata: Mapping[str, Any], name: str) -> Any:
    """The value, if it is of this kind and in range."""
    low, high = metadata.get("low"), metadata.get("high")
    for kind in get_args(hint) if get_origin(hint) in (Union, UnionType) else [hint]:
        if get_origin(kind) is Literal:
            if value in get_args(kind) and isinstance(value, str):
                return value
        elif kind is float and type(value) in (int, float):
            if abs(value) <= sys.float_info.max and _is_within(value, low, high):
                return float(value)
        elif type(value) is kind and (kind is not int or _is_within(value, low, high)):
            return value
    raise InputError(f"{name} is {_shown(value)}, but must be {_wanted(hint, low, high)}")


def _shown(value: Any) -> str:
    """A value in few characters, for messages."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write a number of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 100 else f"{text[:97]}..."


def _is_within(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


def _wanted(hint: Any, low: float | None, high: float | None) -> str:
    """What a value must be, in words."""
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_wanted(kind, low, high) for kind in get_args(hint))
    if get_origin(hint) is Literal:
        return " or ".join(json.dumps(choice) for choice in get_args(hint))
    name = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[hint]
    if hint in (int, float) and low is not None:
        name += f" from {low:g} to {high:g}" if high is not None else f" of at least {low:g}"
    return name
