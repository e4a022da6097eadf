"""Students of targets: what is stored of teachers is what they say, and students learn from it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from experiments.distil import fit as fitting
from experiments.distil import targets as writing
from experiments.distil.text import read_split, split
from hyperspan import Document, Mention, load, write_corpus
from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.nn import Recognizer
from hyperspan.training.data import TrainingData
from hyperspan.training.run import as_config, prepare

TEXTS = ["Ada met the mayor of Oslo .", "Bo .", "the old and new town halls of Bergen and Oslo", "She left Oslo ."]
KINDS = {
    "segmental": ["model.max_width=n"],
    "narrow": ["model.max_width=3"],
    "discontinuous": ["model.kind=discontinuous", "model.max_width=5", "discontinuous.gap=3"],
}


def corpus(folder: Path) -> Path:
    documents = []
    for text in TEXTS:
        found = [Mention(place, place + 4, "place") for place in [text.find("Oslo")] if place >= 0]
        found += [Mention(0, 3, "person")] if text.startswith(("Ada", "She")) else []
        documents.append(Document(text, found))
    write_corpus(documents, folder / "train.jsonl")
    return folder / "train.jsonl"


def small(train: Path, *overrides: str) -> Config:
    sizes = {"hidden": 4, "span_hidden": 4}
    given = {"data": {"train": str(train), "dev": str(train)}, "encoder": sizes, "words": {"dimension": 4}}
    settings = ["training.patience=0", "distillation.copy_embeddings=false", "training.batch_size=2"]
    return as_config(given).override([*settings, *overrides])


@pytest.mark.parametrize("kind", KINDS)
def test_stored_targets_are_what_the_teachers_say(kind: str, tmp_path: Path) -> None:
    train, text = corpus(tmp_path), tmp_path / "text.txt"
    text.write_text("\n".join([*TEXTS, "", "one more sentence about Bergen here ."]), encoding="utf-8")
    settings = [*KINDS[kind], f'distillation.teacher=["{tmp_path}/1", "{tmp_path}/2"]']
    path = tmp_path / "given.toml"
    for seed in (1, 2):
        path.write_text(small(train, *KINDS[kind], f"training.seed={seed}").to_toml(), encoding="utf-8")
        fitting.fit(str(path), tmp_path / str(seed), steps=2, device="cpu")
    config = small(train, *settings).completed()
    path.write_text(small(train, *settings).to_toml(), encoding="utf-8")
    writing.write_targets(str(path), tmp_path / "targets", text=text, device="cpu")
    pool = writing.Pool.read(config, text, 99, 0)
    assert [len(one) for one in pool.unlabelled] == [7, 10, 4, 7]  # shorter ones teach little
    labels = writing.labels_of(pool)
    run = prepare(fitting.replace_teacher(config), TrainingData(pool.training(config), []))
    assert isinstance(run.model, Recognizer)
    numbers = {id(sentence): number for number, sentence in enumerate(pool.sentences)}
    store = writing.Store(tmp_path / "targets", config, labels)
    run.loss.teachers = writing.StoredTeachers(run.model, store, numbers, [0])
    live = writing.Written(config, labels, torch.device("cpu"))
    for sentences in (pool.sentences, [one for one in pool.sentences if len(one) <= 4]):
        part = run.loss.collate(sentences, [False] * len(sentences))
        stored = run.loss.teachers.distribution(part)
        said = run.model.scorer.distribution(live.scores(sentences), part.batch.lengths)
        torch.testing.assert_close(stored.marginals, torch.as_tensor(said.marginals), atol=1e-3, rtol=0)
        torch.testing.assert_close(stored.log_partition, torch.as_tensor(said.log_partition), atol=2e-2, rtol=1e-3)
    fitting.fit(str(path), tmp_path / "student", steps=3, targets=tmp_path / "targets", text=text, device="cpu")
    assert load(tmp_path / "student").labels == ("person", "place")


def test_copies_in_another_case_have_the_targets_of_the_original() -> None:
    from hyperspan import Sentence

    chance = fitting.random.Random(1)
    copies = [fitting.in_other_case(Sentence(["Ada", "left"]), chance) for _ in range(400)]
    found = [copy.tokens for copy in copies if copy is not None]
    assert {("ada", "left"), ("ADA", "LEFT")} == set(found)
    assert 0.06 < len(found) / len(copies) < 0.2


def test_text_is_split_once_into_sentences_of_tokens(tmp_path: Path) -> None:
    given, made = tmp_path / "a.txt", tmp_path / "b.txt.xz"
    given.write_text("Ada left Oslo. She saw the sea there, later.\n\nA second text is here.\n", encoding="utf-8")
    split([f"{given}=1000"], made)
    found = [" ".join(sentence.tokens) for sentence in read_split(made, 0)]
    assert sorted(found) == ["A second text is here .", "Ada left Oslo .", "She saw the sea there , later ."]


def test_a_run_says_when_it_has_no_end(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="neither --seconds nor --steps"):
        fitting.fit("x.toml", tmp_path)
