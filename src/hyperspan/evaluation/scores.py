"""Precision, recall and F1 of overlapping mentions: exact matches, as sets, over all sentences and over parts of them.

A predicted mention is right if gold has one with the same words and the same type in that sentence. Whatever would be 0/0 (the
precision of no predictions, the recall of no gold mentions) is 0, as in other scorers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from attrs import evolve

from hyperspan.corpora.overlaps import KINDS, Place, overlaps, places
from hyperspan.evaluation.alignment import check_same_words
from hyperspan.evaluation.calibration import Calibration, calibration_of
from hyperspan.evaluation.significance import Confidence, Counts, confidence
from hyperspan.types import Mention, Sentence

WIDTHS = ((1, 1), (2, 2), (3, 3), (4, 6), (7, 10), (11, None))
"""The fewest and the most words of the mentions that are scored together."""


@dataclass(frozen=True)
class Score:
    """How many mentions are right, of how many predicted and of how many to find.

    >>> score = Score(correct=6, predicted=8, gold=12)
    >>> score.precision, score.recall, score.f1
    (0.75, 0.5, 0.6)
    """

    correct: int = 0
    predicted: int = 0
    gold: int = 0

    @property
    def precision(self) -> float:
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.correct / (self.predicted + self.gold) if self.predicted + self.gold else 0.0

    def __add__(self, other: Score) -> Score:
        return Score(self.correct + other.correct, self.predicted + other.predicted, self.gold + other.gold)

    def to_dict(self) -> dict[str, Any]:
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1, **asdict(self)}


@dataclass(frozen=True)
class Slice:
    """Predicted mentions with some place among the predicted ones, and gold mentions with that place among gold.

    A right mention may be inside of another in gold and alone in the predictions, so what is right among the predicted ones
    and what is found of gold are counted apart, and there is no F1 of both.
    """

    correct: int
    predicted: int
    found: int
    gold: int

    @property
    def precision(self) -> float:
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.found / self.gold if self.gold else 0.0

    def to_dict(self) -> dict[str, Any]:
        return {"precision": self.precision, "recall": self.recall, **asdict(self)}


@dataclass(frozen=True)
class Macro:
    """The plain mean over types, each of which weighs the same."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Report:
    """All that `evaluate` finds."""

    micro: Score
    macro: Macro
    per_type: dict[str, Score]
    overlapping: Score
    """In sentences where two gold mentions share a word."""
    non_overlapping: Score
    """In all other sentences."""
    by_width: dict[str, Score]
    """By number of words, from the first to the last of a mention."""
    by_depth: dict[str, Slice]
    """By how many mentions of the same set are around a mention; "1" is an outermost one."""
    by_overlap: dict[str, Slice]
    """By what a mention is to the others of its set: :data:`hyperspan.corpora.overlaps.KINDS`."""
    boundaries: Score
    """Types ignored: spans that hold a mention of any type."""
    confusions: dict[tuple[str, str], int]
    """Right span, wrong type: how often gold has the first type, which is not predicted there, and the second is instead."""
    counts: dict[str, int]
    confidence: Confidence | None = None
    """None where there is no sentence, or no sample was asked for."""
    calibration: dict[str, Calibration] = field(default_factory=dict)
    """Of the predicted mentions and, of a model, of all candidates; empty where mentions carry no probabilities."""
    words_per_second: float | None = None
    """How fast a model decoded."""

    def to_dict(self) -> dict[str, Any]:
        """What `hyperspan evaluate --format json` prints; scores are fractions."""
        tables = {
            name: {key: score.to_dict() for key, score in getattr(self, name).items()}
            for name in ("per_type", "by_width", "by_depth", "by_overlap")
        }
        return {
            "micro": self.micro.to_dict(),
            "macro": asdict(self.macro),
            "overlapping": self.overlapping.to_dict() | {"sentences": self.counts["sentences_with_overlap"]},
            "non_overlapping": self.non_overlapping.to_dict() | {"sentences": self.counts["sentences_without_overlap"]},
            "boundaries": self.boundaries.to_dict(),
            **tables,
            "confusions": [
                {"gold": gold, "predicted": predicted, "count": count}
                for (gold, predicted), count in self.confusions.items()
            ],
            "confidence": asdict(self.confidence) if self.confidence else None,
            "calibration": {name: found.to_dict() for name, found in self.calibration.items()},
            "words_per_second": self.words_per_second,
            "counts": self.counts,
        }


def evaluate(
    gold: Iterable[Sentence], predicted: Iterable[Sentence], *, samples: int = 1000, seed: int = 0, level: float = 0.95
) -> Report:
    """Scores predicted mentions against gold ones, sentence by sentence; both have the same words.

    Confidence intervals come from `samples` bootstrap samples of sentences; 0 leaves them out.

    >>> from hyperspan.types import Mention
    >>> words = ("the", "Seattle", "zoo")
    >>> gold = [Sentence(words, [Mention(0, 3, "FAC"), Mention(1, 2, "GPE")])]
    >>> report = evaluate(gold, [Sentence(words, [Mention(0, 3, "FAC"), Mention(1, 2, "PER")])])
    >>> report.micro.f1, report.boundaries.f1, report.confusions
    (0.5, 1.0, {('GPE', 'PER'): 1})
    """
    truth, found = list(gold), list(predicted)
    check_same_words(truth, found)
    rows = sentence_counts(truth, found)
    with_overlap = np.array([overlaps(sentence.mentions) for sentence in truth], dtype=bool)
    per_type = _by_type(truth, found)
    calibrated = calibration_of(truth, found)
    by_depth, by_overlap = _by_place(truth, found)
    return Report(
        micro=_total(rows),
        macro=_macro(per_type),
        per_type=per_type,
        overlapping=_total(rows[with_overlap]),
        non_overlapping=_total(rows[~with_overlap]),
        by_width=_by_width(truth, found),
        by_depth=by_depth,
        by_overlap=by_overlap,
        boundaries=_total(sentence_counts(_without_types(truth), _without_types(found))),
        confusions=_confusions(truth, found),
        counts=_counts(truth, found, int(with_overlap.sum())),
        confidence=confidence(rows, samples=samples, seed=seed, level=level) if len(rows) and samples else None,
        calibration={"predicted": calibrated} if calibrated else {},
    )


def sentence_counts(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> Counts:
    """(sentences, 3): right, predicted and gold mentions of each sentence; a mention that is listed twice is one."""
    rows = [
        (len(truth.mentions & found.mentions), len(found.mentions), len(truth.mentions))
        for truth, found in zip(gold, predicted, strict=True)
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def _total(rows: Counts) -> Score:
    return Score(*rows.sum(axis=0).tolist())


def _by_type(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> dict[str, Score]:
    scores: dict[str, Score] = {}
    for truth, found in zip(gold, predicted, strict=True):
        for mention in truth.mentions | found.mentions:
            scores[mention.label] = scores.get(mention.label, Score()) + _one(mention, truth, found)
    return dict(sorted(scores.items()))


def _by_width(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> dict[str, Score]:
    names = [f">{low - 1}" if high is None else str(low) if low == high else f"{low}-{high}" for low, high in WIDTHS]
    scores = dict.fromkeys(names, Score())
    for truth, found in zip(gold, predicted, strict=True):
        for mention in truth.mentions | found.mentions:
            width = mention.end - mention.start
            name = next(name for name, (_, high) in zip(names, WIDTHS, strict=True) if high is None or width <= high)
            scores[name] += _one(mention, truth, found)
    return scores


def _one(mention: Mention, truth: Sentence, found: Sentence) -> Score:
    """What a single mention adds to a score."""
    is_gold, is_predicted = mention in truth.mentions, mention in found.mentions
    return Score(is_gold and is_predicted, is_predicted, is_gold)


def _macro(per_type: dict[str, Score]) -> Macro:
    def mean(values: list[float]) -> float:
        return sum(values) / len(values) if values else 0.0

    scores = per_type.values()
    return Macro(mean([s.precision for s in scores]), mean([s.recall for s in scores]), mean([s.f1 for s in scores]))


def _by_place(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> tuple[dict[str, Slice], dict[str, Slice]]:
    """By depth and by overlap: predicted mentions by their place among predicted ones, gold ones by theirs among gold."""
    by_depth: Counter[tuple[int, str]] = Counter()  # a row of the table, and what is counted there
    by_overlap: Counter[tuple[str, str]] = Counter()

    def count(place: Place, columns: list[str]) -> None:
        by_depth.update((place.depth, column) for column in columns)
        by_overlap.update((kind, column) for kind in place.kinds for column in columns)

    for truth, found in zip(gold, predicted, strict=True):
        for mention, place in places(found.mentions).items():
            count(place, ["predicted", "correct"] if mention in truth.mentions else ["predicted"])
        for mention, place in places(truth.mentions).items():
            count(place, ["gold", "found"] if mention in found.mentions else ["gold"])
    columns = ("correct", "predicted", "found", "gold")
    depths = sorted({depth for depth, _ in by_depth})
    return (
        {str(depth): Slice(*(by_depth[depth, column] for column in columns)) for depth in depths},
        {kind: Slice(*(by_overlap[kind, column] for column in columns)) for kind in KINDS},
    )


def _without_types(sentences: Sequence[Sentence]) -> list[Sentence]:
    return [s.with_mentions(evolve(mention, label="") for mention in s.mentions) for s in sentences]


def _confusions(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> dict[tuple[str, str], int]:
    """On each span, every type that gold has and the prediction lacks, with every type that is there instead."""
    times: Counter[tuple[str, str]] = Counter()
    for truth, found in zip(gold, predicted, strict=True):
        wrong = found.mentions - truth.mentions
        for missed in truth.mentions - found.mentions:
            where = missed.span, missed.fragments
            times.update((missed.label, other.label) for other in wrong if (other.span, other.fragments) == where)
    return dict(sorted(times.items(), key=lambda item: (-item[1], item[0])))


def _counts(gold: Sequence[Sentence], predicted: Sequence[Sentence], with_overlap: int) -> dict[str, int]:
    return {
        "sentences": len(gold),
        "sentences_with_overlap": with_overlap,
        "sentences_without_overlap": len(gold) - with_overlap,
        "words": sum(map(len, gold)),
        "gold_duplicates_removed": sum(len(sentence.duplicates) for sentence in gold),
        "predicted_duplicates_removed": sum(len(sentence.duplicates) for sentence in predicted),
    }
