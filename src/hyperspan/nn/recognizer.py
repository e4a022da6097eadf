"""The standard model: an encoder, a scorer, and a structure over the sentence.

Scorers do not depend on how words and spans are encoded: the encoder provides the layers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from hyperspan.config import Config
from hyperspan.kernels.choice import batch_entries, choose, encoder_library
from hyperspan.kernels.threads import torch_openmp
from hyperspan.nn.batch import Batch
from hyperspan.nn.encoder import Encoder, OutputLayer, Spans, TypeAxes, WeightColumns
from hyperspan.nn.model import Abilities, FoundAt, Model, Setting
from hyperspan.plugins import ENCODERS, MODELS
from hyperspan.runtime.model import Adjustment, ArrayModel, obstacle
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.distribution import Distribution
from hyperspan.structures.losses import Loss
from hyperspan.structures.mentions import Mention, MentionSet
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence

INITIAL_MENTION_BIAS = -3.0
"""The initial mention score: most mention sets of a sentence are large, so training starts with a bias towards small
ones."""


class Scorer(nn.Module):
    """From words and spans to scores, and from scores to a distribution."""

    abilities: ClassVar[Abilities] = Abilities()
    """What models with this scorer can do."""

    def __init__(self, encoder: Encoder, labels: Sequence[str], config: Config):
        super().__init__()
        self.types, self.config = len(labels), config

    @classmethod
    def check(cls, config: Config) -> None:
        """Raise an InputError if a configuration asks for something that this scorer cannot do."""

    @classmethod
    def settled(cls, config: Config, labels: Sequence[str], sentences: Sequence[Sentence]) -> Config:
        """Complete the configuration with values that this scorer derives from the training sentences, unless given."""
        return config

    def forward(self, words: Tensor, spans: Spans | None, batch: Batch) -> Any:
        """The scores of a batch."""
        raise NotImplementedError

    def add_mention_bias(self, scores: Any, bias: float) -> Any:
        """Add a bias to the score of every mention or, if mentions share scores, of every start."""
        raise NotImplementedError

    def add_discontinuous_bias(self, scores: Any, bias: float) -> Any:
        """Add a bias to the score of every part that others follow; only if it finds `gaps`."""
        raise NotImplementedError

    def weight_columns(self) -> list[WeightColumns]:
        """The weights of handcrafted features; empty if the layers read vectors."""
        layers = [layer for layer in self.modules() if isinstance(layer, OutputLayer) and layer.outputs.types]
        return [columns for layer in layers for columns in layer.columns()]

    def own_axes(self) -> dict[str, TypeAxes]:
        """The axes of types of its own parameters, by name: of those that are not a layer's."""
        return {}

    def type_axes(self) -> dict[str, TypeAxes]:
        """The axes of all parameters, by name, that index outputs of types; empty unless every parameter is known."""
        found = self.own_axes()
        for name, layer in self.named_modules():
            if isinstance(layer, OutputLayer):
                found |= {f"{name}.{one}": TypeAxes(layer.outputs, (axis,)) for one, axis in layer.output_axes.items()}
        if any(name not in found for name, _ in self.named_parameters()):
            return {}
        return {name: axes for name, axes in found.items() if axes.outputs.types}

    @torch.no_grad()
    def copy_from(self, state: Mapping[str, Tensor], weights: Tensor) -> None:
        """Copy the parameters of a trained scorer of the same kind, given its state.

        `weights` (types, types of that scorer) have rows that sum to 1: each type is initialised as a weighted mean of
        trained ones.
        """
        known = self.type_axes()
        for name, parameter in self.named_parameters() if known else ():
            learnt = state[name]
            if name in known:
                outputs, axes = known[name]
                for axis in axes:
                    learnt = outputs.of_types(learnt.movedim(axis, 0), weights).movedim(0, axis)
            parameter.copy_(learnt)

    def distribution(self, scores: Any, lengths: Sequence[int]) -> Distribution:
        """The distribution that the scores define."""
        raise NotImplementedError

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        """The subset of mentions that the structure can represent, in a batch whose longest sentence has `longest`
        words."""
        return mentions

    def loss(
        self,
        scores: Any,
        gold: Sequence[set[Mention]],
        lengths: Sequence[int],
        marks: PartialMarks | None = None,
    ) -> Loss:
        """-log p of gold mentions, or of the partial annotation in `marks`; and how many mentions the structure cannot
        represent."""
        kept = [self.representable(mentions, max(lengths, default=0)) for mentions in gold]
        if self.config.training.softmax_margin:
            scores = self.with_margin(scores, kept, lengths, marks)
        values = -self.distribution(scores, lengths).log_prob_of_known(kept, marks)
        return Loss(values, tuple(len(all_) - len(some) for all_, some in zip(gold, kept, strict=True)))

    def with_margin(
        self, scores: Any, gold: Sequence[set[Mention]], lengths: Sequence[int], marks: PartialMarks | None
    ) -> Any:
        """The scores by which the loss makes misses cost more, for scorers that learn so."""
        return scores

    def by_word(self, rows: Tensor, batch: Batch) -> Tensor:
        """(N, d) -> (B, n, d)"""
        return rows.index_select(0, batch.row_of).view(len(batch.lengths), batch.longest, rows.shape[1]).float()

    def no_wider(self, mentions: set[Mention], longest: int) -> set[Mention]:
        limit = self.config.model.max_width
        return {m for m in mentions if m[1] - m[0] <= (longest if limit == "n" else limit)}


MENTION_BIASES = [step / 4 for step in range(-8, 17)]
"""From -2 to 4."""


class Recognizer(Model):
    """Words → encoded words and spans → scores → a distribution over sets of mentions."""

    def __init__(self, config: Config, vocabulary: Vocabulary):
        super().__init__(config, vocabulary)
        kind: type[Scorer] = MODELS[config.model.kind]
        self.abilities = kind.abilities
        self.encoder = ENCODERS[config.encoder.kind](config, vocabulary, spans=kind.abilities.spans)
        self.scorer = kind(self.encoder, self.labels, config)
        self._arrays: tuple[Any, ArrayModel] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_arrays": None}  # a copy has weights of its own

    @property
    def batch_entries(self) -> int:
        scored = not obstacle(self.config, scores_alone=True)
        return batch_entries(self.device.type, fused=scored, linear_memory=self.abilities.large_batches)

    def arrays(self) -> ArrayModel | None:
        """This model over arrays, whose scores C computes; made anew when a parameter or the configuration changed.

        None where torch computes: in training, with gradients, on other devices, and for models that C does not score.
        """
        if self.training or torch.is_grad_enabled() or obstacle(self.config, scores_alone=True):
            return None
        state = [*self.parameters(), *self.buffers()]
        excluded = {"c"} if any(one.dtype != torch.float32 for one in self.scorer.parameters()) else ()
        if choose("encoder", self.device.type, excluded) != "c" or self.options.dtype not in encoder_library().encode:
            return None
        # Tensors made in inference mode have no version counter, so nothing derived from them can be kept.
        known = not any(tensor.is_inference() for tensor in state)
        key = known and (self.config, self.options, [(tensor.data_ptr(), tensor._version) for tensor in state])
        kept = self._arrays  # read once: another thread may change it meanwhile
        if kept is None or not known or kept[0] != key:
            tensors = {name: tensor.numpy() for name, tensor in self.state_dict().items()}
            arrays = ArrayModel(self.config, self.vocabulary, tensors, self.options, openmp=torch_openmp())
            self._arrays = kept = (key, arrays)
        return kept[1]

    def forward(self, batch: Batch) -> Any:
        """The scores of a batch, as input to the model's distribution: arrays where C computes them."""
        arrays = self.arrays()
        if arrays is not None:
            return arrays.scores(self._vectors(batch), batch.lengths)
        return self.score(self.encoder(batch)[-1], batch)

    def _vectors(self, batch: Batch) -> np.ndarray | None:
        """(N, d): the vectors of words for C; None without words."""
        return self.encoder.vectors(batch).contiguous().numpy() if any(batch.lengths) else None

    def score(self, words: Tensor, batch: Batch) -> Any:
        """(N, …), encoded words -> scores."""
        return self.scorer(words, self.encoder.spans_of(words, batch), batch)

    def distribution(self, sentences: Sequence[Sentence]) -> Distribution:
        """The distribution over the mention sets of each sentence; types are indices into `labels`."""
        arrays = self.arrays()
        if arrays is not None and not self.config.transformer.name:
            return arrays.distribution(sentences)
        batch = self.collate(sentences)
        if arrays is not None:
            return arrays.distribution_of(self._vectors(batch), batch.lengths)
        adjustment = Adjustment(self.config, self.labels)
        scores, temperature = self(batch), adjustment.temperature
        scores = self.biased(scores if temperature == 1.0 else scores / temperature, temperature)
        return adjustment.calibrated(self.scorer.distribution(scores, batch.lengths))

    def biased(
        self,
        scores: Any,
        temperature: float = 1.0,
        *,
        mention_bias: float | None = None,
        discontinuous_bias: float | None = None,
    ) -> Any:
        """Add the given biases, by default those of the configuration, to scores that are already divided by a
        temperature."""
        config = self.config
        mention_bias = config.model.mention_bias if mention_bias is None else mention_bias
        discontinuous_bias = config.discontinuous.bias if discontinuous_bias is None else discontinuous_bias
        if mention_bias:
            scores = self.scorer.add_mention_bias(scores, mention_bias / temperature)
        if discontinuous_bias and self.discontinuous:
            scores = self.scorer.add_discontinuous_bias(scores, discontinuous_bias / temperature)
        return scores

    def loss_of(self, scores: Any, /, gold: Sequence[set[Mention]], batch: Batch) -> Loss:
        return self.scorer.loss(scores, gold, batch.lengths)

    def loss_of_partial(self, scores: Any, /, gold: Sequence[set[Mention]], batch: Batch, marks: PartialMarks) -> Loss:
        return self.scorer.loss(scores, gold, batch.lengths, marks)

    def weight_columns(self) -> list[WeightColumns]:
        return self.scorer.weight_columns()

    def representable(self, mentions: set[Mention], longest: int) -> set[Mention]:
        return self.scorer.representable(mentions, longest)

    def settings(self) -> list[Setting]:
        scorer, found = self.scorer, list[Setting]()
        if self.discontinuous:
            found.append(
                Setting.discontinuous_bias(self._found_with(scorer.add_discontinuous_bias, "discontinuous_bias"))
            )
        if self.config.training.tune_mention_bias:
            found_at = self._found_with(scorer.add_mention_bias, "mention_bias")
            found.append(Setting("model", "mention_bias", MENTION_BIASES, 0.0, found_at))
        return found

    def _found_with(self, add: Callable[[Any, float], Any], name: str) -> FoundAt:
        """A function from sentences to one from a value of a bias to the most probable sets with it."""

        def found_at(sentences: Sequence[Sentence]) -> Callable[[float], list[MentionSet]]:
            scores, lengths = self(self.collate(sentences)), [len(sentence) for sentence in sentences]
            scores = self.biased(scores, **{name: 0.0})
            return lambda bias: self.scorer.distribution(add(scores, bias), lengths).argmax()

        return found_at
