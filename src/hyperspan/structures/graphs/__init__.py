"""Structures as hypergraphs: explicit ones, node by node, with sums in any semiring, for inspection and tests; and
packed ones, in arrays, on which whole structures stand.

Names load on first use: distributions over packed hypergraphs need torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hyperspan.plugins import lazy_names

if TYPE_CHECKING:
    from hyperspan.kernels.numbers import highest as highest
    from hyperspan.structures.graphs.discontinuous import DiscontinuousNode as DiscontinuousNode
    from hyperspan.structures.graphs.discontinuous import discontinuous_hypergraph as discontinuous_hypergraph
    from hyperspan.structures.graphs.discontinuous import discontinuous_hyperpath as discontinuous_hyperpath
    from hyperspan.structures.graphs.discontinuous import discontinuous_mentions as discontinuous_mentions
    from hyperspan.structures.graphs.distribution import GraphDistribution as GraphDistribution
    from hyperspan.structures.graphs.distribution import SpanGraph as SpanGraph
    from hyperspan.structures.graphs.hypergraph import Counting as Counting
    from hyperspan.structures.graphs.hypergraph import Hyperedge as Hyperedge
    from hyperspan.structures.graphs.hypergraph import Hypergraph as Hypergraph
    from hyperspan.structures.graphs.hypergraph import Hyperpath as Hyperpath
    from hyperspan.structures.graphs.hypergraph import KBest as KBest
    from hyperspan.structures.graphs.hypergraph import Log as Log
    from hyperspan.structures.graphs.hypergraph import hyperpaths as hyperpaths
    from hyperspan.structures.graphs.hypergraph import inside as inside
    from hyperspan.structures.graphs.hypergraph import viterbi as viterbi
    from hyperspan.structures.graphs.packed import Graph as Graph
    from hyperspan.structures.graphs.paths import Values as Values
    from hyperspan.structures.graphs.segmental import SegmentalNode as SegmentalNode
    from hyperspan.structures.graphs.segmental import hyperpath_of as hyperpath_of
    from hyperspan.structures.graphs.segmental import mentions_of as mentions_of
    from hyperspan.structures.graphs.segmental import segmental_hypergraph as segmental_hypergraph
    from hyperspan.structures.graphs.sums import log_partition as log_partition
    from hyperspan.structures.graphs.sums import posteriors as posteriors
    from hyperspan.structures.graphs.sums import stretches as stretches
else:
    __all__, __dir__, __getattr__ = lazy_names(
        __name__,
        {
            "discontinuous": "DiscontinuousNode discontinuous_hypergraph discontinuous_hyperpath discontinuous_mentions",
            "distribution": "GraphDistribution SpanGraph highest",
            "hypergraph": "Counting KBest Log Hyperedge Hypergraph Hyperpath hyperpaths inside viterbi",
            "packed": "Graph",
            "paths": "Values",
            "segmental": "SegmentalNode hyperpath_of mentions_of segmental_hypergraph",
            "sums": "log_partition posteriors stretches",
        },
    )
