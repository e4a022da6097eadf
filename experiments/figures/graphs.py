"""Explicit hypergraphs of systems whose pictures the package does not draw: for pictures, for counting, and as oracles
of tests. Most are spelled out from the graphs that the systems compute with."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations
from typing import Literal, NamedTuple

from hyperspan.baselines.linear_chain import OUTSIDE, mentions_of_tags, steps_of
from hyperspan.baselines.mention_hypergraph import mention_hypergraph_graph
from hyperspan.baselines.mention_separators import separators_graph, structure_of_labels
from hyperspan.baselines.readings import Reading, read, structure_of
from hyperspan.baselines.semi_markov import semi_markov_graph
from hyperspan.baselines.tree import tree_graph
from hyperspan.structures import Mention, MentionSet
from hyperspan.structures.graphs import Hyperedge, Hypergraph, Hyperpath, SegmentalNode, viterbi
from hyperspan.structures.graphs.hypergraph import encoding
from hyperspan.structures.graphs.segmental import END, upper_edges

# -- linear chains -----------------------------------------------------------------------------------------------------


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
    graph = steps_of(types if isinstance(types, int) else len(types)).graph(n)
    return graph.spelled_out(TagNode, end=TagNode(n))


def linear_chain_mentions(path: Iterable[Hyperedge[TagNode]]) -> MentionSet:
    """The set of mentions that a hyperpath encodes."""
    tags = [edge.head.tag for edge in path if edge.head.position >= 0]
    return mentions_of_tags(tags)


# -- semi-Markov -------------------------------------------------------------------------------------------------------


class SuffixNode(NamedTuple):
    """The rest of a sentence from this word on."""

    position: int


class SegmentNode(NamedTuple):
    """A mention."""

    start: int
    end: int
    kind: int


def semi_markov_hypergraph(
    n: int, types: int | Sequence[str], max_width: int | None = None
) -> Hypergraph[SuffixNode | SegmentNode]:
    """The hypergraph of a sentence of `n` words: from a place to the next, or to a segment and the place after it.

    >>> from hyperspan.structures.graphs import hyperpaths
    >>> sorted(map(sorted, map(semi_markov_mentions, hyperpaths(semi_markov_hypergraph(2, types=1)))))
    [[], [(0, 1, 0)], [(0, 1, 0), (1, 2, 0)], [(0, 2, 0)], [(1, 2, 0)]]
    """
    m = types if isinstance(types, int) else len(types)

    def leaf(name: str, place: tuple[int, ...]) -> SegmentNode | None:
        return SegmentNode(place[0], place[0] + place[1] + 1, place[2]) if name == "mention" else None

    graph = semi_markov_graph(n, n if max_width is None else max_width, m)
    return graph.spelled_out(SuffixNode, leaf, end=SuffixNode(n))


def semi_markov_mentions(path: Iterable[Hyperedge[SuffixNode | SegmentNode]]) -> MentionSet:
    """The set of mentions that a hyperpath encodes."""
    segments = [node for edge in path for node in edge.tail if isinstance(node, SegmentNode)]
    return frozenset((start, end, kind) for start, end, kind in segments)


# -- trees -------------------------------------------------------------------------------------------------------------


class ConstituencyNode(NamedTuple):
    """A node of the explicit hypergraph; it covers the words from `start` up to `end`, exclusive.

    ``top``: a sequence of words and mentions from the first word on, inside no mention. ``sequence``: one inside a
    mention. ``inner``: a sequence that is not one mention alone. ``mention``: a mention of some type, with what it
    contains. ``type`` (number `kind`), ``word`` and ``outside`` (a word in no mention) are leaves.
    """

    symbol: Literal["top", "sequence", "inner", "mention", "type", "word", "outside"]
    start: int = -1
    end: int = -1
    kind: int = -1


def constituency_hypergraph(
    n: int, types: int | Sequence[str], max_width: int | None = None
) -> Hypergraph[ConstituencyNode]:
    """All sets of nested and disjoint mentions in `n` words, at most one type per span; each set is one hyperpath.

    >>> from hyperspan.structures.graphs import Counting, inside
    >>> graph = constituency_hypergraph(3, types=1)  # six spans, and no set with both (0, 2) and (1, 3)
    >>> inside(graph, lambda edge: 0.0, Counting())[graph.root]
    48
    """
    m = types if isinstance(types, int) else len(types)
    if n == 0:
        return Hypergraph(ConstituencyNode("top", 0, 0), [])

    def leaf(name: str, place: tuple[int, ...]) -> ConstituencyNode:
        if name != "mention":
            return ConstituencyNode("word" if name == "word" else "outside", place[0], place[0] + 1)
        start, width, kind = place
        return ConstituencyNode("type", start, start + width + 1, kind)

    graph = tree_graph(n, n if max_width is None else min(max_width, n), m)
    return graph.spelled_out(ConstituencyNode, leaf)


def constituents_of(path: Iterable[Hyperedge[ConstituencyNode]]) -> MentionSet:
    """The set of mentions that a hyperpath encodes: one for each type that it visits."""
    leaves = (node for edge in path for node in edge.tail)
    return frozenset((leaf.start, leaf.end, leaf.kind) for leaf in leaves if leaf.symbol == "type")


# -- mention hypergraph ------------------------------------------------------------------------------------------------


def mention_network(n: int, types: int | Sequence[str]) -> Hypergraph[SegmentalNode]:
    """The complete mention hypergraph (Lu & Roth, 2015) of a sentence of `n` words: I nodes have no start.

    >>> from hyperspan.structures.graphs import hyperpaths
    >>> paths = list(hyperpaths(mention_network(3, types=1)))
    >>> len(paths), sum(map(is_consistent, paths))  # the other 24 are spurious
    (64, 40)
    """
    m = types if isinstance(types, int) else len(types)
    root = SegmentalNode("A", 0)
    network = mention_hypergraph_graph(n, m).spelled_out(
        SegmentalNode, lambda name, place: END if name == "branch" else None, root=root, end=END
    )
    upper = (edge for word in range(n) for edge in upper_edges(word, n, m))
    return Hypergraph(root, [*upper, *(edge for edge in network.edges if edge.head != root)])


def consistent_hyperpath_of(mentions: Iterable[Mention], graph: Hypergraph[SegmentalNode]) -> Hyperpath[SegmentalNode]:
    """The consistent hyperpath of a mention hypergraph that encodes a set: the one of its structure (Lu & Roth's gold
    network)."""
    structure = structure_of(mentions)

    def tail_of(node: SegmentalNode) -> tuple[SegmentalNode, ...]:
        _, start, kind, last = node
        if node.symbol == "T":
            return (SegmentalNode("I", -1, kind, start),) if (start, kind) in structure.starts else (END,)
        closes, goes_on = (last + 1, kind) in structure.ends, (last + 1, kind) in structure.continues
        return (*[END] * closes, *[SegmentalNode("I", -1, kind, last + 1)] * goes_on)

    def weight(edge: Hyperedge[SegmentalNode]) -> float:
        return 0.0 if edge.head.symbol in "AE" or set(edge.tail) == set(tail_of(edge.head)) else -math.inf

    return viterbi(graph, weight)[1]


def is_consistent(path: Iterable[Hyperedge]) -> bool:
    """Whether a hyperpath takes the same hyperedge each time it visits a node. If not, it is spurious."""
    chosen: dict[object, Hyperedge] = {}
    return all(chosen.setdefault(edge.head, edge) == edge for edge in path)


# -- mention separators ------------------------------------------------------------------------------------------------


class SeparatorNode(NamedTuple):
    """A node of the explicit graph of mention separators.

    ``sentence`` is the root. ``I`` and ``O`` stand before a gap: whether the word before it is inside mentions of type
    `kind`. ``label`` is a leaf for each label of a gap: several edges between two nodes differ only in it.
    """

    symbol: Literal["sentence", "I", "O", "label"]
    gap: int = -1
    kind: int = -1
    label: int = -1


def separators_hypergraph(n: int, types: int | Sequence[str]) -> Hypergraph[SeparatorNode]:
    """The mention separators (Muis & Lu, 2017, edge-based) of a sentence of `n` words as a hypergraph.

    >>> from hyperspan.structures.graphs import Counting, inside
    >>> graph = separators_hypergraph(3, types=1)
    >>> inside(graph, lambda edge: 0.0, Counting())[graph.root]  # as many as consistent hyperpaths (Lu & Roth)
    40
    """
    m = types if isinstance(types, int) else len(types)

    def leaf(name: str, place: tuple[int, ...]) -> SeparatorNode:
        gap, kind, label = place
        return SeparatorNode("label", gap, kind, label)

    return separators_graph(n, m).spelled_out(SeparatorNode, leaf, root=SeparatorNode("sentence"))


def separated_mentions(path: Iterable[Hyperedge[SeparatorNode]], reading: Reading = "all") -> MentionSet:
    """The mentions of a hyperpath of the mention separators, under a reading."""
    labels: dict[int, list[int]] = {}  # type -> labels, gap by gap, as a path has them in this order
    for edge in path:
        for node in edge.tail:
            if node.symbol == "label":
                labels.setdefault(node.kind, []).append(node.label)
    return read(structure_of_labels([tuple(labels[kind]) for kind in sorted(labels)]), reading)


# -- joint types -------------------------------------------------------------------------------------------------------


class JointNode(NamedTuple):
    """A node of the explicit hypergraph.

    ``A``: all mentions that start at `start` or later. ``E``: those that start exactly there. ``T``: those of a group
    of types. ``I``: those that also contain word `last`, where `types` are the types that have one. ``X``: the end of a
    mention of one type.
    """

    symbol: Literal["A", "E", "T", "I", "X"]
    start: int = -1
    types: tuple[int, ...] = ()
    last: int = -1


def _subsets(types: Sequence[int]) -> Iterator[tuple[int, ...]]:
    return chain.from_iterable(combinations(types, size) for size in range(len(types) + 1))


def _end(kind: int) -> JointNode:
    return JointNode("X", types=(kind,))


def joint_hypergraph(
    n: int, types: int | Sequence[str], max_width: int | None = None, groups: Sequence[Sequence[int]] | None = None
) -> Hypergraph[JointNode]:
    """The complete hypergraph of a sentence of `n` words; `groups` are the types that interact, by default all in one
    group.

    >>> graph = joint_hypergraph(1, types=2)
    >>> [edge.tail for edge in graph.outgoing(JointNode("I", 0, (0, 1), 0))]  # both types end here
    [(JointNode(symbol='X', start=-1, types=(0,), last=-1), JointNode(symbol='X', start=-1, types=(1,), last=-1))]
    """
    m = types if isinstance(types, int) else len(types)
    together = [tuple(range(m))] if groups is None else [tuple(group) for group in groups]
    c = n if max_width is None else max_width
    edges: list[Hyperedge[JointNode]] = []
    for i in range(n):
        e = JointNode("E", i)
        later = (JointNode("A", i + 1),) if i < n - 1 else ()
        edges.append(Hyperedge(JointNode("A", i), (*later, e)))
        edges.append(Hyperedge(e, tuple(JointNode("T", i, group) for group in together)))
        last = min(i + c, n) - 1
        for group in together:
            for present in _subsets(group) if c > 0 else [()]:
                tail = (JointNode("I", i, present, i),) if present else ()
                edges.append(Hyperedge(JointNode("T", i, group), tail))
                for j in range(i, last + 1) if present else ():
                    edges += _choices(i, j, present, going_on=j < last)
    return Hypergraph(JointNode("A", 0), edges)


def _choices(start: int, last: int, active: tuple[int, ...], *, going_on: bool) -> Iterator[Hyperedge[JointNode]]:
    """All ways in which active types end here, continue, or both."""
    for on in _subsets(active) if going_on else [()]:
        must = [kind for kind in active if kind not in on]
        for more in _subsets(on):
            ends = sorted((*must, *more))
            following = (JointNode("I", start, on, last + 1),) if on else ()
            yield Hyperedge(JointNode("I", start, active, last), (*map(_end, ends), *following))


def joint_mentions(path: Iterable[Hyperedge[JointNode]]) -> MentionSet:
    """The set of mentions that a hyperpath encodes."""
    return frozenset(
        (edge.head.start, edge.head.last + 1, node.types[0])
        for edge in path
        for node in edge.tail
        if node.symbol == "X"
    )


def joint_hyperpath(mentions: Iterable[Mention], graph: Hypergraph[JointNode]) -> Hyperpath[JointNode]:
    """The one hyperpath that encodes this set of mentions."""
    return encoding(graph, mentions, joint_mentions)
