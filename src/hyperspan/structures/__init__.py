"""Exact probability distributions over sets of mentions. Nothing here depends on text or neural networks.

Names load on first use: distributions over tensors need torch; those over NumPy arrays, mention sets and `graphs` do
not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hyperspan.plugins import imported

_HOME = {
    "AnyMention": "mentions",
    "DiscontinuousHypergraph": "discontinuous",
    "DiscontinuousScores": "scores",
    "Distribution": "distribution",
    "EdgeScores": "scores",
    "JointScores": "joint_scores",
    "JointSegmentalHypergraph": "joint",
    "Limits": "mentions",
    "Loss": "losses",
    "Mention": "mentions",
    "MentionSet": "mentions",
    "MentionSets": "mentions",
    "NotSupportedError": "mentions",
    "PartialMarks": "constraints",
    "Parts": "mentions",
    "Places": "places",
    "Scores": "scores",
    "SegmentalHypergraph": "segmental",
    "check_count": "units",
    "check_lengths": "scores",
    "check_mentions": "mentions",
    "check_scores": "scores",
    "check_types": "distribution",
    "fragments_of": "mentions",
    "negative_log_likelihood": "losses",
    "parts_of": "mentions",
    "softmax_margin": "losses",
    "with_parts": "mentions",
}

__all__ = [
    "AnyMention",
    "DiscontinuousHypergraph",
    "DiscontinuousScores",
    "Distribution",
    "EdgeScores",
    "JointScores",
    "JointSegmentalHypergraph",
    "Limits",
    "Loss",
    "Mention",
    "MentionSet",
    "MentionSets",
    "NotSupportedError",
    "PartialMarks",
    "Parts",
    "Places",
    "Scores",
    "SegmentalHypergraph",
    "check_count",
    "check_lengths",
    "check_mentions",
    "check_scores",
    "check_types",
    "fragments_of",
    "negative_log_likelihood",
    "parts_of",
    "softmax_margin",
    "with_parts",
]

if TYPE_CHECKING:
    from hyperspan.structures.constraints import PartialMarks
    from hyperspan.structures.discontinuous import DiscontinuousHypergraph
    from hyperspan.structures.distribution import Distribution, check_types
    from hyperspan.structures.joint import JointSegmentalHypergraph
    from hyperspan.structures.joint_scores import JointScores
    from hyperspan.structures.losses import Loss, negative_log_likelihood, softmax_margin
    from hyperspan.structures.mentions import (
        AnyMention,
        Limits,
        Mention,
        MentionSet,
        MentionSets,
        NotSupportedError,
        Parts,
        check_mentions,
        fragments_of,
        parts_of,
        with_parts,
    )
    from hyperspan.structures.places import Places
    from hyperspan.structures.scores import DiscontinuousScores, EdgeScores, Scores, check_lengths, check_scores
    from hyperspan.structures.segmental import SegmentalHypergraph
    from hyperspan.structures.units import check_count


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hyperspan.structures' has no attribute {name!r}")
    return imported(f"hyperspan.structures.{_HOME[name]}:{name}")


def __dir__() -> list[str]:
    return __all__
