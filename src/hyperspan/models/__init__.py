"""The systems that can be trained, by name, and how they are stored in a folder."""

from __future__ import annotations

from hyperspan.models.base import Model
from hyperspan.models.recognizer import Recognizer
from hyperspan.models.registry import MODELS
from hyperspan.models.storage import load_model, new_model, save_model

__all__ = ["MODELS", "Model", "Recognizer", "load_model", "new_model", "save_model"]
