"""From a distribution over sets of mentions to the mentions that someone wants to see, with their probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from hyperspan.structures import EdgeScores, SegmentalHypergraph
from hyperspan.types import Mention


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


def decode(distribution: SegmentalHypergraph, labels: Sequence[str], wanted: Wanted) -> list[Found]:
    """What is wanted of each sentence of a batch; types are indices into the labels.

    >>> zeros = torch.zeros(1, 1, 1)
    >>> scores = EdgeScores(zeros, zeros + 1, torch.zeros(1, 1, 0, 1), torch.zeros(1, 1, 1, 1))
    >>> [found] = decode(SegmentalHypergraph(scores, [1]), ["name"], Wanted(types=[0], thresholds=None, top_k=2))
    >>> [(mention.label, round(mention.probability, 3)) for mention in found.mentions]
    [('name', 0.731)]
    >>> [(round(probability, 3), len(mentions)) for probability, mentions in found.sets]
    [(0.731, 1), (0.269, 0)]
    """
    distribution = _of_types(distribution, wanted.types)
    names = [labels[index] for index in wanted.types]
    found = [Found() for _ in distribution.lengths]
    if not names:
        return found
    marginals = distribution.marginals  # (B, n, c, m)
    if wanted.thresholds is None:
        best = enumerate(distribution.argmax())
        rows = [(b, start, end - start - 1, kind) for b, mentions in best for start, end, kind in sorted(mentions)]
        places = torch.tensor(rows, dtype=torch.long, device=marginals.device).reshape(-1, 4)
    else:
        likely = (marginals >= marginals.new_tensor(wanted.thresholds)) & (
            marginals > 0
        )  # no threshold lets padding in
        places = likely.nonzero()
    probabilities = marginals[tuple(places.T)].clamp(max=1.0).tolist()
    for (b, start, width, kind), probability in zip(places.tolist(), probabilities, strict=True):
        found[b].mentions.append(Mention(start, start + width + 1, names[kind], probability=probability))
    if wanted.top_k:
        for b, ranked in enumerate(distribution.topk(wanted.top_k)):
            for mentions, log_probability in ranked:
                named = sorted(Mention(start, end, names[kind]) for start, end, kind in mentions)
                found[b].sets.append((math.exp(log_probability), named))
    return found


def _of_types(distribution: SegmentalHypergraph, types: list[int]) -> SegmentalHypergraph:
    """The distribution over the mentions of some types; types are independent, so nothing else changes."""
    if types == list(range(distribution.types)):
        return distribution
    given = distribution.scores
    tensors = (given.absent, given.present, given.extend, given.close, given.branch)
    chosen = [tensor if tensor is None else tensor[..., types] for tensor in tensors]
    return SegmentalHypergraph(EdgeScores(*chosen), distribution.lengths)  # type: ignore[arg-type]
