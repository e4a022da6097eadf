"""The models, by name."""

from __future__ import annotations

from hyperspan.errors import InputError
from hyperspan.nn.model import Model
from hyperspan.nn.recognizer import Recognizer
from hyperspan.nn.scorers import SCORERS
from hyperspan.plugins import Addresses, PluginTable

_BUILT_IN = Addresses[type[Model]](
    {
        **dict.fromkeys(SCORERS.built_in, "hyperspan.nn.recognizer:Recognizer"),
        "biohd": "hyperspan.baselines.biohd:Biohd",
        "fofe": "hyperspan.baselines.fofe:Fofe",
        "joined": "hyperspan.baselines.joined:Joined",
        "katiyar-cardie": "hyperspan.baselines.katiyar_cardie:KatiyarCardie",
        "layered": "hyperspan.baselines.layered:Layered",
        "transition": "hyperspan.baselines.transition:Transition",
    }
)
MODELS = PluginTable("models", _BUILT_IN, Model, classes=True)
"""Models by their model.kind; plug-ins register in the group ``hyperspan.models``."""


def model_class(kind: str) -> type[Model]:
    """Return the class of a model: one of MODELS, or :class:`Recognizer` if the name is in SCORERS."""
    if kind in MODELS:
        return MODELS[kind]
    if kind in SCORERS:
        return Recognizer
    names = dict.fromkeys((*MODELS, *SCORERS))
    raise InputError(f"model.kind is {kind!r}, but must be one of {', '.join(names)}")
