"""The span classifier: its codes are those of the definition, its answers those of independent spans."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from hyperspan.baselines import fofe
from hyperspan.baselines.fofe import Codes, Fofe, IndependentSpans, character_codes, forgetting
from hyperspan.baselines.katiyar_cardie import KatiyarCardie
from hyperspan.config import Config
from hyperspan.nn import Spans, new_model
from hyperspan.runtime.annotator import Annotator
from hyperspan.training.loop import Run, Trainer, dev_scores
from hyperspan.training.loss import TrainingLoss
from hyperspan.training.tuning import best_value, tune
from hyperspan.types import Mention, Sentence
from tests.support.models import SMALL, corpus

rates = st.sampled_from([0.0, 0.3, 0.5, 0.8, 1.0])


def code(vectors: list[Tensor], forget: float, size: int) -> Tensor:
    """z_t = α z_{t-1} + e_t, as it is defined."""
    z = torch.zeros(size, dtype=torch.float64)
    for vector in vectors:
        z = forget * z + vector
    return z


@given(st.lists(st.integers(0, 7), min_size=1, max_size=4).filter(any), rates, rates, st.integers(0, 2**31))
@settings(deadline=None, max_examples=25)
def test_codes_of_all_spans_are_those_computed_one_by_one(
    lengths: list[int], forget: float, character_factor: float, seed: int
) -> None:
    chance = torch.Generator().manual_seed(seed)
    n, d = max(lengths), 2

    def random(*shape: int) -> Tensor:
        return torch.randn(shape, generator=chance, dtype=torch.float64)

    words, embedding = random(len(lengths), n, d), random(5, d)
    embedding[0] = 0
    spelled = torch.randint(1, 5, (len(lengths), n, 4), generator=chance)
    counts = torch.randint(1, 5, (len(lengths), n), generator=chance)
    for b, length in enumerate(lengths):
        words[b, length:], counts[b, length:] = 0, 0
    spelled = spelled.masked_fill(torch.arange(4) >= counts[..., None], 0).flatten(0, 1)
    both, found = character_codes(embedding[spelled], spelled, character_factor)
    assert torch.equal(found, counts.flatten())
    forward, backward = both.view(len(lengths), n, 2 * d).chunk(2, dim=2)
    codes = Codes.of(words, forward, backward, counts[..., None], forget, character_factor)
    for b, length in enumerate(lengths):
        for start, end in ((i, j) for i, j in product(range(length), repeat=2) if i <= j):
            own = list(words[b, :length])
            characters = [embedding[one] for word in range(start, end + 1) for one in spelled[b * n + word] if one]
            expected = {
                "before": code(own[:start], forget, d),
                "from": code(own[start:][::-1], forget, d),
                "until": code(own[: end + 1], forget, d),
                "after": code(own[end + 1 :][::-1], forget, d),
                "sum": code(own[start : end + 1], 1.0, d),
                "forward": code(characters, character_factor, d),
                "backward": code(characters[::-1], character_factor, d),
            }
            first, last = torch.tensor([b * n + start]), torch.tensor([b * n + end])
            together = torch.cat([codes.starts[first], codes.ends[last], codes.inside(first, last)], dim=1)[0]
            torch.testing.assert_close(together, torch.cat(list(expected.values())))


def test_what_is_kept_may_differ_from_word_to_word() -> None:
    vectors, kept = torch.randn(2, 9, 3), torch.rand(2, 9, 1)
    z, expected = torch.zeros(2, 3), []
    for t in range(9):
        z = kept[:, t] * z + vectors[:, t]
        expected.append(z)
    torch.testing.assert_close(forgetting(vectors, kept), torch.stack(expected, dim=1))


def model_with(*changes: str) -> Fofe:
    model = new_model(Config().override([*SMALL, "model.kind=fofe", *changes]), corpus())
    assert isinstance(model, Fofe)
    return model


spans = st.tuples(st.integers(0, 5), st.integers(1, 6), st.integers(0, 2)).filter(lambda span: span[0] < span[1])


@given(st.sets(spans, max_size=8), st.sampled_from([2, 6]))
@settings(deadline=None)
def test_any_set_with_one_type_a_span_can_be_held(mentions: set[tuple[int, int, int]], width: int) -> None:
    """Nested, crossing and of the same type; scores that say so give the set back."""
    held = model_with(f"model.max_width={width}").representable(mentions, longest=6)
    fitting = {mention for mention in mentions if mention[1] - mention[0] <= width}
    assert held <= fitting and {mention[:2] for mention in held} == {mention[:2] for mention in fitting}
    assert len(held) == len({mention[:2] for mention in held})
    scores = torch.zeros(1, 6, width, 4)
    scores[..., 3] = 9.0
    for start, end, kind in held:
        scores[0, start, end - start - 1, kind] = 18.0
    answers = IndependentSpans(scores.log_softmax(3), [6], threshold=0.5)
    assert answers.argmax() == [held] == [best for [(best, _)] in answers.topk(1)]


@given(st.integers(0, 3), st.integers(1, 2), st.integers(0, 2**31))
@settings(deadline=None, max_examples=40)
def test_the_best_sets_are_those_of_independent_spans(length: int, width: int, seed: int) -> None:
    scores = torch.randn(1, 3, width, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    answers = IndependentSpans(scores.log_softmax(3), [length], threshold=0.5)
    places = [(i, w) for i in range(length) for w in range(width) if i + w < length]
    every = {}
    for kinds in product(range(3), repeat=len(places)):
        chosen = zip(places, kinds, strict=True)
        mentions = frozenset((i, i + w + 1, kind) for (i, w), kind in chosen if kind < 2)
        every[mentions] = float(
            sum(answers.log_probabilities[0, i, w, kind] for (i, w), kind in zip(places, kinds, strict=True))
        )
    [ranked] = answers.topk(5)
    assert [score for _, score in ranked] == pytest.approx(sorted(every.values(), reverse=True)[:5])
    assert all(every[mentions] == pytest.approx(score) for mentions, score in ranked)
    assert answers.marginals.sum() == pytest.approx(
        sum(float(answers.log_probabilities[0, i, w, :2].exp().sum()) for i, w in places)
    )


def test_all_mentions_and_some_of_the_other_spans_are_learnt_from(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = Sentence([*"abcdef"], [Mention(1, 3, "PER"), Mention(2, 3, "GPE"), Mention(2, 3, "LOC")])
    gold = [{(1, 3, 4), (2, 3, 1), (2, 3, 2)}]
    expected = {(1, 2): 4, (2, 2): 1}  # of two types on a span the first

    def learnt(overlapping: float, disjoint: float) -> dict[tuple[int, int], int]:
        monkeypatch.setattr(fofe, "OVERLAPPING_RATE", overlapping)
        monkeypatch.setattr(fofe, "DISJOINT_RATE", disjoint)
        model = model_with("model.max_width=4")
        batch = model.collate([sentence])
        kinds, starts, ends = model._learnt_from(gold, batch, Spans.unread(batch, model.config), 4)
        return dict(zip(zip(starts.tolist(), ends.tolist(), strict=True), kinds.tolist(), strict=True))

    every = {(i, j) for i in range(6) for j in range(i, min(i + 4, 6))}
    sharing = {(i, j) for i, j in every if i <= 2 and j >= 1}
    none = dict.fromkeys(every, 6) | expected
    assert learnt(1, 1) == none
    assert learnt(0, 0) == expected
    assert learnt(1, 0) == {span: none[span] for span in sharing}
    assert learnt(0, 1) == {span: none[span] for span in (every - sharing) | set(expected)}


def test_mentions_that_are_too_wide_are_counted() -> None:
    loss, sentences = TrainingLoss(model_with("model.max_width=1")), corpus()[:2]
    too_wide = [sum(mention.end - mention.start > 1 for mention in sentence.mentions) for sentence in sentences]
    assert loss(loss.collate(sentences)).unrepresentable == tuple(too_wide)


def check_best_threshold(model: Fofe | KatiyarCardie, dev: list[Sentence]) -> None:
    [setting] = model.settings()

    def f1(threshold: float) -> float:
        model.config = model.config.with_values({f"{setting.section}.{setting.key}": threshold})
        return dev_scores(model, dev)["f1"]

    scores = {threshold: f1(threshold) for threshold in setting.values}
    assert scores[best_value(model, setting, dev)] == max(scores.values()) > min(scores.values())
    tune(model, dev)
    assert scores[model.kind_options.threshold] == max(scores.values())


def test_the_best_threshold_is_chosen_and_annotating_uses_it(tmp_path: Path) -> None:
    model = model_with("training.epochs=6")
    Trainer(Run(TrainingLoss(model), corpus()[::2]), tmp_path).run()
    check_best_threshold(model.eval(), corpus()[1::2])
    document = Annotator(model)("The harbour master of Lindau met Captain Amsel .", top_k=3)
    assert all((mention.probability or 0) >= model.kind_options.threshold for mention in document.mentions)
    assert document.alternatives is not None
    sets = document.alternatives[0].sets
    assert [one.probability for one in sets] == sorted((one.probability for one in sets), reverse=True)
