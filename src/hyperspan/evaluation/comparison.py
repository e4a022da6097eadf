"""Compare two systems on the same sentences: which scores better, and what does each find that the other misses?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any, TypedDict

from hyperspan.errors import InputError
from hyperspan.evaluation.alignment import Scorable, sentences_to_score
from hyperspan.evaluation.counts import Counts, sentence_counts
from hyperspan.evaluation.intervals import Difference, differences, too_few
from hyperspan.evaluation.scores import discontinuous_only, has_discontinuous
from hyperspan.types import Mention


class _Tests(TypedDict):
    rounds: int
    seed: int
    level: float


@dataclass(frozen=True)
class Agreement:
    """The number of mentions that both systems predict, only one, or neither."""

    both: int
    only_a: int
    only_b: int
    neither: int


@dataclass(frozen=True)
class SubsetComparison:
    """The same tests on a subset of the mentions or sentences."""

    precision: Difference
    recall: Difference
    f1: Difference
    sentences: int
    gold: int
    """The number of gold mentions."""


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`."""

    precision: Difference
    recall: Difference
    f1: Difference
    found: Agreement
    """Gold mentions, by the systems that find them."""
    spurious: Agreement
    """Predicted mentions that are not gold, by the systems that predict them; `neither` is 0."""
    sentences: int
    rounds: int
    seed: int
    level: float
    note: str | None
    """A warning if there are too few sentences to decide; else None."""
    discontinuous: SubsetComparison | None = None
    """On discontinuous mentions only; None if there are none."""
    with_discontinuous: SubsetComparison | None = None
    """On the sentences with a discontinuous gold mention; None if there are none."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON of `hyperspan compare --json`; scores are fractions."""
        return asdict(self)


def compare(
    gold: Scorable,
    system_a: Scorable,
    system_b: Scorable,
    *,
    rounds: int = 10_000,
    seed: int = 0,
    level: float = 0.95,
) -> Comparison:
    """Compare two systems on the same sentences or documents by micro precision, recall and F1.

    `gold` and both systems are sentences with the same words, or documents of the same texts. Differences are B minus
    A. Each has p-values from `rounds` rounds of a paired randomization test and a bootstrap test, and a bootstrap
    confidence interval of the given `level`. The same `seed` gives the same result.

    >>> from hyperspan import Mention, Sentence
    >>> from hyperspan.evaluation import compare
    >>> words, mention = ("the", "Seattle", "zoo"), Mention(0, 3, "FAC")
    >>> gold, nothing = [Sentence(words, [mention])] * 20, [Sentence(words)] * 20
    >>> found = compare(gold, nothing, gold)
    >>> found.f1.difference, found.found.only_b, found.f1.p_randomization < 0.001
    (1.0, 20, True)
    """
    aligned = sentences_to_score(gold, system_a, system_b)
    truth, [of_a, of_b] = aligned.gold, aligned.systems
    if not truth:
        raise InputError("gold has no sentences, so there is nothing to compare; name a file that has some")
    counts = sentence_counts(truth, of_a), sentence_counts(truth, of_b)
    tests: _Tests = {"rounds": rounds, "seed": seed, "level": level}
    sets = [(t.mentions, a.mentions, b.mentions) for t, a, b in zip(truth, of_a, of_b, strict=True)]
    found = differences(*counts, **tests)
    parted, *of_systems = (discontinuous_only(side) for side in (truth, of_a, of_b))
    held = has_discontinuous(truth)
    return Comparison(
        **found,
        found=_agreement((g, g & a, g & b) for g, a, b in sets),
        spurious=_agreement(((a | b) - g, a - g, b - g) for g, a, b in sets),
        sentences=len(truth),
        rounds=rounds,
        seed=seed,
        level=level,
        note=too_few(int(counts[0][:, 2].sum()), "difference of F1", found["f1"].interval, "+.1f"),
        discontinuous=_subset([sentence_counts(parted, side) for side in of_systems], tests),
        with_discontinuous=_subset([rows[held] for rows in counts], tests),
    )


def _subset(counts: Sequence[Counts], tests: _Tests) -> SubsetComparison | None:
    """The tests on these counts by sentence; None if nobody has a mention."""
    if not sum(int(rows.sum()) for rows in counts):
        return None
    return SubsetComparison(**differences(*counts, **tests), sentences=len(counts[0]), gold=int(counts[0][:, 2].sum()))


def _agreement(sets: Iterable[tuple[Set[Mention], Set[Mention], Set[Mention]]]) -> Agreement:
    """Count the mentions of the first set by which of the other two contain them, summed over sentences."""
    rows = [(len(a & b), len(a - b), len(b - a), len(every - a - b)) for every, a, b in sets]
    return Agreement(*map(sum, zip(*rows, strict=True)))
