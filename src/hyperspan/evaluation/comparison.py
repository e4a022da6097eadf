"""Two systems on the same sentences: is one better, and what does each find that the other misses?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from hyperspan.errors import InputError
from hyperspan.evaluation.alignment import check_same_words
from hyperspan.evaluation.scores import sentence_counts
from hyperspan.evaluation.significance import Difference, differences
from hyperspan.types import Sentence


@dataclass(frozen=True)
class Shared:
    """Mentions by which of two systems has them."""

    both: int
    only_a: int
    only_b: int
    neither: int


@dataclass(frozen=True)
class Comparison:
    """What `compare` finds."""

    precision: Difference
    recall: Difference
    f1: Difference
    found: Shared
    """Gold mentions by who finds them."""
    spurious: Shared
    """Predicted mentions that are not gold, by who predicts them; `neither` is 0."""
    sentences: int
    rounds: int
    seed: int
    level: float

    def to_dict(self) -> dict[str, Any]:
        """What `hyperspan compare --format json` prints; scores are fractions."""
        return asdict(self)


def compare(
    gold: Iterable[Sentence],
    system_a: Iterable[Sentence],
    system_b: Iterable[Sentence],
    *,
    rounds: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> Comparison:
    """Compares two systems on the same sentences by micro precision, recall and F1; differences are B minus A.

    >>> from hyperspan.types import Mention
    >>> words, mention = ("the", "Seattle", "zoo"), Mention(0, 3, "FAC")
    >>> gold, nothing = [Sentence(words, [mention])] * 20, [Sentence(words)] * 20
    >>> found = compare(gold, nothing, gold)
    >>> found.f1.difference, found.found.only_b, found.f1.p_randomization < 0.001
    (1.0, 20, True)
    """
    truth, of_a, of_b = list(gold), list(system_a), list(system_b)
    for predicted in (of_a, of_b):
        check_same_words(truth, predicted)
    if not truth:
        raise InputError("gold has no sentences, so there is nothing to compare; name a file that has some")
    counts = sentence_counts(truth, of_a), sentence_counts(truth, of_b)
    found = spurious = (0, 0, 0, 0)
    for right, ours, theirs in zip(truth, of_a, of_b, strict=True):
        a, b, g = ours.mentions, theirs.mentions, right.mentions
        found = _plus(found, (len(g & a & b), len(g & a - b), len(g & b - a), len(g - a - b)))
        spurious = _plus(spurious, (len((a & b) - g), len(a - b - g), len(b - a - g), 0))
    return Comparison(
        **differences(*counts, rounds=rounds, seed=seed, level=level),
        found=Shared(*found),
        spurious=Shared(*spurious),
        sentences=len(truth),
        rounds=rounds,
        seed=seed,
        level=level,
    )


def _plus(one: tuple[int, int, int, int], other: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3]
