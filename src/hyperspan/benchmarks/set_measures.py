"""Measures of a distribution over *sets* of mentions: bits of gold sets, pairs of mentions, the best set, the k best.

Single mentions may be calibrated while sets are not: at an uncertain boundary, a model may give much probability to
"both" and to "neither". These measures need a distribution that can be conditioned on mentions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from hyperspan.structures.coupling import FAMILIES, family_of, probable
from hyperspan.structures.mentions import Mention, MentionSet
from hyperspan.structures.pair_probabilities import pair_probabilities

LEAST = 0.03
"""The minimum probability of a mention in pairs."""
RANKS = (1, 5, 20)
"""The k for which gold is looked up among the k best sets."""


class SentenceMeasures(NamedTuple):
    """The measures of one sentence."""

    bits: float
    """-log2 p(gold)"""
    best: float
    """The probability of the best set."""
    rank: int
    """The rank of gold among the best sets, from 1; 0 if it is not among them."""
    correct: int
    predicted: int
    gold: int
    inner_correct: int
    """Gold mentions inside others that are found."""
    inner_gold: int
    overlapping: bool
    """Whether gold has mentions that overlap."""


class PairMeasures(NamedTuple):
    """Pairs of probable mentions that overlap or touch."""

    sentence: np.ndarray  # (pairs,)
    family: np.ndarray  # (pairs,)
    first: np.ndarray  # (pairs,): the probability of the first
    second: np.ndarray
    both: np.ndarray
    first_gold: np.ndarray  # (pairs,): whether the first is in gold
    second_gold: np.ndarray


@dataclass(frozen=True)
class SetMeasures:
    """All measures of some sentences."""

    sentences: list[SentenceMeasures]
    pairs: PairMeasures

    def column(self, name: str) -> np.ndarray:
        """(sentences,): one measure of all sentences."""
        return np.array([getattr(one, name) for one in self.sentences], dtype=np.float64)


def measure_sets(distribution: Any, gold: Sequence[set[Mention]]) -> SetMeasures:
    """The measures of a batch; `gold` has only mentions that the distribution can represent."""
    ranked = distribution.topk(max(RANKS))
    bits = (-_array(distribution.log_prob(gold)) / math.log(2)).tolist()
    sentences = [_measured(one, wanted, best) for one, wanted, best in zip(bits, gold, ranked, strict=True)]
    return SetMeasures(sentences, _pairs(distribution, gold))


def _array(values: Any) -> np.ndarray:
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values, dtype=np.float64)


def _measured(bits: float, gold: set[Mention], ranked: Sequence[tuple[MentionSet, float]]) -> SentenceMeasures:
    best, log_probability = ranked[0]
    places = [place for place, (mentions, _) in enumerate(ranked, 1) if mentions == gold]
    inner = {one for one in gold for other in gold if one != other and other[0] <= one[0] and one[1] <= other[1]}
    overlapping = any(one != other and one[0] < other[1] and other[0] < one[1] for one in gold for other in gold)
    return SentenceMeasures(
        *(bits, math.exp(log_probability), places[0] if places else 0),
        *(len(best & gold), len(best), len(gold), len(best & inner), len(inner), overlapping),
    )


def _pairs(distribution: Any, gold: Sequence[set[Mention]]) -> PairMeasures:
    """The pairs of mentions that are both probable."""
    found = probable(_array(distribution.marginals), LEAST)
    mentions = list(zip(found.start.tolist(), found.end.tolist(), found.kind.tolist(), strict=True))
    pairs = np.array(
        [
            (one, other)
            for one in range(len(mentions))
            for other in range(one + 1, len(mentions))
            if found.sentence[one] == found.sentence[other] and mentions[other][0] <= mentions[one][1]
        ],
        dtype=np.int64,
    ).reshape(-1, 2)
    family = family_of(found.start, found.end, found.kind, pairs)
    pairs, family = pairs[family >= 0], family[family >= 0]
    both = pair_probabilities(
        distribution, [(int(found.sentence[one]), mentions[one], mentions[other]) for one, other in pairs.tolist()]
    )
    right = np.array(
        [mention in gold[b] for b, mention in zip(found.sentence.tolist(), mentions, strict=True)], dtype=bool
    )
    first = found.probability[pairs[:, 0]]
    return PairMeasures(
        *(found.sentence[pairs[:, 0]], family, first, found.probability[pairs[:, 1]]),
        *(both, right[pairs[:, 0]], right[pairs[:, 1]]),
    )


def joined_measures(parts: Sequence[tuple[Sequence[int], SetMeasures]]) -> SetMeasures:
    """Join the measures of batches, in the order of their sentence indices."""
    count = sum(len(numbers) for numbers, _ in parts)
    sentences: list[Any] = [None] * count
    for numbers, measures in parts:
        for number, one in zip(numbers, measures.sentences, strict=True):
            sentences[number] = one
    columns = []
    for name in PairMeasures._fields:
        values = [
            np.array(numbers)[one.pairs.sentence] if name == "sentence" else getattr(one.pairs, name)
            for numbers, one in parts
        ]
        columns.append(np.concatenate(values) if values else np.zeros(0))
    return SetMeasures(sentences, PairMeasures(*columns))


def set_figures(measures: SetMeasures) -> dict[str, Any]:
    """The figures of all sentences."""
    correct, predicted, gold = (measures.column(name) for name in ("correct", "predicted", "gold"))
    overlapping = measures.column("overlapping") > 0
    ranks, best = measures.column("rank"), measures.column("best")
    return {
        "sentences": len(measures.sentences),
        "bits": float(measures.column("bits").mean()) if measures.sentences else 0.0,
        "f1": _f1(correct, predicted, gold),
        "f1_overlapping": _f1(correct[overlapping], predicted[overlapping], gold[overlapping]),
        "inner_recall": float(measures.column("inner_correct").sum() / max(measures.column("inner_gold").sum(), 1)),
        "gold_among": {str(rank): float(((ranks > 0) & (ranks <= rank)).mean()) for rank in RANKS},
        "best_expected": float(best.mean()),
        "best_right": float((ranks == 1).mean()),
        "best_ece": _calibration_error(best, ranks == 1),
        "pairs": dict(pair_figures(measures.pairs)),
    }


def _f1(correct: np.ndarray, predicted: np.ndarray, gold: np.ndarray) -> float:
    return float(2 * correct.sum() / max(predicted.sum() + gold.sum(), 1))


def _calibration_error(probability: np.ndarray, right: np.ndarray, bins: int = 10) -> float:
    """The expected calibration error, in bins of equal size."""
    order = np.argsort(probability, kind="stable")
    parts = [part for part in np.array_split(order, bins) if len(part)]
    return float(sum(abs(probability[part].sum() - right[part].sum()) for part in parts) / max(len(probability), 1))


def pair_figures(pairs: PairMeasures) -> Iterator[tuple[str, Mapping[str, float]]]:
    """By family: the number of pairs, and the expected and actual numbers with both mentions, or neither."""
    for number, name in enumerate(FAMILIES):
        some = PairMeasures(*(column[pairs.family == number] for column in pairs))
        if not len(some.both):
            continue
        neither = 1 - some.first - some.second + some.both
        first, second = some.first_gold - some.first, some.second_gold - some.second
        spread = math.sqrt(float((first**2).sum() * (second**2).sum()))
        yield (
            name,
            {
                "pairs": len(some.both),
                "both_expected": float(some.both.sum()),
                "both": int((some.first_gold & some.second_gold).sum()),
                "neither_expected": float(neither.sum()),
                "neither": int((~some.first_gold & ~some.second_gold).sum()),
                "residual_correlation": float((first * second).sum()) / spread if spread else 0.0,
            },
        )
