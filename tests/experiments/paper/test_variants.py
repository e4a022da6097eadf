"""Rows that no setting makes: what they learn from, the loss that ignores wide starts, and models that decode
otherwise."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.paper.rows import IGNORES_WIDE_STARTS, ROWS
from experiments.result import MODEL, folder_of
from experiments.runs import run_row, training_data
from experiments.variants import decode_otherwise, register
from hyperspan.config import Config
from hyperspan.corpora.formats import write_corpus
from hyperspan.nn import Recognizer, load_model, new_model
from hyperspan.nn.folders import save_model
from hyperspan.structures import EdgeScores, negative_log_likelihood
from hyperspan.structures.losses import Loss
from hyperspan.training.loss import TrainingLoss
from hyperspan.types import Document, Mention, Sentence
from tests.experiments.support import SMALL, make_corpus
from tests.structures.brute_force import BruteForce, all_mentions, all_sets, arrays
from tests.structures.cases import edge_scores, segmental_score

LENGTHS = [3, 2]
GOLD = [{(0, 3, 0), (0, 3, 1), (0, 1, 1), (1, 3, 1)}, {(0, 1, 0)}]
"""With c=2, only the first mention has a start and type to itself and is too wide."""
IGNORED = (0, 0, 0)
"""The sentence, start and type of that mention."""


def small(**model: object) -> Config:
    """The configuration of a small model, which may be of a kind of these rows."""
    register()
    overrides = [*(f"{name}={value}" for name, value in SMALL.items()), "training.start="]
    config = Config().override(overrides)
    return replace(config, model=replace(config.model, **model))  # type: ignore[arg-type]


def ignoring(scores: EdgeScores, beta: float | None) -> Loss:
    """The loss that ignores wide starts, which depends on nothing but the scores."""
    config = small(kind=IGNORES_WIDE_STARTS, max_width=2)
    margin = replace(config.training, softmax_margin=beta is not None, beta=beta or 1.0)
    model = new_model(replace(config, training=margin), [Sentence(["a"], [Mention(0, 1, "X")])])
    assert isinstance(model, Recognizer)
    return model.scorer.loss(scores, GOLD, LENGTHS)


@pytest.mark.parametrize("beta", [None, 2.0])
@pytest.mark.parametrize("untied", [False, True])
def test_the_loss_is_that_of_all_but_the_ignored_start(beta: float | None, untied: bool) -> None:
    """By enumeration of all sets of mentions with other starts or types."""
    scores = edge_scores((2, 3, 2, 2), torch.float64, 5, 1.0, 0.0, untied)
    found, known = ignoring(scores, beta), arrays(scores.untied())
    for sentence, length in enumerate(LENGTHS):
        pool = [one for one in all_mentions(length, 2, 2) if (sentence, one[0], one[2]) != IGNORED]
        gold = frozenset(GOLD[sentence]).intersection(pool)
        should = {(start, kind) for start, _, kind in gold}

        def score(mentions: frozenset[tuple[int, int, int]], sentence: int = sentence, length: int = length) -> float:
            return segmental_score(known, sentence, length, mentions)

        def cost(mentions: frozenset[tuple[int, int, int]], should: set[tuple[int, int]] = should) -> float:
            there = {(start, kind) for start, _, kind in mentions}
            return 0.0 if beta is None else beta * len(should - there) + len(there - should)

        brute = BruteForce({mentions: score(mentions) + cost(mentions) for mentions in all_sets(pool)})
        assert math.isclose(found.values[sentence].item(), brute.log_partition - score(gold), abs_tol=1e-9)
    assert found.unrepresentable == (2, 0)
    assert found.values[0] != negative_log_likelihood(scores, GOLD, LENGTHS, beta).values[0]


@pytest.mark.parametrize("beta", [None, 2.0])
def test_the_ignored_start_gets_no_gradient(beta: float | None) -> None:
    """Not even one that is no number; a start of a wide and a narrow mention does."""
    scores = edge_scores((2, 3, 2, 2), torch.float64, 5, 1.0, 0.0, untied=False)
    leaves = {name: tensor.requires_grad_() for name, tensor in scores.tensors().items()}
    ignoring(EdgeScores(**leaves), beta).values.sum().backward()
    sentence, start, kind = IGNORED
    for leaf in leaves.values():
        assert leaf.grad is not None and leaf.grad.isfinite().all()
        assert not leaf.grad[sentence, start, ..., kind].any()
        assert leaf.grad[sentence, start, ..., 1].any() and leaf.grad[1, 0, ..., 0].any()


def test_only_sentences_with_an_ignored_start_have_another_loss() -> None:
    """Of whole models, which differ in nothing but their kind."""
    words = [*"abcd"]
    wide, both = Mention(0, 4, "X"), [Mention(0, 4, "X"), Mention(0, 1, "X"), Mention(2, 4, "X")]
    sentences = [Sentence(words, [wide]), Sentence(words, both), Sentence(words)]
    models = [new_model(small(kind=kind, max_width=2), sentences).eval() for kind in ("segmental", IGNORES_WIDE_STARTS)]
    losses = [TrainingLoss(model) for model in models]
    plain, ignoring = (loss(loss.collate(sentences)) for loss in losses)
    assert (plain.values == ignoring.values).tolist() == [False, True, True]
    assert ignoring.values[0] < plain.values[0] and ignoring.unrepresentable == (1, 1, 0)


@pytest.mark.parametrize(("row", "changed"), [("paper-n-zeroed", "extend"), ("paper-n-decoded-6", None)])
def test_a_model_that_decodes_otherwise(tmp_path: Path, row: str, changed: str | None) -> None:
    """Loaded again, it has other scores of I → I, which are zero, or a limit, and is otherwise the same."""
    words = [*"abcdefghi"]
    model = new_model(small(), [Sentence(words, [Mention(0, 9, "X"), Mention(2, 4, "Y")])])
    save_model(model, tmp_path / "trained")
    (tmp_path / "trained" / "log.jsonl").write_text("{}\n", encoding="utf-8")
    decode_otherwise(ROWS[row], tmp_path / "trained", tmp_path / "other")
    assert (tmp_path / "other" / "log.jsonl").read_text(encoding="utf-8") == "{}\n"
    trained, other = (load_model(tmp_path / name) for name in ("trained", "other"))
    assert (trained.max_width, other.max_width) == (None, None if changed else 6)
    with torch.inference_mode():
        before, after = (model(model.collate([Sentence(words)])).tensors() for model in (trained, other))
    for name, scores in after.items():
        as_before = before[name][:, :, : scores.shape[2]] if scores.ndim == 4 else before[name]
        assert as_before.any() and np.array_equal(scores, np.zeros_like(scores) if name == changed else as_before)


@pytest.mark.parametrize(
    ("row", "train", "dev"),
    [
        ("paper-6", None, None),
        ("paper-6-narrow-train", [{(0, 6)}, set()], [{(1, 8)}, {(1, 7)}]),
        ("paper-6-narrow", [{(0, 6)}, set()], [{(1, 7)}]),
        ("paper-6-cut", [{(0, 6), (2, 8), (3, 4)}, {(0, 6)}, set()], [{(1, 8)}, {(1, 7)}]),
    ],
)
def test_what_a_row_learns_from(
    tmp_path: Path, row: str, train: list[set[tuple[int, int]]] | None, dev: list[set[tuple[int, int]]]
) -> None:
    """Two mentions that are the same once cut become one."""
    words, held = (
        [*"abcdefghi"],
        {"train": [{(0, 7), (0, 8), (2, 9), (3, 4)}, {(0, 6)}, set()], "dev": [{(1, 8)}, {(1, 7)}]},
    )
    corpora = {}
    for part, spans in held.items():
        sentences = [Sentence(words, [Mention(start, end, "X") for start, end in each]) for each in spans]
        write_corpus([Document("", (), sentences)], tmp_path / f"{part}.data")
        corpora[part] = str(tmp_path / f"{part}.data")
    config = small(max_width=6)
    data = training_data(ROWS[row], replace(config, data=replace(config.data, **corpora)))
    if train is None:
        assert data is None
        return
    assert data is not None
    for sentences, expected in ((data.train, train), (data.dev, dev)):
        assert [{mention.span for mention in sentence.mentions} for sentence in sentences] == expected


@pytest.mark.parametrize("row", ["paper-6-cut", "paper-6-ignored", "paper-n-decoded-6"])
def test_a_row_is_trained_and_scored(tmp_path: Path, row: str) -> None:
    sets = [f"{name}={value}" for name, value in SMALL.items()]
    found = run_row(row, "genia", 2, tmp_path, "cpu", data_dir=make_corpus(tmp_path / "data"), overrides=sets)
    assert (found.row, found.seed, len(found.known_counts)) == (row, 2, 24)
    model = load_model(folder_of(tmp_path, "genia", ROWS[row], 2) / MODEL)
    assert model.max_width == 6
    assert found.config["model"]["max_width"] == 6
