"""The tensors that a model folder must have, and the weights built from them."""

from __future__ import annotations

from hyperspan.config import Config
from hyperspan.kernels.encode import EncoderWeights, LstmWeights
from hyperspan.runtime.characters import lstm_shapes, lstm_weights, reader_shapes
from hyperspan.runtime.kinds import SERVED_KINDS
from hyperspan.runtime.tensors import FIXED, TRAINED, TensorFile
from hyperspan.text.vocabulary import Vocabulary


def encoder_weights(tensors: TensorFile, config: Config) -> EncoderWeights:
    """The weights of the fused encoder."""
    kind = SERVED_KINDS[config.model.kind]
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
        kind.part_bias(config, tensors.floats("scorer.parts.bias")),
        config.model.tied,
        kind.interactions(config),
        kind.gaps(config),
    )


def expected_shapes(config: Config, vocabulary: Vocabulary) -> dict[str, tuple[int, ...]]:
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
    kind = SERVED_KINDS[config.model.kind]
    outputs = kind.span_outputs(config, m)
    shapes |= {"scorer.start.weight": (2 * m, both), "scorer.start.bias": (2 * m,)}
    return shapes | {"scorer.parts.from_spans": (2, spans, outputs), "scorer.parts.bias": (outputs,)}
