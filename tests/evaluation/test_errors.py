"""Differences between gold and predictions: each mention in one, with the right name and the model's exact
probability."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Set

import pytest
from attrs import evolve
from hypothesis import given

from hyperspan import load
from hyperspan.config import DiscontinuousConfig
from hyperspan.corpora.documents import by_characters, with_sentences
from hyperspan.corpora.source import Problems
from hyperspan.evaluation import evaluate_model, find_errors
from hyperspan.evaluation.error_kinds import DIFFERENCES, ModelLimits, mention_differences
from hyperspan.evaluation.errors import ErrorReport, error_lines
from hyperspan.evaluation.models import model_errors
from hyperspan.evaluation.set_probabilities import set_probabilities
from hyperspan.runtime.annotator import Annotator
from hyperspan.types import ANY_LABEL, NOTHING_ANNOTATED, AnnotationScope, Document, Mention, Sentence
from tests.evaluation.cases import any_sentences, sentence
from tests.support.coordination import TEXT as COORDINATED
from tests.support.coordination import coordination_annotator

LIMITS = ModelLimits(frozenset("AB"), max_width=5, contiguous=True)


def described(gold: str, predicted: str) -> list[str]:
    """The kinds of the differences between mentions like "0:3:A 1:2:B"."""
    truth, found = (sentence(*side.split()).mentions for side in (gold, predicted))
    return [one.kind for one in mention_differences(truth, found, LIMITS)]


@pytest.mark.parametrize(
    ("gold", "predicted", "kinds"),
    [
        ("0:3:A", "0:3:A", []),
        ("0:1:A", "", ["missed"]),
        ("", "0:1:A", ["spurious"]),
        ("0:4:A 1:2:A", "0:4:A", ["inner missed"]),
        ("1:2:A", "0:4:B", ["outer spurious", "inner missed"]),
        ("0:4:A 1:2:B", "1:2:B", ["outer missed"]),
        ("0:4:A", "0:4:A 1:2:B", ["inner spurious"]),
        ("0:2:A 0:2:B", "0:2:A", ["type missed"]),
        ("0:2:A", "0:2:A 0:2:B", ["type spurious"]),
        ("0:2:A", "0:2:B", ["wrong type"]),
        ("0:3:A", "1:3:A", ["wrong left boundary"]),
        ("0:3:A", "0:4:A", ["wrong right boundary"]),
        ("0:3:A", "1:4:A", ["wrong boundaries"]),
        ("0:4:A", "1:3:A", ["wrong boundaries"]),
        ("0:5:A", "1:2:A", ["outer missed", "inner spurious"]),
        ("0:3:A", "0:4:B", ["wrong type and boundary"]),
        ("0:2:A", "1:3:B", ["missed", "spurious"]),
        ("0:6:A", "", ["too wide"]),
        ("0:6:A", "0:5:A", ["too wide"]),
        ("0:2:C", "0:2:A", ["unknown type"]),
        ("0:3:A", "0:2:A 1:3:A", ["wrong right boundary", "inner spurious"]),  # each mention is in one difference
    ],
)
def test_differences_have_names(gold: str, predicted: str, kinds: list[str]) -> None:
    assert described(gold, predicted) == kinds
    assert set(kinds) <= DIFFERENCES.keys()


def test_gaps_have_names() -> None:
    gap = Mention(0, 4, "A", ((0, 1), (3, 4)))
    other = Mention(0, 4, "A", ((0, 2), (3, 4)))
    assert [one.kind for one in mention_differences({gap}, {other})] == ["wrong fragments"]
    assert [one.kind for one in mention_differences({gap}, set(), LIMITS)] == ["discontinuous"]


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([(0, 1), (3, 4)], None),
        ([(0, 1), (4, 5)], "gap too wide"),
        ([(0, 1), (2, 3), (4, 5)], "too many parts"),
        ([(0, 1), (2, 5)], "too wide"),
        ([(0, 6), (7, 8)], "too wide"),
    ],
)
def test_what_is_beyond_the_limits_of_gaps_has_a_name(parts: list[tuple[int, int]], reason: str | None) -> None:
    limits = ModelLimits(max_width=5, discontinuous=DiscontinuousConfig(parts=2, gap=2, later_width=2))
    assert limits.reason(Mention(parts[0][0], parts[-1][1], "A", parts)) == reason


@given(any_sentences(systems=3))
def test_every_missed_and_every_wrong_mention_is_in_one_difference(sides: tuple[list[Sentence], ...]) -> None:
    gold, a, b = sides
    for system in (a, b):
        report = find_errors(gold, system)
        missed = [one.gold for errors in report.errors for one in errors.differences if one.gold]
        wrong = [one.predicted for errors in report.errors for one in errors.differences if one.predicted]
        assert len(missed) == sum(len(t.mentions - f.mentions) for t, f in zip(gold, system, strict=True))
        assert len(wrong) == sum(len(f.mentions - t.mentions) for t, f in zip(gold, system, strict=True))
        for errors in report.errors:
            here = [one.gold for one in errors.differences if one.gold]
            assert set(here) == errors.gold.mentions - errors.systems[0] and len(here) == len(set(here))
        costs = [errors.cost for errors in report.errors]
        assert costs == sorted(costs, reverse=True)
        assert report.scores[0].gold - report.scores[0].correct == len(missed)
    assert not find_errors(gold, gold).errors
    both = find_errors(gold, a, b)
    for index, system in enumerate((a, b)):
        alone = sum(find_errors(gold, system).counts.values())
        assert alone == sum(index in one.systems for errors in both.errors for one in errors.differences)


def test_two_systems_are_judged_by_who_is_right() -> None:
    report = find_errors([sentence("0:2:A", "4:5:B")], [sentence("0:2:A", "6:7:B")], [sentence("0:3:A", "6:7:B")])
    [errors] = report.errors
    found = {(one.kind, one.systems, one.others_right) for one in errors.differences}
    assert found == {
        ("wrong right boundary", (1,), True),
        ("missed", (0, 1), False),
        ("spurious", (0, 1), False),
    }
    assert errors.cost == 2  # B's pair; what both have cancels out


def test_probabilities_of_gold_do_not_count() -> None:
    """Gold that was corrected by hand often still has those of the model that drafted it."""
    gold = Sentence(["Oz"], [Mention(0, 1, "GPE", probability=0.9)])
    missed = [Sentence(["Oz"])]
    for systems in ([missed], [missed, [gold]]):
        [errors] = find_errors([gold], *systems).errors
        [difference] = errors.differences
        assert difference.gold is not None and difference.gold.probability is None and errors.cost == 1.0


def test_unknown_candidates_are_no_errors() -> None:
    gold = evolve(sentence("0:2:A"), annotated=AnnotationScope(types=["A"]))
    report = find_errors([gold], [sentence("4:5:B", "6:7:A")])
    assert [one.kind for one in report.errors[0].differences] == ["missed", "spurious"]


def of_model(gold: Iterable[Document], annotator: Annotator | None = None) -> ErrorReport:
    annotator = annotator or load("genia")
    evaluated = evaluate_model(annotator, gold, samples=0)
    return model_errors(evaluated, annotator)


TEXT = "IL-2 activates Jurkat T cells. Nothing binds the GATA-1 promoter here."


def test_probabilities_are_those_of_the_model() -> None:
    document = load("genia")(TEXT, top_k=1, candidates=1e-9)
    gold = [Mention(0, 4, "protein"), Mention(15, 23, "cell_type"), Mention(31, 38, "protein")]
    report = of_model([Document(TEXT, gold, id="made up")])
    known = {(one.start, one.end, one.label): one.probability for one in document.candidates or ()}
    best = [math.log(one.sets[0].probability) for one in document.alternatives or ()]
    assert len(report.errors) == 2 and {errors.place.id for errors in report.errors} == {"made up"}
    for errors in report.errors:
        log_probability = best[errors.place.number - 1]
        assert errors.predicted_log_probability == pytest.approx(log_probability, abs=1e-5)
        assert errors.gold_log_probability is not None and errors.gold_log_probability < log_probability
        for one in errors.differences:
            if one.gold:
                start, end = errors.gold.offsets[one.gold.start][0], errors.gold.offsets[one.gold.end - 1][1]
                assert one.gold.probability == pytest.approx(known[start, end, one.gold.label], abs=1e-6)


def test_discontinuous_mentions_have_probabilities() -> None:
    annotator = coordination_annotator()
    left, far = (Mention(4, end, "ORGAN", [(4, 8), (start, end)]) for start, end in ((29, 33), (49, 54)))
    [errors] = of_model([Document(COORDINATED, [left, far])], annotator).errors[:1]
    kinds = {one.gold.parts: one.kind for one in errors.differences if one.gold is not None}
    assert kinds[(1, 2), (9, 10)] == "gap too wide" and kinds[(1, 2), (5, 6)] != "gap too wide"
    assert errors.gold_log_probability == -math.inf  # the model has no gaps as wide

    document = annotator(COORDINATED, candidates=0.001, top_k=1)
    report = of_model([Document(COORDINATED, [left])], annotator)
    [errors] = [one for one in report.errors if one.gold.mentions]
    assert document.alternatives is not None
    best = math.log(document.alternatives[0].sets[0].probability)
    assert errors.predicted_log_probability == pytest.approx(best, abs=1e-4)
    assert errors.gold_log_probability is not None and -math.inf < errors.gold_log_probability < best
    found = {one.parts: one.probability for one in document.sentences[0].mentions if one.fragments}
    wrong = [one.predicted for one in errors.differences if one.predicted is not None]
    assert {one.parts: one.probability for one in wrong if one.fragments} == pytest.approx(found)


def test_sentences_that_were_completed_have_the_probability_of_their_set() -> None:
    """They are annotated with all labels of the model; of others of their document one mention is sure."""
    document = load("genia")(TEXT)
    scopes = [AnnotationScope(load("genia").labels), NOTHING_ANNOTATED]
    blank = [
        evolve(sentence, mentions=[Mention(1, 2, "protein")], annotated=scope)
        for sentence, scope in zip(document.sentences, scopes, strict=True)
    ]
    report = of_model([Document(TEXT, sentences=blank, annotated=NOTHING_ANNOTATED)])
    done, sure = sorted(report.errors, key=lambda errors: errors.place.number)
    [judged] = set_probabilities(load("genia").model, [document.sentences[0]], [[done.gold.mentions]])
    assert done.gold_log_probability == pytest.approx(judged.sets[0], abs=1e-4)
    [mention] = sure.gold.mentions
    assert mention.probability and sure.gold_log_probability == pytest.approx(math.log(mention.probability), abs=1e-4)


def test_gold_inside_words_of_the_model_is_named_and_impossible() -> None:
    """The words of gold and model differ, so sentences are aligned by characters."""
    report = of_model([Document(TEXT, [Mention(0, 2, "protein"), Mention(25, 38, "cell_type")])])
    kinds = {one.kind for errors in report.errors for one in errors.differences}
    assert "not whole words" in kinds
    [joined] = report.errors  # the second mention crosses the end of the first sentence
    assert joined.gold_log_probability == -math.inf and joined.probability_ratio == math.inf
    predicted = load("genia")(TEXT, top_k=1).alternatives or ()
    assert joined.predicted_log_probability == pytest.approx(sum(math.log(s.sets[0].probability) for s in predicted))


@pytest.mark.parametrize("cut", [False, True])
def test_probabilities_of_partial_gold_are_those_of_all_sets_that_agree(cut: bool) -> None:
    text = TEXT[:30]
    scope, cells = AnnotationScope(["cell_line"], [(0, 30)]), Mention(15, 23, "cell_line")
    forbidden = [Mention(0, 4, ANY_LABEL), Mention(15, 29, "cell_type")]
    gold = Document(text, [cells], annotated=scope, forbidden=forbidden)
    sentences = with_sentences(Document(text), Problems()).sentences if cut else ()  # the model's words are shorter
    [errors] = of_model([evolve(gold, sentences=sentences)]).errors
    alternatives = load("genia")(Document(text, sentences=sentences), top_k=3000).alternatives
    assert alternatives is not None
    sets = [(one.probability, set(one.mentions)) for one in alternatives[0].sets]
    rest = 1 - math.fsum(probability for probability, _ in sets)
    found = {by_characters(one, errors.gold.offsets) for one in errors.systems[0]}

    def agree(wanted: Set[Mention]) -> float:
        """The probability of the sets that have these mentions of those that gold knows, and no others of them."""
        return math.fsum(p for p, mentions in sets if set(filter(gold.knows, mentions)) == wanted)

    assert rest < 0.01 and errors.gold.is_partial
    assert errors.gold_log_probability is not None and errors.predicted_log_probability is not None
    assert agree({cells}) > 10 * rest or agree(found) > 10 * rest
    for value, wanted in ((errors.gold_log_probability, {cells}), (errors.predicted_log_probability, found)):
        assert agree(wanted) - 1e-6 < math.exp(value) < agree(wanted) + rest + 1e-6


def test_records_are_json_with_the_same_differences() -> None:
    gold, predicted = sentence("0:6:A", "1:2:B"), sentence(Mention(0, 6, "A", probability=0.5), "3:4:C")
    [record] = map(json.loads, error_lines(find_errors([gold], [predicted]).errors))
    assert list(record) == [
        *("document", "sentence", "tokens", "cost", "gold", "predicted", "gold_probability", "gold_log_probability"),
        *("predicted_probability", "predicted_log_probability", "differences"),
    ]
    assert [one["kind"] for one in record["differences"]] == ["inner missed", "inner spurious"]
    assert record["predicted"][0] == {
        "start": 0,
        "end": 6,
        "label": "A",
        "text": "w0 w1 w2 w3 w4 w5",
        "probability": 0.5,
    }
    [both] = map(json.loads, error_lines(find_errors([gold], [predicted], [gold]).errors))
    assert {(*one["wrong"], *one["right"]) for one in both["differences"]} == {("a", "b")} and both["b"] == both["gold"]
