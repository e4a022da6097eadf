"""From a distribution over sets of mentions to the mentions that someone wants to see, with their probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor

from hyperspan.errors import InputError
from hyperspan.inference.assembly import SentencePrediction
from hyperspan.inference.constraints import Constraints
from hyperspan.inference.options import DecodingOptions
from hyperspan.structures import Distribution, NotSupportedError
from hyperspan.types import Mention


def decode(
    distribution: Distribution,
    labels: Sequence[str],
    options: DecodingOptions,
    constraints: Sequence[Constraints] | None = None,
) -> list[SentencePrediction]:
    """What the options ask for, for each sentence of a batch. Types are indices into the labels; constraints are one per sentence.

    >>> from hyperspan.structures import EdgeScores, SegmentalHypergraph
    >>> zeros = torch.zeros(1, 1, 1)
    >>> scores = EdgeScores(zeros, zeros + 1, torch.zeros(1, 1, 0, 1), torch.zeros(1, 1, 1, 1))
    >>> [found] = decode(SegmentalHypergraph(scores, [1]), ["name"], DecodingOptions(types=(0,), top_k=2))
    >>> [(mention.label, round(mention.probability, 3)) for mention in found.mentions]
    [('name', 0.731)]
    >>> [(round(probability, 3), len(mentions)) for probability, mentions in found.sets]
    [(0.731, 1), (0.269, 0)]
    """
    predictions = [SentencePrediction() for _ in distribution.lengths]
    if constraints is not None:
        distribution = _conditioned(distribution, labels, constraints)
    if not options.types:
        return predictions
    if len(options.types) < distribution.types:
        distribution = distribution.restrict(options.types)
    names: list[str] = [labels[kind] for kind in options.types]
    marginals = distribution.marginals  # (B, n, c, m)
    for b, one in enumerate(constraints or ()):
        for mention in one.require:
            if mention.label in names:  # it is certain, which rounding may have made a hair less
                marginals[b, mention.start, mention.end - mention.start - 1, names.index(mention.label)] = 1.0
    if options.thresholds is None:
        places = _best(distribution, marginals.device)
    else:
        places = _at_least(marginals, options.thresholds)
    for b, mention in _mentions(places, marginals, names):
        predictions[b].mentions.append(mention)
    if options.candidates is not None:
        places = _at_least(marginals, [options.candidates] * len(names))
        for b, mention in _mentions(places, marginals, names):
            predictions[b].candidates.append(mention)
    if options.top_k:
        for prediction, ranked in zip(predictions, distribution.topk(options.top_k), strict=True):
            for mentions, log_probability in ranked:
                named = sorted(Mention(start, end, names[kind]) for start, end, kind in mentions)
                prediction.sets.append((math.exp(log_probability), named))
    return predictions


def _best(distribution: Distribution, device: torch.device) -> Tensor:
    """(places, 4): where the mentions of the best sets are, as (sentence, start, width less 1, type)."""
    best = enumerate(distribution.argmax())
    rows = [(b, start, end - start - 1, kind) for b, mentions in best for start, end, kind in sorted(mentions)]
    return torch.tensor(rows, dtype=torch.long, device=device).reshape(-1, 4)


def _at_least(marginals: Tensor, least: Sequence[float]) -> Tensor:
    """(places, 4): where a mention is as probable as its type has to be."""
    return ((marginals >= marginals.new_tensor(least)) & (marginals > 0)).nonzero()  # no threshold lets padding in


def _mentions(places: Tensor, marginals: Tensor, names: list[str]) -> Iterator[tuple[int, Mention]]:
    """The mentions at these places, each with the sentence that it is in."""
    probabilities = marginals[tuple(places.T)].clamp(max=1.0).tolist()
    for (b, start, width, kind), probability in zip(places.tolist(), probabilities, strict=True):
        yield b, Mention(start, start + width + 1, names[kind], probability=probability)


def _conditioned(distribution: Distribution, labels: Sequence[str], constraints: Sequence[Constraints]) -> Distribution:
    """The distribution given the constraints of each sentence."""

    def by_type(mentions: Iterable[Mention]) -> list[tuple[int, int, int]]:
        return [(mention.start, mention.end, labels.index(mention.label)) for mention in mentions]

    try:
        given = distribution.condition(
            require=[by_type(one.require) for one in constraints], forbid=[by_type(one.forbid) for one in constraints]
        )
    except NotSupportedError as error:
        raise InputError(f"this model cannot require or forbid mentions: {error}") from None
    if bool((given.log_partition == -math.inf).any()):
        raise InputError(
            "the required mentions are impossible together: one begins at a word that the model passes over, or two overlap and "
            "it finds no such mentions; load it without `skip`, or leave one out"
        )
    return given
