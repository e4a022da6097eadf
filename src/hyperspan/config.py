"""What a model is and how it is trained: frozen dataclasses that are read from TOML and written to it.

:mod:`hyperspan.toml` reads and checks each value; :func:`hyperspan.nn.validation.validate` checks that they go
together.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from hyperspan.errors import InputError, MissingExtraError
from hyperspan.plugins import ENCODERS, MODELS, OPTIONS
from hyperspan.toml import build, check_key, free_table, parse_value, read_text, read_toml, to_key, to_toml, values_of

MOST_LAYERS, MOST_UNITS, MOST_PARTS = 100, 100_000, 3
"""No model here has more: what a configuration asks for beyond that is a mistake."""


AUTO = "auto"
"""The value of a key that :mod:`hyperspan.training.defaults` chooses by the corpus."""


def number(default: float, low: float | None = None, high: float | None = None) -> Any:
    """A key whose value is a number within limits."""
    return field(default=default, metadata={"low": low, "high": high})


def _by_label(low: float, high: float) -> Any:
    """A table of numbers by label."""
    return field(default_factory=dict, hash=False, metadata={"low": low, "high": high})


def _auto(settled: float | str, low: float | None = None, high: float | None = None) -> Any:
    """A key that follows from the corpus; `settled` is its value where there is none, as in a model built by hand."""
    return field(default=AUTO, metadata={"low": low, "high": high, "settled": settled})


@dataclass(frozen=True)
class KindOptions:
    """The keys that a kind of model or encoder adds to the configuration, in a section of its name.

    A subclass is a frozen dataclass. Each field is a key, with a default and a docstring; :func:`number` sets limits.
    The type of a key is ``int``, ``float``, ``bool``, ``str``, ``Literal`` of texts, ``tuple[X, ...]`` (a list in
    TOML), ``Mapping[str, X]`` (a table) or a union of these without tables, such as ``int | Literal["all"]``. TOML has
    no None.
    """


OptionsType = TypeVar("OptionsType", bound=KindOptions)


@dataclass(frozen=True)
class CorpusConfig:
    """One of several corpora: an entry of the list `data.train` or `data.dev`. Corpora may annotate different types."""

    path: str = ""
    """A file or a folder."""
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The model's label for each label of the corpus; labels that are not listed keep their names. `""` drops the
    mentions of a label, and the model learns nothing about it from this corpus. A listed label must occur in the
    training corpus."""
    annotated: tuple[str, ...] = ()
    """The model's labels of which the corpus has all mentions. Default: the labels that occur in it."""
    repeat: int = number(1, 1, 1000)
    """How often an epoch reads the corpus."""
    format: str = ""
    """The format of the corpus. Default: `data.format`."""


@dataclass(frozen=True)
class DataConfig:
    """The corpora, in any format that hyperspan reads. Paths are relative to the folder in which you run the
    command."""

    train: str | tuple[CorpusConfig, ...] = ""
    """The training corpus: a file or a folder. A list names several corpora, which may annotate different types."""
    format: str = ""
    """The format of all corpora. Default: recognised by their content."""
    dev: str | tuple[CorpusConfig, ...] = ""
    """The corpus that selects the best epoch, or a list of corpora. Without it the last epoch is kept."""
    joined: bool = False
    """Whether consecutive documents of one sentence each are one text, for `transformer.context`."""

    @property
    def train_corpora(self) -> tuple[CorpusConfig, ...]:
        return _corpora(self.train)

    @property
    def dev_corpora(self) -> tuple[CorpusConfig, ...]:
        return _corpora(self.dev)

    @property
    def is_listed(self) -> bool:
        """Whether corpora are given as lists, so that each may annotate other types."""
        return not (isinstance(self.train, str) and isinstance(self.dev, str))

    @property
    def train_names(self) -> str:
        """The training corpora, for messages."""
        return ", ".join(corpus.path for corpus in self.train_corpora)

    @property
    def dev_names(self) -> str:
        """The corpora of dev, for messages."""
        return ", ".join(corpus.path for corpus in self.dev_corpora)


def _corpora(given: str | tuple[CorpusConfig, ...]) -> tuple[CorpusConfig, ...]:
    if isinstance(given, str):
        return (CorpusConfig(given),) if given else ()
    return given


@dataclass(frozen=True)
class ModelConfig:
    """The kind of model, and settings that several kinds share."""

    kind: str = "segmental"
    """The kind of model: `segmental` is the segmental hypergraph. The page on models lists the others."""
    max_width: int | Literal["n"] = field(default="n", metadata={"low": 1})
    """c: the widest mention in words. `"n"` for no limit."""
    discontinuous: Literal["drop", "hull"] = "drop"
    """What a model of contiguous mentions learns from a discontinuous one: `drop` leaves it out, `hull` makes it one
    mention from its first to its last word."""
    tied: bool = True
    """Whether the edge I → (X, I) scores as the sum of I → I and I → X, as in the paper. If not, it has its own
    weights."""
    temperature: float = number(1.0, 0.01, 1000)
    """Scores are divided by this in inference. Training chooses it on dev at the end; `calibration.temperatures` has
    values for single labels."""
    mention_bias: float = number(0.0, -1000, 1000)
    """Added to the score of every mention in inference. Above 0 it raises recall, below 0 precision."""
    names: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Labels that mark names alone, each with the type that it is a name of: `{person-name = "person"}`. Annotation
    shows their mentions on request, under that type, and leaves them out otherwise. Each type has one such label."""
    tokenizer: str = "words"
    """The tokenizer of raw text: `words`, or `split`, which also splits at hyphens, slashes, commas, dots and pluses
    inside words. It applies to training documents without tokens and to all text in inference."""


@dataclass(frozen=True)
class CalibrationConfig:
    """Calibration by label, of the models `segmental` and `discontinuous`. It changes probabilities and keeps the most
    probable sets. Training chooses it on dev."""

    temperatures: Mapping[str, float] = _by_label(0.01, 1000)
    """The scores of a label are divided by its temperature. Labels that are not listed use `model.temperature`."""
    biases: Mapping[str, float] = _by_label(-1000, 0)
    """Added to the score of beginning a mention of a label: 0 or less, so far as the most probable sets stay the
    same."""
    discontinuous: float = number(0.0, -1000, 0)
    """Added to the score of a part that others follow, of the model `discontinuous`: 0 or less, in the same way."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing but one temperature for all labels."""
        return not (self.temperatures or self.biases or self.discontinuous)

    def restrict(self, labels: Iterable[str]) -> CalibrationConfig:
        """That of some labels alone."""
        kept = set(labels)
        temperatures, biases = (
            {name: value for name, value in table.items() if name in kept} for table in (self.temperatures, self.biases)
        )
        return CalibrationConfig(temperatures, biases, self.discontinuous)

    def of(self, labels: Iterable[str], temperature: float) -> tuple[list[float], list[float], float] | None:
        """The temperature and the bias of each label, and the bias of discontinuous mentions; None where there is
        nothing but one temperature for all.

        >>> CalibrationConfig({"PER": 1.5}, {"PER": -0.5}).of(["GPE", "PER"], 1.2)
        ([1.2, 1.5], [0.0, -0.5], 0.0)
        """
        if self.is_empty:
            return None
        names = list(labels)
        temperatures = [self.temperatures.get(name, temperature) for name in names]
        return temperatures, [self.biases.get(name, 0.0) for name in names], self.discontinuous


@dataclass(frozen=True)
class WordsConfig:
    """Word vectors, and embeddings of part-of-speech tags."""

    vectors: str = _auto("")
    """Pretrained word vectors: a file (GloVe, word2vec, fastText, npz), `"bundled"` for the English vectors that come
    with hyperspan, or `""` for random ones. `auto`: bundled for English text."""
    dimension: int = _auto(100, 0, MOST_UNITS)
    """Dimension of word vectors. 0 for no word vectors. `auto`: that of the vectors, or 100."""
    max_vectors: int = number(200_000, 0)
    """How many words of a vector file are kept, from its beginning. Words of the training data always keep their
    vectors. 0 for all."""
    lowercase: bool = True
    """Whether words are looked up in lower case. Characters always keep their case."""
    min_count: int = number(1, 1)
    """How often a word must occur in training to get a vector. Words with a pretrained vector always have one."""
    word_dropout: float = number(0.05, 0, 1)
    """The fraction of training words that are replaced by the unknown word, so that its vector is trained."""
    tag_dimension: int = number(0, 0, MOST_UNITS)
    """Dimension of part-of-speech embeddings, 32 in the paper. 0 for none: raw text has no tags."""


@dataclass(frozen=True)
class CharactersConfig:
    """Word vectors from characters."""

    encoder: Literal["none", "lstm", "cnn"] = _auto("none")
    """The character encoder: `none`, `lstm` (+ char in the paper) or `cnn`. `auto`: `lstm`."""
    dimension: int = number(30, 1, MOST_UNITS)
    """Dimension of character embeddings."""
    hidden: int = number(50, 1, MOST_UNITS)
    """Units of the character encoder, for each direction (`lstm`) or each filter width (`cnn`)."""


@dataclass(frozen=True)
class TransformerConfig:
    """A pretrained Hugging Face encoder, in addition to word vectors and characters or in their place."""

    name: str = ""
    """A Hugging Face encoder: a folder, or a name on the hub. `""` for none."""
    pooling: Literal["first", "mean", "max"] = "first"
    """How the vectors of a word's subwords become one: `first`, `mean` or element-wise `max`."""
    layers: int = number(1, 1, MOST_LAYERS)
    """How many of the last layers are mixed, with learnt weights. 1 uses the last layer alone."""
    freeze: int | Literal["none", "all"] = field(default="none", metadata={"low": 0})
    """What is frozen: `none`, `all`, or a number for the embeddings and that many of the lowest layers."""
    learning_rate: float = number(5e-5, 0, 10)
    """The highest learning rate of the top layer. It follows `training.schedule`."""
    layer_decay: float = number(1.0, 0.01, 1)
    """The learning rate of a layer is that of the layer above it times this."""
    window: int = number(0, 0)
    """How many subwords the encoder reads at once. 0 for as many as it can. Longer sentences are read in several
    windows."""
    context: int = number(0, 0)
    """Words of the document that the encoder reads before and after each sentence."""
    gradient_checkpointing: bool = False
    """Whether training computes layers twice instead of storing their activations, to save memory."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """`bfloat16` runs the encoder's matrix products in half precision on a CUDA device, in training and inference."""


@dataclass(frozen=True)
class EncoderConfig:
    """The encoder of words in context, and of spans."""

    kind: str = "neural"
    """`neural`: LSTMs over vectors. `handcrafted`: weights for sparse features of words and spans."""
    layers: int = _auto(1, 0, MOST_LAYERS)
    """Layers of the word LSTM. 0 for none. The model `fofe` has none."""
    hidden: int = _auto(128, 1, MOST_UNITS)
    """Units of the word LSTM in each direction."""
    span_hidden: int = _auto(128, 1, MOST_UNITS)
    """Units of the span LSTM in each direction."""
    input_dropout: float = _auto(0.5, 0, 0.95)
    """Dropout on the input of the word LSTM, or on handcrafted features."""
    output_dropout: float = _auto(0.0, 0, 0.95)
    """Dropout on the output of each layer of the word LSTM."""


@dataclass(frozen=True)
class SegmentalConfig:
    """The model `segmental`."""

    interactions: bool = True
    """Whether I → I edges have weights. Without them, mentions of one type that begin at the same word do not influence
    each other."""
    skip_margin: float = number(0.0, 0.0)
    """Inference on CPUs skips words where T → X scores this much more than T → I for all types, unless mentions with
    probabilities below 0.1 are requested. 0 skips none."""


@dataclass(frozen=True)
class JointConfig:
    """The model `joint`, in which mentions that begin at the same word depend on each other."""

    together: Literal["none", "parameters", "spans"] = "parameters"
    """The score of two mentions of one span: `none`, one parameter for each two labels (`parameters`), or also a score
    from the span vector (`spans`)."""
    within: Literal["none", "parameters", "spans"] = "none"
    """The score of a mention and a wider one of another label that begins at the same word: `none`, `parameters` or
    `spans`."""
    groups: tuple[tuple[str, ...], ...] = ()
    """Lists of labels that depend on each other. Default: chosen from the training sentences."""


@dataclass(frozen=True)
class DiscontinuousConfig:
    """The model `discontinuous`, whose mentions may have several parts with words between them."""

    parts: int = number(2, 1, MOST_PARTS)
    """P: the most parts of a mention."""
    gap: int = number(8, 1, 1000)
    """g: the most words of a gap between two parts."""
    later_width: int = number(4, 1, 1000)
    """c': the most words of a part after the first. The first part has up to `model.max_width`."""
    bias: float = number(0.0)
    """Added to the score of each part that another part follows. Training chooses it on dev at the end."""


@dataclass(frozen=True)
class TrainingConfig:
    """Training: start, length, optimizer, loss and checkpoints."""

    seed: int = number(1, 0, 2**31 - 1)
    """The seed of all randomness."""
    start: str = _auto("")
    """A warm start: the trained model whose encoders and vectors the new model begins with. A bundled model by name, a
    folder, or `""` for none. `auto`: `english` for small English corpora."""
    start_learning_rate: float = _auto(1e-3, 0, 10)
    """The highest learning rate of what comes from the warm start; the rest has `training.learning_rate`. `auto`: the
    same rate for both."""
    epochs: int = _auto(50, 1)
    """The most passes over the training sentences."""
    patience: int = _auto(10, 0)
    """Training stops after this many epochs without a better dev F1. 0 never stops early."""
    eval_epochs: int = _auto(1, 1)
    """Epochs from one scoring on dev to the next. The last epoch is always scored."""
    batch_size: int = _auto(32, 1)
    """Sentences of a step."""
    micro_batch_size: int = number(0, 0)
    """The most sentences that are computed at once, to save memory. Steps stay the same. 0 for no limit."""
    optimizer: Literal["adam", "adamw"] = "adam"
    """`adam`, or `adamw` (decoupled weight decay)."""
    learning_rate: float = _auto(1e-3, 0, 10)
    """The highest learning rate."""
    schedule: Literal["constant", "cosine", "plateau"] = _auto("constant")
    """`constant`, `cosine` or `plateau`, each after a linear warm-up. `cosine` falls to 0 over all epochs; `plateau`
    falls when dev F1 stops rising, and ends training when that no longer helps."""
    plateau_factor: float = number(0.1, 0.001, 0.999)
    """The schedule `plateau` multiplies the learning rate by this."""
    plateau_patience: int = number(3, 0)
    """The dev scores in a row without a better F1 that the schedule `plateau` accepts; it reacts to the next one, as
    `ReduceLROnPlateau` of PyTorch does with a threshold of 0. Counting begins after the warm-up, once something is
    found."""
    plateau_reductions: int = number(2, 0)
    """How often the schedule `plateau` lowers the learning rate. The next time, training ends."""
    warmup_epochs: float = _auto(0.0, 0)
    """Epochs, or a fraction of one, in which the learning rate rises from 0."""
    max_grad_norm: float = number(3.0, 0)
    """The largest gradient norm; larger gradients are clipped. 0 for no clipping."""
    weight_decay: float = number(0.0, 0)
    """Weight decay. It does not apply to word vectors."""
    softmax_margin: bool = True
    """Softmax-margin training of segmental models: in training, wrong edges get a cost."""
    beta: float = number(1.5, 1, 1000)
    """β: the cost of a missed mention in softmax-margin training, where a false one costs 1."""
    lm_loss_weight: float = _auto(0.0, 0)
    """Weight of an auxiliary language-model loss, which predicts the words before and after each word. 0 for none."""
    tune_mention_bias: bool = False
    """Whether training ends by choosing `model.mention_bias`, by F1 on dev."""
    ema_decay: float = _auto(0.0, 0, 0.99999)
    """Decay of the exponential moving average of the parameters. The average is what is evaluated and kept. 0 for
    none."""


@dataclass(frozen=True)
class DistillationConfig:
    """Distillation: the model learns from the distribution over mention sets of one or several teachers."""

    teacher: str | tuple[str, ...] = ""
    """The teacher: a bundled model by name, or a folder. A list names several, whose scores are averaged. `""` for
    none."""
    text: str = ""
    """Unlabelled text for the teacher to annotate: a file (.txt, .txt.gz, .txt.xz), a folder of them, or a corpus,
    whose mentions are ignored."""
    sentences: int = number(0, 0)
    """Unlabelled sentences of each epoch, in addition to the training sentences. Each epoch reads the next ones. 0 for
    all."""
    gold_weight: float = number(0.5, 0, 1)
    """Weight of the gold loss on training sentences. The loss from the teacher has the rest."""
    copy_embeddings: bool = True
    """Whether the student begins with the vocabulary, word vectors and characters of its teacher; with several, of the
    first."""

    @property
    def teachers(self) -> tuple[str, ...]:
        """The names or folders of all teachers."""
        given = (self.teacher,) if isinstance(self.teacher, str) else self.teacher
        return tuple(name for name in given if name)


@dataclass(frozen=True)
class PartialConfig:
    """Training sentences that are annotated in part: how many mentions are expected where annotation is unknown."""

    rates: Mapping[str, float] = _by_label(0, 100)
    """Expected mentions per word, by label. Labels that are not listed have their rate in dev."""
    rate_weight: float = number(1.0, 0)
    """Penalty in nats for each expected mention of a batch above or below its rate, beyond chance. 0 for none."""


@dataclass(frozen=True)
class Config:
    """The configuration of a model and its training, in sections such as `model` and `training`.

    It is frozen, and unknown keys are errors. The page "Configuration keys" lists all sections and keys.

    >>> from hyperspan import Config
    >>> config = Config.from_mapping({"model": {"max_width": 6}}).override(["training.seed=3"])
    >>> config.model.max_width, config.training.seed
    (6, 3)
    >>> Config.from_mapping({"training": {"sed": 3}})
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: the configuration has no key training.sed; did you mean training.seed?
    """

    data: DataConfig = DataConfig()
    model: ModelConfig = ModelConfig()
    calibration: CalibrationConfig = CalibrationConfig()
    words: WordsConfig = WordsConfig()
    characters: CharactersConfig = CharactersConfig()
    transformer: TransformerConfig = TransformerConfig()
    encoder: EncoderConfig = EncoderConfig()
    segmental: SegmentalConfig = SegmentalConfig()
    joint: JointConfig = JointConfig()
    discontinuous: DiscontinuousConfig = DiscontinuousConfig()
    training: TrainingConfig = TrainingConfig()
    partial: PartialConfig = PartialConfig()
    distillation: DistillationConfig = DistillationConfig()
    kinds: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, hash=False)
    """The sections of kinds of models and encoders that have :class:`KindOptions`, as they were given:
    ``config.kinds["fofe"]`` is ``[fofe]``."""

    def __post_init__(self) -> None:
        for section in fields(self):
            wanted = Mapping if section.name == "kinds" else type(section.default)
            if not isinstance(given := getattr(self, section.name), wanted):
                raise InputError(
                    f"the section {section.name} is {given!r:.80}, but must be a {wanted.__name__}; "
                    "use Config.from_mapping for a dict of sections"
                )

    @classmethod
    def from_mapping(cls, given: Mapping[str, Any]) -> Config:
        """Make a configuration from a mapping of sections; missing keys have their defaults."""
        chosen = [table.get("kind") for key in KINDS if isinstance(table := given.get(key), Mapping)]
        for name in given:
            _check_section(name, chosen)
        kinds = {name: free_table(table, name) for name, table in given.items() if name not in SECTIONS}
        return replace(build(cls, {name: given[name] for name in given if name not in kinds}), kinds=kinds)

    @classmethod
    def read(cls, path: str | Path, overrides: Iterable[str] = ()) -> Config:
        """Read a TOML file, and apply ``section.key=value`` overrides."""
        path = Path(path)
        if path.is_dir() or not path.exists():  # a pipe is no file, but can be read
            raise InputError(f"{path} is not a file; name a TOML file, such as hyperspan init writes for a corpus")
        tables = read_toml(read_text(path), str(path), "hyperspan init writes a configuration for a corpus")
        try:
            config = cls.from_mapping(tables)
            config._check_kinds()
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        return config.override(overrides)

    @classmethod
    def of_model(cls, folder: Path) -> Config:
        """Read the configuration of the model in a folder."""
        path = folder / "config.toml"
        if not path.is_file():
            raise InputError(f"{folder} holds no model (no file config.toml); name a folder that hyperspan train wrote")
        try:
            return cls.stored(read_text(path), str(path)).settled()
        except OSError as error:
            raise InputError(
                f"{path} cannot be read ({error.strerror}); it must be a file that hyperspan train wrote and that you may read"
            ) from None

    @classmethod
    def stored(cls, text: str, place: str) -> Config:
        """Read the configuration that a model or a checkpoint was saved with; `place` says where it is.

        A key or a value that this version does not know is an error: without it the model would be another one.
        """
        tables = read_toml(text, place, "train the model again")
        try:
            return cls.from_mapping(tables)
        except InputError as error:
            raise InputError(
                f"{place} does not fit this version of hyperspan, so train the model again or correct it: {error}"
            ) from None

    @classmethod
    def from_toml(cls, text: str) -> Config:
        """Parse a configuration from TOML."""
        return cls.from_mapping(read_toml(text))

    def override(self, overrides: Iterable[str]) -> Config:
        """Return a copy with some values replaced, each given as ``section.key=value``."""
        config = self
        for given in overrides:
            name, equals, value = given.partition("=")
            section, dot, key = name.strip().partition(".")
            if not equals or not dot:
                raise InputError(f"--set {given!r} is not SECTION.KEY=VALUE; write for example --set training.seed=3")
            _check_section(section, [config.model.kind, config.encoder.kind])
            if section in SECTIONS:
                check_key(type(getattr(config, section)), key, f"{section}.")
            table = {**config.tables().get(section, {}), key: parse_value(value.strip())}
            config = config._with_section(section, Config.from_mapping({section: table}))
        return config

    def _with_section(self, name: str, other: Config) -> Config:
        """This configuration with a section of another one."""
        if name in SECTIONS:
            return replace(self, **{name: getattr(other, name)})
        return replace(self, kinds={**self.kinds, name: other.kinds[name]})

    def options(self, kind: str, options: type[OptionsType]) -> OptionsType:
        """The section of a kind of model or encoder, checked; missing keys have their defaults.

        >>> from hyperspan.baselines.fofe import FofeOptions
        >>> Config().override(["fofe.layers=2"]).options("fofe", FofeOptions).layers
        2
        """
        return build(options, self.kinds.get(kind, {}), f"{kind}.")

    def _check_kinds(self) -> None:
        """Check the sections of kinds. Built-in ones need torch; without it nothing reads them."""
        for name in self.kinds:
            try:
                options = OPTIONS[name]
            except MissingExtraError:
                continue
            self.options(name, options)

    def completed(self) -> Config:
        """This configuration with all keys of its kinds: those of the model and the encoder, and what else has a
        section."""
        names = [name for name in dict.fromkeys((self.model.kind, self.encoder.kind, *self.kinds)) if name in OPTIONS]
        values = {name: values_of(self.options(name, OPTIONS[name])) for name in names}
        return replace(self, kinds={name: free_table(table, name) for name, table in values.items()})

    def settled(self) -> Config:
        """This configuration without "auto": what is left to the corpus gets a value that suits none in particular."""
        return self.with_values({key: settled for key, settled in SETTLED.items() if self.is_auto(key)})

    def is_auto(self, key: str) -> bool:
        """Whether the value of ``section.name`` is left to the corpus."""
        return self.values([key])[key] == AUTO

    def values(self, keys: Iterable[str]) -> dict[str, Any]:
        """The values of some keys ``section.name``."""
        parts = {key: key.partition(".") for key in keys}
        return {key: getattr(getattr(self, section), name) for key, (section, _, name) in parts.items()}

    def with_values(self, values: Mapping[str, Any]) -> Config:
        """This configuration with the values of some keys ``section.name``, which are known to be good."""
        config = self
        for key, value in values.items():
            section, _, name = key.partition(".")
            if section in SECTIONS:
                config = replace(config, **{section: replace(getattr(config, section), **{name: value})})
            else:
                table = {**config.kinds.get(section, {}), name: value}
                config = replace(config, kinds={**config.kinds, section: table})
        return config

    def tables(self) -> dict[str, dict[str, Any]]:
        """The values by section and key."""
        sections = {name: values_of(getattr(self, name)) for name in SECTIONS}
        return sections | {name: dict(table) for name, table in self.kinds.items()}

    def to_toml(self) -> str:
        """Return the configuration as TOML; :meth:`read` reads it back."""
        lines: list[str] = []
        for name, values in self.tables().items():
            lines += [f"[{to_key(name)}]", *(f"{to_key(key)} = {to_toml(value)}" for key, value in values.items()), ""]
        return "\n".join(lines)


SECTIONS = tuple(entry.name for entry in fields(Config) if entry.name != "kinds")
"""The sections of every configuration."""
SETTLED = {
    f"{section.name}.{entry.name}": entry.metadata["settled"]
    for section in fields(Config)
    if section.name in SECTIONS
    for entry in fields(section.default)  # pyright: ignore[reportArgumentType]
    if "settled" in entry.metadata
}
"""The keys that may be "auto", and their values where there is no corpus."""


KINDS = {"model": MODELS, "encoder": ENCODERS}
"""The sections whose `kind` may be that of a plug-in, and the kinds."""


def _check_section(name: str, chosen: Sequence[Any]) -> None:
    """Raise an InputError for a section that neither every configuration has nor a kind of model or encoder.

    `chosen` are the kinds of the configuration.
    """
    if name in SECTIONS or name in OPTIONS:
        return
    close = difflib.get_close_matches(name[:100], [*SECTIONS, *OPTIONS], 1)
    if name in chosen and not any(name in kinds for kinds in KINDS.values()):
        hint = f"{name[:100]} is a kind of a plug-in that is not installed; install the package that adds it"
    elif close:
        hint = f"did you mean {close[0]}? Other kinds are plug-ins to install"
    else:
        hint = f"it has {', '.join(SECTIONS)}, and those of installed kinds; other kinds are plug-ins to install"
    raise InputError(f"the configuration has no section {name[:100]}; {hint}")
