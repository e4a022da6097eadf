"""Values that are chosen on dev after a model is trained.

*Temperature.* A network that fits its training data is overconfident on other text. Dividing all scores by a
temperature keeps the order of mention sets and flattens the distribution. The temperature moves towards the one that
maximises the likelihood of the dev sentences, weighted by their mentions against
:data:`hyperspan.models.calibration.PRIOR_MENTIONS`. A lower one, which makes the model more confident, has a penalty:
if all predictions on dev are correct, likelihood alone would push confidence to the limit.

*Calibration by type.* The temperature fits the likelihood of whole sets; predicted mentions are still overconfident.
Where types are independent, each gets its own temperature and bias: :mod:`hyperspan.models.calibration`.

*Mention bias* (Lu & Roth 2015). A model that maximises the likelihood of sets finds too few mentions where it is
unsure. A number added to the score of each mention trades precision for recall. The chosen one has the best F1.

*Bias of discontinuous mentions.* They are rare, so that the most probable set leaves most of them out. A number added
to the score of each part after which others follow finds more. The chosen one has the best F1 of discontinuous mentions
among those that cost at most :data:`NEXT_TO_NOTHING` in overall F1.

*Threshold.* Models that are not distributions over sets find the mentions above a threshold. The chosen one has the
best F1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import torch

from hyperspan.batching import batches_by_length
from hyperspan.kernels.encoder_arrays import ScoreArrays
from hyperspan.models.base import Model
from hyperspan.models.calibration import PRIOR_MENTIONS, CalibrationFit, ChainBatch, DevChains, chain_batch
from hyperspan.structures import SegmentalHypergraph
from hyperspan.structures.mentions import AnyMention, MentionSet, fragments_of
from hyperspan.structures.segmental_calibration import TypeCalibration
from hyperspan.types import Sentence, trusted_mention

if TYPE_CHECKING:
    from hyperspan.models.recognizer import Recognizer

TEMPERATURES = [round(0.5 * 1.04**step, 4) for step in range(60)]
"""From 0.5 to 5, in steps of 4%."""
SURER_PENALTY = 100.0
"""The penalty, in nats, of a temperature e times lower than that of the model."""
MENTION_BIASES = [step / 4 for step in range(-8, 17)]
"""From -2 to 4."""
DISCONTINUOUS_BIASES = [step / 4 for step in range(17)]
"""From 0 to 4."""
NEXT_TO_NOTHING = 0.001
"""The overall F1 that finding more discontinuous mentions may cost."""
ENOUGH_DISCONTINUOUS = 10
"""With fewer discontinuous mentions in dev, no bias is chosen."""

Encode = Callable[[Sequence[Sentence]], Callable[[float], list[MentionSet]]]
"""Sentences -> a function from a threshold or bias to predictions; sentences are encoded once for all values."""


def _known_gold(model: Model, sentence: Sentence) -> set[tuple[int, int, int]]:
    """The mentions of a sentence whose labels the model has; dev may have others."""
    known = [mention for mention in sentence.mentions if mention.label in model.labels]
    return model.gold(sentence.with_mentions(known))


def _batches(model: Model, sentences: Sequence[Sentence]) -> Iterator[list[Sentence]]:
    """Batches of sentences of similar length."""
    for indices in batches_by_length([len(sentence) for sentence in sentences], model.max_width):
        yield [sentences[index] for index in indices]


def _counted(model: Model, found: list[MentionSet], sentences: Sequence[Sentence]) -> list[MentionSet]:
    """The predicted mentions that the annotation can confirm or refute."""

    def known(sentence: Sentence, mentions: MentionSet) -> MentionSet:
        if not sentence.is_partial:
            return mentions
        named = {
            one: trusted_mention(one[0], one[1], model.labels[one[2]], fragments=fragments_of(one)) for one in mentions
        }
        return frozenset(one for one, mention in named.items() if sentence.knows(mention))

    return [known(sentence, mentions) for sentence, mentions in zip(sentences, found, strict=True)]


@torch.inference_mode()
def best_temperature(model: Recognizer, sentences: Sequence[Sentence]) -> float:
    """The temperature under which the sentences' mentions (those that the model can represent) are most probable.

    A temperature below that of the model has a penalty.
    """
    scorer = model.scorer
    batches = []
    for given in _batches(model, sentences):
        scores, lengths = model(model.collate(given)), [len(sentence) for sentence in given]
        gold = [scorer.representable(_known_gold(model, sentence), max(lengths)) for sentence in given]
        known = gold, model.marks(given)
        batches.append((model.biased(scores), lengths, known))

    def negative_log_likelihood(temperature: float) -> float:
        distributions = ((scorer.distribution(s / temperature, lengths), known) for s, lengths, known in batches)
        return sum(-float(one.log_prob_of_known(*known).sum()) for one, known in distributions)

    def penalised(index: int) -> float:
        surer = max(0.0, math.log(model.config.model.temperature / TEMPERATURES[index]))
        return negative_log_likelihood(TEMPERATURES[index]) + SURER_PENALTY * surer**2

    return TEMPERATURES[_lowest(len(TEMPERATURES), penalised)]


def _lowest(count: int, value: Callable[[int], float]) -> int:
    """The minimum of a unimodal function of an index below `count`.

    >>> _lowest(60, lambda index: (index - 17) ** 2)
    17
    """
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) // 2
        if value(middle) <= value(middle + 1):
            high = middle
        else:
            low = middle + 1
    return low


@torch.inference_mode()
def best_by_f1(
    model: Model, encode: Encode, sentences: Sequence[Sentence], tried: Sequence[float], now: float
) -> float:
    """The candidate with the best F1; ties go to the one nearest to the model's current value."""
    found, right = dict.fromkeys(tried, 0), dict.fromkeys(tried, 0)
    expected = 0
    for given in _batches(model, sentences):
        gold = [_known_gold(model, sentence) for sentence in given]
        expected += sum(map(len, gold))
        find = encode(given)
        for value in tried:
            best = _counted(model, find(value), given)
            found[value] += sum(map(len, best))
            right[value] += sum(len(one & other) for one, other in zip(best, gold, strict=True))
    return max(tried, key=lambda value: (right[value] / max(found[value] + expected, 1), -abs(value - now)))


def best_mention_bias(model: Recognizer, sentences: Sequence[Sentence]) -> float:
    """The mention bias with the best F1; ties go to the one nearest to 0."""

    def encode(given: Sequence[Sentence]) -> Callable[[float], list[MentionSet]]:
        scores, lengths, scorer = model(model.collate(given)), [len(sentence) for sentence in given], model.scorer
        scores = model.biased(scores, mention_bias=0.0)
        return lambda bias: scorer.distribution(scorer.add_mention_bias(scores, bias), lengths).argmax()

    return best_by_f1(model, encode, sentences, MENTION_BIASES, 0.0)


@torch.inference_mode()
def best_for_discontinuous(
    model: Model, encode: Encode, sentences: Sequence[Sentence], tried: Sequence[float], neutral: float
) -> float:
    """The value with the best F1 of discontinuous mentions, among those that cost next to nothing in overall F1.

    The cost is relative to the `neutral` value, which is returned if dev has hardly any such mentions.
    """
    counts = np.zeros((len(tried), 2, 3), dtype=np.int64)  # by value, of all and of discontinuous: right, found, gold
    for given in _batches(model, sentences):
        gold = [_known_gold(model, sentence) for sentence in given]
        find = encode(given)
        for index, value in enumerate(tried):
            for found, expected in zip(_counted(model, find(value), given), gold, strict=True):
                for row, (some, wanted) in enumerate(((found, expected), (_with_gaps(found), _with_gaps(expected)))):
                    counts[index, row] += len(some & wanted), len(some), len(wanted)
    if counts[0, 1, 2] < ENOUGH_DISCONTINUOUS:
        return neutral
    of_all, of_discontinuous = (2 * counts[..., 0] / np.maximum(counts[..., 1] + counts[..., 2], 1)).T
    allowed = of_all >= of_all[tried.index(neutral)] - NEXT_TO_NOTHING
    return tried[int(np.where(allowed, of_discontinuous, -1.0).argmax())]


def _with_gaps(mentions: Iterable[AnyMention]) -> set[AnyMention]:
    return {one for one in mentions if fragments_of(one)}


def tune_discontinuous_bias(model: Model, encode: Encode, sentences: Sequence[Sentence]) -> None:
    """Choose the bias of discontinuous mentions and store it in the model's configuration."""
    chosen = best_for_discontinuous(model, encode, sentences, DISCONTINUOUS_BIASES, 0.0)
    _set(model, "discontinuous", bias=chosen)


def _found_by_discontinuous_bias(model: Recognizer, given: Sequence[Sentence]) -> Callable[[float], list[MentionSet]]:
    scores, lengths, scorer = model(model.collate(given)), [len(sentence) for sentence in given], model.scorer
    scores = model.biased(scores, discontinuous_bias=0.0)
    return lambda bias: scorer.distribution(scorer.add_discontinuous_bias(scores, bias), lengths).argmax()


def tune(model: Recognizer, sentences: Sequence[Sentence]) -> None:
    """Choose the calibration and, if configured, the mention bias; store them in the model's configuration."""
    if model.discontinuous:
        tune_discontinuous_bias(model, partial(_found_by_discontinuous_bias, model), sentences)
    if model.config.training.tune_mention_bias:
        _set(model, "model", mention_bias=best_mention_bias(model, sentences))
    _set(model, "model", temperature=1.0)
    _set(model, "calibration", temperatures={}, biases={})
    tune_calibration(model, sentences)


def tune_calibration(model: Recognizer, sentences: Sequence[Sentence]) -> CalibrationFit | None:
    """Choose the temperature and, if types are independent, the calibration by type; return None if they are not.

    Both stay near the current values if the sentences have few mentions.
    """
    had = model.config.calibration.of(model.labels, model.config.model.temperature)
    count = sum(len(_known_gold(model, sentence)) for sentence in sentences)
    _set(model, "calibration", temperatures={}, biases={})
    _set(
        model, "model", temperature=_between(model.config.model.temperature, best_temperature(model, sentences), count)
    )
    if not model.scorer.can_calibrate:
        return None
    before = None if had is None else TypeCalibration(*had)
    fit = DevChains(_chains(model, sentences), len(model.labels), model.config.model.temperature, before).fit()
    chosen = (fit.chosen.temperatures, fit.chosen.biases)
    temperatures, biases = (dict(zip(model.labels, values.tolist(), strict=True)) for values in chosen)
    _set(model, "calibration", temperatures=temperatures, biases=biases)
    return fit


def _between(had: float, best: float, mentions: int) -> float:
    """Interpolate between a model's previous temperature and the best on dev, weighted by the number of mentions in
    dev.

    >>> [_between(1.0, 2.0, mentions) for mentions in (0, 10, 100, 10_000)]
    [1.0, 1.065, 1.4142, 1.9863]
    """
    return round(had * (best / had) ** (mentions / (mentions + PRIOR_MENTIONS)), 4)


@torch.inference_mode()
def _chains(model: Recognizer, sentences: Sequence[Sentence]) -> Iterator[ChainBatch]:
    """The chains of sentences, with their scores at a temperature of 1."""
    bias, temperature = model.config.model.mention_bias, model.config.model.temperature
    for numbers in batches_by_length([len(sentence) for sentence in sentences], model.max_width):
        given = [sentences[number] for number in numbers]
        lengths = [len(sentence) for sentence in given]
        scores = model.scorer.add_mention_bias(model(model.collate(given)), bias)
        distribution = SegmentalHypergraph(scores / temperature, lengths)
        starts, marks = distribution.edge_marginals.present.cpu().numpy(), model.marks(given)
        gold = [model.scorer.representable(_known_gold(model, sentence), max(lengths)) for sentence in given]
        arrays = ScoreArrays(**{name: tensor.cpu().numpy() for name, tensor in scores.tensors().items()})
        known = None if marks is None else marks.known_chains(lengths, *arrays.close.shape[1:3])
        yield chain_batch(arrays, lengths, starts, distribution.argmax(), gold, np.array(numbers), known)


def tune_threshold(
    model: Model, section: str, encode: Encode, sentences: Sequence[Sentence], tried: Sequence[float]
) -> None:
    """Choose the threshold and store it in a section of the model's configuration."""
    now = getattr(model.config, section).threshold
    _set(model, section, threshold=best_by_f1(model, encode, sentences, tried, now))


def tune_joining_threshold(
    model: Model, encode: Encode, sentences: Sequence[Sentence], tried: Sequence[float], neutral: float
) -> None:
    """Choose the threshold of the model "joined" by the F1 of discontinuous mentions."""
    chosen = best_for_discontinuous(model, encode, sentences, tried, neutral)
    _set(model, "joined", threshold=chosen)


def _set(model: Model, section: str, **values: float | Mapping[str, float]) -> None:
    model.config = replace(model.config, **{section: replace(getattr(model.config, section), **values)})
