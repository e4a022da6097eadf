"""The structures under test. A new structure is one more entry in STRUCTURES, and all of test_all_structures.py runs on
it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from hypothesis import strategies as st

from hyperspan.structures import (
    EdgeScores,
    MentionSet,
    SegmentalHypergraph,
)
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.distribution import Distribution
from hyperspan.structures.graphs import Hyperedge, mentions_of, segmental_hypergraph
from tests.baselines.cases_cascaded import cascaded_cases
from tests.baselines.cases_linear_chain import linear_chain_cases
from tests.baselines.cases_mention_hypergraph import mention_hypergraph_cases
from tests.baselines.cases_mention_separators import separators_cases
from tests.baselines.cases_semi_markov import semi_markov_cases
from tests.baselines.cases_tree import constituency_cases
from tests.plugins.cases_not_inside import not_inside_cases
from tests.structures.batches import Batch, batches
from tests.structures.brute_force import BruteForce, Case, Explicit, all_mentions, all_sets, arrays
from tests.structures.cases_discontinuous import discontinuous_cases
from tests.structures.cases_joint import joint_cases

MANY = 9
"""Sentences with more possible mentions than this are not enumerated: 2 ** 9 sets."""


def segmental_score(scores: SimpleNamespace, sentence: int, length: int, mentions: MentionSet) -> float:
    """The score of one set, added up edge by edge from the paper's definition."""
    total = 0.0
    for start in range(length):
        for kind in range(scores.close.shape[3]):
            widths = {end - start - 1 for s, end, k in mentions if (s, k) == (start, kind)}
            if not widths:
                total += scores.absent[sentence, start, kind]
                continue
            total += scores.present[sentence, start, kind] + scores.close[sentence, start, max(widths), kind]
            for width in range(max(widths)):
                total += (scores.branch if width in widths else scores.extend)[sentence, start, width, kind]
    return total


def segmental_weights(scores: SimpleNamespace, sentence: int) -> Callable[[Hyperedge], float]:
    """The log-weight of each hyperedge of the explicit graph."""

    def weight(edge: Hyperedge) -> float:
        symbol, i, k, j = edge.head  # type: ignore[misc]
        symbols = [node.symbol for node in edge.tail]  # type: ignore[attr-defined]
        if symbol in "AE":
            return 0.0
        if symbol == "T":
            return (scores.absent if symbols == ["X"] else scores.present)[sentence, i, k]
        tensor = {"X": scores.close, "I": scores.extend, "XI": scores.branch}["".join(symbols)]
        return tensor[sentence, i, j - i, k]

    return weight


def segmental_case(scores: EdgeScores, lengths: list[int], tolerance: float) -> Case:
    _, _, c, m = scores.close.shape
    vectorised, known = SegmentalHypergraph(scores, lengths), arrays(scores.to(torch.float64).untied())
    brute, explicit = [], []
    for sentence, length in enumerate(lengths):
        sets = all_sets(all_mentions(length, m, c))
        brute.append(BruteForce({s: segmental_score(known, sentence, length, s) for s in sets}))
        explicit.append(Explicit(segmental_hypergraph(length, m, c), segmental_weights(known, sentence), mentions_of))
    return Case(vectorised, lengths, m, c, brute, explicit, tolerance, conditions=True, independent_types=True)


def edge_scores(
    shape: tuple[int, int, int, int], dtype: torch.dtype, seed: int, spread: float, impossible: float, untied: bool
) -> EdgeScores:
    """Random scores; a share `impossible` of all edges is -inf, but T → X never is, so that some set is possible."""
    generator = torch.Generator().manual_seed(seed)
    batch, n, c, m = shape

    def draw(*size: int, may_be_impossible: bool = True) -> torch.Tensor:
        values = torch.randn(size, generator=generator, dtype=torch.float64) * spread
        if may_be_impossible:
            values[torch.rand(size, generator=generator) < impossible] = -math.inf
        return values.to(dtype)

    extend, close = draw(batch, n, c - 1, m), draw(batch, n, c, m)
    branch = draw(batch, n, c - 1, m) if untied else None
    return EdgeScores(draw(batch, n, m, may_be_impossible=False), draw(batch, n, m), extend, close, branch)


def segmental_cases() -> st.SearchStrategy[Case]:
    def made(b: Batch, untied: bool) -> Case:
        return segmental_case(edge_scores(b.shape, *b.drawn, untied=untied), b.lengths, b.tolerance)

    return st.builds(made, batches({1: 4, 2: 3, 3: 3}, MANY), st.booleans())


@st.composite
def partial_annotations(
    draw: st.DrawFn, pools: list[list[Any]], lengths: list[int], types: int
) -> tuple[list[frozenset[Any]], PartialMarks]:
    """Sure mentions, annotated types, regions and forbidden mentions, in any mixture."""

    def some_of(pool: list[Any], most: int) -> frozenset[Any]:
        return draw(st.frozensets(st.sampled_from(pool), max_size=most)) if pool else frozenset()

    gold = [some_of(pool, 4) for pool in pools]
    forbidden = [some_of(pool, 3) - sure for pool, sure in zip(pools, gold, strict=True)]
    known = [[draw(st.booleans()) for _ in range(types)] for _ in pools]
    places = [[(first, last) for last in range(n + 1) for first in range(last)] for n in lengths]
    regions = [draw(st.none() | st.just(sorted(some_of(spans, 2)))) for spans in places]
    return gold, PartialMarks(np.array(known, dtype=bool).reshape(len(pools), types), regions, forbidden)


def is_known(marks: PartialMarks, sentence: int, mention: Any) -> bool:
    """Whether a mention is known to be absent unless it is sure: it is forbidden, or of an annotated type and from its
    first to its last word in an annotated region."""
    start, end, kind, *_ = mention
    regions = marks.regions[sentence]
    within = regions is None or any(first <= start and end <= last for first, last in regions)
    return mention in marks.forbidden[sentence] or bool(marks.types[sentence, kind] and within)


def agrees(found: frozenset[Any], gold: frozenset[Any], marks: PartialMarks, sentence: int) -> bool:
    return gold <= found and not any(is_known(marks, sentence, mention) for mention in found - gold)


class OverArrays:
    """A distribution over arrays, which answers with tensors as the others do. Its padding is NaN."""

    def __init__(self, arrays: Any):
        self.arrays, self.types, self.lengths = arrays, arrays.types, arrays.lengths
        self.argmax, self.topk, self.places = arrays.argmax, arrays.topk, arrays.places

    def __getattr__(self, name: str) -> Any:
        """Another value or method of the arrays, whose answer is made one of tensors."""
        found = getattr(self.arrays, name)
        return (lambda *given, **named: self._made(found(*given, **named))) if callable(found) else self._made(found)

    def _made(self, found: Any) -> Any:
        if isinstance(found, np.ndarray):
            return torch.from_numpy(found)
        return OverArrays(found) if isinstance(found, Distribution) else found

    def sample(self, k: int, generator: torch.Generator) -> Any:
        return self.arrays.sample(k, np.random.default_rng(generator.initial_seed()))


def kind_of(distribution: Any) -> type:
    return type(distribution.arrays if isinstance(distribution, OverArrays) else distribution)


def over_arrays(case: Case) -> Case:
    def padded(tensor: torch.Tensor) -> np.ndarray:
        array = tensor.numpy().copy()
        for sentence, length in enumerate(case.lengths):
            array[sentence, length:] = math.nan
        return array

    whole = case.vectorised
    return replace(case, vectorised=OverArrays(whole.with_scores(whole.scores.map(padded))))


STRUCTURES: dict[str, st.SearchStrategy[Case]] = {
    "segmental": segmental_cases(),
    "segmental, arrays": segmental_cases().map(over_arrays),
    "discontinuous": discontinuous_cases(),
    "discontinuous, arrays": discontinuous_cases().map(over_arrays),
    "joint": joint_cases(),
    "joint, arrays": joint_cases().map(over_arrays),
    "linear chain": linear_chain_cases(),
    "semi-Markov": semi_markov_cases(),
    "constituency": constituency_cases(),
    "mention separators": separators_cases(),
    "mention hypergraph": mention_hypergraph_cases(),
    "cascaded chains": cascaded_cases(),
    "a plug-in's": not_inside_cases(),
}
