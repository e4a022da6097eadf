"""What a model can promise, measured on text, and how a promise is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from hyperspan.errors import InputError
from hyperspan.evaluation.alignment import align
from hyperspan.evaluation.guarantees import kept_promises, measure_guarantees, summary
from hyperspan.evaluation.models import SentenceRecognizer
from hyperspan.runtime.documents import SentencePrediction
from hyperspan.runtime.guarantees import Guarantees
from hyperspan.types import AnnotationScope, Document, Mention, Sentence


class Certain(SentenceRecognizer):
    """Finds every word with an upper-case letter, with the probability 0.9, or 0.3 after a comma."""

    def predictions(
        self, sentences: Iterable[Sentence], *, threshold: float | None = None, candidates: float | None = None
    ) -> Iterator[SentencePrediction]:
        for sentence in sentences:
            found = [
                Mention(i, i + 1, "X", probability=0.3 if i and sentence.tokens[i - 1] == "," else 0.9)
                for i, word in enumerate(sentence.tokens)
                if word.istitle()
            ]
            yield SentencePrediction(found, candidates=found)


def document(text: str, *mentions: tuple[int, int], label: str = "X") -> Document:
    return Document(text, [Mention(*span, label) for span in mentions])


def measured(*documents: Document) -> Guarantees:
    return measure_guarantees(Certain(), documents, "made", ["X", "Y"])


def test_units_are_sentences_unless_there_are_enough_documents() -> None:
    one, two = document("Ada left.", (0, 3)), document("Ada left. Then Bob came.", (0, 3), (15, 18))
    assert measured(*[one] * 150).unit == "sentence"  # all of one sentence
    few = measured(*[two] * 99)
    assert (few.unit, few.curves["*"].units) == ("sentence", 198)
    many = measured(*[two] * 100)
    assert (many.unit, many.curves["*"].units) == ("document", 100)


def test_empty_texts_and_texts_without_gold_do_not_count_for_recall() -> None:
    given = measured(*[document("Ada left.", (0, 3))] * 30, *[document("No one left.")] * 40, *[document("")] * 5)
    assert given.curves["*"].units == 30 and set(given.curves) == {"*", "X"}
    assert [(row.label, row.units, row.price) for row in summary(given)] == [("*", 30, 1 / 31), ("X", 30, 1 / 31)]


def test_gold_that_no_candidate_matches_is_missed() -> None:
    given = measured(*[document("Ada and ada left.", (0, 3), (8, 11))] * 50)
    assert given.curves["X"].missed[0] == pytest.approx(0.5)
    with pytest.raises(InputError, match=r"50 sentences of made can promise at most 49%"):
        given.promise("recall", 0.9, ["X"])


def test_partial_annotation_judges_only_what_it_knows() -> None:
    sentence = Sentence(["Ada", ",", "Bob"], [Mention(0, 1, "X")], annotated=AnnotationScope(regions=[(0, 1)]))
    text = Document(
        "Ada , Bob", sentences=[Sentence(["Ada", ",", "Bob"], [Mention(0, 1, "X")], offsets=[(0, 3), (4, 5), (6, 9)])]
    )
    whole = measured(*[text] * 40).curves["X"]
    assert whole.wrong[0] == 0.5
    part = Document(
        "Ada , Bob",
        sentences=[
            Sentence(sentence.tokens, sentence.mentions, offsets=[(0, 3), (4, 5), (6, 9)], annotated=sentence.annotated)
        ],
    )
    assert measured(*[part] * 40).curves["X"].wrong[0] == 0


def test_text_without_labels_of_the_model_promises_nothing() -> None:
    with pytest.raises(InputError, match=r"made has no mention of X, Y; give annotated text"):
        measured(document("Ada left.", (0, 3), label="Z"))


def test_kept_promises_are_means_over_units_with_an_interval() -> None:
    promise = measured(*[document("Ada left.", (0, 3))] * 60).promise("recall", 0.95, ["X"])
    gold = [document("Ada left Bob.", (0, 3), (9, 12)), document("Ada left.", (0, 3)), document("Nobody.")]
    found = [document("Ada left Bob.", (0, 3)), document("Ada left.", (0, 3)), document("Nobody.", (0, 6))]
    [kept] = kept_promises(align(gold, found), promise)
    assert (kept.label, kept.promised, kept.achieved, kept.units) == ("*", 0.95, 0.75, 2)
    assert 0 < kept.interval[0] < 0.75 < kept.interval[1] <= 1
    right = measured(*[document("Ada left.", (0, 3))] * 60).promise("precision", 0.5, ["X"])
    [kept] = kept_promises(align(gold, found), right)
    assert kept.achieved == pytest.approx(2 / 3) and kept.units == 3
    [kept] = kept_promises(align([], []), promise)
    assert (kept.achieved, kept.interval) == (None, (0.0, 1.0))
