"""The systems of the paper's table of model properties, as explicit hypergraphs and encodings of sets.

A system decodes one hypergraph, or several one after the other. Each of its hyperpaths has a *code*, and so has each
set of mentions that the system can learn from. All properties follow from these codes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, combinations

from experiments.figures.graphs import (
    SeparatorNode,
    consistent_hyperpath_of,
    constituency_hypergraph,
    constituents_of,
    joint_hypergraph,
    joint_mentions,
    linear_chain_hypergraph,
    linear_chain_mentions,
    mention_network,
    semi_markov_hypergraph,
    semi_markov_mentions,
    separators_hypergraph,
)
from hyperspan.baselines.katiyar_cardie import label_sets
from hyperspan.baselines.katiyar_cardie import mentions_of as mentions_of_labels
from hyperspan.baselines.layered import MOST_LAYERS, layers_of
from hyperspan.baselines.mention_separators import labels_of
from hyperspan.baselines.readings import is_ambiguous
from hyperspan.baselines.tree import is_nested
from hyperspan.structures.graphs import (
    Hypergraph,
    Hyperpath,
    discontinuous_hypergraph,
    discontinuous_mentions,
    mentions_of,
    segmental_hypergraph,
)
from hyperspan.structures.mentions import Limits, Mention, MentionSet, parts_of


@dataclass(frozen=True)
class System:
    """A system to count; `n` words, `m` types, mentions of at most `c` words (None: any)."""

    name: str
    graphs: Callable[[int, int, int | None], list[Hypergraph]]
    """(n, m, c) -> the hypergraphs that are decoded one after the other."""
    code_of_paths: Callable[[Sequence[Hyperpath]], Hashable]
    """The code of hyperpaths, one for each hypergraph."""
    holds: Callable[[MentionSet], bool]
    """Whether the system distinguishes this set of mentions from all others, in a sentence of any length."""
    code_of_set: Callable[[MentionSet, int, int], Hashable] = lambda mentions, n, m: mentions
    """(mentions, n, m) -> the code of a set; a code without a hyperpath if it cannot be learnt."""
    limited: bool = False
    """Whether mentions may be limited to c words."""
    gaps: bool = False
    """Whether mentions may have two parts, here with one word between them and one word in the second."""
    paper: tuple[str, ...] = ()
    """The cells of the paper's table, if it has this system."""


def _cascade(n: int, m: int, c: int | None) -> list[Hypergraph]:
    """A chain for each type, which sees what the chains before it found."""
    return [linear_chain_hypergraph(n, 1) for _ in range(m)]


def _cascaded_mentions(paths: Sequence[Hyperpath]) -> MentionSet:
    found = (linear_chain_mentions(path) for path in paths)
    return frozenset((start, end, kind) for kind, mentions in enumerate(found) for start, end, _ in mentions)


def _labels(paths: Sequence[Hyperpath[SeparatorNode]]) -> Hashable:
    """The labels of all gaps, as the hyperpath has them type by type."""
    nodes = chain.from_iterable(edge.tail for path in paths for edge in path)
    return tuple(node.label for node in nodes if node.symbol == "label")


def _labels_of_set(mentions: MentionSet, n: int, m: int) -> Hashable:
    return tuple(chain.from_iterable(labels_of(mentions, n, m)))


_network = cache(mention_network)  # asked for again with every set


def _network_path_of_set(mentions: MentionSet, n: int, m: int) -> Hashable:
    return consistent_hyperpath_of(mentions, _network(n, m))


def overlapping_pairs(mentions: Iterable[Mention]) -> list[tuple[Mention, Mention]]:
    """The pairs of mentions that share a word."""
    return [
        (a, b)
        for a, b in combinations(sorted(mentions), 2)
        if any(one[0] < two[1] and two[0] < one[1] for one in parts_of(a) for two in parts_of(b))
    ]


def _with_gaps(n: int, m: int, c: int | None) -> list[Hypergraph]:
    return [discontinuous_hypergraph(n, m, Limits(parts=2, width=n if c is None else c, gap=1, later_width=1))]


def _is_flat_by_type(mentions: MentionSet) -> bool:
    return all(a[2] != b[2] for a, b in overlapping_pairs(mentions))


def _has_one_type_a_span(mentions: MentionSet) -> bool:
    return len({(start, end) for start, end, _ in mentions}) == len(mentions)


def _is_determined_by_labels(mentions: MentionSet) -> bool:
    """Whether sets of BILOU labels determine these mentions under both readings."""
    length = max((end for _, end, _ in mentions), default=0)
    labels = label_sets(mentions, length, 1 + max((kind for _, _, kind in mentions), default=0))
    return mentions_of_labels(labels, "all") == mentions_of_labels(labels, "nested") == mentions


def _is_nested_and_shallow(mentions: MentionSet) -> bool:
    spans = frozenset((start, end, 0) for start, end, _ in mentions)
    return is_nested(spans) and len(layers_of(mentions)) <= MOST_LAYERS


# fmt: off
SYSTEMS = (
    System("CRF (linear)", lambda n, m, c: [linear_chain_hypergraph(n, m)],
           lambda paths: linear_chain_mentions(paths[0]), lambda mentions: not overlapping_pairs(mentions)),
    System("Semi-CRF", lambda n, m, c: [semi_markov_hypergraph(n, m, c)],
           lambda paths: semi_markov_mentions(paths[0]), lambda mentions: not overlapping_pairs(mentions), limited=True),
    System("Alex et al. 2007 (cascaded CRF)", _cascade, _cascaded_mentions, _is_flat_by_type,
           paper=("no", "no", "no", "yes", "yes", "O(mn)")),
    System("Finkel & Manning 2009", lambda n, m, c: [constituency_hypergraph(n, m)],
           lambda paths: constituents_of(paths[0]), is_nested,
           paper=("no", "no", "yes", "no", "no", "O(|G|n³)")),
    System("Lu & Roth 2015", lambda n, m, c: [_network(n, m)],
           lambda paths: paths[0], lambda mentions: not is_ambiguous(mentions), _network_path_of_set,
           paper=("yes", "yes", "no", "no", "no", "O(mn)")),
    System("Muis & Lu 2017", lambda n, m, c: [separators_hypergraph(n, m)],
           _labels, lambda mentions: not is_ambiguous(mentions), _labels_of_set,
           paper=("no", "yes", "no", "no", "no", "O(mn)")),
    System("SH", lambda n, m, c: [segmental_hypergraph(n, m, c)],
           lambda paths: mentions_of(paths[0]), lambda mentions: True, limited=True,
           paper=("no", "no", "no", "no", "no", "O(cmn)")),
    System("SH with gaps", _with_gaps, lambda paths: discontinuous_mentions(paths[0]), lambda mentions: True,
           limited=True, gaps=True),
    System("SH with joint types", lambda n, m, c: [joint_hypergraph(n, m, c)],
           lambda paths: joint_mentions(paths[0]), lambda mentions: True, limited=True),
)
"""All systems; adding one takes one entry."""
# fmt: on

HOLDS: dict[str, Callable[[MentionSet], bool]] = {
    **{system.name: system.holds for system in SYSTEMS},
    "FOFE (Xu et al. 2017)": _has_one_type_a_span,
    "Katiyar & Cardie 2018": _is_determined_by_labels,
    "Ju et al. 2018 (layered)": _is_nested_and_shallow,
    "Wang et al. 2018 (transition)": is_nested,
}
"""By system, including those without a hypergraph: whether it distinguishes a set of mentions from all others."""
