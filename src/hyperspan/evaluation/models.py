"""Score a model on annotated documents, whose mentions it does not see, with its speed and calibration."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from attrs import evolve

from hyperspan.corpora.documents import by_characters, texts, with_context, with_sentences
from hyperspan.corpora.source import Problems
from hyperspan.evaluation.alignment import Aligned, align
from hyperspan.evaluation.calibration import calibration_of
from hyperspan.evaluation.scores import Report, evaluate
from hyperspan.text.tokenize import WORDS, Tokenizer
from hyperspan.types import Document, Mention, Sentence

if TYPE_CHECKING:
    from hyperspan.runtime.annotator import Annotator

CANDIDATE_THRESHOLD = 0.01
"""Calibration is measured on the mentions with at least this probability."""


class SentenceRecognizer(Protocol):
    """A model that can be scored.

    Use :class:`hyperspan.runtime.annotator.Annotator`, or a subclass of this with `recognize`.
    """

    @property
    def context(self) -> int:
        """The number of words of context that the model reads before and after each sentence."""
        return 0

    @property
    def joins_documents(self) -> bool:
        """Whether consecutive documents of one sentence form one text."""
        return False

    @property
    def reads_tags(self) -> bool:
        """Whether the model reads part-of-speech tags."""
        return False

    @property
    def tokenizer(self) -> Tokenizer:
        """How the model reads raw text."""
        return WORDS

    def recognize(self, sentences: Iterable[Sentence], *, threshold: float | None = None) -> Iterator[Sentence]:
        """The sentences with their most probable mention sets, or with all mentions of at least this probability."""
        ...


@dataclass(frozen=True)
class RecognizerOptions:
    """An annotator with options: it finds names alone, or leaves out pronouns."""

    annotator: Annotator
    names: bool = False
    pronouns: bool = True

    @property
    def context(self) -> int:
        return self.annotator.context

    @property
    def joins_documents(self) -> bool:
        return self.annotator.joins_documents

    @property
    def reads_tags(self) -> bool:
        return self.annotator.reads_tags

    @property
    def tokenizer(self) -> Tokenizer:
        return self.annotator.tokenizer

    def recognize(self, sentences: Iterable[Sentence], *, threshold: float | None = None) -> Iterator[Sentence]:
        """The sentences with the mentions that the annotator finds under these options."""
        return self.annotator.recognize(sentences, threshold=threshold, names=self.names, pronouns=self.pronouns)


@dataclass(frozen=True)
class Evaluated:
    """The scores of a model, the documents with its mentions, and the aligned sentences that were scored."""

    report: Report
    documents: list[Document]
    aligned: Aligned


def evaluate_model(
    model: SentenceRecognizer,
    gold: Iterable[Document],
    *,
    threshold: float | None = None,
    samples: int = 1000,
    seed: int = 0,
    tokenizer: Tokenizer | None = None,
    labels: Iterable[str] | None = None,
    problems: Problems | None = None,
    on_words: Callable[[int], None] | None = None,
) -> Evaluated:
    """Recognise mentions in the texts of gold documents and score them.

    The model sees words and tags only. Documents without sentences are first split by the tokenizer of the model, or by
    another `tokenizer`, which does not see the gold mentions; `align` then compares by characters. With `labels`, only
    mentions with these labels are scored, for a corpus that does not annotate all labels of the model; the documents
    keep all mentions found. `on_words` is called with the number of words of each sentence read.

    >>> from hyperspan.types import Document, Mention
    >>> class Capitals(SentenceRecognizer):
    ...     def recognize(self, sentences, *, threshold=None):
    ...         for sentence in sentences:
    ...             found = [i for i, word in enumerate(sentence.tokens) if word.istitle()]
    ...             yield Sentence(sentence.tokens, [Mention(i, i + 1, "GPE", probability=0.7) for i in found])
    >>> gold = [Document("the Seattle zoo", [Mention(0, 15, "FAC"), Mention(4, 11, "GPE")])]
    >>> evaluate_model(Capitals(), gold).report.micro
    Score(correct=1, predicted=1, gold=2)
    """
    problems = problems if problems is not None else Problems()
    annotated = list(gold)
    cut = model.tokenizer if tokenizer is None else tokenizer
    blank = [_without_mentions(document, cut, problems) for document in annotated]
    words = sum(len(sentence) for document in blank for sentence in document.sentences)
    untagged = sum(len(sentence) > 0 and not sentence.tags for document in blank for sentence in document.sentences)
    if untagged and model.reads_tags:
        problems.note(
            "sentence without the part-of-speech tags that the model was trained with; expect lower scores", untagged
        )
    start = time.perf_counter()
    predicted = _recognized(model, blank, threshold, on_words)
    seconds = time.perf_counter() - start
    candidates = _recognized(model, blank, CANDIDATE_THRESHOLD, on_words)
    aligned = align(annotated, predicted, candidates, problems=problems)
    aligned = aligned if labels is None else aligned.with_labels(labels)
    report = evaluate(aligned.gold, aligned.systems[0], samples=samples, seed=seed)
    calibrated = calibration_of(aligned.gold, aligned.systems[1])
    report = replace(
        report,
        calibration=report.calibration | ({"candidates": calibrated} if calibrated else {}),
        words_per_second=words / seconds if seconds else None,
    )
    return Evaluated(report, predicted, Aligned(aligned.gold, aligned.systems[:1], aligned.places))


def _without_mentions(document: Document, tokenizer: Tokenizer, problems: Problems) -> Document:
    unmarked: dict[str, Any] = {"mentions": (), "annotated": None, "forbidden": ()}
    sentences = [evolve(sentence, duplicates=(), **unmarked) for sentence in document.sentences]
    return with_sentences(evolve(document, sentences=sentences, **unmarked), problems, tokenizer)


def _recognized(
    model: SentenceRecognizer,
    documents: Sequence[Document],
    threshold: float | None,
    on_words: Callable[[int], None] | None,
) -> list[Document]:
    """The documents with the mentions that the model finds."""

    def counted(found: Iterable[Sentence]) -> Iterator[Sentence]:
        for sentence in found:
            if on_words is not None:  # first, as nobody asks what comes after the last sentence
                on_words(len(sentence))
            yield sentence

    found = counted(model.recognize(sentences_read(model, documents), threshold=threshold))
    return [_with_mentions(document, itertools.islice(found, len(document.sentences))) for document in documents]


def sentences_read(model: SentenceRecognizer, documents: Sequence[Document]) -> Iterator[Sentence]:
    """All sentences of the documents with the context that the model reads."""
    given = texts((document.sentences for document in documents), model.joins_documents)
    return (sentence for text in given for sentence in with_context(text, model.context))


def _with_mentions(document: Document, found: Iterable[Sentence]) -> Document:
    sentences: list[Sentence] = []
    mentions: list[Mention] = []
    for given, annotated in zip(document.sentences, found, strict=True):
        sentences.append(given.with_mentions(annotated.mentions))
        if given.offsets:
            mentions += [by_characters(mention, given.offsets) for mention in annotated.mentions]
    return evolve(document, mentions=mentions, sentences=sentences)
