"""The layers of a neural model, and the only place that knows their sizes.

:mod:`hyperspan.nn` builds its layers of them; weights in a file are checked against their shapes before they are read.
"""

from __future__ import annotations

from typing import NamedTuple

from hyperspan.config import Config
from hyperspan.runtime.kinds import KINDS
from hyperspan.text.vocabulary import Vocabulary

FILTER_WIDTHS = (2, 3, 4)
"""The widths of the CNN filters, in characters."""
Shapes = dict[str, tuple[int, ...]]
"""The shapes of weights, by their names."""


class WordTable(NamedTuple):
    """The vectors of words: trained for those of the training data, fixed for other pretrained ones."""

    trained: int
    fixed: int
    dimension: int

    def shapes(self) -> Shapes:
        return {"trained": (self.trained, self.dimension), "fixed": (self.fixed, self.dimension)}


class Table(NamedTuple):
    """A vector for each of some symbols."""

    rows: int
    dimension: int

    def shapes(self) -> Shapes:
        return {"weight": (self.rows, self.dimension)}


class Lstm(NamedTuple):
    """An LSTM in both directions."""

    inputs: int
    hidden: int

    @property
    def dimension(self) -> int:
        return 2 * self.hidden

    def shapes(self) -> Shapes:
        shapes = {"weight_ih": (4 * self.hidden, self.inputs), "weight_hh": (4 * self.hidden, self.hidden)}
        shapes |= dict.fromkeys(("bias_ih", "bias_hh"), (4 * self.hidden,))
        return {f"{name}_l0{suffix}": shape for suffix in ("", "_reverse") for name, shape in shapes.items()}


class CharacterLstm(NamedTuple):
    """An LSTM over the characters of a word."""

    characters: Table
    hidden: int

    @property
    def lstm(self) -> Lstm:
        return Lstm(self.characters.dimension, self.hidden)

    @property
    def dimension(self) -> int:
        return self.lstm.dimension

    def shapes(self) -> Shapes:
        return named({"embedding": self.characters, "lstm": self.lstm})


class CharacterFilters(NamedTuple):
    """Convolutions over the characters of a word."""

    characters: Table
    hidden: int

    @property
    def dimension(self) -> int:
        return self.hidden * len(FILTER_WIDTHS)

    def shapes(self) -> Shapes:
        shapes = named({"embedding": self.characters})
        for index, width in enumerate(FILTER_WIDTHS):
            shapes[f"filters.{index}.weight"] = (self.hidden, self.characters.dimension, width)
            shapes[f"filters.{index}.bias"] = (self.hidden,)
        return shapes


CHARACTER_LAYERS = {"lstm": CharacterLstm, "cnn": CharacterFilters}
"""Layers over characters, by characters.encoder."""


class SpanLstm(NamedTuple):
    """The two LSTMs over spans."""

    inputs: int
    hidden: int

    def shapes(self) -> Shapes:
        gates = 4 * self.hidden
        return {"inputs": (2, self.inputs, gates), "recurrent": (2, self.hidden, gates), "bias": (2, 1, gates)}


Layer = WordTable | Table | Lstm | CharacterLstm | CharacterFilters | SpanLstm


class WordLayers(NamedTuple):
    """What the vector of a word consists of, without context; None for what a model does not read."""

    words: WordTable | None
    tags: Table | None
    characters: CharacterLstm | CharacterFilters | None

    @classmethod
    def of(cls, config: Config, vocabulary: Vocabulary) -> WordLayers:
        """The layers of a model with this configuration and vocabulary."""
        words, characters = config.words, config.characters
        trained, fixed = vocabulary.trained + 1, len(vocabulary.words) - vocabulary.trained
        layer = CHARACTER_LAYERS.get(characters.encoder)
        return cls(
            WordTable(trained, fixed, words.dimension) if words.dimension else None,
            Table(len(vocabulary.tags) + 1, words.tag_dimension) if vocabulary.tags else None,
            layer and layer(Table(len(vocabulary.characters) + 2, characters.dimension), characters.hidden),
        )

    def named(self) -> dict[str, WordTable | Table | CharacterLstm | CharacterFilters]:
        """The layers that the model has, by name."""
        return {name: layer for name, layer in self._asdict().items() if layer is not None}

    @property
    def columns(self) -> dict[str, slice]:
        """The part of a word's vector that comes from each layer."""
        columns, first = {}, 0
        for name, layer in self.named().items():
            columns[name] = slice(first, first := first + layer.dimension)
        return columns

    @property
    def dimension(self) -> int:
        return sum(layer.dimension for layer in self.named().values())


def lstm_layers(inputs: int, hidden: int, count: int) -> list[Lstm]:
    """The LSTMs over words, each over the states of the one before."""
    return [Lstm(2 * hidden if layer else inputs, hidden) for layer in range(count)]


def shapes_of(config: Config, vocabulary: Vocabulary) -> Shapes:
    """The shapes of all tensors of a model that the runtime without torch supports."""
    words, encoder = WordLayers.of(config, vocabulary), config.encoder
    lstms = lstm_layers(words.dimension, encoder.hidden, encoder.layers)
    both, m, kind = lstms[-1].dimension, len(vocabulary.labels), KINDS[config.model.kind]
    outputs = kind.span_outputs(config, m)
    layers: dict[str, Layer] = {f"encoder.{name}": layer for name, layer in words.named().items()}
    layers |= {f"encoder.layers.{index}": layer for index, layer in enumerate(lstms)}
    layers["encoder.spans"] = SpanLstm(both, encoder.span_hidden)
    scores: Shapes = {
        "scorer.start.weight": (2 * m, both),
        "scorer.start.bias": (2 * m,),
        "scorer.parts.from_spans": (2, encoder.span_hidden, outputs),
        "scorer.parts.bias": (outputs,),
    }
    return named(layers) | scores | kind.layers(config, m)


def named(layers: dict[str, Layer] | dict[str, Table] | dict[str, Table | Lstm]) -> Shapes:
    """The shapes of the weights of layers, under the names of both."""
    return {f"{name}.{weight}": shape for name, layer in layers.items() for weight, shape in layer.shapes().items()}
