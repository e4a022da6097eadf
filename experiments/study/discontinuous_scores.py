"""Counts for F1: of all mentions, of discontinuous ones, and in sentences that have a discontinuous one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hyperspan.evaluation.alignment import align
from hyperspan.evaluation.groups import discontinuous_only, has_discontinuous
from hyperspan.evaluation.scores import Score, sentence_counts
from hyperspan.evaluation.significance import Counts
from hyperspan.types import Document, Sentence

MEASURED = ("all", "discontinuous", "with_discontinuous")
"""The sets of mentions measured: all, discontinuous, and all mentions of sentences whose gold has a discontinuous
one."""


def measured_counts(gold: Sequence[Sentence], found: Sequence[Sentence]) -> dict[str, Counts]:
    """The counts of each sentence for each of :data:`MEASURED`.

    >>> from hyperspan.types import Mention
    >>> words = "rod and cone cells".split()
    >>> rod, cone = Mention(0, 4, "CL", ((0, 1), (3, 4))), Mention(2, 4, "CL")
    >>> counts = measured_counts([Sentence(words, [rod, cone]), Sentence(words, [cone])], [Sentence(words, [cone])] * 2)
    >>> {name: rows.sum(axis=0).tolist() for name, rows in counts.items()}
    {'all': [2, 2, 3], 'discontinuous': [0, 0, 1], 'with_discontinuous': [1, 1, 2]}
    """
    every = sentence_counts(gold, found)
    some = sentence_counts(discontinuous_only(gold), discontinuous_only(found))
    return {"all": every, "discontinuous": some, "with_discontinuous": every * has_discontinuous(gold)[:, None]}


def scores(gold: Sequence[Document], found: Sequence[Document]) -> dict[str, dict[str, Any]]:
    """Precision, recall and F1 of each of :data:`MEASURED`."""
    aligned = align(gold, found)
    counts = measured_counts(aligned.gold, aligned.systems[0])
    return {name: Score(*rows.sum(axis=0).tolist()).to_dict() for name, rows in counts.items()}
