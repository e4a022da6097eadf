"""What a model can promise, from the annotated text that also calibrates it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from hyperspan.errors import InputError
from hyperspan.nn.recognizer import Recognizer
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.documents import SentencePrediction
from hyperspan.types import Sentence

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
