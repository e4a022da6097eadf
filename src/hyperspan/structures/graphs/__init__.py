"""Structures as hypergraphs: explicit ones, node by node, with sums in any semiring, for inspection and tests; and
packed ones, in arrays, on which whole structures stand.

Distributions over packed hypergraphs need torch; they load on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hyperspan.plugins import imported
from hyperspan.structures.graphs.discontinuous import (
    DiscontinuousNode,
    discontinuous_hypergraph,
    discontinuous_hyperpath,
    discontinuous_mentions,
)
from hyperspan.structures.graphs.hypergraph import (
    Hyperedge,
    Hypergraph,
    Hyperpath,
    hyperpaths,
    inside,
    viterbi,
)
from hyperspan.structures.graphs.joint import JointNode, joint_hypergraph, joint_hyperpath, joint_mentions
from hyperspan.structures.graphs.packed import Graph
from hyperspan.structures.graphs.paths import Values, highest
from hyperspan.structures.graphs.segmental import (
    SegmentalNode,
    hyperpath_of,
    mentions_of,
    segmental_hypergraph,
)
from hyperspan.structures.graphs.semirings import Counting, KBest, Log

if TYPE_CHECKING:
    from hyperspan.structures.graphs.distribution import GraphDistribution, SpanGraph
    from hyperspan.structures.graphs.sums import log_partition, posteriors, stretches

__all__ = [
    "Counting",
    "DiscontinuousNode",
    "Graph",
    "GraphDistribution",
    "Hyperedge",
    "Hypergraph",
    "Hyperpath",
    "JointNode",
    "KBest",
    "Log",
    "SegmentalNode",
    "SpanGraph",
    "Values",
    "discontinuous_hypergraph",
    "discontinuous_hyperpath",
    "discontinuous_mentions",
    "highest",
    "hyperpath_of",
    "hyperpaths",
    "inside",
    "joint_hypergraph",
    "joint_hyperpath",
    "joint_mentions",
    "log_partition",
    "mentions_of",
    "posteriors",
    "segmental_hypergraph",
    "stretches",
    "viterbi",
]


NEED_TORCH = {
    **dict.fromkeys(("GraphDistribution", "SpanGraph"), "distribution"),
    **dict.fromkeys(("log_partition", "posteriors", "stretches"), "sums"),
}
"""The modules of the names that load on first use."""


def __getattr__(name: str) -> Any:
    if name not in NEED_TORCH:
        raise AttributeError(f"module 'hyperspan.structures.graphs' has no attribute {name!r}")
    return imported(f"hyperspan.structures.graphs.{NEED_TORCH[name]}:{name}")
