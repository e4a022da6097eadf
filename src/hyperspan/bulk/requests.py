"""What the processes of a bulk job say to each other: batches to compute, and where mentions were found in them. Needs
no torch."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hyperspan.collation import RowOrder, WordArrays
from hyperspan.config import DiscontinuousConfig
from hyperspan.structures.mentions import MentionSet
from hyperspan.structures.places import Places
from hyperspan.text.tokenize import Tokenizer
from hyperspan.types import Sentence

NOWHERE = Places(np.zeros((0, 4), dtype=np.int32), np.zeros(0, dtype=np.float32))
RankedSets = list[list[tuple[MentionSet, float]]]
"""For each sentence its best sets of mentions, each with the logarithm of its probability."""


@dataclass(frozen=True)
class ModelFacts:
    """All that a process needs of a model to prepare its batches and to use what it found."""

    folder: str
    labels: tuple[str, ...]
    tokenizer: Tokenizer
    max_width: int | None
    context: int
    reads_tags: bool
    joins_documents: bool
    batch_entries: int
    discontinuous: DiscontinuousConfig | None = None
    """What mentions of several parts it finds."""
    reads_ids: bool = False
    """Whether it takes batches as arrays of ids; otherwise it takes sentences."""
    reads_characters: bool = False
    """Whether these have those of characters."""


@dataclass(frozen=True)
class BatchRequest:
    """A batch to compute: as arrays of ids, or as sentences."""

    arrays: tuple[RowOrder, WordArrays] | None
    sentences: Sequence[Sentence] = ()

    @property
    def words(self) -> int:
        return len(self.arrays[0].row) if self.arrays else sum(map(len, self.sentences))


@dataclass(frozen=True)
class Answer:
    """The mentions of a batch, or why there are none."""

    places: Places = NOWHERE
    sets: RankedSets | None = None
    """The best sets, where they are asked for."""
    error: BaseException | None = None
    too_large: bool = False
    """Whether the memory was too small for it."""


class Computer(Protocol):
    """Whoever computes batches, one after the other; at most one request is without an answer."""

    def send(self, request: BatchRequest) -> None: ...

    def receive(self) -> Answer: ...


def portable(error: BaseException) -> BaseException:
    """The error, or if another process could not read it, one that says the same."""
    try:
        copy: Any = pickle.loads(pickle.dumps(error))
    except Exception:
        copy = None
    return error if type(copy) is type(error) else RuntimeError(f"{type(error).__name__}: {error}")
