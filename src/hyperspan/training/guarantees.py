"""What a model can promise, from the annotated text that also calibrates it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from hyperspan.errors import InputError
from hyperspan.evaluation.alignment import Aligned, PlaceInCorpus
from hyperspan.evaluation.guarantees import guarantees_of
from hyperspan.nn.model import Model
from hyperspan.nn.recognizer import Recognizer
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.documents import SentencePrediction
from hyperspan.runtime.guarantees import LONGEST_NAME, Guarantees
from hyperspan.runtime.options import shown_labels
from hyperspan.structures.guarantees import LEAST
from hyperspan.types import Sentence


def measure_set_aside(model: Model, parts: Sequence[Sequence[Sentence]], data: str) -> Guarantees | None:
    """What a model can promise by documents that chose nothing of it; None if they are none, or its probabilities are
    not exact."""
    gold = [sentence for part in parts for sentence in part]
    labels = shown_labels(model.labels, model.names)
    if not isinstance(model, Recognizer) or not any(one.label in labels for each in gold for one in each.mentions):
        return None
    found = Annotator(model).predictions(gold, candidates=LEAST)
    system = [sentence.with_mentions(one.candidates) for sentence, one in zip(gold, found, strict=True)]
    places = [PlaceInCorpus(number) for number, part in enumerate(parts) for _ in part]
    return guarantees_of(Aligned(gold, (system,), places).where_known(), data[:LONGEST_NAME], labels)


Tune = Callable[[Recognizer, Sequence[Sentence]], object]
"""Chooses the calibration of a model on annotated sentences, as in its configuration."""


class CrossFitted(Annotator):
    """Finds mentions in annotated sentences with probabilities that these did not choose: every other sentence is read
    with what `tune` chooses on the rest. The model stays as it was."""

    def __init__(self, model: Recognizer, annotated: Sequence[Sentence], tune: Tune):
        super().__init__(model)
        self.recognizer, self.annotated, self.tune = model, annotated, tune

    def predictions(self, sentences: Iterable[Sentence], **options: Any) -> Iterator[SentencePrediction]:
        """What is found in the sentences, which must be those that were given with their annotation."""
        given, config = list(sentences), self.recognizer.config
        if [one.tokens for one in given] != [one.tokens for one in self.annotated]:
            raise InputError(
                "the annotation does not leave its sentences as a model reads them; nothing can be promised"
            )
        found = [SentencePrediction()] * len(given)
        try:
            for half in (0, 1):
                if others := self.annotated[1 - half :: 2]:
                    self.tune(self.recognizer, others)
                found[half::2] = super().predictions(given[half::2], **options)
                self.recognizer.config = config
        finally:
            self.recognizer.config = config
        return iter(found)
