"""Models of discontinuous mentions: constraints, partial annotation, teachers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from attrs import evolve

from hyperspan.config import Config
from hyperspan.nn import Recognizer
from hyperspan.nn.folders import new_model
from hyperspan.structures import DiscontinuousHypergraph
from hyperspan.training.loss import ExpectedRates, TrainingLoss
from hyperspan.types import AnnotationScope, Mention, Sentence
from tests.support.models import learn, loss_of

GAP: Any = (0, 4, 0, ((0, 1), (3, 4)))
LEFT = Mention(0, 4, "part", ((0, 1), (3, 4)))
SENTENCES = [
    Sentence(["left", "and", "right", "ventricle"], [LEFT, Mention(2, 4, "part")]),
    Sentence(["the", "right", "valve"], [Mention(1, 3, "part")]),
]
CHANGES = [
    *("model.kind=discontinuous", "model.max_width=5", "words.dimension=12", "words.tag_dimension=0"),
    *("encoder.hidden=8", "encoder.span_hidden=8", "encoder.input_dropout=0", "encoder.output_dropout=0"),
    *("discontinuous.gap=3", "discontinuous.later_width=2", "characters.encoder=none", "words.word_dropout=0"),
]


def model_of(*changes: str, steps: int = 0, seed: int = 0) -> Recognizer:
    torch.manual_seed(seed)
    model = learn(new_model(Config().override([*CHANGES, *changes]), SENTENCES), SENTENCES, steps, 0.03)
    assert isinstance(model, Recognizer)
    return model


@pytest.fixture(scope="module")
def trained() -> Recognizer:
    return model_of(steps=40)


def test_a_trained_model_finds_parts_unless_they_are_forbidden(trained: Recognizer) -> None:
    with torch.inference_mode():
        found = trained.distribution(SENTENCES)
        gold = [trained.gold(sentence) for sentence in SENTENCES]
        assert isinstance(found, DiscontinuousHypergraph) and [set(some) for some in found.argmax()] == gold
        given = found.condition(forbid=[[GAP], []])
        assert GAP not in given.argmax()[0] and (2, 4, 0) in given.argmax()[0] and given.argmax()[1] == gold[1]
        wide = (0, 3, 0, ((0, 1), (2, 3)))
        required = found.condition(require=[[wide], []])
        assert wide in required.argmax()[0] and required.discontinuous_marginals()[0][wide] == pytest.approx(1.0)
        [places] = required.places([[0.999]])
        assert wide[3] in places.parts


def test_partial_annotation_says_nothing_of_what_is_open() -> None:
    model = model_of("training.softmax_margin=false", seed=1)
    whole = loss_of(model, SENTENCES)
    everywhere, nowhere = AnnotationScope(regions=[(0, 4)]), AnnotationScope(frozenset())
    known = loss_of(model, [evolve(SENTENCES[0], annotated=everywhere), SENTENCES[1]])
    torch.testing.assert_close(known, whole)
    some = loss_of(model, [evolve(SENTENCES[0], annotated=nowhere), SENTENCES[1]])
    assert 0 < some[0] < whole[0]
    forbidden = evolve(SENTENCES[0], mentions=[], annotated=nowhere, forbidden=[LEFT])
    found = loss_of(model, [forbidden, SENTENCES[1]])[0].item()
    absent = model.distribution(SENTENCES).constraint_log_prob(forbid=[[GAP], []])[0].item()
    assert math.isclose(found, -absent, rel_tol=1e-5)
    assert loss_of(model, [forbidden, SENTENCES[1]], rates=ExpectedRates(np.array([0.5]), 1.0)).isfinite().all()


def test_a_student_learns_from_a_discontinuous_teacher(trained: Recognizer) -> None:
    student = model_of("distillation.gold_weight=0.5", "encoder.hidden=6", seed=2)
    objective = TrainingLoss(student, [trained, trained])
    optimizer = torch.optim.Adam(student.parameters(), lr=0.03)
    unlabelled = [Sentence(sentence.tokens) for sentence in SENTENCES]
    for step in range(60):
        optimizer.zero_grad()
        part = objective.collate(unlabelled, [False, False]) if step else objective.collate(SENTENCES, [True, False])
        objective(part).values.mean().backward()
        optimizer.step()
    with torch.no_grad():
        assert student.eval().distribution(SENTENCES).argmax() == trained.distribution(SENTENCES).argmax()
    marked = [evolve(SENTENCES[0], annotated=AnnotationScope(regions=[(2, 4)])), unlabelled[1]]
    assert objective(objective.collate(marked, [True, False])).values.isfinite().all()
