"""Segmental and joint hypergraphs with factors over a few mentions, by enumeration."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from hypothesis import strategies as st

from hyperspan.structures import CoupledHypergraph, Mention, MentionSet
from hyperspan.structures.coupled import group_numbers
from hyperspan.structures.coupling import Factors
from hyperspan.structures.graphs import Hyperedge, Hypergraph
from tests.structures.brute_force import BruteForce, Case, Explicit, all_mentions
from tests.structures.cases_joint import joint_cases

ROOT = frozenset({(-1, -1, -1)})


def listed(brute: BruteForce) -> Explicit:
    """A hypergraph with one edge for each set: factors join what no smaller one could keep apart."""
    graph = Hypergraph(ROOT, [Hyperedge(ROOT, (mentions,)) for mentions in brute.scores])

    def mentions_of(path: Iterable[Hyperedge]) -> MentionSet:
        [edge] = path
        return edge.tail[0]

    return Explicit(graph, lambda edge: brute.scores[edge.tail[0]], mentions_of)


@st.composite
def random_factors(draw: st.DrawFn, lengths: list[int], types: int, c: int, groups: np.ndarray) -> list[Factors]:
    """Factors of up to four mentions each; no two have mentions of one word and group."""
    random = np.random.default_rng(draw(st.integers(0, 2**31)))
    by_size: dict[int, list[tuple[int, list[Mention]]]] = {}
    for sentence, length in enumerate(lengths):
        units: dict[tuple[int, int], list[Mention]] = {}
        for mention in all_mentions(length, types, c):
            units.setdefault((mention[0], int(groups[mention[2]])), []).append(mention)
        order = list(units)
        random.shuffle(order)
        while len(order) > 1 and random.random() < 0.9:
            pool = [mention for unit in order[:2] for mention in units[unit]]
            order = order[2:]
            chosen = [pool[place] for place in random.permutation(len(pool))[: random.integers(1, 5)]]
            by_size.setdefault(len(chosen), []).append((sentence, chosen))
    found = []
    for size, some in by_size.items():
        table = random.normal(size=(len(some), 2**size)) * draw(st.sampled_from([0.0, 2.0]))
        table[random.random(table.shape) < draw(st.sampled_from([0.0, 0.1]))] = -math.inf
        table[:, 0] = 0.0
        start, end, kind = np.array([mentions for _, mentions in some]).transpose(2, 0, 1)
        found.append(Factors(np.array([sentence for sentence, _ in some]), start, end, kind, table))
    return found


def factor_score(factors: list[Factors], sentence: int, mentions: MentionSet) -> float:
    """What factors add to the score of a set."""
    total = 0.0
    for some in factors:
        for factor in np.flatnonzero(some.sentence == sentence):
            members = zip(
                some.start[factor].tolist(), some.end[factor].tolist(), some.kind[factor].tolist(), strict=True
            )
            pattern = sum(1 << place for place, member in enumerate(members) if member in mentions)
            total += float(some.table[factor, pattern])
    return total


@st.composite
def coupled_cases(draw: st.DrawFn) -> Case:
    case = draw(joint_cases())
    base = case.vectorised
    factors = draw(random_factors(case.lengths, case.types, case.max_width, group_numbers(base)))
    brute = [
        BruteForce({some: score + factor_score(factors, sentence, some) for some, score in one.scores.items()})
        for sentence, one in enumerate(case.brute)
    ]
    vectorised = CoupledHypergraph(base, factors)
    explicit = [listed(one) for one in brute]
    return Case(vectorised, case.lengths, case.types, case.max_width, brute, explicit, case.tolerance, conditions=True)
