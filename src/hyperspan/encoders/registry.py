"""The encoders, by name."""

from __future__ import annotations

from hyperspan.encoders.base import Encoder
from hyperspan.encoders.handcrafted import FeatureEncoder
from hyperspan.encoders.neural import NeuralEncoder
from hyperspan.plugins import PluginTable

_BUILT_IN: dict[str, type[Encoder]] = {"neural": NeuralEncoder, "handcrafted": FeatureEncoder}
ENCODERS = PluginTable("encoders", _BUILT_IN, Encoder, classes=True)
"""Encoders by encoder.kind; plug-ins register in the group ``hyperspan.encoders``."""
