"""Numbers that are chosen on dev once a model is trained.

*Temperature.* A network that fits its training data is overconfident on other text. Dividing all scores by a temperature keeps
the order of mention sets and flattens the distribution. The chosen temperature maximises the likelihood of the dev sentences.

*Mention bias* (Lu & Roth 2015). A model that maximises the likelihood of sets finds too few mentions where it is unsure. A number
added to the score of each mention trades precision for recall. The chosen one has the best F1.

*Threshold.* Models that are no distributions over sets find the mentions above a threshold. The chosen one has the best F1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from hyperspan.batch import batches_by_length
from hyperspan.models.base import Model
from hyperspan.structures.scores import MentionSet
from hyperspan.types import Sentence

if TYPE_CHECKING:
    from hyperspan.models.recognizer import Recognizer

TEMPERATURES = [round(0.5 * 1.04**step, 4) for step in range(60)]
"""From 0.5 to 5, four percent apart."""
MENTION_BIASES = [step / 4 for step in range(-8, 17)]
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
    scorer, bias = model.scorer, model.config.model.mention_bias
    batches = []
    for scores, lengths, gold in _scored(model, sentences):
        kept = [scorer.representable(mentions, max(lengths)) for mentions in gold]
        batches.append((scorer.add_mention_bias(scores, bias) if bias else scores, lengths, kept))

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
def best_mention_bias(model: Recognizer, sentences: Sequence[Sentence]) -> float:
    """The mention bias with the best F1; of equals the nearest to 0."""
    found, right = dict.fromkeys(MENTION_BIASES, 0), dict.fromkeys(MENTION_BIASES, 0)
    expected = 0
    for scores, lengths, gold in _scored(model, sentences):
        expected += sum(map(len, gold))
        for bias in MENTION_BIASES:
            best = model.scorer.distribution(model.scorer.add_mention_bias(scores, bias), lengths).argmax()
            found[bias] += sum(map(len, best))
            right[bias] += sum(len(one & other) for one, other in zip(best, gold, strict=True))
    return max(MENTION_BIASES, key=lambda bias: (right[bias] / max(found[bias] + expected, 1), -abs(bias)))


def tune(model: Recognizer, sentences: Sequence[Sentence]) -> None:
    """Chooses the temperature and, where that is asked for, the mention bias; puts them into the model's configuration."""
    if model.config.training.tune_mention_bias:
        _set(model, "model", mention_bias=best_mention_bias(model, sentences))
    _set(model, "model", temperature=best_temperature(model, sentences))


@torch.inference_mode()
def best_threshold(
    model: Model, now: float, encode: Encode, sentences: Sequence[Sentence], tried: Sequence[float]
) -> float:
    """The threshold with the best F1 of those tried; of equals the nearest to the one that the model has now."""
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
    return max(tried, key=lambda value: (right[value] / max(found[value] + expected, 1), -abs(value - now)))


def tune_threshold(
    model: Model, section: str, encode: Encode, sentences: Sequence[Sentence], tried: Sequence[float]
) -> None:
    """Chooses the threshold and puts it into a section of the model's configuration."""
    now = getattr(model.config, section).threshold
    _set(model, section, threshold=best_threshold(model, now, encode, sentences, tried))


def _set(model: Model, section: str, **values: float) -> None:
    model.config = replace(model.config, **{section: replace(getattr(model.config, section), **values)})
