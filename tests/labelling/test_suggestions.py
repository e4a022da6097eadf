"""What to label next: the order, near duplicates, budgets, and the same scores with and without torch."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperspan.corpora.documents import document_of
from hyperspan.errors import InputError
from hyperspan.labelling.candidates import ALIKE, KEPT, PairIndex, Pool, Suggestion, similarity, word_pairs
from hyperspan.labelling.suggestions import OVERHEAD, measure, rank
from hyperspan.nn import load_model
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.folders import PRETRAINED
from hyperspan.runtime.loading import load
from hyperspan.types import NOTHING_ANNOTATED, Document, Mention, Sentence

TEXTS = [
    "The weather was fine. IL-2 gene expression requires NF-kappa B p50.",
    "IL-2 gene expression requires NF-kappa B p65.",
    "Jurkat T cells express c-Rel and the GM-CSF receptor alpha chain.",
    "",
    "We saw nothing.",
]
WORDS = st.lists(st.sampled_from(["a", "b", "c", "1", "22"]), min_size=1, max_size=6)
CANDIDATES = st.lists(st.tuples(WORDS, st.integers(0, 5)), max_size=30)


@pytest.fixture(scope="module")
def genia() -> Annotator:
    return load("genia")


def candidate(number: int, words: list[str], score: float) -> Suggestion:
    return Suggestion(number, 0, score, len(words), document_of([Sentence(words)]))


def pool_of(offered: list[tuple[list[str], int]], **limits: float | None) -> list[Suggestion]:
    pool = Pool(**limits)  # type: ignore[arg-type]
    for number, (words, score) in enumerate(offered):
        if pool.admits(score, len(words)):
            pool.offer(candidate(number, words, score))
    return list(pool.chosen())


@settings(max_examples=60, deadline=None)
@given(
    offered=CANDIDATES,
    count=st.none() | st.integers(1, 3),
    budget=st.none() | st.integers(1, 12),
)
def test_pool_chooses_the_best_without_near_duplicates(
    offered: list[tuple[list[str], int]], count: int | None, budget: int | None
) -> None:
    limits = {"count": count, "budget_words": budget}
    chosen = pool_of(offered, **limits)
    assert chosen == pool_of(offered, **limits)
    scores = [one.score for one in chosen]
    assert scores == sorted(scores, reverse=True)
    assert count is None or len(chosen) <= count
    assert budget is None or sum(one.words for one in chosen) <= budget
    pairs = [word_pairs(one.tokens) for one in chosen]
    assert all(similarity(a, b) < ALIKE for place, a in enumerate(pairs) for b in pairs[:place])
    affordable = [score for words, score in offered if budget is None or len(words) <= budget]
    assert scores[:1] == ([max(affordable)] if affordable else [])


@settings(max_examples=60, deadline=None)
@given(indexed=st.lists(WORDS, max_size=12), removed=st.integers(0, 3), asked=WORDS)
def test_pair_index_finds_all_near_duplicates(indexed: list[list[str]], removed: int, asked: list[str]) -> None:
    index, pairs = PairIndex(), word_pairs(asked)
    for number, words in enumerate(indexed):
        index.add(number, word_pairs(words))
    for number in range(min(removed, len(indexed))):
        index.remove(number)
    expected = {
        number
        for number, words in enumerate(indexed)
        if number >= removed and similarity(pairs, word_pairs(words)) >= ALIKE
    }
    assert set(index.alike(pairs)) == expected


def test_pool_keeps_few_of_many_and_still_the_best() -> None:
    pool = Pool(count=3)
    for number in range(1000):
        words = [f"{chr(97 + digit)}{place}" for place, digit in enumerate(map(int, f"{number:04}"))]
        pool.offer(candidate(number, [*words, f"x{chr(97 + number % 26)}{chr(97 + number // 26)}"], number * 7 % 1000))
        assert len(pool) <= 3 * KEPT
    assert [one.score for one in pool.chosen()] == [999, 998, 997]


def test_rank_gives_drafts_by_score_and_the_source_of_each(genia: Annotator) -> None:
    found = list(rank(genia, TEXTS))
    assert len(found) == 4  # one of the two nearly alike is left out
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    for one in found:
        source = one.draft.metadata["source"]
        assert one.draft.text == TEXTS[one.document][source["start"] : source["end"]]
        assert one.draft.annotated == NOTHING_ANNOTATED
        assert {m.text for m in one.draft.mentions} <= {m.text for m in genia(TEXTS[one.document]).mentions}
        assert all(0 < (mention.probability or 0) <= 1 for mention in one.draft.mentions)


def test_rank_leaves_out_what_is_labelled_and_takes_what_the_budget_buys(genia: Annotator) -> None:
    def places(found: list[Suggestion]) -> set[tuple[int, int | None]]:
        return {(one.document, one.sentence) for one in found}

    labelled = [
        Sentence("IL-2 gene expression requires NF-kappa B p52 .".split()),
        Sentence(["We", "saw", "nothing", "."]),
    ]
    tokens = genia.split(TEXTS[1]).sentences[0].tokens
    assert places(list(rank(genia, TEXTS, labelled=[Sentence(tokens), labelled[1]]))) == {(0, 0), (2, 0)}
    bought = list(rank(genia, TEXTS, count=None, budget_words=9))
    assert sum(one.words for one in bought) <= 9 and bought
    assert not {(2, 0)} & places(bought)


def test_rank_of_documents_adds_up_sentences(genia: Annotator) -> None:
    by_sentence = list(rank(genia, TEXTS[:1]))
    [whole] = rank(genia, TEXTS[:1], unit="document")
    assert (whole.sentence, whole.words) == (None, sum(one.words for one in by_sentence))
    total = sum(one.score * (one.words + OVERHEAD) for one in by_sentence)
    assert whole.score == pytest.approx(total / (whole.words + 2 * OVERHEAD))
    assert whole.draft.mentions == genia(TEXTS[0]).mentions


def test_rank_does_not_read_given_mentions(genia: Annotator) -> None:
    marked = Document(TEXTS[2], [Mention(0, 6, "zoo")], annotated=NOTHING_ANNOTATED)
    [one], [other] = rank(genia, [marked]), rank(genia, TEXTS[2:3])
    assert one.draft.mentions == other.draft.mentions and one.score == other.score


def test_scores_are_the_same_with_and_without_torch(genia: Annotator) -> None:
    sentences = [sentence for text in TEXTS for sentence in genia.split(text).sentences]
    light = measure(genia.model, sentences)
    heavy = measure(load_model(PRETRAINED / "genia"), sentences)
    for one, other in zip(light, heavy, strict=True):
        assert one == pytest.approx(other, rel=2e-5, abs=1e-6)


def test_rank_says_what_is_wrong(genia: Annotator) -> None:
    with pytest.raises(InputError, match="budget of words is 0"):
        list(rank(genia, TEXTS, budget_words=0))
    broken = Document("Ada left", sentences=[Sentence(["Ada", "left"])], id="x")
    with pytest.raises(InputError, match="document 'x'"):
        list(rank(genia, [broken]))
    failed: list[str] = []
    found = list(rank(genia, [broken, TEXTS[2]], on_error=lambda document, _: failed.append(document.id)))
    assert failed == ["x"] and [one.document for one in found] == [1]
