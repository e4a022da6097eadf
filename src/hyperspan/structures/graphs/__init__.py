"""Structures as explicit hypergraphs, node by node, with sums over hyperpaths in any semiring: for inspection and
tests."""

from hyperspan.structures.graphs.constituency import ConstituencyNode, constituency_hypergraph, constituents_of
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
from hyperspan.structures.graphs.linear_chain import TagNode, linear_chain_hypergraph, linear_chain_mentions
from hyperspan.structures.graphs.mention_separators import SeparatorNode, separated_mentions, separators_hypergraph
from hyperspan.structures.graphs.segmental import (
    SegmentalNode,
    consistent_hyperpath_of,
    hyperpath_of,
    is_consistent,
    mention_network,
    mentions_of,
    nodes_of,
    segmental_hypergraph,
)
from hyperspan.structures.graphs.semi_markov import (
    SegmentNode,
    SuffixNode,
    semi_markov_hypergraph,
    semi_markov_mentions,
)
from hyperspan.structures.graphs.semirings import Counting, KBest, Log, Max, Sampling

__all__ = [
    "ConstituencyNode",
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
    "SegmentNode",
    "SegmentalNode",
    "SeparatorNode",
    "SuffixNode",
    "TagNode",
    "consistent_hyperpath_of",
    "constituency_hypergraph",
    "constituents_of",
    "discontinuous_hypergraph",
    "discontinuous_hyperpath",
    "discontinuous_mentions",
    "hyperpath_of",
    "hyperpaths",
    "inside",
    "is_consistent",
    "joint_hypergraph",
    "joint_hyperpath",
    "joint_mentions",
    "linear_chain_hypergraph",
    "linear_chain_mentions",
    "mention_network",
    "mentions_of",
    "nodes_of",
    "outside",
    "segmental_hypergraph",
    "semi_markov_hypergraph",
    "semi_markov_mentions",
    "separated_mentions",
    "separators_hypergraph",
    "viterbi",
]
