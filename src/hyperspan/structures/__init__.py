"""Exact probability distributions over sets of mentions. Nothing here knows about text or neural networks."""

from hyperspan.structures.hypergraph import Hyperedge, Hypergraph, Hyperpath, hyperpaths, inside, outside, viterbi
from hyperspan.structures.losses import negative_log_likelihood, softmax_margin
from hyperspan.structures.scores import EdgeScores, Mention, MentionSet
from hyperspan.structures.segmental import SegmentalHypergraph
from hyperspan.structures.segmental_graph import (
    SegmentalNode,
    hyperpath_of,
    mentions_of,
    nodes_of,
    segmental_hypergraph,
)
from hyperspan.structures.semirings import Counting, KBest, Log, Max, Sampling

__all__ = [
    "Counting",
    "EdgeScores",
    "Hyperedge",
    "Hypergraph",
    "Hyperpath",
    "KBest",
    "Log",
    "Max",
    "Mention",
    "MentionSet",
    "Sampling",
    "SegmentalHypergraph",
    "SegmentalNode",
    "hyperpath_of",
    "hyperpaths",
    "inside",
    "mentions_of",
    "negative_log_likelihood",
    "nodes_of",
    "outside",
    "segmental_hypergraph",
    "softmax_margin",
    "viterbi",
]
