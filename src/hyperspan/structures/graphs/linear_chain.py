"""The linear chain as an explicit hypergraph, for inspection and for testing the fast version."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hyperspan.structures.graphs.hypergraph import Hyperedge, Hypergraph
from hyperspan.structures.mentions import MentionSet
from hyperspan.structures.tags import OUTSIDE, legal_tags, mentions_of_tags


class TagNode(NamedTuple):
    """A word with a tag. The root stands before the first word and the end after the last one, as if outside."""

    position: int
    tag: int = OUTSIDE


def linear_chain_hypergraph(n: int, types: int | Sequence[str]) -> Hypergraph[TagNode]:
    """The hypergraph of a sentence of `n` words: every edge leads to one tag of the next word, and from the last to the
    end.

    >>> from hyperspan.structures.graphs import hyperpaths
    >>> sorted(map(sorted, map(linear_chain_mentions, hyperpaths(linear_chain_hypergraph(2, types=1)))))
    [[], [(0, 1, 0)], [(0, 1, 0), (1, 2, 0)], [(0, 2, 0)], [(1, 2, 0)]]
    """
    legal = legal_tags(types if isinstance(types, int) else len(types))
    follows, closes = legal.step.tolist(), legal.last.tolist()
    # A node without outgoing edges counts as an end, so there is none for a mention left open at the last word.
    words = [
        [TagNode(position, tag) for tag, closed in enumerate(closes) if closed or position < n - 1]
        for position in range(n)
    ]
    return Hypergraph(
        TagNode(-1),
        [
            Hyperedge(node, (following,))
            for level, next_level in itertools.pairwise([[TagNode(-1)], *words, [TagNode(n)]])
            for node, following in itertools.product(level, next_level)
            if follows[node.tag][following.tag]
        ],
    )


def linear_chain_mentions(path: Iterable[Hyperedge[TagNode]]) -> MentionSet:
    """The set of mentions that a hyperpath encodes."""
    tags = [edge.head.tag for edge in path if edge.head.position >= 0]
    return mentions_of_tags(tags)
