"""What to label next: the sentences or documents about which a model is most uncertain, without near duplicates.

Texts are read once. Only the most promising candidates are kept, so memory does not grow with the texts.
The uncertainty of a model about a sentence is computed from its distribution over mention sets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from numbers import Integral
from operator import attrgetter
from types import NoneType
from typing import Any, Literal, NamedTuple

import numpy as np
from attrs import evolve

from hyperspan.errors import InputError, check_kind
from hyperspan.labelling.candidates import Pool, Suggestion
from hyperspan.labelling.texts import cut_out, unlabelled
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.batches import batches_by_length
from hyperspan.runtime.decoding import InferenceModel, predict
from hyperspan.runtime.documents import assemble, windows
from hyperspan.structures.distribution import Distribution
from hyperspan.types import NOTHING_ANNOTATED, Document, Sentence, trusted_document

LEAST = 0.01
"""The minimum probability of mentions that count towards the expected errors."""
OVERHEAD = 5.0
"""The cost of starting a sentence, in words, in addition to its length."""


def expected_mistakes(distribution: Distribution[Any]) -> list[float]:
    """The expected number of wrong decisions: the sum of min(p, 1 - p) over all mentions."""
    [places] = distribution.places([[LEAST] * distribution.types])
    probability = places.probabilities.astype(np.float64)
    mistakes = np.minimum(probability, 1 - probability)
    return np.bincount(places.rows[:, 0], mistakes, minlength=len(distribution.lengths)).tolist()


def score(values: Sequence[float], words: int) -> float:
    """The score of sentences with these expected mistakes and this total number of words: mistakes divided by cost."""
    return math.fsum(values) / (words + OVERHEAD * len(values))


def measure(model: InferenceModel, sentences: Sequence[Sentence]) -> list[float]:
    """The expected mistakes in each sentence, computed in batches; 0 for one without words. Labels of names do not
    count."""
    values = [0.0] * len(sentences)
    shown = [kind for kind, label in enumerate(model.labels) if label not in model.names]
    for batch in batches_by_length([len(sentence) for sentence in sentences], model.max_width, model.batch_entries):
        with model.inference():
            distribution = model.distribution([sentences[index] for index in batch])
            found = expected_mistakes(distribution.restrict(shown) if model.names else distribution)
        for index, value in zip(batch, found, strict=True):
            values[index] = value
    return values


DEFAULT_COUNT = 100
UNITS = ("sentence", "document")
Unit = Literal["sentence", "document"]
OnError = Callable[[Document, InputError], None]


def rank(
    annotator: Annotator,
    documents: Iterable[str | Document],
    *,
    count: int | None = DEFAULT_COUNT,
    budget_words: int | None = None,
    unit: Unit = "sentence",
    labelled: Iterable[Sentence] = (),
    on_words: Callable[[int], None] | None = None,
    on_error: OnError | None = None,
) -> Iterator[Suggestion]:
    """Rank what to label next, the most useful first.

    At most `count` suggestions (None: no limit) with at most `budget_words` words in total. Near duplicates of better
    suggestions and of `labelled` texts are left out. `on_words` is called with the number of words
    processed, `on_error` with documents that cannot be processed; without it they are an error.

    >>> from hyperspan import load
    >>> texts = ["The weather was fine.", "The IL-2 promoter binds NF-kappa B p50 subunits."]
    >>> [(one.document, one.sentence) for one in rank(load("genia"), texts, count=1)]
    [(1, 0)]
    """
    for name, value in (("the number of suggestions", count), ("the budget of words", budget_words)):
        check_kind(name, value, Integral, NoneType)
        if value is not None and value < 1:
            raise InputError(f"{name} is {value}, but must be at least 1")
    if unit not in UNITS:
        raise InputError(f"the unit is {unit!r}, but must be one of {', '.join(UNITS)}")
    pool = Pool(count, budget_words)
    for sentence in labelled:
        pool.leave_out(sentence.tokens)
    places = _places(annotator, documents, on_error)
    measured = _measured(annotator, places, on_words)
    (_offer_sentences if unit == "sentence" else _offer_documents)(pool, measured)
    yield from _suggestions(annotator, pool.chosen())


class SentencePlace(NamedTuple):
    """A sentence of a document in the stream."""

    number: int
    """The index of the document."""
    document: Document
    index: int
    sentence: Sentence

    def cut_out(self) -> Document:
        """The sentence as a document with its origin as metadata."""
        offsets, name = self.sentence.offsets, self.document.id or str(self.number + 1)
        text, words = cut_out(self.document.text, self.sentence)
        source = {"document": name, "sentence": self.index + 1, "start": offsets[0][0], "end": offsets[-1][1]}
        return trusted_document(text, (), (words,), f"{name}-{self.index + 1}", {"source": source})


def _places(
    annotator: Annotator, documents: Iterable[str | Document], on_error: OnError | None
) -> Iterator[SentencePlace]:
    """All sentences with words, in order."""
    for number, given in enumerate(documents):
        document = Document(given) if isinstance(given, str) else given
        try:
            for index, sentence in enumerate(annotator.iter_sentences(document)):
                if sentence.tokens:
                    yield SentencePlace(number, document, index, sentence)
        except InputError as error:
            if on_error is None:
                raise
            on_error(document, error)


MeasuredPlace = tuple[SentencePlace, float]


def _measured(
    annotator: Annotator, places: Iterable[SentencePlace], on_words: Callable[[int], None] | None
) -> Iterator[MeasuredPlace]:
    """The sentences with the expected mistakes in each."""
    for window in windows(places, lambda place: len(place.sentence), annotator.window):
        values = measure(annotator.model, [place.sentence for place in window])
        if on_words is not None:
            on_words(sum(len(place.sentence) for place in window))
        yield from zip(window, values, strict=True)


def _offer_sentences(pool: Pool, measured: Iterable[MeasuredPlace]) -> None:
    for place, value in measured:
        words = len(place.sentence)
        found = score([value], words)
        if pool.admits(found, words):
            pool.offer(Suggestion(place.number, place.index, found, words, place.cut_out()))


def _offer_documents(pool: Pool, measured: Iterable[MeasuredPlace]) -> None:
    for number, group in groupby(measured, lambda pair: pair[0].number):
        places, values = zip(*group, strict=True)
        words = sum(len(place.sentence) for place in places)
        found = score(values, words)
        if pool.admits(found, words):
            sentences = [unlabelled(place.sentence) for place in places]
            document = places[0].document
            source = Document(document.text, (), sentences, document.id, document.metadata)
            pool.offer(Suggestion(number, None, found, words, source))


def _suggestions(annotator: Annotator, chosen: Iterable[Suggestion]) -> Iterator[Suggestion]:
    """The chosen candidates with the mentions that the model predicts."""
    options = annotator.options()
    for window in windows(chosen, attrgetter("words"), annotator.window):
        sentences = [sentence for candidate in window for sentence in candidate.draft.sentences]
        found = iter(predict(annotator.model, sentences, options))
        for candidate in window:
            predicted = assemble(candidate.draft, [next(found) for _ in candidate.draft.sentences], options)
            metadata = {**predicted.metadata, "score": candidate.score}
            yield replace(candidate, draft=evolve(predicted, metadata=metadata, annotated=NOTHING_ANNOTATED))
