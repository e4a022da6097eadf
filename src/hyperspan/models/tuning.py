"""Numbers that are chosen on dev once a model is trained.

*Temperature.* A network trained until it is right about its training data is too sure of itself elsewhere. Dividing all scores
by a temperature leaves the order of mention sets as it is, so the most probable set stays, and makes the distribution
flatter. The temperature is the one under which the dev sentences are most probable.

*Penalty* (Lu & Roth 2015). A model that is trained to be right about sets finds too few mentions where it is unsure. A number
added to the score of each raises recall at the price of precision; it is the one with the best F1.

*Threshold.* Models that are no distributions over sets find what is probable enough; how probable, F1 says likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from hyperspan.batch import batches_by_length
from hyperspan.models.base import Model
from hyperspan.models.recognizer import Recognizer
from hyperspan.structures.scores import MentionSet
from hyperspan.types import Sentence

TEMPERATURES = [round(0.5 * 1.04**step, 4) for step in range(60)]
"""From 0.5 to 5, four percent apart."""
PENALTIES = [step / 4 for step in range(-8, 17)]
"""From -2 to 4."""

Gold = list[set[tuple[int, int, int]]]
Encode = Callable[[Sequence[Sentence]], Callable[[float], list[MentionSet]]]
"""Sentences -> what a model finds in them with a threshold; they are encoded once for all thresholds."""


def _known_gold(model: Model, sentence: Sentence) -> set[tuple[int, int, int]]:
    """The mentions of a sentence whose labels the model has; dev may hold others."""
    known = [mention for mention in sentence.mentions if mention.label in model.labels]
    return model.vocabulary.gold(sentence.with_mentions(known))


def _scored(model: Recognizer, sentences: Sequence[Sentence]) -> Iterator[tuple[Any, list[int], Gold]]:
    """The scores of batches of sentences, their lengths, and their mentions."""
    for indices in batches_by_length([len(sentence) for sentence in sentences], model.max_width):
        given = [sentences[index] for index in indices]
        yield model(model.collate(given)), [len(sentence) for sentence in given], [_known_gold(model, s) for s in given]


@torch.inference_mode()
def best_temperature(model: Recognizer, sentences: Sequence[Sentence]) -> float:
    """The temperature under which the sentences' mentions (those that the model can hold) are most probable."""
    scorer, penalty = model.scorer, model.config.model.mention_bias
    batches = []
    for scores, lengths, gold in _scored(model, sentences):
        kept = [scorer.representable(mentions, max(lengths)) for mentions in gold]
        batches.append((scorer.add_mention_bias(scores, penalty) if penalty else scores, lengths, kept))

    def surprise(temperature: float) -> float:
        distributions = ((scorer.distribution(s / temperature, lengths), gold) for s, lengths, gold in batches)
        return sum(-float(distribution.log_prob(gold).sum()) for distribution, gold in distributions)

    return TEMPERATURES[_lowest(len(TEMPERATURES), lambda index: surprise(TEMPERATURES[index]))]


def _lowest(count: int, value: Callable[[int], float]) -> int:
    """Where a function of a number below `count` that first falls and then rises is lowest.

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
def best_penalty(model: Recognizer, sentences: Sequence[Sentence]) -> float:
    """The penalty with the best F1; of equals the nearest to 0."""
    found, right = dict.fromkeys(PENALTIES, 0), dict.fromkeys(PENALTIES, 0)
    expected = 0
    for scores, lengths, gold in _scored(model, sentences):
        expected += sum(map(len, gold))
        for penalty in PENALTIES:
            best = model.scorer.distribution(model.scorer.add_mention_bias(scores, penalty), lengths).argmax()
            found[penalty] += sum(map(len, best))
            right[penalty] += sum(len(one & other) for one, other in zip(best, gold, strict=True))
    return max(PENALTIES, key=lambda penalty: (right[penalty] / max(found[penalty] + expected, 1), -abs(penalty)))


def tune(model: Recognizer, sentences: Sequence[Sentence]) -> None:
    """Chooses both, the penalty where that is wanted, and puts them into the model's configuration."""
    if model.config.training.tune_mention_bias:
        _set(model, mention_bias=best_penalty(model, sentences))
    _set(model, temperature=best_temperature(model, sentences))


@torch.inference_mode()
def best_threshold(model: Model, encode: Encode, sentences: Sequence[Sentence], tried: Sequence[float]) -> float:
    """The threshold with the best F1 of those tried; of equals the nearest to the one that the model has."""
    found, right = dict.fromkeys(tried, 0), dict.fromkeys(tried, 0)
    expected = 0
    for indices in batches_by_length([len(sentence) for sentence in sentences], model.max_width):
        given = [sentences[index] for index in indices]
        gold = [_known_gold(model, sentence) for sentence in given]
        expected += sum(map(len, gold))
        find = encode(given)
        for threshold in tried:
            best = find(threshold)
            found[threshold] += sum(map(len, best))
            right[threshold] += sum(len(one & other) for one, other in zip(best, gold, strict=True))
    now = model.config.model.threshold
    return max(tried, key=lambda value: (right[value] / max(found[value] + expected, 1), -abs(value - now)))


def tune_threshold(model: Model, encode: Encode, sentences: Sequence[Sentence], tried: Sequence[float]) -> None:
    """Chooses the threshold and puts it into the model's configuration."""
    _set(model, threshold=best_threshold(model, encode, sentences, tried))


def _set(model: Model, **values: float) -> None:
    model.config = replace(model.config, model=replace(model.config.model, **values))
