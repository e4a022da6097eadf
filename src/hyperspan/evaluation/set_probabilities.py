"""The exact probabilities of given mention sets under a model, and of each of their mentions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np

from hyperspan.kernels.numbers import inside
from hyperspan.runtime.batches import batches_by_length
from hyperspan.runtime.decoding import InferenceModel
from hyperspan.runtime.options import DecodingOptions
from hyperspan.structures.constraints import PartialMarks
from hyperspan.structures.distribution import Distribution
from hyperspan.structures.mentions import AnyMention, NotSupportedError, too_large, with_parts
from hyperspan.structures.mentions import Mention as IndexedMention
from hyperspan.types import ANY_LABEL, AnnotationScope, Mention, Sentence

LEAST = 0.001
"""The minimal probability of discontinuous mentions; there are too many less probable ones."""
MentionSetsOfSentence = Sequence[Set[Mention]]
"""Mention sets of one sentence, in tokens."""


class SetProbabilities(NamedTuple):
    """The log-probability of each set of a sentence, and the probability of each mention in them.

    A set with a mention that the model cannot represent has -inf, and that mention is not listed. Discontinuous
    mentions less probable than :data:`LEAST` are listed with 0. Log-probabilities are None if the distribution has no
    exact ones.
    """

    sets: tuple[float | None, ...]
    mentions: dict[Mention, float]


def set_probabilities(
    model: InferenceModel,
    sentences: Sequence[Sentence],
    sets: Sequence[MentionSetsOfSentence],
    options: DecodingOptions | None = None,
    *,
    known: Sequence[Sentence] | None = None,
) -> list[SetProbabilities]:
    """Return the probabilities of the sets of each sentence; all sentences have the same number of sets.

    `options` restrict the distribution to mentions of their types, under the labels that they report. `known` are the
    same sentences as annotated in a corpus: if one is partially annotated, the probability of a set is that of all sets
    that agree with it on the known mentions.

    >>> from hyperspan import load
    >>> words, found = Sentence(["Jurkat", "cells"]), {Mention(0, 2, "cell_line")}
    >>> [(log_probabilities, mentions)] = set_probabilities(load("genia").model, [words], [[found, set()]])
    >>> log_probabilities[0] > log_probabilities[1], 0.5 < mentions[Mention(0, 2, "cell_line")] < 1
    (True, True)
    """
    types, reported_as = (range(len(model.labels)), {}) if options is None else (options.types, options.reported_as)
    labels = [reported_as.get(model.labels[kind], model.labels[kind]) for kind in types]
    count = len(sets[0]) if sets else 0
    found = [SetProbabilities((0.0,) * count, {}) for _ in sentences]
    for batch in batches_by_length([len(sentence) for sentence in sentences], model.max_width, model.batch_entries):
        with model.inference():
            distribution: Distribution[Any] = model.distribution([sentences[index] for index in batch])
            if len(types) < len(model.labels):
                distribution = distribution.restrict(types)
            here = [None if known is None else known[index] for index in batch]
            longer = _discontinuous(distribution) if model.discontinuous else [{} for _ in batch]
            judged = _batch_probabilities(distribution, [sets[index] for index in batch], labels, here, longer, model)
        for index, one in zip(batch, judged, strict=True):
            found[index] = one
    return found


def _batch_probabilities(
    distribution: Distribution[Any],
    sets: Sequence[MentionSetsOfSentence],
    labels: Sequence[str],
    known_sentences: Sequence[Sentence | None],
    longer: Sequence[Mapping[AnyMention, float]],
    model: InferenceModel,
) -> list[SetProbabilities]:
    kinds = {label: kind for kind, label in enumerate(labels)}
    marginals = distribution.marginals  # (B, n, c, m)
    widest, limits = marginals.shape[2], model.config.discontinuous if model.discontinuous else None
    by_sentence: list[dict[Mention, float]] = []
    for b, given in enumerate(sets):
        known: dict[Mention, float] = {}
        for mention in set().union(*given):
            kind, width = kinds.get(mention.label), mention.end - mention.start - 1
            if kind is None or too_large(mention.parts, model.max_width, limits):
                continue
            if mention.fragments:
                known[mention] = longer[b].get(with_parts(mention.parts, kind), 0.0)
            elif width < widest:
                known[mention] = min(float(marginals[b, mention.start, width, kind]), 1.0)
        by_sentence.append(known)
    decided = [
        _decided(sentence, kinds, *marginals.shape[1:3]) if sentence is not None and sentence.is_partial else None
        for sentence in known_sentences
    ]
    columns = [
        _log_probabilities(distribution, [given[index] for given in sets], by_sentence, kinds, decided)
        for index in range(len(sets[0]))
    ]
    return [SetProbabilities(row, known) for row, known in zip(zip(*columns, strict=True), by_sentence, strict=True)]


def _discontinuous(distribution: Distribution[Any]) -> list[dict[AnyMention, float]]:
    """Return the probabilities of the discontinuous mentions of each sentence, from :data:`LEAST` upwards."""
    found: list[dict[AnyMention, float]] = [{} for _ in distribution.lengths]
    [places] = distribution.places([[LEAST] * distribution.types])
    for row, probability, parts in zip(places.rows.tolist(), places.probabilities.tolist(), places.parts, strict=False):
        if parts:
            found[row[0]][with_parts(parts, row[3])] = probability
    return found


def _log_probabilities(
    distribution: Distribution[Any],
    sets: Sequence[Set[Mention]],
    possible: Sequence[dict[Mention, float]],
    kinds: dict[str, int],
    decided: Sequence[set[IndexedMention] | None],
) -> list[float | None]:
    """Return the log-probability of one set per sentence; -inf if a mention is impossible.

    Only decided mentions must agree.
    """
    indexed: list[list[AnyMention]] = [
        [with_parts(one.parts, kinds[one.label]) for one in given if one in known]
        for given, known in zip(sets, possible, strict=True)
    ]
    try:
        values: list[float] = distribution.log_prob(indexed).tolist()
        if any(some is not None for some in decided):
            required = [some if held is not None else () for some, held in zip(indexed, decided, strict=True)]
            absent = [held.difference(some) if held else () for some, held in zip(indexed, decided, strict=True)]
            given = distribution.condition(required, absent).log_partition - distribution.log_partition
            agreeing: list[float] = given.tolist()
            rows = zip(values, agreeing, decided, strict=True)
            values = [value if held is None else min(agreed, 0.0) for value, agreed, held in rows]
    except NotSupportedError:
        return [None] * len(sets)
    return [
        value if given <= known.keys() else -math.inf
        for value, given, known in zip(values, sets, possible, strict=True)
    ]


def _decided(sentence: Sentence, kinds: dict[str, int], n: int, c: int) -> set[IndexedMention]:
    """Return the mentions that a partially annotated sentence decides: listed, absent or forbidden."""
    scope = sentence.annotated if sentence.annotated is not None else AnnotationScope()
    named = {
        (one.start, one.end, kinds[one.label]) for one in sentence.mentions if one.label in kinds and not one.fragments
    }
    for one in sentence.forbidden:
        chosen = kinds.values() if one.label == ANY_LABEL else [kinds[one.label]] if one.label in kinds else []
        named |= {(one.start, one.end, kind) for kind in chosen if not one.fragments}
    covered = np.array([[scope.types is None or label in scope.types for label in kinds]], dtype=bool)
    (mask,) = PartialMarks(covered, [scope.regions], [named]).known(n, c)
    places = np.argwhere(mask & inside([len(sentence)], mask[None], c)[0]).tolist()
    return {(start, start + width + 1, kind) for start, width, kind in places}
