"""Segments and pairs of them: what is joined, and what the two steps answer together."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hyperspan.baselines.joined import (
    FoundPairs,
    JoinClassifier,
    PartCandidates,
    joined_mentions,
    pairs_of,
    segments_of,
)
from hyperspan.config import Config
from hyperspan.nn import new_model
from hyperspan.runtime.annotator import Annotator
from hyperspan.structures.mentions import Limits
from hyperspan.types import Mention, Sentence
from tests.support.models import learn, loss_of

LIMITS = Limits(parts=3, width=9, gap=5, later_width=3)
SMALL = ["words.dimension=8", "encoder.hidden=8", "encoder.span_hidden=8", "model.kind=joined", "discontinuous.parts=3"]


def mention_of(*parts: tuple[int, int]) -> tuple[int, int, int, tuple[tuple[int, int], ...]]:
    return parts[0][0], parts[-1][1], 0, parts


def joined(mentions: set[object], limits: Limits = LIMITS) -> set[object]:
    """What certain answers about the pairs of these mentions lead to."""
    return set(joined_mentions({pair: 1.0 for _, pair in pairs_of(mentions)}, 0, limits))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "mentions",
    [
        {mention_of((0, 1), (3, 5))},
        {mention_of((0, 1), (6, 7)), mention_of((2, 3), (6, 7)), mention_of((4, 5), (6, 7))},
        {mention_of((0, 1), (6, 7)), mention_of((0, 1), (2, 3))},
        {mention_of((0, 1), (3, 4), (8, 9))},
        {mention_of((0, 1), (3, 4), (8, 9)), mention_of((6, 7), (8, 9))},
    ],
)
def test_joining_gives_back_mentions_none_of_which_is_within_another(mentions: set[object]) -> None:
    assert joined(mentions) == mentions


def test_joining_needs_all_pairs_of_a_mention() -> None:
    a, b, c = (0, 1), (2, 3), (4, 5)
    assert set(joined_mentions({(a, b): 0.9, (b, c): 0.9}, 0, LIMITS)) == {mention_of(a, b), mention_of(b, c)}


@pytest.mark.parametrize(
    ("mention", "limits"),
    [
        (mention_of((0, 1), (7, 8)), LIMITS),
        (mention_of((0, 1), (3, 7)), LIMITS),
        (mention_of((0, 1), (2, 3), (4, 5)), LIMITS._replace(parts=2)),
    ],
)
def test_joining_keeps_to_the_limits(mention: object, limits: Limits) -> None:
    assert mention not in joined({mention}, limits)


spans = st.integers(0, 8).flatmap(lambda start: st.tuples(st.just(start), st.integers(start + 1, 9)))


@given(st.sets(st.tuples(spans, spans).filter(lambda pair: pair[0][1] < pair[1][0]), max_size=8))
def test_joining_finds_the_largest_sets_of_parts_that_are_all_joined(pairs: set[object]) -> None:
    wide = Limits(parts=3, width=9, gap=9, later_width=9)
    segments = sorted({segment for pair in pairs for segment in pair})  # type: ignore[attr-defined]
    cliques = [
        set(chosen)
        for size in (2, 3)
        for chosen in itertools.combinations(segments, size)
        if all(pair in pairs for pair in itertools.combinations(chosen, 2))
    ]
    largest = {mention_of(*sorted(one)) for one in cliques if not any(one < other for other in cliques)}
    assert set(joined_mentions(dict.fromkeys(pairs, 0.5), 0, wide)) == largest  # type: ignore[arg-type]


def test_segments_of_parts_have_types_of_their_own() -> None:
    assert segments_of({(0, 3, 1), (0, 6, 1, ((0, 3), (5, 6)))}, types=2) == {(0, 3, 1), (0, 3, 3), (5, 6, 3)}


def test_candidates_are_paired_within_reach_and_type() -> None:
    probabilities = torch.zeros(1, 8, 2, 2)
    for start, width, kind, value in ((0, 0, 0, 0.9), (2, 1, 0, 0.8), (6, 0, 0, 0.7), (6, 0, 1, 0.6), (4, 0, 0, 0.01)):
        probabilities[0, start, width, kind] = value
    found = PartCandidates.of(probabilities, count=5)
    starts = found.start[0]
    pairs = {(int(starts[one]), int(starts[other])) for _, one, other in found.pairs(reach=3, least=0.05).T}
    assert pairs == {(0, 2), (2, 6)}


def test_the_loss_of_joining_falls_with_the_scores_of_gold_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    sentences = [
        Sentence(["left", "and", "right", "ventricle"], [Mention(0, 4, "A", ((0, 1), (3, 4))), Mention(2, 4, "A")])
    ]
    model = new_model(Config().override(SMALL), sentences).eval()
    seen: list[tuple[int, int]] = []

    def scores(_: JoinClassifier, found: PartCandidates, pairs: torch.Tensor, vectors: object) -> torch.Tensor:
        spans = [
            [(int(found.start[b, place]), int(found.width[b, place])) for place in (one, other)]
            for b, one, other in pairs.T
        ]
        seen.append((len(spans), spans.count([(0, 0), (3, 0)])))
        return torch.tensor([50.0 if pair == [(0, 0), (3, 0)] else -50.0 for pair in spans])

    before = loss_of(model, sentences).sum().item()
    monkeypatch.setattr(JoinClassifier, "forward", scores)
    after = loss_of(model, sentences).sum().item()
    assert seen[0][0] > 1 and seen[0][1] == 1
    assert after < before


def test_found_pairs_are_mentions_above_the_threshold_and_probabilities_are_of_both_steps() -> None:
    sentences = [Sentence(["a", "b", "c", "d"], [Mention(0, 1, "A")]), Sentence(["e"])]
    model = new_model(Config().override(SMALL), sentences).eval()
    with torch.inference_mode():
        found: FoundPairs = model._found(sentences)  # type: ignore[attr-defined]
        some = found._replace(
            pairs=torch.tensor([[0, 0, 0, 2, 0, 0], [0, 0, 0, 3, 0, 0]]).numpy(),
            probabilities=torch.tensor([0.8, 0.3]).numpy(),
        )
        best, wider = some.at(0.5), some.at(0.2)
        assert (0, 3, 0, ((0, 1), (2, 3))) in best.argmax()[0]
        assert len(wider.argmax()[0]) == len(best.argmax()[0]) + 1
        alone = found.contiguous.log_prob(found.contiguous.argmax()).tolist()
        ((_, first),), ((_, second),) = best.topk(1)
        assert first == pytest.approx(alone[0] + math.log(0.8 * 0.7), rel=1e-5) and second == pytest.approx(alone[1])
        (places,) = best.restrict([0]).places([[0.75]])
        assert [part for part in places.parts if part] == [((0, 1), (2, 3))]


def test_a_joined_model_annotates_discontinuous_mentions() -> None:
    sentences = [Sentence(["left", "and", "right", "ventricle"], [Mention(0, 4, "A", ((0, 1), (3, 4)))])] * 4
    changes = ["training.learning_rate=0.02", "encoder.input_dropout=0", "words.word_dropout=0"]
    model = learn(new_model(Config().override([*SMALL, *changes]), sentences), sentences, 25)
    (found,) = Annotator(model.for_inference()).recognize(sentences[:1])
    assert [(mention.start, mention.end, mention.fragments) for mention in found.mentions] == [(0, 4, ((0, 1), (3, 4)))]
