"""The labels that `evaluate --labels` scores."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable

from hyperspan.cli.output import SHOWN
from hyperspan.corpora.summary import printable
from hyperspan.errors import InputError, counted
from hyperspan.types import Document

GOLD = "gold"
"""The value of --labels that means all labels of the corpus."""


class ScoredLabels:
    """The labels given with --labels; all labels without it."""

    def __init__(self, named: list[str], gold: list[Document]):
        self.in_gold = labels_of(gold)
        if named == [GOLD] and not self.in_gold:
            raise InputError(f"--labels {GOLD} are the labels of the corpus, but it has no mention; name the labels")
        self._named = sorted(self.in_gold) if named == [GOLD] else named

    def among(self, known: Collection[str]) -> list[str] | None:
        """Return the labels to score, None for all; InputError for labels unknown to predictions and corpus."""
        unknown = [label for label in self._named if label not in known and label not in self.in_gold]
        if unknown:
            raise InputError(
                f"--labels names {', '.join(unknown)}, but the labels of predictions and corpus are "
                f"{', '.join(sorted({*known, *self.in_gold}))}; name some of these, or {GOLD} for those of the corpus"
            )
        return self._named or None

    def note_others(self, known: Collection[str], predicted: Iterable[Document]) -> None:
        """Print how many predictions count as wrong because their labels do not occur in the corpus."""
        times = Counter(mention.label for document in predicted for mention in document.mentions)
        others = {label: count for label, count in times.most_common() if label not in self.in_gold}
        if self._named or not others or self.in_gold.isdisjoint(known):
            return
        shown = ", ".join(f"{count:,} {printable(label)}" for label, count in list(others.items())[:SHOWN])
        print(
            f"hyperspan: {counted(sum(others.values()), 'prediction')} with a label that never occurs in the corpus count "
            f"as wrong ({shown}{', …' if len(others) > SHOWN else ''}); if it does not annotate them, score only its own "
            f"labels with --labels {GOLD}",
            file=sys.stderr,
        )


def labels_of(documents: Iterable[Document]) -> set[str]:
    """Return the labels that occur in the documents."""
    return {mention.label for document in documents for mention in document.mentions}
