"""One diagram per structure: it builds the hypergraph, finds hyperpaths, and lays everything out."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from hyperspan.errors import InputError

if TYPE_CHECKING:
    from hyperspan.render.hypergraphs.diagram import Diagram

DIAGRAMS = {
    "segmental": "segmental:SegmentalDiagram",
    "discontinuous": "discontinuous:DiscontinuousDiagram",
    "joint": "joint:JointDiagram",
    "linear-chain": "linear_chain:LinearChainDiagram",
    "semi-markov": "semi_markov:SemiMarkovDiagram",
    "mention-hypergraph": "mention_hypergraph:MentionHypergraphDiagram",
    "mention-separators": "mention_separators:MentionSeparatorsDiagram",
    "tree": "tree:TreeDiagram",
}
"""Module and class by structure, imported when they are drawn."""


def diagram_of(structure: str) -> type[Diagram]:
    """The class that draws a structure."""
    if structure not in DIAGRAMS:
        raise InputError(f"the structure {structure!r} is unknown; it must be one of {', '.join(DIAGRAMS)}")
    module, _, name = DIAGRAMS[structure].partition(":")
    return getattr(import_module(f"{__name__}.{module}"), name)
