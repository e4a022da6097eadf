"""Models that learn, with torch: encoders, scorers, and the model that both make with a structure.

Imports values, text, corpora, structures and runtime. Names load on first use: files, features and word vectors are
read without torch. Plug-ins use what is named here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hyperspan.plugins import ENCODERS, MODELS, imported

_HOME = {
    "INITIAL_MENTION_BIAS": "recognizer",
    "Abilities": "model",
    "Batch": "batch",
    "Encoder": "encoder",
    "EncoderAbilities": "encoder",
    "Model": "model",
    "NeuralEncoder": "neural",
    "OutputLayer": "outputs",
    "Outputs": "outputs",
    "Recognizer": "recognizer",
    "Scorer": "recognizer",
    "SegmentalScorer": "segmental",
    "Setting": "model",
    "Spans": "encoder",
    "TypeAxes": "outputs",
    "WeightColumns": "outputs",
    "WordLinear": "outputs",
    "collate": "batch",
    "load_model": "folders",
    "new_model": "folders",
    "save_model": "folders",
    "word_states": "neural",
}

__all__ = [
    "ENCODERS",
    "INITIAL_MENTION_BIAS",
    "MODELS",
    "Abilities",
    "Batch",
    "Encoder",
    "EncoderAbilities",
    "Model",
    "NeuralEncoder",
    "OutputLayer",
    "Outputs",
    "Recognizer",
    "Scorer",
    "SegmentalScorer",
    "Setting",
    "Spans",
    "TypeAxes",
    "WeightColumns",
    "WordLinear",
    "collate",
    "load_model",
    "new_model",
    "save_model",
    "word_states",
]

if TYPE_CHECKING:
    from hyperspan.kernels.lstm import word_states
    from hyperspan.nn.batch import Batch, collate
    from hyperspan.nn.encoder import Encoder, EncoderAbilities, Spans
    from hyperspan.nn.folders import load_model, new_model, save_model
    from hyperspan.nn.model import Abilities, Model, Setting
    from hyperspan.nn.neural import NeuralEncoder
    from hyperspan.nn.outputs import OutputLayer, Outputs, TypeAxes, WeightColumns, WordLinear
    from hyperspan.nn.recognizer import INITIAL_MENTION_BIAS, Recognizer, Scorer
    from hyperspan.nn.segmental import SegmentalScorer


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hyperspan.nn' has no attribute {name!r}")
    return imported(f"hyperspan.nn.{_HOME[name]}:{name}")


def __dir__() -> list[str]:
    return __all__
