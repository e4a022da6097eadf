"""Exact probability distributions over sets of mentions. Nothing here depends on text or neural networks.

Names load on first use: distributions over tensors need torch; those over NumPy arrays, mention sets and `graphs` do
not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hyperspan.plugins import lazy_names

if TYPE_CHECKING:
    from hyperspan.structures.constraints import PartialMarks as PartialMarks
    from hyperspan.structures.discontinuous import DiscontinuousHypergraph as DiscontinuousHypergraph
    from hyperspan.structures.distribution import Distribution as Distribution
    from hyperspan.structures.distribution import check_types as check_types
    from hyperspan.structures.joint import JointSegmentalHypergraph as JointSegmentalHypergraph
    from hyperspan.structures.joint_scores import JointScores as JointScores
    from hyperspan.structures.losses import Loss as Loss
    from hyperspan.structures.losses import negative_log_likelihood as negative_log_likelihood
    from hyperspan.structures.losses import softmax_margin as softmax_margin
    from hyperspan.structures.mentions import AnyMention as AnyMention
    from hyperspan.structures.mentions import Limits as Limits
    from hyperspan.structures.mentions import Mention as Mention
    from hyperspan.structures.mentions import MentionSet as MentionSet
    from hyperspan.structures.mentions import MentionSets as MentionSets
    from hyperspan.structures.mentions import NotSupportedError as NotSupportedError
    from hyperspan.structures.mentions import Parts as Parts
    from hyperspan.structures.mentions import check_mentions as check_mentions
    from hyperspan.structures.mentions import fragments_of as fragments_of
    from hyperspan.structures.mentions import parts_of as parts_of
    from hyperspan.structures.mentions import with_parts as with_parts
    from hyperspan.structures.places import Places as Places
    from hyperspan.structures.scores import DiscontinuousScores as DiscontinuousScores
    from hyperspan.structures.scores import EdgeScores as EdgeScores
    from hyperspan.structures.scores import Scores as Scores
    from hyperspan.structures.scores import check_lengths as check_lengths
    from hyperspan.structures.scores import check_scores as check_scores
    from hyperspan.structures.segmental import SegmentalHypergraph as SegmentalHypergraph
    from hyperspan.structures.units import check_count as check_count
else:
    __all__, __dir__, __getattr__ = lazy_names(
        __name__,
        {
            "constraints": "PartialMarks",
            "discontinuous": "DiscontinuousHypergraph",
            "distribution": "Distribution check_types",
            "joint": "JointSegmentalHypergraph",
            "joint_scores": "JointScores",
            "losses": "Loss negative_log_likelihood softmax_margin",
            "mentions": "AnyMention Limits Mention MentionSet MentionSets NotSupportedError Parts check_mentions fragments_of parts_of with_parts",
            "places": "Places",
            "scores": "DiscontinuousScores EdgeScores Scores check_lengths check_scores",
            "segmental": "SegmentalHypergraph",
            "units": "check_count",
        },
    )
