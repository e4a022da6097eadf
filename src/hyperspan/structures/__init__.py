"""Exact probability distributions over sets of mentions. Nothing here depends on text or neural networks.

Names load on first use: distributions need torch; mention sets and `graphs` do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hyperspan.plugins import imported

_HOME = {
    "CascadeScores": "cascaded",
    "CascadedChains": "cascaded",
    "ConstituencyTrees": "constituency",
    "DiscontinuousHypergraph": "discontinuous",
    "DiscontinuousScores": "discontinuous_scores",
    "Distribution": "distribution",
    "EdgeScores": "scores",
    "JointScores": "joint_scores",
    "JointSegmentalHypergraph": "joint",
    "LinearChain": "linear_chain",
    "Mention": "mentions",
    "MentionHypergraph": "mention_hypergraph",
    "MentionSeparators": "mention_separators",
    "MentionSet": "mentions",
    "NotSupportedError": "mentions",
    "Reading": "readings",
    "SegmentScores": "semi_markov",
    "SegmentalHypergraph": "segmental",
    "SemiMarkov": "semi_markov",
    "Structure": "readings",
    "TagChain": "tag_chain",
    "TagScores": "tag_chain",
    "WordEdgeScores": "mention_hypergraph",
    "closure": "readings",
    "cross_entropy": "teaching",
    "is_ambiguous": "readings",
    "is_nested": "constituency",
    "labels_of": "separators",
    "mentions_of_tags": "tags",
    "negative_log_likelihood": "losses",
    "outermost": "tags",
    "read": "readings",
    "softmax_margin": "losses",
    "structure_of": "readings",
    "structure_of_labels": "separators",
    "tags_of": "tags",
    "without_crossing": "constituency",
}

__all__ = [
    "CascadeScores",
    "CascadedChains",
    "ConstituencyTrees",
    "DiscontinuousHypergraph",
    "DiscontinuousScores",
    "Distribution",
    "EdgeScores",
    "JointScores",
    "JointSegmentalHypergraph",
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
    "cross_entropy",
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

if TYPE_CHECKING:
    from hyperspan.structures.cascaded import CascadedChains, CascadeScores
    from hyperspan.structures.constituency import ConstituencyTrees, is_nested, without_crossing
    from hyperspan.structures.discontinuous import DiscontinuousHypergraph
    from hyperspan.structures.discontinuous_scores import DiscontinuousScores
    from hyperspan.structures.distribution import Distribution
    from hyperspan.structures.joint import JointSegmentalHypergraph
    from hyperspan.structures.joint_scores import JointScores
    from hyperspan.structures.linear_chain import LinearChain
    from hyperspan.structures.losses import negative_log_likelihood, softmax_margin
    from hyperspan.structures.mention_hypergraph import MentionHypergraph, WordEdgeScores
    from hyperspan.structures.mention_separators import MentionSeparators
    from hyperspan.structures.mentions import Mention, MentionSet, NotSupportedError
    from hyperspan.structures.readings import Reading, Structure, closure, is_ambiguous, read, structure_of
    from hyperspan.structures.scores import EdgeScores
    from hyperspan.structures.segmental import SegmentalHypergraph
    from hyperspan.structures.semi_markov import SegmentScores, SemiMarkov
    from hyperspan.structures.separators import labels_of, structure_of_labels
    from hyperspan.structures.tag_chain import TagChain, TagScores
    from hyperspan.structures.tags import mentions_of_tags, outermost, tags_of
    from hyperspan.structures.teaching import cross_entropy


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hyperspan.structures' has no attribute {name!r}")
    return imported(f"hyperspan.structures.{_HOME[name]}:{name}")


def __dir__() -> list[str]:
    return __all__
