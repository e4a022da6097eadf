"""Training measures what a model can promise on documents of dev that chose nothing of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hyperspan import Document, Mention, load, train, write_corpus
from hyperspan.config import Config
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError
from hyperspan.nn import load_model
from hyperspan.nn.recognizer import Recognizer
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.guarantees import Guarantees
from hyperspan.training.data import FEW_DOCUMENTS, LEAST_SET_ASIDE, TrainingData, read_data
from hyperspan.training.events import DataNote, TrainingEvent
from hyperspan.training.guarantees import CrossFitted
from hyperspan.types import Sentence


def corpus(path: Path, documents: int, sentences: int = 1) -> str:
    names = [[f"Ada{number}-{one}" for one in range(sentences)] for number in range(documents)]
    texts = [" ".join(f"{name} left." for name in some) for some in names]
    mentions = [
        [Mention(text.index(name), text.index(name) + len(name), "PER") for name in some]
        for text, some in zip(texts, names, strict=True)
    ]
    write_corpus([Document(text, some) for text, some in zip(texts, mentions, strict=True)], path)
    return str(path)


def tokens(sentences: Any) -> set[tuple[str, ...]]:
    return {one.tokens for one in sentences}


def data_of(path: str, *, set_aside: bool = True) -> TrainingData:
    return read_data(Config.from_mapping({"data": {"train": path, "dev": path}}), Problems(), set_aside=set_aside)


@pytest.mark.parametrize(("documents", "sentences"), [(LEAST_SET_ASIDE, 1), (FEW_DOCUMENTS, 21), (3, 140)])
def test_half_of_a_large_dev_is_set_aside(tmp_path: Path, documents: int, sentences: int) -> None:
    found = data_of(corpus(tmp_path / "dev.jsonl", documents, sentences))
    aside = [one for part in found.set_aside for one in part]
    assert tokens(found.dev).isdisjoint(tokens(aside)) and tokens(found.dev) | tokens(aside) == tokens(found.train)
    assert abs(len(found.dev) - len(aside)) <= sentences
    assert {len(part) for part in found.set_aside} == {sentences if documents >= FEW_DOCUMENTS else 1}


def test_a_small_dev_stays_whole(tmp_path: Path) -> None:
    path = corpus(tmp_path / "dev.jsonl", LEAST_SET_ASIDE - 1)
    assert (len(data_of(path).dev), data_of(path).set_aside) == (LEAST_SET_ASIDE - 1, ())
    large = corpus(tmp_path / "large.jsonl", LEAST_SET_ASIDE)
    assert len(data_of(large, set_aside=False).dev) == LEAST_SET_ASIDE


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[TrainingEvent]]:
    """The folder of a trained model, and what training said."""
    place = tmp_path_factory.mktemp("trained")
    few, dev = corpus(place / "train.jsonl", 40), corpus(place / "dev.jsonl", LEAST_SET_ASIDE)
    events: list[TrainingEvent] = []
    settings = {"data": {"train": few, "dev": dev}, "encoder": {"hidden": 4, "span_hidden": 4}}
    train(settings, place / "model", overrides=["training.epochs=1"], device="cpu", listeners=[events.append])
    return place / "model", events


def test_training_stores_promises_and_says_so(trained: tuple[Path, list[TrainingEvent]]) -> None:
    folder, events = trained
    notes = [event.text for event in events if isinstance(event, DataNote)]
    assert any(note.startswith("half of dev, 200 sentences, is set aside to measure") for note in notes)
    readme = " ".join((folder / "README.md").read_text("utf-8").split())
    assert "measured on half of dev.jsonl, 200 sentences with mentions that chose nothing else" in readme
    given = Guarantees.from_table(load(folder).card.guarantees)
    assert (given.data, given.unit, given.curves["PER"].units) == ("half of dev.jsonl", "sentence", 200)


def test_cross_fitted_model_reads_each_half_with_what_the_other_chose(
    trained: tuple[Path, list[TrainingEvent]],
) -> None:
    model = load_model(trained[0])
    assert isinstance(model, Recognizer)
    before, tuned = model.config, list[tuple[int, ...]]()

    def tune(one: Recognizer, sentences: Any) -> None:
        tuned.append(tuple(len(sentence) for sentence in sentences))
        one.config = one.config.with_values(
            {"model.temperature": 9.0 if len(tuned) == 1 else 1.0, "calibration.temperatures": {}}
        )

    given = [Sentence(["Ada", "left"]), Sentence(["Ada", "left"]), Sentence(["Ada", "left", "."])]
    annotator = CrossFitted(model, given, tune, before)
    found = list(annotator.predictions(given, candidates=1e-4))
    assert tuned == [(2,), (2, 3)] and model.config == before
    plain = list(Annotator(model).predictions(given, candidates=1e-4))
    for half in (0, 1):  # as many candidates of each probability, in an order that may be another
        ours, theirs = (
            [one.probability or 0 for each in some[half::2] for one in each.candidates] for some in (found, plain)
        )
        assert ours and sorted(ours) == sorted(theirs)[-len(ours) :]
    with pytest.raises(InputError, match="nothing can be promised"):
        list(annotator.predictions(given[:2], candidates=1e-4))
