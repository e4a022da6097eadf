"""Scores by hand, against plain sets, against another scorer, and on a real corpus."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from nervaluate.evaluator import Evaluator

from hyperspan.corpora.documents import document_of
from hyperspan.corpora.formats import read_corpus
from hyperspan.corpora.overlaps import KINDS, overlaps, places, words_of
from hyperspan.corpora.statistics import statistics
from hyperspan.errors import InputError
from hyperspan.evaluation import Report, Score, evaluate
from hyperspan.evaluation.tables import report_sections
from hyperspan.types import Mention, Sentence
from tests.evaluation.cases import WORDS, any_sentences, sentence
from tests.support.data import data_path

GOLD = [
    sentence("0:4:A", "1:2:B", "0:2:A"),  # 1:2 in 0:2 in 0:4
    sentence("0:1:A", "3:5:B"),
    sentence(),
    sentence("0:3:A", "2:5:A", "6:8:B", "6:8:C"),
]
PREDICTED = [
    sentence("0:4:A", "1:2:C"),
    sentence("0:1:A", "3:5:B", "7:8:B"),
    sentence("1:2:A"),
    sentence("0:3:A", "6:8:B", "6:8:A"),
]


@pytest.fixture(scope="module")
def report() -> Report:
    return evaluate(GOLD, PREDICTED)


def test_evaluate_micro_macro_and_types_by_hand(report: Report) -> None:
    assert report.micro == Score(correct=5, predicted=9, gold=9)
    assert (report.micro.precision, report.micro.recall, report.micro.f1) == (5 / 9, 5 / 9, 5 / 9)
    assert report.per_type == {"A": Score(3, 5, 5), "B": Score(2, 3, 3), "C": Score(0, 1, 1)}
    assert report.macro.f1 == pytest.approx((3 / 5 + 2 / 3 + 0) / 3)


def test_evaluate_sentences_with_and_without_overlap_by_hand(report: Report) -> None:
    assert report.overlapping == Score(3, 5, 7) and report.non_overlapping == Score(2, 4, 2)
    assert report.counts["sentences_with_overlap"] == 2 and report.counts["sentences_without_overlap"] == 2


def test_evaluate_widths_by_hand(report: Report) -> None:
    assert list(report.by_width) == ["1", "2", "3", "4-6", "7-10", ">10"]
    assert report.by_width["1"] == Score(1, 4, 2) and report.by_width["2"] == Score(2, 3, 4)
    assert report.by_width["3"] == Score(1, 1, 2) and report.by_width["4-6"] == Score(1, 1, 1)
    long = [Sentence(map(str, range(20)), [Mention(0, width, "A") for width in (6, 7, 10, 11, 20)])]
    wide = evaluate(long, long).by_width
    assert [score.gold for score in wide.values()] == [0, 0, 0, 1, 2, 2]


def test_evaluate_depths_by_hand(report: Report) -> None:
    found = {depth: (part.correct, part.predicted, part.found, part.gold) for depth, part in report.by_depth.items()}
    assert found == {"1": (5, 8, 5, 7), "2": (0, 1, 0, 1), "3": (0, 0, 0, 1)}


def test_evaluate_kinds_of_overlap_by_hand(report: Report) -> None:
    found = {kind: (part.correct, part.predicted, part.found, part.gold) for kind, part in report.by_overlap.items()}
    assert found == {
        "none": (3, 5, 2, 2),
        "any": (2, 4, 3, 7),
        "inside": (0, 1, 0, 2),
        "contains": (1, 1, 1, 2),
        "crossing": (0, 0, 1, 2),
        "same_span": (1, 2, 1, 2),
        "same_type": (0, 0, 2, 4),
        "same_type_and_start": (0, 0, 1, 2),
    }
    assert list(found) == list(KINDS)


def test_evaluate_boundaries_and_confusions_by_hand(report: Report) -> None:
    assert report.boundaries == Score(correct=6, predicted=8, gold=8)
    assert report.confusions == {("B", "C"): 1, ("C", "A"): 1}
    both_wrong = evaluate([sentence("0:1:A", "0:1:B")], [sentence("0:1:C")])
    assert both_wrong.confusions == {("A", "C"): 1, ("B", "C"): 1}
    assert both_wrong.boundaries == Score(1, 1, 1)


def test_evaluate_counts_duplicates_once() -> None:
    doubled = [sentence("0:1:A", "0:1:A", "2:3:B")]
    found = evaluate(doubled, [sentence("0:1:A", "0:1:A", "0:1:A")])
    assert found.micro == Score(1, 1, 2) and found.overlapping == Score()
    assert (found.counts["gold_duplicates_removed"], found.counts["predicted_duplicates_removed"]) == (1, 2)


def test_evaluate_compares_discontinuous_mentions_by_fragments() -> None:
    fragments, whole = Mention(0, 4, "A", ((0, 1), (3, 4))), Mention(0, 4, "A")
    assert evaluate([sentence(fragments)], [sentence(whole)]).micro.f1 == 0
    assert evaluate([sentence(fragments)], [sentence(fragments)]).micro.f1 == 1
    assert not overlaps({fragments, Mention(1, 3, "A")})  # in the gap
    assert places({fragments, whole})[fragments].kinds == {"any", "inside", "same_type", "same_type_and_start"}
    assert evaluate([sentence(fragments)], [sentence(whole)]).boundaries.f1 == 0


def test_evaluate_scores_discontinuous_mentions_and_sentences_with_one_apart() -> None:
    two, three = Mention(0, 4, "A", ((0, 1), (3, 4))), Mention(0, 8, "A", ((0, 1), (2, 3), (7, 8)))
    wrong = Mention(0, 5, "A", ((0, 1), (3, 5)))
    gold = [sentence(two, three, "1:2:A"), sentence("0:1:B", "3:4:B"), sentence("0:1:A")]
    report = evaluate(gold, [sentence(two, wrong, "1:2:A"), sentence("0:1:B"), sentence(two)])
    assert report.discontinuous == Score(correct=1, predicted=3, gold=2)
    assert report.with_discontinuous == Score(2, 3, 3) and report.counts["sentences_with_discontinuous"] == 1
    assert report.by_parts == {"1": Score(2, 2, 4), "2": Score(1, 3, 1), "3": Score(0, 0, 1), ">3": Score()}
    assert report.by_gap["2"] == Score(1, 3, 1) and report.by_gap["3-4"] == Score(0, 0, 1)
    assert report.to_dict()["with_discontinuous"]["sentences"] == 1
    titles = [section.title for section in report_sections(report)]
    assert "By number of parts" in titles and ("discontinuous mentions", "33.33") in [
        row[:2] for row in next(report_sections(report)).rows
    ]
    assert "By number of parts" not in [section.title for section in report_sections(evaluate(GOLD, PREDICTED))]


def test_evaluate_scores_0_without_mentions() -> None:
    for gold, predicted in (([], []), ([sentence()], [sentence()])):
        found = evaluate(gold, predicted)
        assert (found.micro.precision, found.micro.recall, found.micro.f1, found.macro.f1) == (0, 0, 0, 0)
    assert evaluate([], []).confidence is None and evaluate(GOLD, GOLD, samples=0).confidence is None
    missed = evaluate([sentence("0:1:A")], [sentence()])
    assert (missed.micro.precision, missed.micro.recall) == (0, 0)


def test_evaluate_rejects_different_words() -> None:
    changed = Sentence(("w0", "x", *WORDS[2:]))
    with pytest.raises(InputError, match="word 2 of sentence 1 is 'w1' in gold but 'x' in the predictions"):
        evaluate([sentence()], [changed])
    with pytest.raises(InputError, match="word 9 of sentence 1 is missing in gold but 'more'"):
        evaluate([sentence()], [Sentence((*WORDS, "more"))])
    with pytest.raises(InputError, match="gold has 2 sentences, but the predictions have 1"):
        evaluate([sentence(), sentence()], [sentence()])


@given(any_sentences())
def test_evaluate_agrees_with_plain_sets(sentences: tuple[list[Sentence], ...]) -> None:
    gold, predicted = ({(i, m) for i, s in enumerate(side) for m in s.mentions} for side in sentences)
    report = evaluate(*sentences, samples=0)
    assert report.micro == Score(len(gold & predicted), len(predicted), len(gold))
    for label, score in report.per_type.items():
        ours, theirs = ({(i, m) for i, m in side if m.label == label} for side in (gold, predicted))
        assert score == Score(len(ours & theirs), len(theirs), len(ours))
    spans = [{(i, m.span, m.fragments) for i, m in side} for side in (gold, predicted)]
    assert report.boundaries == Score(len(spans[0] & spans[1]), len(spans[1]), len(spans[0]))


@given(any_sentences())
def test_evaluate_subsets_add_up_to_the_total(sentences: tuple[list[Sentence], ...]) -> None:
    report = evaluate(*sentences, samples=0)
    assert report.overlapping + report.non_overlapping == report.micro
    for parts in (report.per_type, report.by_width, report.by_parts):
        assert sum(parts.values(), Score()) == report.micro
    assert sum(report.by_gap.values(), report.by_parts["1"]) == report.micro
    assert report.by_parts["1"] + report.discontinuous == report.micro
    for parts in (list(report.by_depth.values()), [report.by_overlap["none"], report.by_overlap["any"]]):
        totals = [sum(getattr(part, name) for part in parts) for name in ("correct", "predicted", "found", "gold")]
        assert totals == [report.micro.correct, report.micro.predicted, report.micro.correct, report.micro.gold]


@given(any_sentences())
def test_evaluate_swaps_precision_and_recall_with_its_arguments(sentences: tuple[list[Sentence], ...]) -> None:
    one, other = evaluate(*sentences, samples=0), evaluate(*sentences[::-1], samples=0)
    assert (one.micro.precision, one.micro.recall, one.micro.f1) == (
        other.micro.recall,
        other.micro.precision,
        other.micro.f1,
    )
    for table in ("by_depth", "by_overlap"):
        ours, theirs = getattr(one, table), getattr(other, table)
        assert {k: p.precision for k, p in ours.items()} == {k: p.recall for k, p in theirs.items()}
    assert one.confusions == {pair[::-1]: times for pair, times in other.confusions.items()}


@given(any_sentences(systems=1))
def test_evaluate_scores_1_for_gold(sentences: tuple[list[Sentence], ...]) -> None:
    report = evaluate(sentences[0], sentences[0], samples=20)
    wanted = 1.0 if report.micro.gold else 0.0
    assert report.micro.f1 == report.boundaries.f1 == report.macro.f1 == wanted and not report.confusions
    assert all(part.precision == part.recall for part in (*report.by_depth.values(), *report.by_overlap.values()))


@given(any_sentences(systems=1, max_size=1))
def test_places_match_their_definitions(sentences: tuple[list[Sentence], ...]) -> None:
    """Compares each pair of mentions word by word."""
    for given_sentence in sentences[0]:
        mentions = given_sentence.mentions
        words = {m: {w for a, b in m.fragments or [m.span] for w in range(a, b)} for m in mentions}
        found = places(mentions)
        for mention in mentions:
            others = [other for other in mentions - {mention} if words[mention] & words[other]]
            same = [other for other in others if other.label == mention.label]
            holds = {
                "none": not others,
                "any": bool(others),
                "inside": any(words[mention] < words[other] for other in others),
                "contains": any(words[mention] > words[other] for other in others),
                "crossing": any(words[mention] - words[o] and words[o] - words[mention] for o in others),
                "same_span": any(words[mention] == words[other] for other in others),
                "same_type": bool(same),
                "same_type_and_start": any(other.start == mention.start for other in same),
            }
            assert found[mention].kinds == {kind for kind, is_so in holds.items() if is_so}
            assert found[mention].depth == _depth(words[mention], list(words.values()))
            assert words_of(mention).bit_count() == len(words[mention])
        assert overlaps(mentions) == any(words[a] & words[b] for a, b in combinations(mentions, 2))


@given(any_sentences(systems=1))
def test_evaluate_and_statistics_agree_on_overlap(sentences: tuple[list[Sentence], ...]) -> None:
    """A mention in the gap of a discontinuous one does not overlap it."""
    distinct = [sentence.with_mentions(sentence.mentions) for sentence in sentences[0]]
    counts = statistics(document_of([sentence]) for sentence in distinct)
    found = [places(sentence.mentions) for sentence in distinct]
    report = evaluate(distinct, distinct, samples=20)
    assert counts.sentences_with_overlap == report.counts["sentences_with_overlap"]
    for name, kind in (("overlapping", "any"), ("same_type", "same_type"), ("same_type_and_start",) * 2):
        assert getattr(counts, name) == sum(kind in place.kinds for one in found for place in one.values())
    assert (counts.crossing_pairs > 0) == any("crossing" in place.kinds for one in found for place in one.values())
    assert counts.depth == max((place.depth for one in found for place in one.values()), default=0)


def test_statistics_count_no_overlap_in_a_gap() -> None:
    apart = Mention(0, 4, "A", ((0, 1), (3, 4)))
    counts = statistics([document_of([sentence(apart, "1:3:A")])])
    assert (counts.overlapping, counts.sentences_with_overlap, counts.depth) == (0, 0, 1)
    counts = statistics([document_of([sentence(apart, "0:4:A", "3:5:B")])])
    assert (counts.overlapping, counts.crossing_pairs, counts.depth) == (3, 2, 2)


def test_statistics_count_mentions_on_the_same_words_as_equally_deep() -> None:
    both = sentence("0:4:A", "0:4:B", "1:2:A")
    assert statistics([document_of([both])]).depth == max(place.depth for place in places(both.mentions).values()) == 2


def _depth(words: set[int], among: list[set[int]]) -> int:
    return 1 + max((_depth(outer, among) for outer in among if outer > words), default=0)


@given(any_sentences())
def test_evaluate_agrees_with_another_scorer(sentences: tuple[list[Sentence], ...]) -> None:
    """nervaluate matches a gold mention with the first prediction that overlaps it, so correct ones come first here."""
    gold = [[m for m in s.mentions if not m.fragments] for s in sentences[0]]
    predicted = [
        sorted((m for m in s.mentions if not m.fragments), key=lambda m, right=right: m not in right)
        for s, right in zip(sentences[1], gold, strict=True)
    ]
    if not gold:  # nervaluate cannot score it
        return
    lists = [
        [[{"label": m.label, "start": m.start, "end": m.end - 1} for m in s] for s in side]
        for side in (gold, predicted)
    ]
    theirs = Evaluator(*lists, tags=["A", "B", "C"], loader="dict").evaluate()
    sides = ([Sentence(WORDS, mentions) for mentions in side] for side in (gold, predicted))
    ours = evaluate(*sides, samples=0)
    pairs = [(ours.micro, theirs["overall"]["strict"])]
    pairs += [(score, theirs["entities"][label]["strict"]) for label, score in ours.per_type.items()]
    for score, other in pairs:
        assert (score.correct, score.predicted, score.gold) == (other.correct, other.actual, other.possible)
        assert (score.precision, score.recall) == (other.precision, other.recall)
        assert score.f1 == pytest.approx(other.f1)


@pytest.mark.parametrize(("name", "with_overlap", "mentions"), [("test", 448, 5596), ("dev", 362, 5006)])
def test_evaluate_counts_genia_as_published(name: str, with_overlap: int, mentions: int) -> None:
    """The counts of `hyperspan view --stats`, but for duplicates, through which four more of dev overlap there."""
    listed = [sentence for document in read_corpus(data_path(f"genia/{name}.data")) for sentence in document.sentences]
    counted = statistics(document_of([sentence.with_mentions(sentence.mentions)]) for sentence in listed)
    report = evaluate(listed, listed, samples=10)
    assert report.counts["sentences_with_overlap"] == counted.sentences_with_overlap == with_overlap
    assert report.micro.gold == counted.mentions == mentions
    assert report.by_overlap["any"].gold == counted.overlapping
    assert report.by_overlap["same_type"].gold == counted.same_type
    assert report.by_overlap["same_type_and_start"].gold == counted.same_type_and_start
    assert report.by_overlap["crossing"].gold == counted.crossing_pairs == 0
    assert report.counts["words"] == counted.tokens and report.micro.f1 == 1
