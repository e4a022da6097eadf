"""Structures as explicit hypergraphs, node by node, with sums over hyperpaths in any semiring: for inspection and
tests."""

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
    outside,
    viterbi,
)
from hyperspan.structures.graphs.joint import JointNode, joint_hypergraph, joint_hyperpath, joint_mentions
from hyperspan.structures.graphs.segmental import (
    SegmentalNode,
    hyperpath_of,
    mentions_of,
    nodes_of,
    segmental_hypergraph,
)
from hyperspan.structures.graphs.semirings import Counting, KBest, Log, Max, Sampling

__all__ = [
    "Counting",
    "DiscontinuousNode",
    "Hyperedge",
    "Hypergraph",
    "Hyperpath",
    "JointNode",
    "KBest",
    "Log",
    "Max",
    "Sampling",
    "SegmentalNode",
    "discontinuous_hypergraph",
    "discontinuous_hyperpath",
    "discontinuous_mentions",
    "hyperpath_of",
    "hyperpaths",
    "inside",
    "joint_hypergraph",
    "joint_hyperpath",
    "joint_mentions",
    "mentions_of",
    "nodes_of",
    "outside",
    "segmental_hypergraph",
    "viterbi",
]
