"""The scorers, by name: from words and spans to the scores of a structure, one class for each structure."""

from __future__ import annotations

from hyperspan.nn.scorer import Scorer
from hyperspan.plugins import Addresses, PluginTable

_BUILT_IN = Addresses[type[Scorer]](
    {
        "segmental": "hyperspan.nn.segmental:SegmentalScorer",
        "discontinuous": "hyperspan.nn.discontinuous:DiscontinuousScorer",
        "linear-chain": "hyperspan.baselines.chains:LinearChainScorer",
        "cascaded": "hyperspan.baselines.chains:CascadedScorer",
        "semi-markov": "hyperspan.baselines.segments:SegmentScorer",
        "tree": "hyperspan.baselines.segments:TreeScorer",
        "mention-hypergraph": "hyperspan.baselines.mention_graphs:MentionHypergraphScorer",
        "mention-separators": "hyperspan.baselines.mention_graphs:MentionSeparatorScorer",
        "joint": "hyperspan.nn.joint:JointScorer",
    }
)
SCORERS = PluginTable("structures", _BUILT_IN, Scorer, classes=True)
"""Scorers by model.kind; plug-ins register in the group ``hyperspan.structures``."""
