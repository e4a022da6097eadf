"""The encoders, by name."""

from __future__ import annotations

from hyperspan.nn.encoder import Encoder
from hyperspan.nn.handcrafted import FeatureEncoder
from hyperspan.nn.neural import NeuralEncoder
from hyperspan.plugins import PluginTable

_BUILT_IN: dict[str, type[Encoder]] = {"neural": NeuralEncoder, "handcrafted": FeatureEncoder}
ENCODERS = PluginTable("encoders", _BUILT_IN, Encoder, classes=True)
"""Encoders by encoder.kind; plug-ins register in the group ``hyperspan.encoders``."""
