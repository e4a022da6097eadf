"""From a distribution over sets of mentions to the mentions that someone wants to see, with their probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from hyperspan.errors import InputError
from hyperspan.inference.constraints import Pins
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

    types: Sequence[int]
    thresholds: Sequence[float] | None
    top_k: int
    candidates: float | None = None
    """Also every mention that is at least this probable."""


@dataclass(frozen=True)
class Found:
    """The mentions of a sentence in tokens, its best sets with their probabilities, and its candidates."""

    mentions: list[Mention] = field(default_factory=list)
    sets: list[tuple[float, list[Mention]]] = field(default_factory=list)
    candidates: list[Mention] = field(default_factory=list)


def decode(
    distribution: Answers, labels: Sequence[str], wanted: Wanted, pins: Sequence[Pins] | None = None
) -> list[Found]:
    """What is wanted of each sentence of a batch; types are indices into the labels. `pins` are what is known of each.

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
    if pins is not None:
        distribution = _pinned(distribution, pins)
    if not names:
        return found
    alone = _of_types(distribution, wanted.types) if len(names) < distribution.types else None
    known_as = {index: place if alone is not None else index for place, index in enumerate(wanted.types)}
    if alone is not None:
        distribution, names = alone, dict(enumerate(names.values()))
    marginals = distribution.marginals  # (B, n, c, m)
    for b, start, end, kind in _required(pins, known_as):
        marginals[b, start, end - start - 1, kind] = 1.0  # which rounding may have made a hair less
    if wanted.thresholds is None:
        best = enumerate(distribution.argmax())
        rows = [(b, start, end - start - 1, kind) for b, mentions in best for start, end, kind in sorted(mentions)]
        places = torch.tensor(rows, dtype=torch.long, device=marginals.device).reshape(-1, 4)
    else:
        places = _at_least(marginals, dict(zip(names, wanted.thresholds, strict=True)))
    for b, mention in _mentions(places, marginals, names):
        found[b].mentions.append(mention)
    if wanted.candidates is not None:
        places = _at_least(marginals, dict.fromkeys(names, wanted.candidates))
        for b, mention in _mentions(places, marginals, names):
            found[b].candidates.append(mention)
    if wanted.top_k:
        looked_at = wanted.top_k * (1 if len(names) == distribution.types else SETS_A_SET)
        for b, ranked in enumerate(distribution.topk(looked_at)):
            found[b].sets.extend(_named(ranked, names)[: wanted.top_k])
    return found


def _at_least(marginals: Tensor, least: dict[int, float]) -> Tensor:
    """(places, 4): where a mention (sentence, start, width less 1, type) is as probable as its type has to be."""
    thresholds = marginals.new_tensor([least.get(kind, 2.0) for kind in range(marginals.shape[3])])
    return ((marginals >= thresholds) & (marginals > 0)).nonzero()  # no threshold lets padding in


def _mentions(places: Tensor, marginals: Tensor, names: dict[int, str]) -> Iterator[tuple[int, Mention]]:
    """The mentions at these places, of the types that have names, each with the sentence that it is in."""
    probabilities = marginals[tuple(places.T)].clamp(max=1.0).tolist()
    for (b, start, width, kind), probability in zip(places.tolist(), probabilities, strict=True):
        if kind in names:
            yield b, Mention(start, start + width + 1, names[kind], probability=probability)


def _pinned(distribution: Answers, pins: Sequence[Pins]) -> Answers:
    """The distribution given what is known of each sentence."""
    condition = getattr(distribution, "condition", None)
    if condition is None:
        raise InputError(
            "mentions are to be required or forbidden, but the structure of this model cannot be told so; "
            "use a model of the kind 'segmental', as the bundled ones are"
        )
    given = condition(require=[pin.require for pin in pins], forbid=[pin.forbid for pin in pins])
    if bool((given.log_partition == -math.inf).any()):  # only where a model passes over words
        raise InputError(
            "a required mention begins at a word that the model passes over; load it without `skip`, or leave the mention out"
        )
    return given


def _required(pins: Sequence[Pins] | None, known_as: dict[int, int]) -> Iterator[tuple[int, int, int, int]]:
    """(sentence, start, end, type) of what is certain, of the types that are looked for."""
    for b, pin in enumerate(pins or ()):
        yield from ((b, start, end, known_as[kind]) for start, end, kind in pin.require if kind in known_as)


def _named(ranked: Sequence[tuple[MentionSet, float]], names: dict[int, str]) -> list[tuple[float, list[Mention]]]:
    """The sets with their probabilities, best first; those that differ in other types alone are one, at least that probable."""
    together: dict[MentionSet, float] = {}
    for mentions, log_probability in ranked:
        known = frozenset(mention for mention in mentions if mention[2] in names)
        together[known] = together.get(known, 0.0) + math.exp(log_probability)
    by_probability = sorted(together.items(), key=lambda item: -item[1])
    return [(p, sorted(Mention(start, end, names[kind]) for start, end, kind in known)) for known, p in by_probability]


def _of_types(distribution: Answers, types: Sequence[int]) -> Answers | None:
    """The distribution over the mentions of some types, where types are independent, so that nothing else changes."""
    types = list(types)
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
