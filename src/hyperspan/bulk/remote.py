"""An annotator whose model computes in another process: this one splits texts, makes batches and assembles documents.

Needs no torch.
"""

from __future__ import annotations

import time
import warnings
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from hyperspan.bulk.requests import Answer, BatchRequest, Computer, ModelFacts, RankedSets
from hyperspan.config import DiscontinuousConfig
from hyperspan.errors import CardWarning, InputError
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.batches import RowOrder, batches_by_length, word_arrays
from hyperspan.runtime.cards import ModelCard
from hyperspan.runtime.constraints import Constraints
from hyperspan.runtime.decoding import decode, first_alike
from hyperspan.runtime.documents import SentencePrediction
from hyperspan.runtime.options import DecodingOptions
from hyperspan.runtime.pronouns import leave_out_pronouns
from hyperspan.structures.mentions import MentionSets, NotSupportedError
from hyperspan.structures.places import Places
from hyperspan.text.vocabulary import Vocabulary
from hyperspan.types import Sentence

WINDOW = 80_000
"""The number of words read ahead for large batches."""


@dataclass
class Seconds:
    """The time a process has spent, by activity."""

    collating: float = 0.0
    waiting: float = 0.0
    total: float = 0.0
    cpu: float = 0.0
    """CPU time."""


class RemoteAnnotator(Annotator):
    """Find mentions with a model in another process."""

    def __init__(self, facts: ModelFacts, computer: Computer, **options: int) -> None:
        model: Any = facts
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CardWarning)  # the process with the model has warned
            super().__init__(model, card=ModelCard.read_or_warn(Path(facts.folder)), **options)
        self.facts, self.computer = facts, computer
        self.batch_entries = facts.batch_entries
        self.seconds = Seconds()

    def __repr__(self) -> str:
        return f"RemoteAnnotator(labels: {', '.join(self.labels)})"

    @property
    def discontinuous(self) -> DiscontinuousConfig | None:
        return self.facts.discontinuous

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary.load(Path(self.facts.folder))

    def find(
        self,
        sentences: Sequence[Sentence],
        options: DecodingOptions,
        constraints: Mapping[int, Constraints] | None = None,
    ) -> list[SentencePrediction]:
        if constraints or options.candidates is not None:
            raise InputError(
                "a bulk job returns mentions only, without candidates or constraints; use Annotator for these"
            )
        same = first_alike(sentences, {})
        lengths = [len(sentence) if same[index] == index else 0 for index, sentence in enumerate(sentences)]
        predictions: dict[int, SentencePrediction] = {}
        batches = deque(batches_by_length(lengths, self.facts.max_width, self.batch_entries))
        for batch, answer in self._answers(batches, sentences):
            distribution = AnsweredDistribution(answer, [lengths[index] for index in batch], len(self.facts.labels))
            predictions |= zip(batch, decode(distribution, self.facts.labels, options), strict=True)
        if not options.pronouns:
            predictions = leave_out_pronouns(predictions, sentences, {})
        nothing = SentencePrediction()
        return [predictions.get(index, nothing) for index in same]

    def _answers(self, batches: deque[list[int]], sentences: Sequence[Sentence]) -> Iterator[tuple[list[int], Answer]]:
        """Each batch with its answer. The next is made while one is computed; one that is too large is halved."""
        asked: list[int] | None = None
        try:
            while batches or asked is not None:
                batch = batches.popleft() if batches else None
                request = None if batch is None else self._request([sentences[index] for index in batch])
                if asked is not None:
                    done, asked = asked, None
                    answer = self._receive()
                    if answer.too_large and len(done) > 1:
                        half = len(done) // 2
                        batches.extendleft([done[half:], done[:half]])
                        self.batch_entries = max(self.batch_entries // 2, 1)
                    else:
                        yield done, _or_raise(answer)
                if request is not None:
                    self.computer.send(request)
                    asked = batch
        finally:
            if asked is not None:  # something else has failed
                self._receive()

    def _request(self, sentences: list[Sentence]) -> BatchRequest:
        if not self.facts.reads_ids:
            return BatchRequest(None, sentences)
        begun = time.perf_counter()
        order = RowOrder.of(sentences)
        words = word_arrays(sentences, order, self.vocabulary, characters=self.facts.reads_characters)
        self.seconds.collating += time.perf_counter() - begun
        return BatchRequest((order, words))

    def _receive(self) -> Answer:
        begun = time.perf_counter()
        answer = self.computer.receive()
        self.seconds.waiting += time.perf_counter() - begun
        return answer


def _or_raise(answer: Answer) -> Answer:
    if answer.too_large:
        raise MemoryError("there is not enough memory for one of its sentences")
    if answer.error is not None:
        raise answer.error
    return answer


class AnsweredDistribution:
    """The distribution interface that decoding needs, filled from the answer of the other process."""

    log_partition = None

    def __init__(self, answer: Answer, lengths: list[int], types: int):
        self.answer, self.lengths, self.types = answer, lengths, types

    def places(self, wanted: Sequence[Sequence[float] | None], certain: np.ndarray | None = None) -> list[Places]:
        return [self.answer.places for _ in wanted]

    def topk(self, k: int) -> RankedSets:
        return self.answer.sets or []

    def condition(self, require: MentionSets | None = None, forbid: MentionSets | None = None) -> Self:
        raise NotSupportedError("the other process has computed it already")

    def restrict(self, types: Sequence[int]) -> Self:
        return self
