"""hyperspan: overlapping mentions in text, exactly.

Names are loaded when first used, so that ``import hyperspan`` is quick and does not import torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0.dev0"

_HOME = {
    "Annotator": "hyperspan.inference.annotator",
    "Document": "hyperspan.types",
    "EdgeScores": "hyperspan.structures",
    "HyperspanError": "hyperspan.errors",
    "Mention": "hyperspan.types",
    "SegmentalHypergraph": "hyperspan.structures",
    "Sentence": "hyperspan.types",
    "draw_hypergraph": "hyperspan.render.hypergraph_svg",
    "evaluate": "hyperspan.evaluation",
    "load": "hyperspan.inference.annotator",
    "render_html": "hyperspan.render.html",
}

__all__ = [
    "Annotator",
    "Document",
    "EdgeScores",
    "HyperspanError",
    "Mention",
    "SegmentalHypergraph",
    "Sentence",
    "__version__",
    "draw_hypergraph",
    "evaluate",
    "load",
    "render_html",
]

if TYPE_CHECKING:
    from hyperspan.errors import HyperspanError
    from hyperspan.evaluation import evaluate
    from hyperspan.inference.annotator import Annotator, load
    from hyperspan.render.html import render_html
    from hyperspan.render.hypergraph_svg import draw_hypergraph
    from hyperspan.structures import EdgeScores, SegmentalHypergraph
    from hyperspan.types import Document, Mention, Sentence


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hyperspan' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
