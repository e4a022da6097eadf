"""A trained segmental model over NumPy arrays: from sentences to a distribution over their mention sets, without torch.

The computation is that of :class:`hyperspan.models.recognizer.Recognizer` with a neural encoder; tests compare the two.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.files import Target
from hyperspan.kernels.choice import FUSED_BATCH_ENTRIES, choose, encoder_library
from hyperspan.kernels.encoder_arrays import (
    InferenceOptions,
    KnownTokens,
    ScoreArrays,
    check_precision,
    encode,
    gate_rows,
)
from hyperspan.kernels.encoder_weights import EncoderWeights, LstmWeights, PackedWeights
from hyperspan.kernels.libraries import EncoderLibrary
from hyperspan.kernels.threads import thread_count
from hyperspan.runtime.characters import READERS, CharacterReader, lstm_shapes, lstm_weights, reader_shapes
from hyperspan.runtime.tensors import FIXED, SCALE, TRAINED, TensorFile, check_entries
from hyperspan.structures.segmental_arrays import ArrayHypergraph
from hyperspan.structures.segmental_calibration import TypeCalibration
from hyperspan.text.tokenize import Tokenizer
from hyperspan.types import Sentence
from hyperspan.vocabulary import CLUSTER_PREFIXES, UNKNOWN, Vocabulary
from hyperspan.words import LONGEST_SPELLING

REMEMBERED_BYTES = 32_000_000
"""What is kept of tokens; beyond that all are forgotten, so that an endless stream does not fill the memory."""


def is_served(config: Config) -> bool:
    """Whether the runtime computes models of this configuration."""
    return (
        (config.model.kind, config.encoder.kind) == ("segmental", "neural")
        and config.encoder.layers > 0
        and not config.model.scorer_hidden
        and not config.transformer.name
        and (config.characters.encoder == "none" or config.characters.encoder in READERS)
    )


class RuntimeModel:
    """A model of a folder, ready to annotate; what it offers is what :class:`hyperspan.inference.annotator.Annotator` asks."""

    context = 0
    """The words of a document that it reads before and after a sentence."""
    batch_entries = FUSED_BATCH_ENTRIES
    """Sentences × words × widths of a batch."""

    def __init__(
        self,
        folder: Path,
        config: Config,
        vocabulary: Vocabulary,
        *,
        precision: str = "float32",
        skip: float | None = None,
        remembered_bytes: int = REMEMBERED_BYTES,
    ) -> None:
        check_precision(precision, "cpu")
        if skip is not None and math.isnan(skip):
            raise InputError("skip is nan for a model of kind 'segmental'; it must be a number")
        self.folder, self.config, self.vocabulary = folder, config, vocabulary
        self.labels = tuple(vocabulary.labels)
        self.tokenizer = Tokenizer(config.model.tokenizer, config.model.tokenizer_version)
        self.max_width = None if config.model.max_width == "n" else config.model.max_width
        bias = config.model.mention_bias  # which is added after the kernels have compared scores
        calibration = config.calibration.of(self.labels, config.model.temperature)
        self.calibration = None if calibration is None else TypeCalibration(*calibration)
        own_margin = config.segmental.skip_margin or math.inf
        self.options = InferenceOptions(precision, (math.inf if skip is None else skip) + bias)
        self.quick_options = InferenceOptions(precision, (own_margin if skip is None else skip) + bias)
        self._tensors = tensors = TensorFile(folder / "model.safetensors")
        check_entries(tensors.path, tensors.entries, _expected_shapes(config, vocabulary), (TRAINED, FIXED))
        self.vectors = TokenVectors(tensors, config, vocabulary)
        weights = _encoder_weights(tensors, config)
        self.weights = weights if self.calibration is None else self.calibration.fold(weights)
        self.remembered_bytes = remembered_bytes
        self._kernels: dict[int, TokenGates] = {}

    def __repr__(self) -> str:
        return f"RuntimeModel({self.folder.name}, labels: {', '.join(self.labels)})"

    @property
    def joins_documents(self) -> bool:
        """Whether documents of one sentence that follow each other are one text for it."""
        return self.config.data.joined

    @property
    def discontinuous(self) -> bool:
        """Whether mentions may have several parts."""
        return False

    @property
    def reads_tags(self) -> bool:
        """Whether it was trained with part-of-speech tags, without which it finds less."""
        return bool(self.vocabulary.tags)

    @property
    def parameter_count(self) -> int:
        """How many numbers it has learnt."""
        entries = self._tensors.entries.items()
        return sum(math.prod(shape) for name, (_, shape) in entries if name != FIXED and not name.endswith(SCALE))

    def inference(self) -> AbstractContextManager[None]:
        """Nothing is ever kept for gradients."""
        return nullcontext()

    def save(self, folder: Path) -> None:
        """Writes the model to a folder, as it was read."""
        folder.mkdir(parents=True, exist_ok=True)
        with Target(str(folder / "config.toml"), force=True).open() as file:
            file.write(self.config.to_toml())
        self.vocabulary.save(folder)
        self._tensors.save(folder / "model.safetensors")

    def distribution(self, sentences: Sequence[Sentence]) -> ArrayHypergraph:
        """The distribution over the mention sets of each sentence; types are indices into `labels`."""
        return self._distribution(sentences, self.options)

    def quick_distribution(self, sentences: Sequence[Sentence]) -> ArrayHypergraph:
        """The same, but words that are very unlikely to begin a mention are passed over, by `segmental.skip_margin`."""
        return self._distribution(sentences, self.quick_options)

    def _distribution(self, sentences: Sequence[Sentence], options: InferenceOptions) -> ArrayHypergraph:
        lengths = [len(sentence) for sentence in sentences]
        temperature = self.config.model.temperature if self.calibration is None else 1.0
        if not any(lengths):
            empty = np.zeros((len(lengths), 0, len(self.labels)), dtype=np.float32)
            return ArrayHypergraph(ScoreArrays(empty, empty, empty[:, :, None][:, :, :0], empty[:, :, None]), lengths)
        if choose("encoder", "cpu") != "c":
            raise InputError(
                "this model was loaded for the C kernels, which are not allowed here; load it again where you force the reference"
            )
        library = encoder_library()
        gates = self._kernels.get(library.lanes)
        if gates is None:
            packed = PackedWeights(self.weights, library.lanes, self.options.precision)
            gates = self._kernels[library.lanes] = TokenGates(self.vectors, packed, self.remembered_bytes)
        threads = thread_count()
        words = gates.of(library, sentences, packed_order(lengths), threads)
        scores = encode(library, gates.packed, words, lengths, self.max_width, options, temperature, threads)
        if self.config.model.mention_bias:
            bias = self.config.model.mention_bias / temperature
            scores = scores._replace(present=scores.present + bias)
        best = None
        if self.calibration is not None:
            scores, best = self.calibration.apply(scores, lengths)
        return ArrayHypergraph(scores, lengths, best)


def packed_order(lengths: Sequence[int]) -> np.ndarray:
    """(N,): for each row of a packed batch its word, counted through all sentences.

    >>> packed_order([1, 3]).tolist()  # the first words of the longer and of the shorter sentence, then the others
    [1, 0, 2, 3]
    """
    if len(lengths) == 1:
        return np.arange(lengths[0])
    given = np.array(lengths, dtype=np.int64)
    order = np.argsort(-given, kind="stable")
    at = np.arange(given.max(initial=0))[:, None]
    counts = (given[None, :] > at).sum(1)  # sentences that have a first, second, … word
    rank = np.arange(given.sum()) - np.repeat(counts.cumsum() - counts, counts)
    return (given.cumsum() - given)[order[rank]] + np.repeat(np.arange(len(counts)), counts)


Token = str | tuple[str, str]
"""A token, with its part-of-speech tag for a model that reads those."""


_computing = threading.Lock()
"""Held while tokens are computed and kept. One for all models, so that no fork leaves it locked in the child."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_computing.acquire, after_in_parent=_computing.release, after_in_child=_computing.release
    )


class TokenGates:
    """What tokens add to the gates of the first layer; it is computed once and kept, as long as there is room."""

    def __init__(self, vectors: TokenVectors, packed: PackedWeights, remembered_bytes: int):
        self.vectors, self.packed = vectors, packed
        self.room = remembered_bytes // (4 * packed.gates)
        self._known: dict[Token, int] = {}
        self._used = 0  # rows of the table
        self._table = np.empty((0, packed.gates), dtype=np.float32)

    def of(
        self, library: EncoderLibrary, sentences: Sequence[Sentence], order: np.ndarray, threads: int
    ) -> KnownTokens:
        """The words of sentences, in an order that is given by the numbers of words."""
        tokens: list[Token] = [token for sentence in sentences for token in sentence.tokens]
        if self.vectors.tags is not None:
            tags = (tag for sentence in sentences for tag in sentence.tags or ("",) * len(sentence))
            tokens = list(zip(tokens, tags, strict=True))  # type: ignore[arg-type]
        with _computing:
            rows = self._rows_of(library, tokens, threads)
            table = self._table  # replaced, not changed, when it is emptied or grows
        return KnownTokens(table, np.array(rows, dtype=np.int32)[order])

    def _rows_of(self, library: EncoderLibrary, tokens: Sequence[Token], threads: int) -> list[int]:
        """The row of each token in the table, which grows by those that are new."""
        known = self._known
        try:
            return [known[token] for token in tokens]
        except KeyError:
            pass
        new = [token for token in dict.fromkeys(tokens) if token not in known]
        if self._used + len(new) > self.room:
            new = list(dict.fromkeys(tokens))
            known.clear()
            self._table, self._used = self._table[:0], 0
        needed = self._used + len(new)
        if needed > len(self._table):
            table = np.empty((max(needed, min(2 * needed, self.room)), self.packed.gates), dtype=np.float32)
            table[: self._used] = self._table[: self._used]
            self._table = table
        self._table[self._used : needed] = gate_rows(library, self.packed, self.vectors.of(new), threads)
        known.update(zip(new, range(self._used, needed), strict=True))
        self._used = needed
        rows = [known[token] for token in tokens]
        for token in new:
            if len(_spelled(token)) > LONGEST_SPELLING:  # no text may fill the memory with its long words
                del known[token]
        return rows


def _spelled(token: Token) -> str:
    return token if isinstance(token, str) else token[0]


class TokenVectors:
    """The vectors of words by themselves: word, tag, clusters and characters."""

    def __init__(self, tensors: TensorFile, config: Config, vocabulary: Vocabulary):
        self.vocabulary = vocabulary
        self.trained = self.fixed = self.tags = self.clusters = None
        self.characters: CharacterReader | None = None
        first = config.words.dimension
        if first:
            self.trained, self.fixed = (ScaledRows.of(tensors, name) for name in (TRAINED, FIXED))
        self.words = slice(0, first)
        if vocabulary.tags:
            self.tags = tensors.floats("encoder.tags.weight")
        self.tag_columns = slice(first, first := first + (0 if self.tags is None else self.tags.shape[1]))
        if vocabulary.clusters:
            self.clusters = tensors.floats("encoder.clusters.weight")
            first += self.clusters.shape[1] * len(CLUSTER_PREFIXES)
        self.cluster_columns = slice(self.tag_columns.stop, first)
        if config.characters.encoder != "none":
            names = reader_shapes(config.characters, len(vocabulary.characters) + 2)
            weights = {name: tensors.floats(f"encoder.characters.{name}") for name in names}
            reader = self.characters = READERS[config.characters.encoder](weights)
            first += reader.dimension
        self.character_columns = slice(self.cluster_columns.stop, first)
        self.dimension = first

    def of(self, tokens: Sequence[Token]) -> np.ndarray:
        """(tokens, dimension): those of different tokens."""
        place, lexicon = self.vocabulary.look_up(list(map(_spelled, tokens)))
        result = np.empty((len(tokens), self.dimension), dtype=np.float32)
        if self.trained is not None:
            result[:, self.words] = self._word_vectors(lexicon.words)[place]
        if self.tags is not None:
            result[:, self.tag_columns] = self.tags[self.vocabulary.tag_ids([tag for _, tag in tokens])]
        if self.clusters is not None:
            result[:, self.cluster_columns] = self.clusters[lexicon.clusters[place]].reshape(len(tokens), -1)
        if self.characters is not None:
            result[:, self.character_columns] = self.characters(lexicon)[place]
        return result

    def _word_vectors(self, ids: np.ndarray) -> np.ndarray:
        assert self.trained is not None and self.fixed is not None
        trained = len(self.trained.rows)
        result = self.trained[np.where(ids < trained, ids, UNKNOWN)]
        others = np.nonzero(ids >= trained)[0]
        if len(others):
            result[others] = self.fixed[ids[others] - trained]
        return result


@dataclass(frozen=True)
class ScaledRows:
    """Vectors as they are in a file: floats, or whole numbers with a factor for each row."""

    rows: np.ndarray
    scale: np.ndarray | None

    @classmethod
    def of(cls, tensors: TensorFile, name: str) -> ScaledRows:
        return cls(tensors.view(name), tensors.view(name + SCALE) if name + SCALE in tensors else None)

    def __getitem__(self, ids: np.ndarray) -> np.ndarray:
        """(ids, dimension), in 32 bits."""
        found = self.rows[ids].astype(np.float32)
        return found if self.scale is None else found * self.scale[ids]


def _encoder_weights(tensors: TensorFile, config: Config) -> EncoderWeights:
    names = (name for name in tensors.entries if name.startswith("encoder.layers."))
    layers = {name: tensors.floats(name) for name in names}
    inputs, recurrent, bias = (tensors.floats(f"encoder.spans.{name}") for name in ("inputs", "recurrent", "bias"))
    return EncoderWeights(
        [
            lstm_weights(layers, f"encoder.layers.{layer}.", suffix)
            for layer in range(config.encoder.layers)
            for suffix in ("", "_reverse")
        ],
        [LstmWeights(inputs[way], recurrent[way], bias[way, 0]) for way in (0, 1)],
        tensors.floats("scorer.start.weight").T,
        tensors.floats("scorer.start.bias"),
        tensors.floats("scorer.parts.from_spans"),
        tensors.floats("scorer.parts.bias"),
        config.model.tied,
        config.segmental.interactions,
    )


def _expected_shapes(config: Config, vocabulary: Vocabulary) -> dict[str, tuple[int, ...]]:
    """The tensors that a model has, by their names."""
    words, encoder, m = config.words, config.encoder, len(vocabulary.labels)
    shapes: dict[str, tuple[int, ...]] = {}
    inputs = words.dimension
    if words.dimension:
        shapes[TRAINED] = (vocabulary.trained + 1, words.dimension)
        shapes[FIXED] = (len(vocabulary.words) - vocabulary.trained, words.dimension)
    if vocabulary.tags:
        shapes["encoder.tags.weight"] = (len(vocabulary.tags) + 1, words.tag_dimension)
        inputs += words.tag_dimension
    if vocabulary.clusters:
        shapes["encoder.clusters.weight"] = (vocabulary.cluster_prefixes + 1, words.cluster_dimension)
        inputs += words.cluster_dimension * len(CLUSTER_PREFIXES)
    if config.characters.encoder != "none":
        reader = reader_shapes(config.characters, len(vocabulary.characters) + 2)
        shapes |= {f"encoder.characters.{name}": shape for name, shape in reader.items()}
        inputs += config.characters.hidden * (2 if config.characters.encoder == "lstm" else 3)
    for layer in range(encoder.layers):
        own = lstm_shapes(2 * encoder.hidden if layer else inputs, encoder.hidden)
        shapes |= {f"encoder.layers.{layer}.{name}": shape for name, shape in own.items()}
    both, spans = 2 * encoder.hidden, encoder.span_hidden
    shapes |= {
        "encoder.spans.inputs": (2, both, 4 * spans),
        "encoder.spans.recurrent": (2, spans, 4 * spans),
        "encoder.spans.bias": (2, 1, 4 * spans),
    }
    outputs = m * (1 + 2 * config.segmental.interactions + 2 * (not config.model.tied))
    shapes |= {"scorer.start.weight": (2 * m, both), "scorer.start.bias": (2 * m,)}
    return shapes | {"scorer.parts.from_spans": (2, spans, outputs), "scorer.parts.bias": (outputs,)}
