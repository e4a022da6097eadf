"""A trained model over NumPy arrays: from sentences to a distribution over their mention sets, in C.

It is made of the files of a folder, without torch, or of the parameters of a :class:`~hyperspan.nn.Recognizer` on the
CPU, which tests compare it with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.files import Target
from hyperspan.kernels.choice import FUSED_BATCH_ENTRIES, choose, encoder_library
from hyperspan.kernels.encode import (
    EncoderWeights,
    InferenceOptions,
    KnownTokens,
    LstmWeights,
    PackedWeights,
    check_dtype,
    encode,
)
from hyperspan.kernels.libraries import EncoderLibrary
from hyperspan.kernels.threads import thread_count
from hyperspan.runtime.batches import packed_order
from hyperspan.runtime.decoding import InferenceModel
from hyperspan.runtime.kinds import KINDS, ArrayDistribution
from hyperspan.runtime.layers import shapes_of
from hyperspan.runtime.tensors import FIXED, SCALE, TRAINED, TensorFile, floats, write_tensors
from hyperspan.runtime.words import REMEMBERED_BYTES, TokenGates, TokenVectors, lstm_weights
from hyperspan.structures.calibration import TypeCalibration
from hyperspan.text.tokens import Tokenizer
from hyperspan.text.vocabulary import Vocabulary, check_names_of
from hyperspan.types import Sentence


def obstacle(config: Config, *, scores_alone: bool = False) -> str:
    """The first setting of a configuration for which a model needs torch; empty if it needs none.

    With `scores_alone`, only the scores are asked for, given the vectors of words: torch may do the rest.

    >>> obstacle(Config()), obstacle(Config().override(["encoder.layers=0"]))
    ('', 'encoder.layers = 0')
    """
    kind = KINDS.get(config.model.kind)
    if kind is None:
        return f"model.kind = {config.model.kind!r}"
    if config.encoder.kind != "neural":
        return f"encoder.kind = {config.encoder.kind!r}"
    if config.transformer.name and not scores_alone:
        return f"transformer.name = {config.transformer.name!r}"
    return "encoder.layers = 0" if config.encoder.layers == 0 else kind.obstacle(config)


def skip_margin(config: Config, skip: float | None, otherwise: float = math.inf) -> float:
    """The margin by which T → X must exceed T → I where words are skipped, before the mention bias is added."""
    if skip is not None and math.isnan(skip):
        raise InputError(f"skip is nan for a model of kind {config.model.kind!r}; it must be a number")
    return (otherwise if skip is None else skip) + config.model.mention_bias


class Adjustment:
    """What a configuration does to the scores of a model: divide them, add a bias, calibrate their distribution."""

    def __init__(self, config: Config, labels: Sequence[str]):
        by_type = config.calibration.of(labels, config.model.temperature)
        self.calibration = None if by_type is None else TypeCalibration(*by_type)
        self.temperature = config.model.temperature if by_type is None else 1.0
        """What all scores are divided by: 1 if each type has a temperature of its own."""
        self.mention_bias = config.model.mention_bias / self.temperature

    def calibrated(self, found: Any, *, folded: bool = False) -> Any:
        """The distribution over divided scores with their biases, calibrated by type; `folded` as for
        :meth:`TypeCalibration.temper`."""
        if self.calibration is None:
            return found
        return found.with_scores(self.calibration.temper(found.scores, folded=folded)).calibrated(self.calibration)


class ArrayModel(InferenceModel):
    """A model whose weights are arrays, by their names in model.safetensors."""

    def __init__(
        self,
        config: Config,
        vocabulary: Vocabulary,
        tensors: Mapping[str, np.ndarray],
        options: InferenceOptions,
        *,
        remembered_bytes: int = REMEMBERED_BYTES,
        openmp: int | None = None,
    ) -> None:
        self.config, self.vocabulary, self.tensors, self.options = config, vocabulary, tensors, options
        self.kind, self.openmp = KINDS[config.model.kind], openmp
        self.tokenizer = Tokenizer(config.model.tokenizer)
        self.adjustment = Adjustment(config, self.labels)
        self.quick_options = options
        self.remembered_bytes = remembered_bytes
        self._packed: dict[tuple[int, bool], PackedWeights] = {}
        self._gates: dict[int, TokenGates] = {}

    @classmethod
    def from_folder(
        cls,
        folder: Path,
        config: Config,
        vocabulary: Vocabulary,
        *,
        dtype: str = "float32",
        skip: float | None = None,
        remembered_bytes: int = REMEMBERED_BYTES,
    ) -> Self:
        """The model in a folder with this configuration and vocabulary."""
        check_dtype(dtype, "cpu")
        margin, quick = skip_margin(config, skip), skip_margin(config, skip, config.segmental.skip_margin or math.inf)
        check_names_of(folder, config, vocabulary)
        KINDS[config.model.kind].check(config)
        file = TensorFile(folder / "model.safetensors")
        file.check(shapes_of(config, vocabulary), (TRAINED, FIXED))
        options = InferenceOptions(dtype, margin)
        model = cls(config, vocabulary, file.read(), options, remembered_bytes=remembered_bytes)
        model.quick_options = InferenceOptions(dtype, quick)
        return model

    def __repr__(self) -> str:
        return f"ArrayModel({self.config.model.kind}, labels: {', '.join(self.labels)})"

    @property
    def discontinuous(self) -> bool:
        return self.kind.discontinuous

    @property
    def batch_entries(self) -> int:
        return FUSED_BATCH_ENTRIES

    @property
    def parameter_count(self) -> int:
        """The number of trained parameters."""
        learnt = (array.size for name, array in self.tensors.items() if name != FIXED and not name.endswith(SCALE))
        return sum(learnt)

    def save(self, folder: Path) -> None:
        """Write the model to a folder, unchanged."""
        folder.mkdir(parents=True, exist_ok=True)
        with Target(str(folder / "config.toml"), force=True).open() as file:
            file.write(self.config.to_toml())
        self.vocabulary.save(folder)
        write_tensors(self.tensors, folder / "model.safetensors")

    def distribution(self, sentences: Sequence[Sentence]) -> ArrayDistribution:
        """The distribution over the mention sets of each sentence; types are indices into `labels`."""
        return self._distribution(sentences, self.options)

    def quick_distribution(self, sentences: Sequence[Sentence]) -> ArrayDistribution:
        """The same, but skip words that are very unlikely to begin a mention, by `segmental.skip_margin`."""
        return self._distribution(sentences, self.quick_options)

    def _distribution(self, sentences: Sequence[Sentence], options: InferenceOptions) -> ArrayDistribution:
        lengths = [len(sentence) for sentence in sentences]
        return self.distribution_of(self._words(sentences, lengths) if any(lengths) else None, lengths, options)

    def distribution_of(
        self, words: np.ndarray | KnownTokens | None, lengths: Sequence[int], options: InferenceOptions | None = None
    ) -> ArrayDistribution:
        """The distribution over the mention sets of sentences of these lengths; for `words` see :meth:`scores`."""
        scores = self.scores(words, lengths, options, adjusted=True)
        found = self.kind.distribution(scores, lengths, self.config, self.labels)
        return self.adjustment.calibrated(found, folded=True) if any(lengths) else found

    def scores(
        self,
        words: np.ndarray | KnownTokens | None,
        lengths: Sequence[int],
        options: InferenceOptions | None = None,
        *,
        adjusted: bool = False,
    ) -> Any:
        """The scores of sentences of these lengths, as the structure takes them.

        `words` are vectors or known tokens, in packed order; None if there are none. With `adjusted`, scores have the
        temperature and the biases of the configuration, and those of spans also the temperatures of types.
        """
        temperature = self.adjustment.temperature if adjusted else 1.0
        longest = max(lengths, default=0)
        width = max(min(self.max_width or longest, longest), 1)
        made = self.kind.unfilled(self.config, (len(lengths), longest, width, len(self.labels)))
        if words is not None:
            library = self._library()
            packed, options = self._weights(library, adjusted), options or self.options
            arrays, threads = made.tensors(), thread_count()
            encode(library, packed, words, lengths, arrays, options, temperature, threads, self.openmp)
        if adjusted and self.adjustment.mention_bias:
            made = made.changed(present=made.present + self.adjustment.mention_bias)
        return self.kind.completed(made, self.config, self.tensors, temperature)

    def _library(self) -> EncoderLibrary:
        if choose("encoder", "cpu") != "c":
            raise InputError(
                "this model was loaded for the C kernels, which are not allowed here; load it again where you force the reference"
            )
        return encoder_library()

    def _words(self, sentences: Sequence[Sentence], lengths: Sequence[int]) -> KnownTokens:
        library = self._library()
        return self._kernels(library).of(library, sentences, packed_order(lengths), thread_count())

    def _kernels(self, library: EncoderLibrary) -> TokenGates:
        """The contributions of tokens to the first layer, cached."""
        gates = self._gates.get(library.lanes)
        if gates is None:
            packed = self._weights(library, adjusted=True)
            vectors = TokenVectors(self.tensors, self.config, self.vocabulary)
            gates = self._gates[library.lanes] = TokenGates(vectors, packed, self.remembered_bytes)
        return gates

    def _weights(self, library: EncoderLibrary, adjusted: bool) -> PackedWeights:
        """The weights in the order of a library; with `adjusted`, they contain what does not depend on a sentence."""
        packed = self._packed.get((library.lanes, adjusted))
        if packed is None:
            weights = encoder_weights(self.tensors, self.config)
            if adjusted:
                weights = weights._replace(part_bias=self.kind.biased(self.config, weights.part_bias))
                by_type = self.adjustment.calibration
                weights = weights if by_type is None else by_type.fold(weights)
            packed = self._packed[library.lanes, adjusted] = PackedWeights(weights, library.lanes, self.options.dtype)
        return packed


def encoder_weights(tensors: Mapping[str, np.ndarray], config: Config) -> EncoderWeights:
    """The weights of the encoder and the scorer in C."""
    kind = KINDS[config.model.kind]
    layers = {name: floats(tensors, name) for name in tensors if name.startswith("encoder.layers.")}
    inputs, recurrent, bias = (floats(tensors, f"encoder.spans.{name}") for name in ("inputs", "recurrent", "bias"))
    return EncoderWeights(
        [
            lstm_weights(layers, f"encoder.layers.{layer}.", suffix)
            for layer in range(config.encoder.layers)
            for suffix in ("", "_reverse")
        ],
        [LstmWeights(inputs[way], recurrent[way], bias[way, 0]) for way in (0, 1)],
        floats(tensors, "scorer.start.weight").T,
        floats(tensors, "scorer.start.bias"),
        floats(tensors, "scorer.parts.from_spans"),
        floats(tensors, "scorer.parts.bias"),
        config.model.tied,
        kind.interactions(config),
    )
