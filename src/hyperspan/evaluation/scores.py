"""Precision, recall and F1 of overlapping mentions by exact match, over all sentences and over subsets of them.

A predicted mention is correct if the gold sentence has one with the same span and type, and the same parts if it is
discontinuous.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from attrs import evolve
from numpy.typing import NDArray

from hyperspan.corpora.overlaps import KINDS, Place, overlaps, places, widest_gap
from hyperspan.evaluation.alignment import Scorable, sentences_to_score
from hyperspan.evaluation.calibration import Calibration, calibration_of
from hyperspan.evaluation.counts import Score, sentence_counts
from hyperspan.evaluation.intervals import Confidence, confidence
from hyperspan.types import Mention, Sentence

Flags = NDArray[np.bool_]
"""(sentences,): a flag for each."""
WIDTHS = {"1": 1, "2": 2, "3": 3, "4-6": 6, "7-10": 10, ">10": math.inf}
"""Groups of mentions by width, each with its maximum number of words."""
PARTS = {"1": 1, "2": 2, "3": 3, ">3": math.inf}
"""Groups of mentions by their number of parts."""
GAPS = {"1": 1, "2": 2, "3-4": 4, "5-8": 8, ">8": math.inf}
"""Groups of discontinuous mentions by the number of words in their widest gap."""


def width(mention: Mention) -> int:
    """The number of words from the first to the last of a mention."""
    return mention.end - mention.start


def width_group(mention: Mention) -> str:
    """The group of :data:`WIDTHS` that a mention belongs to."""
    return group(WIDTHS, width(mention))


def group(groups: Mapping[str, float], size: int) -> str:
    """The first group that is large enough.

    >>> group(GAPS, 3)
    '3-4'
    """
    return next(name for name, largest in groups.items() if size <= largest)


def has_discontinuous(sentences: Sequence[Sentence]) -> Flags:
    """(sentences,): whether each has a discontinuous mention."""
    return np.array([any(mention.fragments for mention in one.mentions) for one in sentences], dtype=bool)


def discontinuous_only(sentences: Sequence[Sentence]) -> list[Sentence]:
    """The sentences with only their discontinuous mentions."""
    return [one.with_mentions(mention for mention in one.mentions if mention.fragments) for one in sentences]


@dataclass(frozen=True)
class Slice:
    """Mentions of one depth or kind of overlap: predicted ones by the predicted set, gold ones by the gold set.

    A correct mention may be nested in gold but not in the predictions. So correct predictions and found gold mentions
    are counted separately, and there is no F1.
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
    """The unweighted mean over types."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Report:
    """The result of :func:`evaluate`. A score has `precision`, `recall`, `f1` and the counts they come from."""

    micro: Score
    """Over all mentions."""
    macro: Macro
    """The mean over the types."""
    per_type: dict[str, Score]
    """By type."""
    overlapping: Score
    """In sentences where two gold mentions share a word."""
    non_overlapping: Score
    """In all other sentences."""
    discontinuous: Score
    """Of discontinuous mentions only."""
    with_discontinuous: Score
    """Of all mentions in sentences with a discontinuous gold mention."""
    by_width: dict[str, Score]
    """By number of words, from the first to the last of a mention."""
    by_parts: dict[str, Score]
    """By number of parts."""
    by_gap: dict[str, Score]
    """Discontinuous mentions by the number of words in their widest gap."""
    by_depth: dict[str, Slice]
    """By nesting depth: the length of the longest chain of nested mentions that ends at a mention. "1" is outermost.

    The chain consists of mentions of the same set, gold or predicted.
    """
    by_overlap: dict[str, Slice]
    """By kind of overlap with other mentions of the same set: :data:`hyperspan.corpora.overlaps.KINDS`."""
    boundaries: Score
    """Spans without their types."""
    confusions: dict[tuple[str, str], int]
    """Right span, wrong type: how often the second type is predicted where gold has the first."""
    counts: dict[str, int]
    confidence: Confidence | None = None
    """None if there are no sentences, or `samples` is 0."""
    calibration: dict[str, Calibration] = field(default_factory=dict)
    """Of the predicted mentions and, for a model, of all candidates; empty if mentions have no probabilities."""
    words_per_second: float | None = None
    """Decoding speed of a model."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `hyperspan evaluate --json`; scores are fractions."""
        return {
            "micro": self.micro.to_dict(),
            "macro": asdict(self.macro),
            "overlapping": self.overlapping.to_dict() | {"sentences": self.counts["sentences_with_overlap"]},
            "non_overlapping": self.non_overlapping.to_dict() | {"sentences": self.counts["sentences_without_overlap"]},
            "discontinuous": self.discontinuous.to_dict(),
            "with_discontinuous": self.with_discontinuous.to_dict()
            | {"sentences": self.counts["sentences_with_discontinuous"]},
            "boundaries": self.boundaries.to_dict(),
            "per_type": _to_dicts(self.per_type),
            "by_width": _to_dicts(self.by_width),
            "by_parts": _to_dicts(self.by_parts),
            "by_gap": _to_dicts(self.by_gap),
            "by_depth": _to_dicts(self.by_depth),
            "by_overlap": _to_dicts(self.by_overlap),
            "confusions": [
                {"gold": gold, "predicted": predicted, "count": count}
                for (gold, predicted), count in self.confusions.items()
            ],
            "confidence": asdict(self.confidence) if self.confidence else None,
            "calibration": {name: asdict(found) for name, found in self.calibration.items()},
            "words_per_second": self.words_per_second,
            "counts": self.counts,
        }


def _to_dicts(table: Mapping[str, Score | Slice]) -> dict[str, dict[str, Any]]:
    return {key: score.to_dict() for key, score in table.items()}


def evaluate(gold: Scorable, predicted: Scorable, *, samples: int = 1000, seed: int = 0, level: float = 0.95) -> Report:
    """Score predicted mentions against gold ones, sentence by sentence.

    A mention is correct if its span and type are exactly right. `gold` and `predicted` are sentences with the same
    words, or documents of the same texts, which are aligned first.

    Confidence intervals of the given `level` come from `samples` bootstrap samples of sentences; 0 omits them. The same
    `seed` gives the same intervals.

    >>> from hyperspan import Mention, Sentence, evaluate
    >>> words = ("the", "Seattle", "zoo")
    >>> gold = [Sentence(words, [Mention(0, 3, "FAC"), Mention(1, 2, "GPE")])]
    >>> report = evaluate(gold, [Sentence(words, [Mention(0, 3, "FAC"), Mention(1, 2, "PER")])])
    >>> report.micro.f1, report.boundaries.f1, report.confusions
    (0.5, 1.0, {('GPE', 'PER'): 1})
    """
    aligned = sentences_to_score(gold, predicted)
    truth, [found] = aligned.gold, aligned.systems
    rows = sentence_counts(truth, found)
    with_overlap = np.array([overlaps(sentence.mentions) for sentence in truth], dtype=bool)
    with_discontinuous = has_discontinuous(truth)
    per_type = dict(sorted(_by(lambda mention: mention.label, truth, found).items()))
    parted = discontinuous_only(truth), discontinuous_only(found)
    calibrated = calibration_of(truth, found)
    by_depth, by_overlap = _by_place(truth, found)
    return Report(
        micro=Score.total(rows),
        macro=_macro(per_type),
        per_type=per_type,
        overlapping=Score.total(rows[with_overlap]),
        non_overlapping=Score.total(rows[~with_overlap]),
        discontinuous=Score.total(sentence_counts(*parted)),
        with_discontinuous=Score.total(rows[with_discontinuous]),
        by_width=_in_groups(WIDTHS, width, truth, found),
        by_parts=_in_groups(PARTS, lambda mention: len(mention.parts), truth, found),
        by_gap=_in_groups(GAPS, widest_gap, *parted),
        by_depth=by_depth,
        by_overlap=by_overlap,
        boundaries=Score.total(sentence_counts(_without_types(truth), _without_types(found))),
        confusions=_confusions(truth, found),
        counts=_counts(truth, found) | _sentences(with_overlap, with_discontinuous),
        confidence=confidence(rows, samples=samples, seed=seed, level=level) if len(rows) and samples else None,
        calibration={"predicted": calibrated} if calibrated else {},
    )


def _by(
    group: Callable[[Mention], str], gold: Sequence[Sentence], predicted: Sequence[Sentence]
) -> defaultdict[str, Score]:
    """The scores of the mentions of each group."""
    scores: defaultdict[str, Score] = defaultdict(Score)
    for truth, found in zip(gold, predicted, strict=True):
        for mention in truth.mentions | found.mentions:
            is_gold, is_predicted = mention in truth.mentions, mention in found.mentions
            scores[group(mention)] += Score(is_gold and is_predicted, is_predicted, is_gold)
    return scores


def _in_groups(
    groups: Mapping[str, float],
    size: Callable[[Mention], int],
    gold: Sequence[Sentence],
    predicted: Sequence[Sentence],
) -> dict[str, Score]:
    """The scores of each group, named by its largest size, including groups without mentions."""
    scores = _by(lambda mention: group(groups, size(mention)), gold, predicted)
    return {name: scores[name] for name in groups}


def _macro(per_type: dict[str, Score]) -> Macro:
    rows = [(score.precision, score.recall, score.f1) for score in per_type.values()] or [(0.0, 0.0, 0.0)]
    return Macro(*(sum(column) / len(rows) for column in zip(*rows, strict=True)))


def _by_place(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> tuple[dict[str, Slice], dict[str, Slice]]:
    """Slices by depth and by overlap: predicted mentions by the predicted set, gold mentions by the gold set."""
    by_depth: Counter[tuple[int, str]] = Counter()  # keys: row and column of the table
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
    """For each span, every missed gold type paired with every wrong predicted type."""
    times: Counter[tuple[str, str]] = Counter()
    for truth, found in zip(gold, predicted, strict=True):
        wrong = found.mentions - truth.mentions
        for missed in truth.mentions - found.mentions:
            where = missed.span, missed.fragments
            times.update((missed.label, other.label) for other in wrong if (other.span, other.fragments) == where)
    return dict(sorted(times.items(), key=lambda item: (-item[1], item[0])))


def _counts(gold: Sequence[Sentence], predicted: Sequence[Sentence]) -> dict[str, int]:
    return {
        "sentences": len(gold),
        "words": sum(map(len, gold)),
        "gold_duplicates_removed": sum(len(sentence.duplicates) for sentence in gold),
        "predicted_duplicates_removed": sum(len(sentence.duplicates) for sentence in predicted),
    }


def _sentences(with_overlap: Flags, with_discontinuous: Flags) -> dict[str, int]:
    return {
        "sentences_with_overlap": int(with_overlap.sum()),
        "sentences_without_overlap": int((~with_overlap).sum()),
        "sentences_with_discontinuous": int(with_discontinuous.sum()),
    }
