"""hyperspan finds overlapping mentions in text, with exact probabilities.

Public names are imported on first use, so ``import hyperspan`` is fast and does not import torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hyperspan.errors import is_installed
from hyperspan.plugins import imported

__version__ = "0.1.0"

_HOME = {
    "AnnotationScope": "hyperspan.types",
    "Annotator": "hyperspan.runtime.annotator",
    "ArrowAnnotator": "hyperspan.bulk.arrow",
    "Config": "hyperspan.config",
    "Document": "hyperspan.types",
    "EdgeScores": "hyperspan.structures",
    "HyperspanError": "hyperspan.errors",
    "Mention": "hyperspan.types",
    "SegmentalHypergraph": "hyperspan.structures",
    "Sentence": "hyperspan.types",
    "annotate_files": "hyperspan.bulk",
    "draw_hypergraph": "hyperspan.render.hypergraph",
    "evaluate": "hyperspan.evaluation",
    "load": "hyperspan.runtime.loading",
    "read_corpus": "hyperspan.corpora",
    "read_frame": "hyperspan.corpora.mention_tables",
    "render_html": "hyperspan.render.html",
    "train": "hyperspan.training.run",
    "write_corpus": "hyperspan.corpora",
}

__all__ = [
    "AnnotationScope",
    "Annotator",
    "ArrowAnnotator",
    "Config",
    "Document",
    "EdgeScores",
    "HyperspanError",
    "Mention",
    "SegmentalHypergraph",
    "Sentence",
    "__version__",
    "annotate_files",
    "draw_hypergraph",
    "evaluate",
    "load",
    "read_corpus",
    "read_frame",
    "render_html",
    "train",
    "write_corpus",
]

if TYPE_CHECKING:
    from hyperspan.bulk import annotate_files
    from hyperspan.bulk.arrow import ArrowAnnotator
    from hyperspan.config import Config
    from hyperspan.corpora import read_corpus, write_corpus
    from hyperspan.corpora.mention_tables import read_frame
    from hyperspan.errors import HyperspanError
    from hyperspan.evaluation import evaluate
    from hyperspan.render.html import render_html
    from hyperspan.render.hypergraph import draw_hypergraph
    from hyperspan.runtime.annotator import Annotator
    from hyperspan.runtime.loading import load
    from hyperspan.structures import EdgeScores, SegmentalHypergraph
    from hyperspan.training.run import train
    from hyperspan.types import AnnotationScope, Document, Mention, Sentence


def _leave_out(names: tuple[str, ...]) -> None:
    for name in names:
        __all__.remove(name)


if not is_installed("torch"):  # from hyperspan import * takes what there is; each name by itself says what it needs
    _leave_out(("EdgeScores", "SegmentalHypergraph", "train"))


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hyperspan' has no attribute {name!r}")
    return imported(f"{_HOME[name]}:{name}")


def __dir__() -> list[str]:
    return __all__
