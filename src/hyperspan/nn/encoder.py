"""The encoder interface: from sentences to representations of words and spans, and to layers that score them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from hyperspan.config import Config, TrainingConfig
from hyperspan.kernels.lstm import SpanLayout, span_layout
from hyperspan.nn.batch import Batch
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence

# -- what the outputs of a layer stand for: by it weights are explained, and a warm start finds those of a label -------


@dataclass(frozen=True)
class Outputs:
    """The outputs of a layer: each role for each type.

    They are in the order of roles, all types of the first and so on, or in that of types with `by_type`.

    >>> Outputs(["starts", "ends"], types=3).count, Outputs(["is outside"]).count
    (6, 1)
    """

    roles: Sequence[str]
    """What an output says of a word or a span."""
    types: int = 0
    """0: the outputs belong to no type, one for each role."""
    by_type: bool = False
    shared: int = 0
    """The number of further outputs, before the others, that belong to no type."""

    @property
    def count(self) -> int:
        """The number of outputs."""
        return self.shared + len(self.roles) * (self.types or 1)

    def by_role(self, weights: Tensor) -> Tensor:
        """(…, outputs) -> (…, roles, types), without those shared."""
        typed = weights[..., self.shared :]
        if self.by_type:
            return typed.unflatten(-1, (self.types, len(self.roles))).transpose(-1, -2)
        return typed.unflatten(-1, (len(self.roles), self.types))

    def of_types(self, learnt: Tensor, weights: Tensor) -> Tensor:
        """(outputs of the trained types, …) -> (outputs, …): each type a weighted mean of the trained ones.

        `weights` is (types, trained types).
        """
        shared, typed = learnt.tensor_split([self.shared])
        order = (weights.shape[1], -1) if self.by_type else (-1, weights.shape[1])
        outputs = typed.unflatten(0, order)
        found = torch.tensordot(weights, outputs if self.by_type else outputs.transpose(0, 1), 1)  # (types, roles, …)
        return torch.cat([shared, (found if self.by_type else found.transpose(0, 1)).flatten(0, 1)])


class TypeAxes(NamedTuple):
    """The axes of a parameter that index outputs, and what these are."""

    outputs: Outputs
    axes: tuple[int, ...] = (0,)


class WeightColumns(NamedTuple):
    """Weights of handcrafted features, and what their columns stand for."""

    weights: Tensor  # (features + 1, outputs); row 0 is of unknown features
    outputs: Outputs
    of_spans: bool = False
    """Whether these are features of spans, not of words."""


class OutputLayer(nn.Module):
    """A layer that an encoder makes: from representations to outputs."""

    output_axes: ClassVar[dict[str, int]] = {}
    """The axis of each of its parameters that indexes outputs; empty if they cannot be copied to other labels."""
    outputs: Outputs

    def columns(self) -> list[WeightColumns]:
        """The weights of its features; empty if it reads vectors."""
        return []


class WordLinear(nn.Linear, OutputLayer):
    """Scores that are linear in vectors of words."""

    output_axes: ClassVar[dict[str, int]] = {"weight": 0, "bias": 0}

    def __init__(self, dimension: int, outputs: Outputs):
        super().__init__(dimension, outputs.count)
        self.outputs = outputs


# -- encoders ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EncoderAbilities:
    """What an encoder can do."""

    vectors: bool = False
    """Whether words are vectors of `dimension` numbers."""
    contextual: bool = False
    """Whether the representation of a word depends on its neighbours, and that of a span on all its words."""
    spans: bool = False
    """Whether it also encodes spans."""
    warm_start: bool = False
    """Whether it can begin with what a trained encoder knows, by `prepare_from` and `copy_from`."""


class ParameterOptions(NamedTuple):
    """How a parameter is optimised."""

    learning_rate: float
    """The peak learning rate of the schedule."""
    weight_decay: float


class Spans(NamedTuple):
    """The spans of a batch that are no wider than `model.max_width`, a row each, as their encoder represents them."""

    states: Tensor
    """(rows, …)"""
    layout: SpanLayout
    """Which span each row is."""

    @classmethod
    def unread(cls, batch: Batch, config: Config) -> Spans:
        """The spans of a batch for models that represent them by themselves: their states are empty."""
        layout = _layout_of(batch, config)
        return cls(torch.empty(len(layout.start), 0, device=batch.words.device), layout)

    def by_width(self, rows: Tensor) -> Tensor:
        """(rows, d) -> (B, n, c, d): by sentence, first word and words minus one; 0 where there is no such span."""
        return self.layout.to_padded(rows)


class Encoder(nn.Module, ABC):
    """An encoder of words and, for models over spans, of spans.

    A model asks it to `collate` sentences, calls it for representations of words, and calls `spans_of` for those of
    spans. Only the encoder knows what a representation is: a scorer turns it into scores with layers that `word_layer`
    and `span_layer` create. An encoder of vectors states their size in `dimension`; models other than
    recognizers need one.
    """

    abilities: ClassVar[EncoderAbilities] = EncoderAbilities()
    """What encoders of this kind can do."""
    dimension: int
    """The size of a word's vector; only for encoders of vectors."""

    def __init__(self, config: Config, vocabulary: Vocabulary, *, spans: bool):
        super().__init__()
        self.config, self.vocabulary, self.over_spans = config, vocabulary, spans

    @classmethod
    @abstractmethod
    def check(cls, config: Config) -> None:
        """Raise an InputError if a configuration asks for something that this encoder cannot do."""

    @classmethod
    @abstractmethod
    def prepare(cls, config: Config, sentences: Sequence[Sentence]) -> tuple[Vocabulary, Any]:
        """The vocabulary of training sentences, and the argument of `initialise`."""

    @abstractmethod
    def initialise(self, resources: Any) -> None:
        """Initialise parameters from resources, such as pretrained vectors."""

    @classmethod
    def prepare_from(cls, start: Vocabulary, config: Config, sentences: Sequence[Sentence]) -> tuple[Vocabulary, Any]:
        """The merged vocabulary of a trained encoder and of training sentences, and the argument of `copy_from`."""
        raise NotImplementedError

    def copy_from(self, start: Vocabulary, state: Mapping[str, Tensor], resources: Any) -> None:
        """Copy the parameters of a trained encoder of the same architecture, given its vocabulary and its state."""
        raise NotImplementedError

    @abstractmethod
    def collate(self, sentences: Sequence[Sentence], device: torch.device) -> Batch:
        """Collate the sentences into a batch on a device."""

    @abstractmethod
    def forward(self, batch: Batch) -> list[Tensor]:
        """(N, …) for each layer of the encoder: representations of words. Scores use the last layer."""

    @abstractmethod
    def encode_spans(self, words: Tensor, batch: Batch, layout: SpanLayout) -> Tensor:
        """(N, …), the representations of words -> (rows, …), those of spans."""

    @abstractmethod
    def word_layer(self, outputs: Outputs) -> Any:
        """An :class:`OutputLayer` from representations of words to (N, outputs), with a `weight` and a `bias`."""

    @abstractmethod
    def span_layer(self, outputs: Outputs, *, whole: bool = False) -> Any:
        """An :class:`OutputLayer` from words, :class:`Spans` and the batch to (rows, outputs), with a `bias`.

        With `whole` it sees all words of a span; otherwise only its end.
        """

    def vectors(self, batch: Batch) -> Tensor:
        """(N, d): the vectors of words that the LSTMs begin with, for encoders that C can run."""
        raise NotImplementedError

    def parameter_options(self, training: TrainingConfig) -> dict[nn.Parameter, ParameterOptions]:
        """The optimiser options of parameters that differ from the default."""
        return {}

    @property
    def pretrained_rows(self) -> list[Tensor]:
        """Buffers of frozen vectors, one row for each word that comes only from pretrained vectors."""
        return []

    @property
    def word_vectors(self) -> list[Tensor]:
        """All tensors with one row for each word; they are saved in one byte per number."""
        return self.pretrained_rows

    @property
    def context(self) -> int:
        """The number of context words that it reads before and after a sentence."""
        return 0

    @property
    def reads_characters(self) -> bool:
        """Whether it reads the characters of words."""
        return False

    def spans_of(self, words: Tensor, batch: Batch) -> Spans | None:
        """(N, …), the representations of words -> those of spans; None without spans."""
        layout = self.span_layout(batch)
        return None if layout is None else Spans(self.encode_spans(words, batch, layout), layout)

    def span_layout(self, batch: Batch) -> SpanLayout | None:
        """The layout of the spans of a batch; None without spans."""
        if not self.over_spans or batch.longest == 0:
            return None
        return _layout_of(batch, self.config)


def _layout_of(batch: Batch, config: Config) -> SpanLayout:
    """The layout of all spans of a batch that are no wider than `model.max_width`."""
    limit = config.model.max_width
    width = batch.longest if limit == "n" else min(limit, batch.longest)
    return span_layout(tuple(batch.lengths), batch.longest, width, batch.words.device)
