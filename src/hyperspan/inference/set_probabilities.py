"""What a model says of given sets of mentions: their exact probabilities, and those of each mention."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from typing import Any, NamedTuple, Protocol

import numpy as np

from hyperspan.batching import batches_by_length
from hyperspan.inference.constraints import too_large
from hyperspan.inference.decoding import AnyMentionSets, MentionDistribution
from hyperspan.inference.model import InferenceModel
from hyperspan.structures.constraints import PartialMarks, inside
from hyperspan.structures.mentions import AnyMention, NotSupportedError, with_parts
from hyperspan.structures.mentions import Mention as IndexedMention
from hyperspan.types import ANY_LABEL, AnnotationScope, Mention, Sentence

LEAST = 0.001
"""The least probability of a mention of several parts; there are too many of those that are less probable."""
MentionSetsOfSentence = Sequence[Set[Mention]]
"""Sets of mentions of one sentence, in its tokens."""


class JudgingDistribution(MentionDistribution, Protocol):
    """A distribution that also says how probable given sets and all mentions are."""

    @property
    def marginals(self) -> Any: ...  # (B, n, c, m)
    def log_prob(self, mention_sets: AnyMentionSets) -> Any: ...  # (B,)


class SetProbabilities(NamedTuple):
    """The log-probability of each set of a sentence, and the probability of each mention that is in one of them.

    A set with a mention that the model cannot have is -inf, and that mention is not listed. Mentions of several parts
    that are less probable than :data:`LEAST` are listed with 0. The log-probabilities are None where the distribution
    has none that are exact.
    """

    sets: tuple[float | None, ...]
    mentions: dict[Mention, float]


def set_probabilities(
    model: InferenceModel,
    sentences: Sequence[Sentence],
    sets: Sequence[MentionSetsOfSentence],
    types: Sequence[int] | None = None,
    *,
    known: Sequence[Sentence] | None = None,
) -> list[SetProbabilities]:
    """For each sentence the probabilities of its sets, all sentences with the same number of them.

    With `types`, indices into the labels of the model, the distribution is that of the mentions of these types alone.
    `known` are the same sentences as a corpus has them: where one is annotated in part, the probability of a set is
    that of all sets that agree with it in what is known.

    >>> from hyperspan import load
    >>> words, found = Sentence(["Jurkat", "cells"]), {Mention(0, 2, "cell_line")}
    >>> [(log_probabilities, mentions)] = set_probabilities(load("genia").model, [words], [[found, set()]])
    >>> log_probabilities[0] > log_probabilities[1], 0.5 < mentions[Mention(0, 2, "cell_line")] < 1
    (True, True)
    """
    labels = model.labels if types is None else [model.labels[kind] for kind in types]
    count = len(sets[0]) if sets else 0
    found = [SetProbabilities((0.0,) * count, {}) for _ in sentences]
    for batch in batches_by_length([len(sentence) for sentence in sentences], model.max_width, model.batch_entries):
        with model.inference():
            distribution: JudgingDistribution = model.distribution([sentences[index] for index in batch])
            if types is not None and len(types) < len(model.labels):
                distribution = distribution.restrict(types)
            here = [None if known is None else known[index] for index in batch]
            longer = _discontinuous(distribution) if model.discontinuous else [{} for _ in batch]
            judged = _batch_probabilities(distribution, [sets[index] for index in batch], labels, here, longer, model)
        for index, one in zip(batch, judged, strict=True):
            found[index] = one
    return found


def _batch_probabilities(
    distribution: JudgingDistribution,
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


def _discontinuous(distribution: JudgingDistribution) -> list[dict[AnyMention, float]]:
    """The probabilities of the mentions of several parts of each sentence, where they are not next to nothing."""
    found: list[dict[AnyMention, float]] = [{} for _ in distribution.lengths]
    [places] = distribution.places([[LEAST] * distribution.types])
    for row, probability, parts in zip(places.rows.tolist(), places.probabilities.tolist(), places.parts, strict=False):
        if parts:
            found[row[0]][with_parts(parts, row[3])] = probability
    return found


def _log_probabilities(
    distribution: JudgingDistribution,
    sets: Sequence[Set[Mention]],
    possible: Sequence[dict[Mention, float]],
    kinds: dict[str, int],
    decided: Sequence[set[IndexedMention] | None],
) -> list[float | None]:
    """Of one set a sentence; -inf where one of its mentions is not possible. Only mentions that are decided must
    agree."""
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
    """The mentions of which a sentence that is annotated in part says whether they are there: listed, absent or
    forbidden."""
    scope = sentence.annotated if sentence.annotated is not None else AnnotationScope()
    named = {
        (one.start, one.end, kinds[one.label]) for one in sentence.mentions if one.label in kinds and not one.fragments
    }
    for one in sentence.forbidden:
        chosen = kinds.values() if one.label == ANY_LABEL else [kinds[one.label]] if one.label in kinds else []
        named |= {(one.start, one.end, kind) for kind in chosen if not one.fragments}
    covered = np.array([[scope.types is None or label in scope.types for label in kinds]], dtype=bool)
    (mask,) = PartialMarks(covered, [scope.regions], [named]).known(n, c)
    places = np.argwhere(mask & inside([len(sentence)], (1, n, c, 1))[0]).tolist()
    return {(start, start + width + 1, kind) for start, width, kind in places}
