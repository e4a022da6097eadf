"""Messages between the processes of a bulk job: batches to compute, and the mentions found in them. Needs no torch."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from hyperspan.config import DiscontinuousConfig
from hyperspan.runtime.batches import RowOrder, WordArrays
from hyperspan.structures.mentions import MentionSet
from hyperspan.structures.places import Places
from hyperspan.text.tokens import Tokenizer
from hyperspan.types import Sentence

NOWHERE = Places(np.zeros((0, 4), dtype=np.int32), np.zeros(0, dtype=np.float32))
RankedSets = list[list[tuple[MentionSet, float]]]
"""The best mention sets of each sentence, with log-probabilities."""


@dataclass(frozen=True)
class ModelFacts:
    """The facts about a model that a process needs to prepare batches and use their results."""

    folder: str
    labels: tuple[str, ...]
    tokenizer: Tokenizer
    max_width: int | None
    context: int
    reads_tags: bool
    joins_documents: bool
    batch_entries: int
    names: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Its labels that mark names, and the types that they are names of."""
    discontinuous: DiscontinuousConfig | None = None
    """The discontinuous mentions it can find."""
    reads_ids: bool = False
    """Whether it takes batches as arrays of ids; otherwise as sentences."""
    reads_characters: bool = False
    """Whether the arrays include character ids."""


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
    """The best sets, if requested."""
    error: BaseException | None = None
    too_large: bool = False
    """Whether it did not fit into memory."""


class Computer(Protocol):
    """Computes batches one after the other; at most one request is pending."""

    def send(self, request: BatchRequest) -> None: ...

    def receive(self) -> Answer: ...


def portable(error: BaseException) -> BaseException:
    """The error, or an equivalent one if another process could not unpickle it."""
    try:
        copy: Any = pickle.loads(pickle.dumps(error))
    except Exception:
        copy = None
    return error if type(copy) is type(error) else RuntimeError(f"{type(error).__name__}: {error}")
