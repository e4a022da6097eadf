"""A trained model over NumPy arrays: from sentences to a distribution over their mention sets, without torch.

The computation is that of :class:`hyperspan.nn.recognizer.Recognizer` with a neural encoder; tests compare the two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.files import Target
from hyperspan.kernels.choice import FUSED_BATCH_ENTRIES, choose, encoder_library
from hyperspan.kernels.encode import InferenceOptions, PackedWeights, ScoreArrays, check_precision, encode
from hyperspan.kernels.threads import thread_count
from hyperspan.runtime.characters import READERS
from hyperspan.runtime.interface import InferenceModel
from hyperspan.runtime.kinds import SERVED_KINDS, ArrayDistribution
from hyperspan.runtime.tensors import FIXED, SCALE, TRAINED, TensorFile
from hyperspan.runtime.tokens import REMEMBERED_BYTES, TokenGates, TokenVectors, packed_order
from hyperspan.runtime.weights import encoder_weights, expected_shapes
from hyperspan.structures.segmental_calibration import TypeCalibration
from hyperspan.text.tokens import Tokenizer
from hyperspan.text.vocabulary import Vocabulary, check_names_of
from hyperspan.types import Sentence


def is_served(config: Config) -> bool:
    """Whether the runtime supports models of this configuration."""
    return (
        config.model.kind in SERVED_KINDS
        and (config.model.tied or not SERVED_KINDS[config.model.kind].discontinuous)
        and config.encoder.kind == "neural"
        and config.encoder.layers > 0
        and not config.transformer.name
        and (config.characters.encoder == "none" or config.characters.encoder in READERS)
    )


class RuntimeModel(InferenceModel):
    """A model loaded from a folder."""

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
            raise InputError(f"skip is nan for a model of kind {config.model.kind!r}; it must be a number")
        self.folder, self.config, self.vocabulary = folder, config, vocabulary
        check_names_of(folder, config, vocabulary)
        self.kind = SERVED_KINDS[config.model.kind]
        self.tokenizer = Tokenizer(config.model.tokenizer)
        bias = config.model.mention_bias  # which is added after the kernels have compared scores
        calibration = config.calibration.of(self.labels, config.model.temperature)
        self.calibration = None if calibration is None else TypeCalibration(*calibration)
        own_margin = config.segmental.skip_margin or math.inf
        self.options = InferenceOptions(precision, (math.inf if skip is None else skip) + bias)
        self.quick_options = InferenceOptions(precision, (own_margin if skip is None else skip) + bias)
        self._tensors = tensors = TensorFile(folder / "model.safetensors")
        tensors.check(expected_shapes(config, vocabulary), (TRAINED, FIXED))
        tensors.read()
        self.vectors = TokenVectors(tensors, config, vocabulary)
        weights = encoder_weights(tensors, config)
        self.weights = weights if self.calibration is None else self.calibration.fold(weights)
        self.remembered_bytes = remembered_bytes
        self._kernels: dict[int, TokenGates] = {}

    def __repr__(self) -> str:
        return f"RuntimeModel({self.folder.name}, labels: {', '.join(self.labels)})"

    @property
    def discontinuous(self) -> bool:
        return self.kind.discontinuous

    @property
    def batch_entries(self) -> int:
        return FUSED_BATCH_ENTRIES

    @property
    def parameter_count(self) -> int:
        """The number of trained parameters."""
        entries = self._tensors.entries.items()
        return sum(math.prod(shape) for name, (_, shape) in entries if name != FIXED and not name.endswith(SCALE))

    def inference(self) -> AbstractContextManager[None]:
        """A context for inference; the runtime never stores gradients."""
        return nullcontext()

    def save(self, folder: Path) -> None:
        """Write the model to a folder, unchanged."""
        folder.mkdir(parents=True, exist_ok=True)
        with Target(str(folder / "config.toml"), force=True).open() as file:
            file.write(self.config.to_toml())
        self.vocabulary.save(folder)
        self._tensors.save(folder / "model.safetensors")

    def distribution(self, sentences: Sequence[Sentence]) -> ArrayDistribution:
        """The distribution over the mention sets of each sentence; types are indices into `labels`."""
        return self._distribution(sentences, self.options)

    def quick_distribution(self, sentences: Sequence[Sentence]) -> ArrayDistribution:
        """The same, but skip words that are very unlikely to begin a mention, by `segmental.skip_margin`."""
        return self._distribution(sentences, self.quick_options)

    def _distribution(self, sentences: Sequence[Sentence], options: InferenceOptions) -> ArrayDistribution:
        lengths = [len(sentence) for sentence in sentences]
        temperature = self.config.model.temperature if self.calibration is None else 1.0
        if not any(lengths):
            empty = np.zeros((len(lengths), 0, len(self.labels)), dtype=np.float32)
            nothing = ScoreArrays(empty, empty, empty[:, :, None][:, :, :0], empty[:, :, None])
            return self.kind.distribution(self.config, nothing, None, lengths, None)
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
        parts = gates.packed.part_scores(lengths, self.max_width)
        scores = encode(
            *(library, gates.packed, words, lengths, self.max_width, options, temperature, threads), parts=parts
        )
        if self.config.model.mention_bias:
            bias = self.config.model.mention_bias / temperature
            scores = scores._replace(present=scores.present + bias)
        return self.kind.distribution(self.config, scores, parts, lengths, self.calibration)
