"""Scorers: from words and spans to the scores of a structure, one class per structure."""

from hyperspan.models.scorers.base import Scorer, WeightColumns
from hyperspan.models.scorers.chains import CascadedScorer, LinearChainScorer
from hyperspan.models.scorers.discontinuous import DiscontinuousScorer
from hyperspan.models.scorers.joint import JointScorer
from hyperspan.models.scorers.mention_graphs import MentionHypergraphScorer, MentionSeparatorScorer
from hyperspan.models.scorers.segmental import SegmentalScorer
from hyperspan.models.scorers.segments import SegmentScorer, TreeScorer
from hyperspan.plugins import PluginTable

__all__ = ["SCORERS", "Scorer", "WeightColumns"]

_BUILT_IN: dict[str, type[Scorer]] = {
    "segmental": SegmentalScorer,
    "discontinuous": DiscontinuousScorer,
    "linear-chain": LinearChainScorer,
    "cascaded": CascadedScorer,
    "semi-markov": SegmentScorer,
    "tree": TreeScorer,
    "mention-hypergraph": MentionHypergraphScorer,
    "mention-separators": MentionSeparatorScorer,
    "joint": JointScorer,
}
SCORERS = PluginTable("structures", _BUILT_IN, Scorer, classes=True)
"""Scorers by model.kind; plug-ins register in the group ``hyperspan.structures``."""
