"""Predict sentences in batches of similar length: decode distributions over mention sets into mentions."""

from __future__ import annotations

import math
import sys
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, Protocol, Self

import numpy as np

from hyperspan.errors import InputError
from hyperspan.runtime.batches import batches_by_length
from hyperspan.runtime.constraints import NO_CONSTRAINTS, Constraints
from hyperspan.runtime.documents import SentencePrediction
from hyperspan.runtime.interface import InferenceModel
from hyperspan.runtime.options import DecodingOptions
from hyperspan.runtime.pronouns import leave_out_pronouns
from hyperspan.structures.mentions import AnyMention, MentionSet, NotSupportedError, fragments_of, with_parts
from hyperspan.structures.places import Places, rows_of_sets
from hyperspan.types import Mention, Sentence, trusted_mention

AnyMentionSets = Sequence[Iterable[AnyMention]]
"""For each sentence of a batch, a collection of contiguous or discontinuous mentions."""


class MentionDistribution(Protocol):
    """The interface that decoding needs of a distribution, from torch or from the runtime."""

    @property
    def lengths(self) -> list[int]: ...
    @property
    def types(self) -> int: ...
    @property
    def log_partition(self) -> Any: ...  # (B,)
    def places(self, wanted: Sequence[Sequence[float] | None], certain: np.ndarray | None = None) -> list[Places]: ...
    def topk(self, k: int) -> list[list[tuple[MentionSet, float]]]: ...
    def condition(
        self, require: Any = None, forbid: Any = None
    ) -> Self: ...  # AnyMentionSets, as far as it has such mentions
    def restrict(self, types: Sequence[int]) -> Self: ...


def decode(
    distribution: MentionDistribution,
    labels: Sequence[str],
    options: DecodingOptions,
    constraints: Sequence[Constraints] | None = None,
) -> list[SentencePrediction]:
    """Decode each sentence of a batch as the options say. Types are indices into `labels`.

    The labels of constraints are those of the model; found mentions have the labels under which they are reported.

    >>> from hyperspan.structures import EdgeScores, SegmentalHypergraph
    >>> zeros = np.zeros((1, 1, 1))
    >>> scores = EdgeScores(zeros, zeros + 1, np.zeros((1, 1, 0, 1)), np.zeros((1, 1, 1, 1)))
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
    own: list[str] = [labels[kind] for kind in options.types]
    names = [options.reported_as.get(label, label) for label in own]
    wanted: list[Sequence[float] | None] = [options.thresholds]
    if options.candidates is not None:
        wanted.append([options.candidates] * len(names))
    best, *candidates = distribution.places(wanted, _required(constraints or (), own))
    _add_mentions(best, names, [one.mentions for one in predictions])
    for places in candidates:
        _add_mentions(places, names, [one.candidates for one in predictions])
    if options.top_k:
        for prediction, ranked in zip(predictions, distribution.topk(options.top_k), strict=True):
            for mentions, log_probability in ranked:
                named = sorted(Mention(*one[:2], names[one[2]], fragments_of(one)) for one in mentions)
                prediction.sets.append((math.exp(log_probability), named))
    return predictions


def _add_mentions(places: Places, names: Sequence[str], to: Sequence[list[Mention]]) -> None:
    """Add the mentions at these places to the lists of their sentences."""
    labels: dict[int, str] = dict(enumerate(names))
    parts = places.parts or repeat(())
    for (sentence, start, end, kind), probability, fragments in zip(
        places.rows.tolist(), places.probabilities.tolist(), parts, strict=False
    ):
        to[sentence].append(trusted_mention(start, end, labels[kind], probability=probability, fragments=fragments))


def _by_type(mentions: Iterable[Mention], labels: Sequence[str]) -> list[AnyMention]:
    """Return the mentions with these labels in the form that a distribution takes."""
    return [with_parts(one.parts, labels.index(one.label)) for one in mentions if one.label in labels]


def _required(constraints: Sequence[Constraints], names: Sequence[str]) -> np.ndarray:
    """(mentions, 4): the required contiguous mentions of these types."""
    contiguous = ([one for one in given.require if not one.fragments] for given in constraints)
    return rows_of_sets(
        [[(*one.span, names.index(one.label)) for one in some if one.label in names] for some in contiguous]
    )


def _conditioned(
    distribution: MentionDistribution, labels: Sequence[str], constraints: Sequence[Constraints]
) -> MentionDistribution:
    """Condition the distribution on the constraints of each sentence."""
    try:
        given = distribution.condition(
            require=[_by_type(one.require, labels) for one in constraints],
            forbid=[_by_type(one.forbid, labels) for one in constraints],
        )
    except NotSupportedError as error:
        raise InputError(f"this model cannot require or forbid mentions: {error}") from None
    if bool((given.log_partition == -math.inf).any()):
        raise InputError(
            "the required mentions are impossible together: one begins at a word that the model passes over, or two overlap and "
            "it finds no such mentions; load it with skip=math.inf, or leave one out"
        )
    return given


def predict(
    model: InferenceModel,
    sentences: Sequence[Sentence],
    options: DecodingOptions,
    constraints: Mapping[int, Constraints] | None = None,
) -> list[SentencePrediction]:
    """Predict each sentence, in order, whatever the batches; `constraints` are by sentence index."""
    constraints = constraints or {}
    same = first_alike(sentences, constraints)
    lengths = [len(sentence) if same[index] == index else 0 for index, sentence in enumerate(sentences)]
    predictions: dict[int, SentencePrediction] = {}
    batches = deque(batches_by_length(lengths, model.max_width, model.batch_entries))
    while batches:
        batch = batches.popleft()
        known = [constraints.get(index, NO_CONSTRAINTS) for index in batch]
        try:
            found = _predict_batch(model, [sentences[index] for index in batch], options, known)
        except _memory_errors() as error:
            if len(batch) == 1:
                raise MemoryError("there is not enough memory for one of its sentences") from error
            half = len(batch) // 2
            batches.extendleft([batch[half:], batch[:half]])
        else:
            predictions |= zip(batch, found, strict=True)
    if not options.pronouns:
        required = {index: one.require for index, one in constraints.items()}
        predictions = leave_out_pronouns(predictions, sentences, required)
    nothing = SentencePrediction()
    return [predictions.get(index, nothing) for index in same]


def _predict_batch(
    model: InferenceModel, sentences: Sequence[Sentence], options: DecodingOptions, known: Sequence[Constraints]
) -> list[SentencePrediction]:
    compute = model.quick_distribution if options.probable_alone and not any(known) else model.distribution
    with model.inference():
        return decode(compute(sentences), model.labels, options, known if any(known) else None)


def _memory_errors() -> tuple[type[BaseException], ...]:
    """The errors after which half a batch may succeed."""
    torch = sys.modules.get("torch")
    return (MemoryError,) if torch is None else (MemoryError, torch.OutOfMemoryError)


def first_alike(sentences: Sequence[Sentence], constraints: Mapping[int, Constraints]) -> list[int]:
    """Return for each sentence the index of the first one that is equal for a model, so that each is computed once.

    >>> first_alike([Sentence(["a"]), Sentence(["b"]), Sentence(["a"])], {})
    [0, 1, 0]
    """
    first: dict[object, int] = {}
    return [
        first.setdefault((one.tokens, one.tags, one.before, one.after, constraints.get(index)), index)
        for index, one in enumerate(sentences)
    ]
