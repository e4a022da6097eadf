"""From a distribution over sets of mentions to the mentions that someone wants to see, with their probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from hyperspan.structures import (
    EdgeScores,
    MentionHypergraph,
    MentionSeparators,
    MentionSet,
    SegmentalHypergraph,
    WordEdgeScores,
)
from hyperspan.types import Mention

if TYPE_CHECKING:
    from hyperspan.models.base import Answers


SETS_A_SET = 50
"""Where types depend on each other, so many of the best sets are looked at for each set of some types that is wanted."""


@dataclass(frozen=True)
class Wanted:
    """The types to look for, as indices; for each the least probability, or None for the best set; how many sets."""

    types: list[int]
    thresholds: list[float] | None
    top_k: int


@dataclass(frozen=True)
class Found:
    """The mentions of a sentence in tokens, and its best sets with their probabilities."""

    mentions: list[Mention] = field(default_factory=list)
    sets: list[tuple[float, list[Mention]]] = field(default_factory=list)


def decode(distribution: Answers, labels: Sequence[str], wanted: Wanted) -> list[Found]:
    """What is wanted of each sentence of a batch; types are indices into the labels.

    >>> zeros = torch.zeros(1, 1, 1)
    >>> scores = EdgeScores(zeros, zeros + 1, torch.zeros(1, 1, 0, 1), torch.zeros(1, 1, 1, 1))
    >>> [found] = decode(SegmentalHypergraph(scores, [1]), ["name"], Wanted(types=[0], thresholds=None, top_k=2))
    >>> [(mention.label, round(mention.probability, 3)) for mention in found.mentions]
    [('name', 0.731)]
    >>> [(round(probability, 3), len(mentions)) for probability, mentions in found.sets]
    [(0.731, 1), (0.269, 0)]
    """
    names = {index: labels[index] for index in wanted.types}
    found = [Found() for _ in distribution.lengths]
    if not names:
        return found
    alone = _of_types(distribution, wanted.types) if len(names) < distribution.types else None
    if alone is not None:
        distribution, names = alone, dict(enumerate(names.values()))
    marginals = distribution.marginals  # (B, n, c, m)
    if wanted.thresholds is None:
        best = enumerate(distribution.argmax())
        rows = [(b, start, end - start - 1, kind) for b, mentions in best for start, end, kind in sorted(mentions)]
        places = torch.tensor(rows, dtype=torch.long, device=marginals.device).reshape(-1, 4)
    else:
        least = dict(zip(names, wanted.thresholds, strict=True))
        thresholds = marginals.new_tensor([least.get(kind, 2.0) for kind in range(distribution.types)])
        places = ((marginals >= thresholds) & (marginals > 0)).nonzero()  # no threshold lets padding in
    probabilities = marginals[tuple(places.T)].clamp(max=1.0).tolist()
    for (b, start, width, kind), probability in zip(places.tolist(), probabilities, strict=True):
        if kind in names:
            found[b].mentions.append(Mention(start, start + width + 1, names[kind], probability=probability))
    if wanted.top_k:
        looked_at = wanted.top_k * (1 if len(names) == distribution.types else SETS_A_SET)
        for b, ranked in enumerate(distribution.topk(looked_at)):
            found[b].sets.extend(_named(ranked, names)[: wanted.top_k])
    return found


def _named(ranked: Sequence[tuple[MentionSet, float]], names: dict[int, str]) -> list[tuple[float, list[Mention]]]:
    """The sets with their probabilities, best first; those that differ in other types alone are one, at least that probable."""
    together: dict[MentionSet, float] = {}
    for mentions, log_probability in ranked:
        known = frozenset(mention for mention in mentions if mention[2] in names)
        together[known] = together.get(known, 0.0) + math.exp(log_probability)
    by_probability = sorted(together.items(), key=lambda item: -item[1])
    return [(p, sorted(Mention(start, end, names[kind]) for start, end, kind in known)) for known, p in by_probability]


def _of_types(distribution: Answers, types: list[int]) -> Answers | None:
    """The distribution over the mentions of some types, where types are independent, so that nothing else changes."""
    if isinstance(distribution, MentionSeparators):
        return MentionSeparators(distribution.scores[..., types], distribution.lengths, distribution.reading)
    if not isinstance(distribution, (SegmentalHypergraph, MentionHypergraph)):
        return None
    given = distribution.scores
    tensors = (given.absent, given.present, given.extend, given.close, given.branch)
    chosen: list[Any] = [tensor if tensor is None else tensor[..., types] for tensor in tensors]
    if isinstance(distribution, SegmentalHypergraph):
        return SegmentalHypergraph(EdgeScores(*chosen), distribution.lengths)
    return MentionHypergraph(WordEdgeScores(*chosen), distribution.lengths, distribution.reading)
