"""Alignment of gold and predictions with different sentences and tokens."""

from __future__ import annotations

from typing import Any

import pytest
from attrs import evolve
from hypothesis import given

from hyperspan.corpora.documents import document_of
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError
from hyperspan.evaluation import Score, align, compare, evaluate
from hyperspan.evaluation.agreement import agreement
from hyperspan.types import Document, Mention, Sentence
from tests.evaluation.cases import any_sentences

TEXT = "The Seattle zoo opened. Nobody from Seattle came."
ZOO, CITY, AGAIN = Mention(0, 15, "FAC"), Mention(4, 11, "GPE"), Mention(36, 43, "GPE")


def texts_of(sentences: list[Sentence]) -> list[tuple[list[str], str]]:
    return [(sorted(map(s.text_of, s.mentions)), " ".join(s.tokens)) for s in sentences]


@given(any_sentences())
def test_align_ignores_how_sentences_are_grouped_into_documents(sentences: tuple[list[Sentence], ...]) -> None:
    gold, predicted = sentences
    alone = [document_of([s]) for s in gold]
    together = [document_of(predicted)] if predicted else []
    aligned = align(alone, together)
    assert [s.mentions for s in aligned.gold] == [s.mentions for s in gold]
    assert [s.mentions for s in aligned.systems[0]] == [s.mentions for s in predicted]


def test_align_compares_by_characters_without_sentences() -> None:
    aligned = align([Document(TEXT, [ZOO, CITY, AGAIN])], [Document(TEXT, [ZOO, Mention(36, 40, "GPE")])])
    assert texts_of(aligned.gold) == [
        (["Seattle", "The Seattle zoo"], "The Seattle zoo opened ."),
        (["Seat tle"], "Nobody from Seat tle came ."),
    ]
    assert texts_of(aligned.systems[0])[1][0] == ["Seat"]
    report = evaluate(aligned.gold, aligned.systems[0])
    assert (report.micro.correct, report.micro.predicted, report.micro.gold) == (1, 2, 3)
    assert report.overlapping.gold == 2 and report.counts["sentences_with_overlap"] == 1


def test_align_keeps_gold_sentences_if_all_mentions_fit() -> None:
    offsets = [(0, 3), (4, 11), (12, 15), (16, 22), (22, 23), (24, 30), (31, 35), (36, 43), (44, 48), (48, 49)]
    words = Sentence([TEXT[a:b] for a, b in offsets], [Mention(0, 3, "FAC")], offsets=offsets)  # one for both
    gold = Document(TEXT, [ZOO], [words])
    kept = align([gold], [Document(TEXT, [AGAIN])])
    assert [len(s) for s in kept.gold] == [10] and kept.systems[0][0].mentions == {Mention(7, 8, "GPE")}
    cut = align([gold], [Document(TEXT, [Mention(36, 40, "GPE")])])
    assert [len(s) for s in cut.gold] == [5, 6]


def test_align_gives_several_systems_the_same_sentences() -> None:
    crossing = Document(TEXT, [Mention(16, 43, "X")])
    aligned = align([Document(TEXT, [ZOO])], [Document(TEXT, [CITY])], [crossing])
    assert [len(side) for side in (aligned.gold, *aligned.systems)] == [1, 1, 1]


def test_align_strips_white_space_around_mentions() -> None:
    aligned = align([Document(TEXT, [CITY])], [Document(TEXT, [Mention(3, 12, "GPE")])])
    assert evaluate(aligned.gold, aligned.systems[0]).micro.f1 == 1


def test_align_matches_documents_by_id_or_by_order() -> None:
    one, two = Document("one", [Mention(0, 3, "A")], id="1"), Document("two", [Mention(0, 3, "B")], id="2")
    aligned = align([one, two], [two, one])
    assert evaluate(aligned.gold, aligned.systems[0]).micro.f1 == 1
    renamed = [evolve(document, sentences=(), id="x") for document in (one, two)]
    aligned = align([one, two], renamed)
    assert evaluate(aligned.gold, aligned.systems[0]).micro.f1 == 1
    with pytest.raises(InputError, match="differ at character 0 of document 1: 'one' in gold, 'two' in"):
        align([one, two], renamed[::-1])


@pytest.mark.parametrize(
    ("predicted", "message"),
    [
        ([Document(TEXT.replace("zoo", "Zoo"))], "differ at character 12 of document 1 (news): 'zoo opened. Nobody f"),
        ([Document(TEXT + "!")], "differ at character 49 of document 1 (news): '' in gold, '!' in the predictions"),
        ([Document(TEXT), Document("more")], "gold has 1 documents, but the predictions have 2"),
        ([], "gold has 1 documents, but the predictions have 0"),
    ],
)
def test_align_rejects_different_texts(predicted: list[Document], message: str) -> None:
    with pytest.raises(InputError) as caught:
        align([Document(TEXT, [ZOO], id="news")], predicted)
    assert message in str(caught.value)


def test_align_compares_mentions_outside_sentences_by_characters() -> None:
    offsets = [(0, 3), (4, 11), (12, 15)]
    partial = Document(TEXT, [AGAIN], [Sentence([TEXT[a:b] for a, b in offsets], offsets=offsets)])
    aligned = align([partial], [partial])
    assert evaluate(aligned.gold, aligned.systems[0]).micro.gold == 1


def test_align_reads_mentions_of_sentences_alone() -> None:
    offsets = [(0, 3), (4, 11), (12, 15), (16, 22)]
    sentence = Sentence([TEXT[a:b] for a, b in offsets], [Mention(1, 2, "GPE")], offsets=offsets)
    aligned = align([Document(TEXT, [CITY])], [Document(TEXT, [], [sentence])])
    assert evaluate(aligned.gold, aligned.systems[0]).micro.f1 == 1


def test_mentions_of_white_space_alone_do_not_stop_scores() -> None:
    """They are noted; signs without letters are words like others."""
    problems = Problems()
    gold = [Document("Ada   left --.", [Mention(0, 3, "PER"), Mention(4, 5, "PER"), Mention(11, 13, "SIGN")])]
    aligned = align(gold, gold, [Document(gold[0].text)], problems=problems)
    assert evaluate(aligned.gold, aligned.systems[0]).micro == Score(correct=2, predicted=2, gold=2)
    assert problems.notes["mention of white space alone left out of the scores"] == 2 and problems.skipped == []


def test_agreement_leaves_out_mentions_of_white_space_alone() -> None:
    text = "Ada   left."
    a = Document(text, [Mention(0, 3, "PER"), Mention(4, 5, "PER")])
    assert agreement([a], [Document(text, [Mention(0, 3, "PER")])]).mentions.f1 == 1


def test_documents_are_scored_as_sentences_are() -> None:
    text = "the Seattle zoo"
    gold, found = (Document(text, [Mention(4, 11, label)]) for label in ("GPE", "PER"))
    assert evaluate([gold, gold], [gold, found]).micro == Score(correct=1, predicted=2, gold=2)
    assert compare([gold], [found], [gold]).f1.difference == 1
    assert evaluate([], []).micro == Score()


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        (["a text"], "'a text' cannot be scored here; give lists of Sentences"),
        ([Document("a")], "cannot be scored here; give lists of Sentences"),
        (Document("a"), "put it into a list"),
    ],
)
def test_what_cannot_be_scored_is_said(gold: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(gold, [Sentence(["a"])])
