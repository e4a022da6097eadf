"""Scoring a model: it sees no gold, and all its predictions count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import pytest
from attrs import evolve

from hyperspan.corpora.documents import document_of
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError
from hyperspan.evaluation import Score, evaluate, evaluate_model
from hyperspan.evaluation.models import CANDIDATE_THRESHOLD, SentenceRecognizer
from hyperspan.runtime.documents import SentencePrediction
from hyperspan.runtime.loading import load
from hyperspan.text.tokens import Tokenizer
from hyperspan.types import Document, Mention, Sentence

TEXT = "The Seattle zoo opened. Nobody from Seattle came."


class Capitals(SentenceRecognizer):
    """Finds capitalised words, more of them at a lower threshold."""

    def __init__(self) -> None:
        self.seen: list[Sentence] = []
        self.thresholds: list[tuple[float | None, float | None]] = []

    def predictions(
        self, sentences: Iterable[Sentence], *, threshold: float | None = None, candidates: float | None = None
    ) -> Iterator[SentencePrediction]:
        self.thresholds.append((threshold, candidates))
        for given in sentences:
            self.seen.append(given)
            chances = [0.9 if word == "Seattle" else 0.2 if word.istitle() else 0.0 for word in given.tokens]
            found = [
                [Mention(i, i + 1, "GPE", probability=p) for i, p in enumerate(chances) if p >= least]
                for least in (threshold or 0.5, candidates or 0.5)
            ]
            yield SentencePrediction(found[0], candidates=found[1])


class TwoLabels(Capitals):
    """Takes every city for a person too."""

    def predictions(
        self, sentences: Iterable[Sentence], *, threshold: float | None = None, candidates: float | None = None
    ) -> Iterator[SentencePrediction]:
        for one in super().predictions(sentences, threshold=threshold, candidates=candidates):
            for mentions in (one.mentions, one.candidates):
                mentions += [evolve(mention, label="PER") for mention in mentions]
            yield one


def test_evaluate_model_splits_raw_text_without_gold() -> None:
    model = Capitals()
    gold = Document(TEXT, [Mention(0, 15, "FAC"), Mention(4, 7, "GPE"), Mention(36, 43, "GPE")], id="news")
    found = evaluate_model(model, [gold])
    assert all("Seattle" in given.tokens and not given.mentions for given in model.seen)
    score = found.report.micro
    assert (score.correct, score.predicted, score.gold) == (1, 2, 3)
    assert model.thresholds == [(None, CANDIDATE_THRESHOLD)]
    assert found.report.words_per_second is not None and found.report.words_per_second > 0
    (document,) = found.documents
    assert (document.text, document.id) == (TEXT, "news")
    assert sorted((m.start, m.end, m.text, m.probability) for m in document.mentions) == [
        (4, 11, "Seattle", 0.9),
        (36, 43, "Seattle", 0.9),
    ]


def test_evaluate_model_splits_raw_text_as_the_model_was_trained() -> None:
    """Unless another tokenizer is given."""
    annotator = load("genia")
    gold = [Document("NF-kappa B/Rel binds.", [Mention(0, 10, "protein")])]
    for pronouns in (True, False):
        [document] = evaluate_model(annotator, gold, samples=0, pronouns=pronouns).documents
        assert document.sentences[0].tokens == ("NF", "-", "kappa", "B", "/", "Rel", "binds", ".")
    [document] = evaluate_model(annotator, gold, samples=0, tokenizer=Tokenizer("words")).documents
    assert document.sentences[0].tokens == ("NF-kappa", "B", "/", "Rel", "binds", ".")


def test_evaluate_model_calibrates_candidates_and_predictions() -> None:
    gold = [document_of([Sentence(["The", "Seattle", "zoo"], [Mention(1, 2, "GPE")], tags=["DT", "NNP", "NN"])])]
    model = Capitals()
    report = evaluate_model(model, gold).report
    assert {name: found.count for name, found in report.calibration.items()} == {"predicted": 1, "candidates": 2}
    assert model.seen[0].tags == ("DT", "NNP", "NN")
    lower = evaluate_model(Capitals(), gold, threshold=0.1).report
    assert (lower.micro.correct, lower.micro.predicted) == (1, 2)


def test_evaluate_model_scores_only_some_labels() -> None:
    """As if neither the model nor gold had the others, also in calibration; words are those of the same sentences."""
    gold = [Document(TEXT, [Mention(0, 15, "FAC"), Mention(4, 7, "GPE"), Mention(36, 43, "GPE")])]
    every = evaluate_model(TwoLabels(), gold)
    assert every.report.micro == Score(correct=1, predicted=4, gold=3)
    found = evaluate_model(TwoLabels(), gold, labels=["GPE"])
    assert found.documents == every.documents and found.report.counts["words"] == every.report.counts["words"]
    alone = evaluate_model(Capitals(), [Document(TEXT, [Mention(4, 7, "GPE"), Mention(36, 43, "GPE")])])
    assert replace(found.report, words_per_second=None) == replace(alone.report, words_per_second=None)
    with pytest.raises(InputError, match=r"write \['GPE'\]"):
        evaluate_model(TwoLabels(), gold, labels="GPE")


def test_evaluate_model_notes_missing_tags() -> None:
    class ReadsTags(Capitals):
        @property
        def reads_tags(self) -> bool:
            return True

    tagged = document_of([Sentence(["Seattle"], [Mention(0, 1, "GPE")], tags=["NNP"])])
    problems = Problems()
    evaluate_model(ReadsTags(), [tagged], problems=problems)
    evaluate_model(Capitals(), [Document(TEXT)], problems=problems)
    assert problems.notes == {}
    evaluate_model(ReadsTags(), [tagged, Document(TEXT)], problems=problems)
    [(note, times)] = problems.notes.items()
    assert note.startswith("sentence without the part-of-speech tags that the model was trained with") and times == 2


def test_evaluate_model_keeps_tokenised_sentences() -> None:
    """Also without offsets."""
    words = ["Nobody", "in", "Seattle"]
    placed = document_of(
        [Sentence(words, [Mention(2, 3, "GPE")]), Sentence(()), Sentence(words, [Mention(0, 1, "PER")])]
    )
    unplaced = Document("elsewhere", (), [evolve(sentence, offsets=()) for sentence in placed.sentences])
    for gold in (placed, unplaced):
        found = evaluate_model(Capitals(), [gold], samples=0)
        assert found.report.micro == Score(correct=1, predicted=2, gold=2) and found.report.counts["sentences"] == 3
        assert found.report.micro == evaluate(gold.sentences, found.documents[0].sentences).micro


def test_evaluate_model_says_how_many_words_it_has_read() -> None:
    """Also of the last sentence of a document."""
    read: list[int] = []
    evaluate_model(Capitals(), [Document("The Seattle zoo opened. Nobody came.")], on_words=read.append)
    assert read == [5, 3]


def test_evaluate_model_reads_each_sentence_once() -> None:
    model = Capitals()
    [document] = evaluate_model(model, [Document(TEXT)]).documents
    assert len(model.seen) == len(document.sentences)
