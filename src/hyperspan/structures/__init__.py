"""Exact probability distributions over sets of mentions. Nothing here knows about text or neural networks."""

from hyperspan.structures.cascaded import CascadedChains, CascadeScores
from hyperspan.structures.constituency import ConstituencyTrees, is_nested, without_crossing
from hyperspan.structures.distribution import Distribution, NotSupportedError
from hyperspan.structures.linear_chain import (
    LinearChain,
    mentions_of_tags,
    outermost,
    tags_of,
)
from hyperspan.structures.losses import negative_log_likelihood, softmax_margin
from hyperspan.structures.mention_hypergraph import MentionHypergraph, WordEdgeScores
from hyperspan.structures.mention_separators import MentionSeparators, labels_of, structure_of_labels
from hyperspan.structures.readings import Reading, Structure, closure, is_ambiguous, read, structure_of
from hyperspan.structures.scores import EdgeScores, Mention, MentionSet
from hyperspan.structures.segmental import SegmentalHypergraph
from hyperspan.structures.semi_markov import (
    SegmentScores,
    SemiMarkov,
)
from hyperspan.structures.tag_chain import TagChain, TagScores

__all__ = [
    "CascadeScores",
    "CascadedChains",
    "ConstituencyTrees",
    "Distribution",
    "EdgeScores",
    "LinearChain",
    "Mention",
    "MentionHypergraph",
    "MentionSeparators",
    "MentionSet",
    "NotSupportedError",
    "Reading",
    "SegmentScores",
    "SegmentalHypergraph",
    "SemiMarkov",
    "Structure",
    "TagChain",
    "TagScores",
    "WordEdgeScores",
    "closure",
    "is_ambiguous",
    "is_nested",
    "labels_of",
    "mentions_of_tags",
    "negative_log_likelihood",
    "outermost",
    "read",
    "softmax_margin",
    "structure_of",
    "structure_of_labels",
    "tags_of",
    "without_crossing",
]
