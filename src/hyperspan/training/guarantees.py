"""What a model can promise, from the annotated text that also calibrates it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from attrs import evolve

from hyperspan.config import Config
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


def uncalibrated(config: Config) -> Config:
    """The configuration without calibration, which what is held out may have chosen."""
    neutral = {"temperatures": {}, "biases": {}, "discontinuous": 0.0}
    values = {f"calibration.{name}": value for name, value in neutral.items()}
    return config.with_values({"model.temperature": 1.0, **values})


class CrossFitted(Annotator):
    """Finds candidates in annotated sentences in an order that these did not choose: every other sentence is read with
    the calibration that `tune` chooses on the rest, beginning with the configuration `start`.

    Halves calibrate a little differently than all sentences do, which would shift thresholds. So the probabilities of a
    half are those of the model as it is, from the highest to the lowest: at each threshold, as many candidates are
    found as the model finds, which takes no annotation to know.
    """

    def __init__(self, model: Recognizer, annotated: Sequence[Sentence], tune: Tune, start: Config):
        super().__init__(model)
        self.recognizer, self.annotated, self.tune, self.start = model, annotated, tune, uncalibrated(start)

    def predictions(self, sentences: Iterable[Sentence], **options: Any) -> Iterator[SentencePrediction]:
        """The candidates of the sentences, which must be those that were given with their annotation."""
        given, config = list(sentences), self.recognizer.config
        if [one.tokens for one in given] != [one.tokens for one in self.annotated]:
            raise InputError(
                "the annotation does not leave its sentences as a model reads them; nothing can be promised"
            )
        found = list(super().predictions(given, **options))
        try:
            for half in (0, 1):
                if others := self.annotated[1 - half :: 2]:
                    self.recognizer.config = self.start
                    self.tune(self.recognizer, others)
                    found[half::2] = _rescaled(list(super().predictions(given[half::2], **options)), found[half::2])
        finally:
            self.recognizer.config = config
        return iter(found)


def _rescaled(found: Sequence[SentencePrediction], like: Sequence[SentencePrediction]) -> list[SentencePrediction]:
    """The candidates in their order, with the probabilities of others; the least probable are left out if there are
    fewer others."""
    own, others = (
        np.array([one.probability for each in some for one in each.candidates], dtype=float) for some in (found, like)
    )
    new = np.full(len(own), np.nan)
    least = min(len(own), len(others))
    new[(-own).argsort(kind="stable")[:least]] = np.sort(others)[::-1][:least]
    values = iter(new.tolist())
    pairs = [[(one, value) for one, value in zip(each.candidates, values, strict=False)] for each in found]
    return [SentencePrediction(candidates=[evolve(one, probability=p) for one, p in some if p == p]) for some in pairs]
