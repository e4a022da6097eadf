"""What a model is and how it is trained: frozen dataclasses that are read from TOML and written to it.

:mod:`hyperspan.toml` reads and checks each value; :func:`hyperspan.nn.validation.validate` checks that they go
together.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

from hyperspan.errors import InputError, MissingExtraError
from hyperspan.plugins import ENCODERS, MODELS, OPTIONS
from hyperspan.toml import (
    AUTO,
    build,
    check_key,
    free_table,
    parse_value,
    read_text,
    read_toml,
    to_key,
    to_toml,
    values_of,
)

MOST_LAYERS, MOST_UNITS, MOST_PARTS = 100, 100_000, 3
"""No model here has more: what a configuration asks for beyond that is a mistake."""


Role = Literal["shape", "follows", "file", "live", "tuned", "fixed", "auto"]
"""What a key is for training, warm starts and resumed runs:

- `shape`: a model has the same value as the model it starts from, or its parameters would not fit.
- `follows`: as in the model it starts from, unless given.
- `file`: the name of a file or a folder, whose content counts and not its name.
- `live`: it may change when a run is resumed, and decides how it goes on.
- `tuned`: training chooses it on dev after the last epoch, so it says nothing about how a model learns.
- `fixed`: it decides what is learnt, and stays when a run is resumed. Keys without a role are taken for these.
- `auto`: `"auto"` leaves it to the corpus; it has another role besides.
"""


def key(default: Any, *roles: Role, low: float | None = None, high: float | None = None) -> Any:
    """A key of the configuration: its default, its roles, and the limits of a number."""
    return field(default=default, metadata={"roles": roles, "low": low, "high": high})


def _table(*roles: Role, low: float | None = None, high: float | None = None) -> Any:
    """A key whose value is a table, within limits if it is one of numbers."""
    return field(default_factory=dict, hash=False, metadata={"roles": roles, "low": low, "high": high})


@dataclass(frozen=True)
class KindOptions:
    """The keys that a kind of model or encoder adds to the configuration, in a section of its name.

    A subclass is a frozen dataclass. Each field is a key, with a default and a docstring; :func:`key` gives it a role
    and limits. The type of a key is ``int``, ``float``, ``bool``, ``str``, ``Literal`` of texts, ``tuple[X, ...]`` (a
    list in TOML), ``Mapping[str, X]`` (a table) or a union of these without tables, such as ``int | Literal["all"]``.
    TOML has no None.
    """


OptionsType = TypeVar("OptionsType", bound=KindOptions)


@dataclass(frozen=True)
class CorpusConfig:
    """One of several corpora: an entry of the list `data.train` or `data.dev`. Corpora may annotate different types."""

    path: str = key("", "file")
    """A file or a folder."""
    labels: Mapping[str, str] = _table("live")
    """The model's label for each label of the corpus; labels that are not listed keep their names. `""` drops the
    mentions of a label, and the model learns nothing about it from this corpus. A listed label must occur in the
    training corpus."""
    annotated: tuple[str, ...] = key((), "live")
    """The model's labels of which the corpus has all mentions. Default: the labels that occur in it."""
    repeat: int = key(1, "live", low=1, high=1000)
    """How often an epoch reads the corpus."""
    format: str = key("", "live")
    """The format of the corpus. Default: `data.format`."""


@dataclass(frozen=True)
class DataConfig:
    """The corpora, in any format that hyperspan reads. Paths are relative to the folder in which you run the
    command."""

    train: str | tuple[CorpusConfig, ...] = key("", "file")
    """The training corpus: a file or a folder. A list names several corpora, which may annotate different types."""
    format: str = key("", "live")
    """The format of all corpora. Default: recognised by their content."""
    dev: str | tuple[CorpusConfig, ...] = key("", "file")
    """The corpus that selects the best epoch, or a list of corpora. Without it the last epoch is kept."""
    joined: bool = key(False, "live")
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

    kind: str = key("segmental", "shape")
    """The kind of model: `segmental` is the segmental hypergraph. The page on models lists the others."""
    max_width: int | Literal["n"] = key("n", "fixed", low=1)
    """c: the widest mention in words. `"n"` for no limit."""
    discontinuous: Literal["drop", "hull"] = key("drop", "fixed")
    """What a model of contiguous mentions learns from a discontinuous one: `drop` leaves it out, `hull` makes it one
    mention from its first to its last word."""
    tied: bool = key(True, "shape")
    """Whether the edge I → (X, I) scores as the sum of I → I and I → X, as in the paper. If not, it has its own
    weights."""
    temperature: float = key(1.0, "tuned", low=0.01, high=1000)
    """Scores are divided by this in inference. Training chooses it on dev at the end; `calibration.temperatures` has
    values for single labels."""
    mention_bias: float = key(0.0, "tuned", low=-1000, high=1000)
    """Added to the score of every mention in inference. Above 0 it raises recall, below 0 precision."""
    names: Mapping[str, str] = _table("fixed")
    """Labels that mark names alone, each with the type that it is a name of: `{person-name = "person"}`. Annotation
    shows their mentions on request, under that type, and leaves them out otherwise. Each type has one such label."""
    tokenizer: str = key("words", "follows")
    """The tokenizer of raw text: `words`, or `split`, which also splits at hyphens, slashes, commas, dots and pluses
    inside words. It applies to training documents without tokens and to all text in inference."""


@dataclass(frozen=True)
class CalibrationConfig:
    """Calibration by label, of the models `segmental` and `discontinuous`. It changes probabilities and keeps the most
    probable sets. Training chooses it on dev."""

    temperatures: Mapping[str, float] = _table("tuned", low=0.01, high=1000)
    """The scores of a label are divided by its temperature. Labels that are not listed use `model.temperature`."""
    biases: Mapping[str, float] = _table("tuned", low=-1000, high=0)
    """Added to the score of beginning a mention of a label: 0 or less, so far as the most probable sets stay the
    same."""
    discontinuous: float = key(0.0, "tuned", low=-1000, high=0)
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

    vectors: str = key("", "file", "auto")
    """Pretrained word vectors: a file (GloVe, word2vec, fastText, npz), `"bundled"` for the English vectors that come
    with hyperspan, or `""` for random ones. `auto`: bundled for English text."""
    dimension: int = key(100, "shape", "auto", low=0, high=MOST_UNITS)
    """Dimension of word vectors. 0 for no word vectors. `auto`: that of the vectors, or 100."""
    max_vectors: int = key(200_000, "fixed", low=0)
    """How many words of a vector file are kept, from its beginning. Words of the training data always keep their
    vectors. 0 for all."""
    lowercase: bool = key(True, "shape")
    """Whether words are looked up in lower case. Characters always keep their case."""
    min_count: int = key(1, "fixed", low=1)
    """How often a word must occur in training to get a vector. Words with a pretrained vector always have one."""
    word_dropout: float = key(0.05, "fixed", low=0, high=1)
    """The fraction of training words that are replaced by the unknown word, so that its vector is trained."""
    tag_dimension: int = key(0, "shape", low=0, high=MOST_UNITS)
    """Dimension of part-of-speech embeddings, 32 in the paper. 0 for none: raw text has no tags."""


@dataclass(frozen=True)
class CharactersConfig:
    """Word vectors from characters."""

    encoder: Literal["none", "lstm", "cnn"] = key("none", "shape", "auto")
    """The character encoder: `none`, `lstm` (+ char in the paper) or `cnn`. `auto`: `lstm`."""
    dimension: int = key(30, "shape", low=1, high=MOST_UNITS)
    """Dimension of character embeddings."""
    hidden: int = key(50, "shape", low=1, high=MOST_UNITS)
    """Units of the character encoder, for each direction (`lstm`) or each filter width (`cnn`)."""


@dataclass(frozen=True)
class TransformerConfig:
    """A pretrained Hugging Face encoder, in addition to word vectors and characters or in their place."""

    name: str = key("", "shape", "file")
    """A Hugging Face encoder: a folder, or a name on the hub. `""` for none."""
    pooling: Literal["first", "mean", "max"] = key("first", "shape")
    """How the vectors of a word's subwords become one: `first`, `mean` or element-wise `max`."""
    layers: int = key(1, "shape", low=1, high=MOST_LAYERS)
    """How many of the last layers are mixed, with learnt weights. 1 uses the last layer alone."""
    freeze: int | Literal["none", "all"] = key("none", "fixed", low=0)
    """What is frozen: `none`, `all`, or a number for the embeddings and that many of the lowest layers."""
    learning_rate: float = key(5e-5, "fixed", low=0, high=10)
    """The highest learning rate of the top layer. It follows `training.schedule`."""
    layer_decay: float = key(1.0, "fixed", low=0.01, high=1)
    """The learning rate of a layer is that of the layer above it times this."""
    window: int = key(0, "follows", low=0)
    """How many subwords the encoder reads at once. 0 for as many as it can. Longer sentences are read in several
    windows."""
    context: int = key(0, "follows", low=0)
    """Words of the document that the encoder reads before and after each sentence."""
    gradient_checkpointing: bool = key(False, "fixed")
    """Whether training computes layers twice instead of storing their activations, to save memory."""
    precision: Literal["float32", "bfloat16"] = key("float32", "fixed")
    """`bfloat16` runs the encoder's matrix products in half precision on a CUDA device, in training and inference."""


@dataclass(frozen=True)
class EncoderConfig:
    """The encoder of words in context, and of spans."""

    kind: str = key("neural", "shape")
    """`neural`: LSTMs over vectors. `handcrafted`: weights for sparse features of words and spans."""
    layers: int = key(1, "shape", "auto", low=0, high=MOST_LAYERS)
    """Layers of the word LSTM. 0 for none. The model `fofe` has none."""
    hidden: int = key(128, "shape", "auto", low=1, high=MOST_UNITS)
    """Units of the word LSTM in each direction."""
    span_hidden: int = key(128, "shape", "auto", low=1, high=MOST_UNITS)
    """Units of the span LSTM in each direction."""
    input_dropout: float = key(0.5, "fixed", "auto", low=0, high=0.95)
    """Dropout on the input of the word LSTM, or on handcrafted features."""
    output_dropout: float = key(0.0, "fixed", "auto", low=0, high=0.95)
    """Dropout on the output of each layer of the word LSTM."""


@dataclass(frozen=True)
class SegmentalConfig:
    """The model `segmental`."""

    interactions: bool = key(True, "shape")
    """Whether I → I edges have weights. Without them, mentions of one type that begin at the same word do not influence
    each other."""
    skip_margin: float = key(0.0, "fixed", low=0.0)
    """Inference on CPUs skips words where T → X scores this much more than T → I for all types, unless mentions with
    probabilities below 0.1 are requested. 0 skips none."""


@dataclass(frozen=True)
class JointConfig:
    """The model `joint`, in which mentions that begin at the same word depend on each other."""

    together: Literal["none", "parameters", "spans"] = key("parameters", "fixed")
    """The score of two mentions of one span: `none`, one parameter for each two labels (`parameters`), or also a score
    from the span vector (`spans`)."""
    within: Literal["none", "parameters", "spans"] = key("none", "fixed")
    """The score of a mention and a wider one of another label that begins at the same word: `none`, `parameters` or
    `spans`."""
    groups: tuple[tuple[str, ...], ...] = key((), "fixed")
    """Lists of labels that depend on each other. Default: chosen from the training sentences."""


@dataclass(frozen=True)
class DiscontinuousConfig:
    """The model `discontinuous`, whose mentions may have several parts with words between them."""

    parts: int = key(2, "fixed", low=1, high=MOST_PARTS)
    """P: the most parts of a mention."""
    gap: int = key(8, "fixed", low=1, high=1000)
    """g: the most words of a gap between two parts."""
    later_width: int = key(4, "fixed", low=1, high=1000)
    """c': the most words of a part after the first. The first part has up to `model.max_width`."""
    bias: float = key(0.0, "tuned")
    """Added to the score of each part that another part follows. Training chooses it on dev at the end."""


@dataclass(frozen=True)
class TrainingConfig:
    """Training: start, length, optimizer, loss and checkpoints."""

    seed: int = key(1, "fixed", low=0, high=2**31 - 1)
    """The seed of all randomness."""
    start: str = key("", "file", "auto")
    """A warm start: the trained model whose encoders and vectors the new model begins with. A bundled model by name, a
    folder, or `""` for none. `auto`: `english` for small English corpora."""
    start_learning_rate: float = key(1e-3, "live", "auto", low=0, high=10)
    """The highest learning rate of what comes from the warm start; the rest has `training.learning_rate`. `auto`: the
    same rate for both."""
    epochs: int = key(50, "live", "auto", low=1)
    """The most passes over the training sentences."""
    patience: int = key(10, "live", "auto", low=0)
    """Training stops after this many epochs without a better dev F1. 0 never stops early."""
    eval_epochs: int = key(1, "live", "auto", low=1)
    """Epochs from one scoring on dev to the next. The last epoch is always scored."""
    batch_size: int = key(32, "fixed", "auto", low=1)
    """Sentences of a step."""
    micro_batch_size: int = key(0, "live", low=0)
    """The most sentences that are computed at once, to save memory. Steps stay the same. 0 for no limit."""
    optimizer: Literal["adam", "adamw"] = key("adam", "fixed")
    """`adam`, or `adamw` (decoupled weight decay)."""
    learning_rate: float = key(1e-3, "live", "auto", low=0, high=10)
    """The highest learning rate."""
    schedule: Literal["constant", "cosine", "plateau"] = key("constant", "fixed", "auto")
    """`constant`, `cosine` or `plateau`, each after a linear warm-up. `cosine` falls to 0 over all epochs; `plateau`
    falls when dev F1 stops rising, and ends training when that no longer helps."""
    plateau_factor: float = key(0.1, "live", low=0.001, high=0.999)
    """The schedule `plateau` multiplies the learning rate by this."""
    plateau_patience: int = key(3, "live", low=0)
    """The dev scores in a row without a better F1 that the schedule `plateau` accepts; it reacts to the next one, as
    `ReduceLROnPlateau` of PyTorch does with a threshold of 0. Counting begins after the warm-up, once something is
    found."""
    plateau_reductions: int = key(2, "live", low=0)
    """How often the schedule `plateau` lowers the learning rate. The next time, training ends."""
    warmup_epochs: float = key(0.0, "fixed", "auto", low=0)
    """Epochs, or a fraction of one, in which the learning rate rises from 0."""
    max_grad_norm: float = key(3.0, "live", low=0)
    """The largest gradient norm; larger gradients are clipped. 0 for no clipping."""
    weight_decay: float = key(0.0, "fixed", low=0)
    """Weight decay. It does not apply to word vectors."""
    softmax_margin: bool = key(True, "fixed")
    """Softmax-margin training of segmental models: in training, wrong edges get a cost."""
    beta: float = key(1.5, "fixed", low=1, high=1000)
    """β: the cost of a missed mention in softmax-margin training, where a false one costs 1."""
    lm_loss_weight: float = key(0.0, "fixed", "auto", low=0)
    """Weight of an auxiliary language-model loss, which predicts the words before and after each word. 0 for none."""
    tune_mention_bias: bool = key(False, "fixed")
    """Whether training ends by choosing `model.mention_bias`, by F1 on dev."""
    cross_fit: bool = key(False, "live", "auto")
    """Whether models of halves of train and dev are trained too, whose mentions in the other halves help to calibrate
    the model. `auto`: below 300 training sentences, where dev alone has too few mentions."""
    ema_decay: float = key(0.0, "fixed", "auto", low=0, high=0.99999)
    """Decay of the exponential moving average of the parameters. The average is what is evaluated and kept. 0 for
    none."""


@dataclass(frozen=True)
class DistillationConfig:
    """Distillation: the model learns from the distribution over mention sets of one or several teachers."""

    teacher: str | tuple[str, ...] = key("", "file")
    """The teacher: a bundled model by name, or a folder. A list names several, whose scores are averaged. `""` for
    none."""
    text: str = key("", "file")
    """Unlabelled text for the teacher to annotate: a file (.txt, .txt.gz, .txt.xz), a folder of them, or a corpus,
    whose mentions are ignored."""
    sentences: int = key(0, "fixed", low=0)
    """Unlabelled sentences of each epoch, in addition to the training sentences. Each epoch reads the next ones. 0 for
    all."""
    gold_weight: float = key(0.5, "fixed", low=0, high=1)
    """Weight of the gold loss on training sentences. The loss from the teacher has the rest."""
    copy_embeddings: bool = key(True, "fixed")
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

    rates: Mapping[str, float] = _table("fixed", low=0, high=100)
    """Expected mentions per word, by label. Labels that are not listed have their rate in dev."""
    rate_weight: float = key(1.0, "fixed", low=0)
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
    given: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """The keys ``section.name`` that were given, perhaps with their defaults; all with other values count as given."""

    def __post_init__(self) -> None:
        for section in fields(self)[: len(SECTIONS) + 1]:
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
        config = build(cls, {name: given[name] for name in given if name not in kinds})
        named = frozenset(f"{name}.{entry}" for name, table in given.items() for entry in table if table[entry] != AUTO)
        return replace(config, kinds=kinds, given=named)

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
            return cls.stored(read_text(path), str(path))
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
            key, equals, value = given.partition("=")
            section, dot, name = key.strip().partition(".")
            if not equals or not dot:
                raise InputError(f"--set {given!r} is not SECTION.KEY=VALUE; write for example --set training.seed=3")
            _check_section(section, [config.model.kind, config.encoder.kind])
            if section in SECTIONS:
                check_key(type(getattr(config, section)), name, f"{section}.")
            table = {**config.tables().get(section, {}), name: parse_value(value.strip())}
            config = config._with_section(section, Config.from_mapping({section: table}), {f"{section}.{name}"})
        return config

    def _with_section(self, name: str, other: Config, given: Set[str]) -> Config:
        """This configuration with a section of another one, where some keys are given that were not."""
        given = self.given - given | other.given & given
        if name in SECTIONS:
            return replace(self, given=given, **{name: getattr(other, name)})
        return replace(self, given=given, kinds={**self.kinds, name: other.kinds[name]})

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
        """This configuration with nothing left to the corpus: its values stay."""
        return replace(self, given=self.given.union(keys("auto")))

    def is_given(self, key: str) -> bool:
        """Whether ``section.name`` was given, or has another value than its default."""
        return key in self.given or self.value(key) != default_of(key)

    def is_auto(self, key: str) -> bool:
        """Whether the value of ``section.name`` is left to the corpus."""
        return not self.is_given(key) and "auto" in _roles(key)

    def value(self, key: str) -> Any:
        """The value of ``section.name``."""
        section, _, name = key.partition(".")
        if section in SECTIONS:
            return getattr(getattr(self, section), name)
        table = self.kinds.get(section, {})
        return table[name] if name in table else default_of(key)

    def values(self, keys: Iterable[str]) -> dict[str, Any]:
        """The values of some keys ``section.name``."""
        return {key: self.value(key) for key in keys}

    def with_values(self, values: Mapping[str, Any]) -> Config:
        """This configuration with the values of some keys ``section.name``, which are known to be good."""
        config = replace(self, given=self.given | values.keys())
        for key, value in values.items():
            section, _, name = key.partition(".")
            if section in SECTIONS:
                config = replace(config, **{section: replace(getattr(config, section), **{name: value})})
            else:
                table = {**config.kinds.get(section, {}), name: value}
                config = replace(config, kinds={**config.kinds, section: table})
        return config

    def left_out(self, keys: Iterable[str]) -> Config:
        """This configuration as if some keys had not been given."""
        names = set(keys)
        return replace(self.with_values({key: default_of(key) for key in names}), given=self.given - names)

    def paths(self) -> dict[str, str]:
        """The files and folders that are named, by key: those of corpora in lists by ``data.train[0].path``."""
        found: dict[str, str] = {}
        self.with_paths(lambda key, path: found.setdefault(key, path))
        return {key: path for key, path in found.items() if path}

    def with_paths(self, change: Callable[[str, str], str]) -> Config:
        """This configuration with other files and folders, given a function of their keys and names."""
        names = keys("file", self.tables())
        return self.with_values({key: _renamed(key, self.value(key), change) for key in names if self.is_given(key)})

    def tables(self) -> dict[str, dict[str, Any]]:
        """The values by section and key; "auto" where the corpus decides."""
        sections = {name: values_of(getattr(self, name)) for name in SECTIONS}
        for key in filter(self.is_auto, keys("auto")):
            section, _, name = key.partition(".")
            sections[section][name] = AUTO
        return sections | {name: dict(table) for name, table in self.kinds.items()}

    def to_toml(self) -> str:
        """Return the configuration as TOML; :meth:`read` reads it back."""
        lines: list[str] = []
        for name, values in self.tables().items():
            lines += [f"[{to_key(name)}]", *(f"{to_key(key)} = {to_toml(value)}" for key, value in values.items()), ""]
        return "\n".join(lines)


SECTIONS = tuple(entry.name for entry in fields(Config) if entry.name not in ("kinds", "given"))
"""The sections of every configuration."""


def entries(section: str) -> Mapping[str, Field[Any]]:
    """The keys of a section, of all configurations or of a kind of model or encoder."""
    try:
        kind: Any = type(getattr(Config, section)) if section in SECTIONS else OPTIONS[section]
        return {entry.name: entry for entry in fields(kind)}
    except (KeyError, MissingExtraError):  # of a plug-in that is not installed, or that needs torch
        return {}


def keys(role: Role, sections: Iterable[str] = SECTIONS) -> list[str]:
    """The keys ``section.name`` with a role.

    >>> keys("follows")
    ['model.tokenizer', 'transformer.window', 'transformer.context']
    """
    return [f"{name}.{key}" for name in sections for key in entries(name) if role in _roles(f"{name}.{key}")]


def default_of(key: str) -> Any:
    """The default of ``section.name``; for one that may be "auto", a value that suits no corpus in particular."""
    section, _, name = key.partition(".")
    entry = entries(section)[name]
    return {} if entry.default is MISSING else entry.default


def first_difference(one: Config, other: Config, *, but: Iterable[Role] = ()) -> str | None:
    """The first key in which two configurations differ, or None; keys with one of the roles `but` may.

    >>> first_difference(Config(), Config().override(["training.seed=2", "training.epochs=9"]), but=["live"])
    'training.seed'
    """
    before, now = one.tables(), other.tables()
    free = set(but)
    for section in before | now:
        values, others = before.get(section, {}), now.get(section, {})
        for name in values | others:
            if values.get(name) != others.get(name) and free.isdisjoint(_roles(f"{section}.{name}")):
                return f"{section}.{name}"
    return None


@cache
def _roles(key: str) -> tuple[Role, ...]:
    section, _, name = key.partition(".")
    entry = entries(section).get(name)
    return () if entry is None else entry.metadata.get("roles", ())


def _renamed(key: str, value: Any, change: Callable[[str, str], str]) -> Any:
    """The value of a key, a path or a list of paths or corpora, with other paths."""
    if isinstance(value, CorpusConfig):
        return replace(value, path=change(f"{key}.path", value.path))
    if isinstance(value, tuple):
        return tuple(_renamed(f"{key}[{place}]", entry, change) for place, entry in enumerate(value))
    return change(key, value)


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
