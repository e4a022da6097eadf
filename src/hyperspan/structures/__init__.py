"""Exact probability distributions over sets of mentions. Nothing here depends on text or neural networks.

Names load on first use: distributions over tensors need torch; those over NumPy arrays, mention sets and `graphs` do
not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hyperspan.plugins import imported

_HOME = {
    "DiscontinuousHypergraph": "discontinuous",
    "DiscontinuousScores": "scores",
    "Distribution": "distribution",
    "EdgeScores": "scores",
    "JointScores": "joint_scores",
    "JointSegmentalHypergraph": "joint",
    "Loss": "losses",
    "Mention": "mentions",
    "MentionSet": "mentions",
    "NotSupportedError": "mentions",
    "PartialMarks": "constraints",
    "SegmentalHypergraph": "segmental",
    "negative_log_likelihood": "losses",
    "softmax_margin": "losses",
}

__all__ = [
    "DiscontinuousHypergraph",
    "DiscontinuousScores",
    "Distribution",
    "EdgeScores",
    "JointScores",
    "JointSegmentalHypergraph",
    "Loss",
    "Mention",
    "MentionSet",
    "NotSupportedError",
    "PartialMarks",
    "SegmentalHypergraph",
    "negative_log_likelihood",
    "softmax_margin",
]

if TYPE_CHECKING:
    from hyperspan.structures.constraints import PartialMarks
    from hyperspan.structures.discontinuous import DiscontinuousHypergraph
    from hyperspan.structures.distribution import Distribution
    from hyperspan.structures.joint import JointSegmentalHypergraph
    from hyperspan.structures.joint_scores import JointScores
    from hyperspan.structures.losses import Loss, negative_log_likelihood, softmax_margin
    from hyperspan.structures.mentions import Mention, MentionSet, NotSupportedError
    from hyperspan.structures.scores import DiscontinuousScores, EdgeScores
    from hyperspan.structures.segmental import SegmentalHypergraph


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'hyperspan.structures' has no attribute {name!r}")
    return imported(f"hyperspan.structures.{_HOME[name]}:{name}")


def __dir__() -> list[str]:
    return __all__
