"""The models, by name."""

from __future__ import annotations

from hyperspan.errors import InputError
from hyperspan.models.base import Model
from hyperspan.models.biohd import Biohd
from hyperspan.models.fofe import Fofe
from hyperspan.models.joined import Joined
from hyperspan.models.katiyar_cardie import KatiyarCardie
from hyperspan.models.layered import Layered
from hyperspan.models.recognizer import Recognizer
from hyperspan.models.scorers import SCORERS
from hyperspan.models.transition import Transition
from hyperspan.plugins import PluginTable

_BUILT_IN: dict[str, type[Model]] = {
    **dict.fromkeys(SCORERS.built_in, Recognizer),
    "biohd": Biohd,
    "fofe": Fofe,
    "joined": Joined,
    "katiyar-cardie": KatiyarCardie,
    "layered": Layered,
    "transition": Transition,
}
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
