"""List what one or two systems get wrong, sentence by sentence, worst first, also as JSON Lines.

docs/reference/evaluation.md describes the keys of JSON.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from attrs import evolve

from hyperspan.corpora.json_records import PLACE_KEYS, mention_record
from hyperspan.evaluation.alignment import Aligned, PlaceInCorpus, Scorable, sentences_to_score
from hyperspan.evaluation.counts import Score, sentence_counts
from hyperspan.evaluation.error_kinds import NO_LIMITS, MentionDifference, ModelLimits, mention_differences
from hyperspan.types import Mention, Sentence, longest_first

LARGEST_EXPONENT = 700.0
"""Ratios above its exponential are infinite."""


@dataclass(frozen=True)
class SentenceErrors:
    """A sentence with its gold mentions, those of each system, and their differences."""

    place: PlaceInCorpus
    gold: Sentence
    """Its mentions have the probabilities of the model, if available."""
    systems: tuple[frozenset[Mention], ...]
    differences: tuple[MentionDifference, ...]
    gold_log_probability: float | None = None
    """The model's log-probability of the gold set; -inf if impossible, None if unknown."""
    predicted_log_probability: float | None = None

    @property
    def probability_ratio(self) -> float | None:
        """Probability of the predicted set over that of the gold set; inf if gold is impossible, None if unknown."""
        if self.gold_log_probability is None or self.predicted_log_probability is None:
            return None
        log_ratio = self.predicted_log_probability - self.gold_log_probability
        return math.exp(log_ratio) if log_ratio < LARGEST_EXPONENT else math.inf

    @cached_property
    def cost(self) -> float:
        """The sort key of "worst first": the sum over differences; with two systems, the difference of their sums."""
        costs = [sum(one.cost for one in self.differences if i in one.systems) for i in range(len(self.systems))]
        return costs[0] if len(costs) == 1 else abs(costs[0] - costs[1])


@dataclass(frozen=True)
class ErrorReport:
    """The errors of one or two systems, with their scores."""

    errors: list[SentenceErrors]
    """The sentences with differences, worst first."""
    sentences: int
    """The number of all sentences, including those without differences."""
    scores: tuple[Score, ...]
    """The scores of each system."""

    @property
    def counts(self) -> Counter[tuple[str, str]]:
        """The number of differences by kind and type."""
        return Counter((one.kind, one.mention.label) for errors in self.errors for one in errors.differences)


@dataclass(frozen=True)
class SentenceProbabilities:
    """A model's probabilities of the gold and the predicted set of a sentence."""

    gold: float | None = None
    """The log-probability of the gold set; None if the model cannot compute it."""
    predicted: float | None = None
    mentions: dict[Mention, float] = field(default_factory=dict)
    """The probability of single mentions."""
    impossible: dict[Mention, str] = field(default_factory=dict)
    """Gold mentions that the model cannot find, each with the kind of difference that explains why."""


NO_PROBABILITIES = SentenceProbabilities()


def find_errors(gold: Scorable, *systems: Scorable) -> ErrorReport:
    """Find what one or two systems get wrong, worst sentences first.

    Sentences are sorted by :attr:`SentenceErrors.cost`, then in corpus order. A difference that both systems have is
    listed once, with both. A system is right about another's difference if it has the gold mention and not the wrong
    one.

    >>> from hyperspan import Mention, Sentence
    >>> from hyperspan.evaluation.errors import find_errors
    >>> words, zoo, city = ("the", "Seattle", "zoo"), Mention(0, 3, "FAC"), Mention(1, 2, "GPE")
    >>> gold, flat, inner = ([Sentence(words, mentions)] for mentions in ([zoo, city], [zoo], [city]))
    >>> [(one.kind, one.gold) for one in find_errors(gold, flat).errors[0].differences]
    [('inner missed', Mention(1, 2, 'GPE'))]
    >>> [(one.kind, one.systems, one.others_right) for one in find_errors(gold, flat, inner).errors[0].differences]
    [('outer missed', (1,), True), ('inner missed', (0,), True)]
    """
    return error_report(sentences_to_score(gold, *systems))


def error_report(
    aligned: Aligned, probabilities: Sequence[SentenceProbabilities] | None = None, limits: ModelLimits = NO_LIMITS
) -> ErrorReport:
    """Like :func:`find_errors`, for aligned sentences; for one system, with a model's probabilities of its sets.

    Probabilities in gold do not come from a system and are ignored.
    """
    gold = [_without_probabilities(one) for one in aligned.gold]
    if len(aligned.systems) == 1:
        known = probabilities or [NO_PROBABILITIES] * len(gold)
        rows = zip(aligned.places, gold, aligned.systems[0], known, strict=True)
        found = [_sentence_errors(*row, limits) for row in rows]
    else:
        found = [_joint_errors(*row) for row in zip(aligned.places, gold, *aligned.systems, strict=True)]
    errors = sorted((one for one in found if one.differences), key=lambda one: (-one.cost, -len(one.differences)))
    scores = tuple(Score.total(sentence_counts(gold, system)) for system in aligned.systems)
    return ErrorReport(errors, len(gold), scores)


def _sentence_errors(
    place: PlaceInCorpus, gold: Sentence, predicted: Sentence, known: SentenceProbabilities, limits: ModelLimits
) -> SentenceErrors:
    truth, found = (frozenset(_with_probability(one, known) for one in side.mentions) for side in (gold, predicted))
    made = tuple(_named(one, known, limits) for one in mention_differences(truth, found, limits))
    return SentenceErrors(place, evolve(gold, mentions=truth), (found,), made, known.gold, known.predicted)


def _named(one: MentionDifference, known: SentenceProbabilities, limits: ModelLimits) -> MentionDifference:
    """The difference, with another kind if the model's tokens make the gold mention impossible to find."""
    if one.gold is None or one.gold not in known.impossible or limits.reason(one.gold):
        return one
    return replace(one, kind=known.impossible[one.gold])


def _without_probabilities(sentence: Sentence) -> Sentence:
    if all(one.probability is None for one in sentence.mentions):
        return sentence
    return evolve(sentence, mentions=frozenset(evolve(one, probability=None) for one in sentence.mentions))


def _with_probability(mention: Mention, known: SentenceProbabilities) -> Mention:
    if mention.probability is not None or mention not in known.mentions:
        return mention
    return evolve(mention, probability=known.mentions[mention])


def _joint_errors(place: PlaceInCorpus, gold: Sentence, a: Sentence, b: Sentence) -> SentenceErrors:
    differences = _joint_differences(gold.mentions, a.mentions, b.mentions)
    return SentenceErrors(place, gold, (a.mentions, b.mentions), tuple(differences))


def _joint_differences(gold: Set[Mention], a: Set[Mention], b: Set[Mention]) -> list[MentionDifference]:
    """The differences of both systems, common ones once."""
    ours, theirs = mention_differences(gold, a), mention_differences(gold, b)
    same = {_identity(one) for one in ours} & {_identity(one) for one in theirs}
    joint = [
        replace(one, systems=(0, 1) if _identity(one) in same else (0,), others_right=_is_right(b, one)) for one in ours
    ]
    joint += [
        replace(one, systems=(1,), others_right=_is_right(a, one)) for one in theirs if _identity(one) not in same
    ]
    return sorted(joint, key=lambda one: (one.mention.start, -one.mention.end, one.mention, one.gold is None))


def _identity(one: MentionDifference) -> tuple[str, Mention | None, Mention | None]:
    return one.kind, one.gold, one.predicted


def _is_right(system: Set[Mention], about: MentionDifference) -> bool:
    """Whether a system has the gold mention of another's difference, and not the wrong one."""
    return (about.gold is None or about.gold in system) and about.predicted not in system


Record = dict[str, Any]
SYSTEMS = ("a", "b")
"""The names of two compared systems in records."""


def error_lines(errors: Iterable[SentenceErrors]) -> Iterator[str]:
    """One line of JSON per sentence."""
    return (json.dumps(error_record(one), ensure_ascii=False, allow_nan=False) + "\n" for one in errors)


def error_record(errors: SentenceErrors) -> Record:
    """The record of a sentence, with positions in tokens.

    >>> from hyperspan.evaluation.errors import find_errors
    >>> gold, predicted = [Sentence(["Oz"], [Mention(0, 1, "GPE")])], [Sentence(["Oz"])]
    >>> [found] = find_errors(gold, predicted).errors
    >>> error_record(found)["differences"]  # doctest: +NORMALIZE_WHITESPACE
    [{'kind': 'missed', 'gold': {'start': 0, 'end': 1, 'label': 'GPE', 'text': 'Oz', 'probability': None},
      'predicted': None, 'width': 1, 'depth': 1}]
    """
    sentence = errors.gold
    record: Record = {
        "document": errors.place.id or str(errors.place.document + 1),
        "sentence": errors.place.number,
        "tokens": list(sentence.tokens),
        "cost": round(errors.cost, 6),
        "gold": _mentions(sentence, sentence.mentions),
    }
    if len(errors.systems) == 1:
        record["predicted"] = _mentions(sentence, errors.systems[0])
        for side, value in (("gold", errors.gold_log_probability), ("predicted", errors.predicted_log_probability)):
            record[f"{side}_probability"] = None if value is None else math.exp(value)
            record[f"{side}_log_probability"] = None if value is None or math.isinf(value) else value
    else:
        record |= {name: _mentions(sentence, found) for name, found in zip(SYSTEMS, errors.systems, strict=True)}
    record["differences"] = [_difference(sentence, one, len(errors.systems)) for one in errors.differences]
    return record


def _difference(sentence: Sentence, one: MentionDifference, systems: int) -> Record:
    record: Record = {
        "kind": one.kind,
        "gold": one.gold and _mention(sentence, one.gold),
        "predicted": one.predicted and _mention(sentence, one.predicted),
        "width": one.width,
        "depth": one.depth,
    }
    if systems > 1:
        wrong = [SYSTEMS[index] for index in one.systems]
        right = [name for name in SYSTEMS if name not in wrong] if one.others_right else []
        record |= {"wrong": wrong, "right": right}
    return record


def _mentions(sentence: Sentence, mentions: Iterable[Mention]) -> list[Record]:
    return [_mention(sentence, one) for one in sorted(mentions, key=longest_first)]


def _mention(sentence: Sentence, mention: Mention) -> Record:
    about = {"text": sentence.text_of(mention), "probability": mention.probability}
    return mention_record(mention, PLACE_KEYS) | about
