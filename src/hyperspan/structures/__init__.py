"""Exact probability distributions over sets of mentions. Nothing here knows about text or neural networks."""

from hyperspan.structures.cascaded import CascadedChains, CascadeScores
from hyperspan.structures.constituency import ConstituencyTrees, is_nested, without_crossing
from hyperspan.structures.constituency_graph import ConstituencyNode, constituency_hypergraph, constituents_of
from hyperspan.structures.distribution import Distribution, NotSupportedError
from hyperspan.structures.hypergraph import Hyperedge, Hypergraph, Hyperpath, hyperpaths, inside, outside, viterbi
from hyperspan.structures.linear_chain import (
    LinearChain,
    linear_chain_hypergraph,
    linear_chain_mentions,
    mentions_of_tags,
    outermost,
    tags_of,
)
from hyperspan.structures.losses import negative_log_likelihood, softmax_margin
from hyperspan.structures.mention_graphs import (
    MentionNode,
    SeparatorNode,
    consistent_hyperpath_of,
    is_consistent,
    mention_network,
    separated_mentions,
    separators_hypergraph,
    visited_mentions,
)
from hyperspan.structures.mention_hypergraph import MentionHypergraph, WordEdgeScores
from hyperspan.structures.mention_separators import MentionSeparators, labels_of, structure_of_labels
from hyperspan.structures.readings import Reading, Structure, closure, is_ambiguous, read, structure_of
from hyperspan.structures.scores import EdgeScores, Mention, MentionSet
from hyperspan.structures.segmental import SegmentalHypergraph
from hyperspan.structures.segmental_graph import (
    SegmentalNode,
    hyperpath_of,
    mentions_of,
    nodes_of,
    segmental_hypergraph,
)
from hyperspan.structures.semi_markov import (
    SegmentScores,
    SemiMarkov,
    semi_markov_hypergraph,
    semi_markov_mentions,
)
from hyperspan.structures.semirings import Counting, KBest, Log, Max, Sampling
from hyperspan.structures.tag_chain import TagChain, TagScores

__all__ = [
    "CascadeScores",
    "CascadedChains",
    "ConstituencyNode",
    "ConstituencyTrees",
    "Counting",
    "Distribution",
    "EdgeScores",
    "Hyperedge",
    "Hypergraph",
    "Hyperpath",
    "KBest",
    "LinearChain",
    "Log",
    "Max",
    "Mention",
    "MentionHypergraph",
    "MentionNode",
    "MentionSeparators",
    "MentionSet",
    "NotSupportedError",
    "Reading",
    "Sampling",
    "SegmentScores",
    "SegmentalHypergraph",
    "SegmentalNode",
    "SemiMarkov",
    "SeparatorNode",
    "Structure",
    "TagChain",
    "TagScores",
    "WordEdgeScores",
    "closure",
    "consistent_hyperpath_of",
    "constituency_hypergraph",
    "constituents_of",
    "hyperpath_of",
    "hyperpaths",
    "inside",
    "is_ambiguous",
    "is_consistent",
    "is_nested",
    "labels_of",
    "linear_chain_hypergraph",
    "linear_chain_mentions",
    "mention_network",
    "mentions_of",
    "mentions_of_tags",
    "negative_log_likelihood",
    "nodes_of",
    "outermost",
    "outside",
    "read",
    "segmental_hypergraph",
    "semi_markov_hypergraph",
    "semi_markov_mentions",
    "separated_mentions",
    "separators_hypergraph",
    "softmax_margin",
    "structure_of",
    "structure_of_labels",
    "tags_of",
    "visited_mentions",
    "viterbi",
    "without_crossing",
]
