"""Values that are chosen on dev after a model is trained.

*Temperature.* A network that fits its training data is overconfident on other text. Dividing all scores by a
temperature keeps the order of mention sets and flattens the distribution. The temperature moves towards the one that
maximises the likelihood of the dev sentences, weighted by their mentions against
:data:`hyperspan.training.calibration.PRIOR_MENTIONS`. A lower one, which makes the model more confident, has a penalty:
if all predictions on dev are correct, likelihood alone would push confidence to the limit.

*Calibration.* The temperature fits the likelihood of whole sets; predicted mentions are still overconfident. Where
types are independent, they get a temperature and a bias: :mod:`hyperspan.training.calibration`. Discontinuous mentions
get a bias of their own. For small corpora, models of halves take part: :mod:`hyperspan.training.halves`.

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
from typing import Any

import numpy as np
import torch

from hyperspan.evaluation.counts import counts_of, measures
from hyperspan.kernels.numbers import to_numpy
from hyperspan.nn.model import Model, Setting
from hyperspan.nn.recognizer import Recognizer
from hyperspan.runtime.batches import batches_by_length
from hyperspan.structures import SegmentalHypergraph
from hyperspan.structures.calibration import TypeCalibration
from hyperspan.structures.discontinuous import DiscontinuousHypergraph
from hyperspan.structures.mentions import AnyMention, MentionSet, fragments_of
from hyperspan.training.calibration import PRIOR_MENTIONS, CalibrationFit, DevChains
from hyperspan.training.calibration_chains import ChainBatch, PartBatch, chain_batch, part_batch
from hyperspan.types import Sentence, trusted_mention

TEMPERATURES = [round(0.5 * 1.04**step, 4) for step in range(60)]
"""From 0.5 to 5, in steps of 4%."""
SURER_PENALTY = 100.0
"""The penalty, in nats, of a temperature e times lower than that of the model."""
NEXT_TO_NOTHING = 0.001
"""The overall F1 that finding more discontinuous mentions may cost."""
DISCONTINUOUS_BIASES = [-step / 4 for step in range(17)]
"""What is tried of `calibration.discontinuous`, from 0 to -4."""
ENOUGH_DISCONTINUOUS = 10
"""With fewer discontinuous mentions in dev, no bias is chosen."""

Halves = Sequence[tuple[Recognizer, Sequence[Sentence]]]
"""Models like the one that is tuned, each with sentences that it has not seen: :mod:`hyperspan.training.halves`."""

GOLD, F1 = -1, -1
"""The places of gold mentions in counts, and of F1 in measures."""


def _known_gold(model: Model, sentence: Sentence) -> set[tuple[int, int, int]]:
    """The mentions of a sentence whose labels the model has; dev may have others."""
    known = [mention for mention in sentence.mentions if mention.label in model.labels]
    return model.gold(sentence.with_mentions(known))


def _batches(model: Model, sentences: Sequence[Sentence]) -> Iterator[list[Sentence]]:
    """Batches of sentences of similar length."""
    for indices in batches_by_length([len(sentence) for sentence in sentences], model.max_width, model.batch_entries):
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


def _with_halves(model: Recognizer, sentences: Sequence[Sentence], halves: Halves) -> Halves:
    """A model and those of halves, now with its configuration, each with its sentences."""
    for half, _ in halves:
        half.config = model.config
    return [(model, sentences), *halves]


@torch.inference_mode()
def best_temperature(model: Recognizer, sentences: Sequence[Sentence], halves: Halves = ()) -> float:
    """The temperature under which the sentences' mentions (those that the model can represent) are most probable.

    A temperature below that of the model has a penalty.
    """
    batches = []
    for one, its in _with_halves(model, sentences, halves):
        for given in _batches(one, its):
            scores, lengths = one(one.collate(given)), [len(sentence) for sentence in given]
            gold = [one.scorer.representable(_known_gold(one, sentence), max(lengths)) for sentence in given]
            batches.append((one.biased(scores), lengths, (gold, one.marks(given))))

    def negative_log_likelihood(temperature: float) -> float:
        distributions = ((model.scorer.distribution(s / temperature, lengths), known) for s, lengths, known in batches)
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
def best_value(model: Model, setting: Setting, sentences: Sequence[Sentence]) -> float:
    """The value with the best F1; ties go to the one nearest to the neutral value.

    If discontinuous mentions decide, it is the one with the best F1 of these, among those that cost next to nothing in
    overall F1 against the neutral value; that is kept if dev has hardly any such mentions.
    """
    tried, neutral = setting.values, setting.neutral
    totals = np.zeros((2, len(tried), 3), dtype=np.int64)  # of all and of discontinuous, by value
    for given in _batches(model, sentences):
        gold = [_known_gold(model, sentence) for sentence in given]
        find = setting.found_at(given)
        for index, value in enumerate(tried):
            found = _counted(model, find(value), given)
            totals[0, index] += counts_of(gold, found).sum(axis=0)
            if setting.of_discontinuous:
                totals[1, index] += counts_of(map(_with_gaps, gold), map(_with_gaps, found)).sum(axis=0)
    of_all, of_discontinuous = measures(totals)[..., F1]
    if not setting.of_discontinuous:
        return tried[max(range(len(tried)), key=lambda index: (of_all[index], -abs(tried[index] - neutral)))]
    if totals[1, 0, GOLD] < ENOUGH_DISCONTINUOUS:
        return neutral
    allowed = of_all >= of_all[tried.index(neutral)] - NEXT_TO_NOTHING
    return tried[int(np.where(allowed, of_discontinuous, -1.0).argmax())]


def _with_gaps(mentions: Iterable[AnyMention]) -> set[AnyMention]:
    return {one for one in mentions if fragments_of(one)}


def tune(model: Model, sentences: Sequence[Sentence], halves: Halves = ()) -> None:
    """Choose on dev what the model lists, and the calibration; store it in the model's configuration."""
    for setting in model.settings():
        _set(model, setting.section, **{setting.key: best_value(model, setting, sentences)})
    if isinstance(model, Recognizer):
        _set(model, "model", temperature=1.0)
        _set(model, "calibration", temperatures={}, biases={}, discontinuous=0.0)
        tune_calibration(model, sentences, halves)


def tune_calibration(model: Recognizer, sentences: Sequence[Sentence], halves: Halves = ()) -> CalibrationFit | None:
    """Choose the temperature and, if types are independent, the calibration; return None if they are not.

    Both stay near the current values if the sentences have few mentions. What models of `halves` find in their
    sentences counts as much as what the model finds in its own.
    """
    had = model.config.calibration.of(model.labels, model.config.model.temperature)
    before = None if had is None else TypeCalibration(*had)
    count = sum(len(_known_gold(model, sentence)) for _, its in ((model, sentences), *halves) for sentence in its)
    _set(model, "calibration", temperatures={}, biases={}, discontinuous=0.0)
    best = best_temperature(model, sentences, halves)
    _set(model, "model", temperature=_between(model.config.model.temperature, best, count))
    if not model.abilities.calibrates:
        return None
    fit = _fit_types(model, sentences, before, halves)
    if model.abilities.gaps and (bias := best_discontinuous_calibration(model, sentences, before, halves)):
        _set(model, "calibration", discontinuous=bias)
        fit = replace(_fit_types(model, sentences, before, halves), before=fit.before)
    return fit


@torch.inference_mode()
def best_discontinuous_calibration(
    model: Recognizer, sentences: Sequence[Sentence], before: TypeCalibration | None = None, halves: Halves = ()
) -> float:
    """The `calibration.discontinuous` with the lowest cross-entropy of the discontinuous mentions of the most probable
    sets, correct or not.

    If there are few, it stays near the one before or, without one, near that which takes back `discontinuous.bias`:
    that bias finds more of them, and was not learnt.
    """
    given = [
        (one, [sentence for batch in _batches(one, its) for sentence in _found_with_gaps(one, batch)])
        for one, its in _with_halves(model, sentences, halves)
    ]
    had = min(0.0, -model.config.discontinuous.bias / model.config.model.temperature)
    had, chosen, count = had if before is None else before.discontinuous, model.config, 0
    losses: list[float] = []
    for bias in DISCONTINUOUS_BIASES:
        _set(model, "calibration", discontinuous=bias)
        found = [_discontinuous_found(one, its) for one, its in _with_halves(*given[0], given[1:])]
        probabilities, right = map(np.concatenate, zip(*found, strict=True))
        count = len(right)
        losses.append(-float(np.log(np.where(right, probabilities, 1 - probabilities).clip(1e-9)).sum()))
    model.config = chosen
    best = DISCONTINUOUS_BIASES[int(np.argmin(losses))]
    return round((count * best + PRIOR_MENTIONS * had) / (count + PRIOR_MENTIONS), 3)


def _found_with_gaps(model: Model, batch: Sequence[Sentence]) -> list[Sentence]:
    """The sentences of a batch whose most probable sets have discontinuous mentions."""
    return [one for one, found in zip(batch, model.distribution(batch).argmax(), strict=True) if _with_gaps(found)]


def _discontinuous_found(model: Model, sentences: Sequence[Sentence]) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities of the discontinuous mentions of the most probable sets, and whether they are right."""
    probabilities: list[float] = []
    right: list[bool] = []
    for given in _batches(model, sentences):
        gold, places = [_known_gold(model, sentence) for sentence in given], model.distribution(given).places([None])[0]
        for (b, *span), probability, parts in zip(
            places.rows.tolist(), places.probabilities.tolist(), places.parts, strict=False
        ):
            mention: Any = (*span, parts)
            if parts and _counted(model, [frozenset([mention])], [given[b]])[0]:
                probabilities.append(probability)
                right.append(mention in gold[b])
    return np.array(probabilities), np.array(right, dtype=bool)


def _fit_types(
    model: Recognizer, sentences: Sequence[Sentence], before: TypeCalibration | None, halves: Halves
) -> CalibrationFit:
    """Choose the temperatures and biases of types, given the calibration of discontinuous mentions."""
    batches: list[ChainBatch | PartBatch] = []
    first = 0
    for one, its in _with_halves(model, sentences, halves):
        read = (_parts if model.abilities.gaps else _chains)(one, its)
        batches += [replace(batch, numbers=batch.numbers + first) for batch in read]
        first += len(its)
    fit = DevChains(batches, len(model.labels), model.config.model.temperature, before).fit()
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
    for numbers in batches_by_length([len(sentence) for sentence in sentences], model.max_width, model.batch_entries):
        given = [sentences[number] for number in numbers]
        lengths = [len(sentence) for sentence in given]
        scores = model.scorer.add_mention_bias(model(model.collate(given)), bias)
        distribution = SegmentalHypergraph(scores / temperature, lengths)
        starts, marks = to_numpy(distribution.edge_marginals.present), model.marks(given)
        gold = [model.scorer.representable(_known_gold(model, sentence), max(lengths)) for sentence in given]
        arrays = scores.map(to_numpy)
        known = None if marks is None else marks.known_chains(lengths, *arrays.close.shape[1:3])
        yield chain_batch(arrays, lengths, starts, distribution.argmax(), gold, np.array(numbers), known)


@torch.inference_mode()
def _parts(model: Recognizer, sentences: Sequence[Sentence]) -> Iterator[PartBatch]:
    """The same of a model that finds discontinuous mentions."""
    temperature, bias = model.config.model.temperature, model.config.calibration.discontinuous
    for numbers in batches_by_length([len(sentence) for sentence in sentences], model.max_width, model.batch_entries):
        given = [sentences[number] for number in numbers]
        lengths = [len(sentence) for sentence in given]
        scores = model.biased(model(model.collate(given)))
        gold = [model.scorer.representable(_known_gold(model, sentence), max(lengths)) for sentence in given]
        whole, divided = (
            DiscontinuousHypergraph(one.map(to_numpy), lengths, model.config.discontinuous.parts)
            for one in (scores, scores / temperature)
        )
        marks = model.marks(given)
        known = None if marks is None else divided.known_chains(marks)
        yield part_batch(whole, divided, gold, np.array(numbers), known, bias)


def _set(model: Model, section: str, **values: float | Mapping[str, float]) -> None:
    model.config = model.config.with_values({f"{section}.{key}": value for key, value in values.items()})
