"""Models that learn, with torch: encoders, scorers, and the model that both make with a structure.

Imports values, text, corpora, structures and runtime. Names load on first use: files, features and word vectors are
read without torch. Plug-ins use what is named here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hyperspan.plugins import ENCODERS as ENCODERS
from hyperspan.plugins import MODELS as MODELS
from hyperspan.plugins import lazy_names

if TYPE_CHECKING:
    from hyperspan.nn.batch import Batch as Batch
    from hyperspan.nn.batch import collate as collate
    from hyperspan.nn.encoder import Encoder as Encoder
    from hyperspan.nn.encoder import EncoderAbilities as EncoderAbilities
    from hyperspan.nn.encoder import OutputLayer as OutputLayer
    from hyperspan.nn.encoder import Outputs as Outputs
    from hyperspan.nn.encoder import Spans as Spans
    from hyperspan.nn.encoder import TypeAxes as TypeAxes
    from hyperspan.nn.encoder import WeightColumns as WeightColumns
    from hyperspan.nn.encoder import WordLinear as WordLinear
    from hyperspan.nn.folders import load_model as load_model
    from hyperspan.nn.folders import new_model as new_model
    from hyperspan.nn.folders import save_model as save_model
    from hyperspan.nn.model import Abilities as Abilities
    from hyperspan.nn.model import Model as Model
    from hyperspan.nn.model import Setting as Setting
    from hyperspan.nn.neural import NeuralEncoder as NeuralEncoder
    from hyperspan.nn.neural import word_states as word_states
    from hyperspan.nn.recognizer import INITIAL_MENTION_BIAS as INITIAL_MENTION_BIAS
    from hyperspan.nn.recognizer import Recognizer as Recognizer
    from hyperspan.nn.recognizer import Scorer as Scorer
    from hyperspan.nn.segmental import SegmentalScorer as SegmentalScorer
else:
    __all__, __dir__, __getattr__ = lazy_names(
        __name__,
        {
            "batch": "Batch collate",
            "encoder": "Encoder EncoderAbilities OutputLayer Outputs Spans TypeAxes WeightColumns WordLinear",
            "folders": "load_model new_model save_model",
            "model": "Abilities Model Setting",
            "neural": "NeuralEncoder word_states",
            "recognizer": "INITIAL_MENTION_BIAS Recognizer Scorer",
            "segmental": "SegmentalScorer",
        },
    )
    __all__ += ["ENCODERS", "MODELS"]
