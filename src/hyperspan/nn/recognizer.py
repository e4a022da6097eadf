"""The standard model: an encoder, a scorer, and a structure over the sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from hyperspan.config import Config
from hyperspan.kernels.choice import batch_entries, choose, encoder_library
from hyperspan.kernels.threads import torch_openmp
from hyperspan.nn.batch import Batch
from hyperspan.nn.model import Model, Setting
from hyperspan.nn.outputs import WeightColumns
from hyperspan.nn.scorer import Scorer
from hyperspan.plugins import ENCODERS, MODELS
from hyperspan.runtime.model import Adjustment, ArrayModel, obstacle
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.distribution import Distribution
from hyperspan.structures.losses import Loss
from hyperspan.structures.mentions import Mention, MentionSet
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence

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

    def forward(self, batch: Batch, temperature: float = 1.0) -> Any:
        """The scores of a batch, divided by a temperature, as input to the model's distribution."""
        arrays = self.arrays() if any(batch.lengths) else None
        if arrays is None:
            scores = self.score(self.encoder(batch)[-1], batch)
            return scores / temperature if temperature != 1.0 else scores
        vectors = self.encoder.vectors(batch).contiguous().numpy()
        edges, parts = arrays.scores(vectors, batch.lengths, self.options, temperature)
        given = {**edges._asdict(), **({} if parts is None else parts._asdict())}
        return self.scorer.of_arrays(
            {name: torch.from_numpy(one) for name, one in given.items() if one is not None}, temperature
        )

    def score(self, words: Tensor, batch: Batch) -> Any:
        """(N, …), encoded words -> scores."""
        return self.scorer(words, self.encoder.spans_of(words, batch), batch)

    def distribution(self, sentences: Sequence[Sentence]) -> Distribution:
        """The distribution over the mention sets of each sentence; types are indices into `labels`."""
        batch, adjustment = self.collate(sentences), Adjustment(self.config, self.labels)
        scores = self.biased(self(batch, adjustment.temperature), adjustment.temperature)
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
        found = [Setting.discontinuous_bias(self.found_at_discontinuous_bias)] if self.discontinuous else []
        if self.config.training.tune_mention_bias:
            found.append(Setting("model", "mention_bias", MENTION_BIASES, 0.0, self.found_at_mention_bias))
        return found

    def found_at_mention_bias(self, sentences: Sequence[Sentence]) -> Callable[[float], list[MentionSet]]:
        """Return a function from a mention bias to the most probable sets with it."""
        scores, lengths, scorer = self(self.collate(sentences)), [len(sentence) for sentence in sentences], self.scorer
        scores = self.biased(scores, mention_bias=0.0)
        return lambda bias: scorer.distribution(scorer.add_mention_bias(scores, bias), lengths).argmax()

    def found_at_discontinuous_bias(self, sentences: Sequence[Sentence]) -> Callable[[float], list[MentionSet]]:
        """Return a function from a bias of discontinuous mentions to the most probable sets with it."""
        scores, lengths, scorer = self(self.collate(sentences)), [len(sentence) for sentence in sentences], self.scorer
        scores = self.biased(scores, discontinuous_bias=0.0)
        return lambda bias: scorer.distribution(scorer.add_discontinuous_bias(scores, bias), lengths).argmax()
