"""Sentences to measure with: synthetic, or from a file. Needs no torch."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hyperspan.corpora import read_corpus
from hyperspan.errors import InputError
from hyperspan.types import Mention, Sentence

MAX_WIDTHS = ("6", "n")
"""The maximum mention widths to measure."""
SENTENCES = 1_854
"""The number of sentences in GENIA's test set, as in the paper."""
PERCENTS = (*range(0, 100, 5), 98, 99, 99.7, 100)
WORDS = (4, 13, 16, 18, 19, 21, 22, 24, 25, 26, 28, 29, 31, 33, 35, 38, 40, 43, 48, 55, 67, 78, 102, 148)
"""Percentiles of GENIA's test sentence lengths. Lengths in between are interpolated."""
TYPES = ("DNA", "RNA", "cell_line", "cell_type", "protein")


def genia_length(percent: float) -> int:
    """A percentile of GENIA's sentence lengths.

    >>> genia_length(0), genia_length(52.5), genia_length(100)
    (4, 28, 148)
    """
    for (low, shortest), (high, longest) in itertools.pairwise(zip(PERCENTS, WORDS, strict=True)):
        if percent <= high:
            return round(shortest + (longest - shortest) * (percent - low) / (high - low))
    return WORDS[-1]


def invented_sentences(count: int = SENTENCES, types: Sequence[str] = TYPES, seed: int = 0) -> list[Sentence]:
    """Synthetic sentences with GENIA's lengths and vocabulary size; one mention of each type."""
    chance = random.Random(seed)
    made = []
    for index in range(count):
        length = genia_length(100 * chance.random())
        ranks = [min(int(chance.paretovariate(0.9)), 8_000) for _ in range(length)]
        mentions = [Mention(0, 1, types[index])] if index < len(types) else []
        made.append(Sentence([f"word{rank}" for rank in ranks], mentions, tags=[f"T{rank % 40}" for rank in ranks]))
    return made


class BenchmarkCorpus(NamedTuple):
    """Sentences to measure with, and where they come from."""

    sentences: list[Sentence]
    source: str

    @classmethod
    def read(cls, data: Path | None) -> BenchmarkCorpus:
        """Read the sentences of a file, or create synthetic ones."""
        if data is None:
            return cls(invented_sentences(), "invented, as long as GENIA's")
        sentences = [sentence for document in read_corpus(str(data)) for sentence in document.sentences]
        if not sentences:
            raise InputError(
                f"{data} holds no sentences; name a file of sentences, or leave --data out for invented ones"
            )
        return cls(sentences, "given")

    @property
    def figures(self) -> dict[str, str | int]:
        """The description for a report."""
        return {"sentences": self.source, "words": sum(map(len, self.sentences))}
