"""A student that learns from a teacher, on text without annotations too."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.nn import Recognizer, load_model
from hyperspan.nn.folders import compact
from hyperspan.structures import SegmentalHypergraph
from hyperspan.structures.scores import mean_scores
from hyperspan.training.data import Unlabelled, context_of, read_sentences, read_unlabelled
from hyperspan.training.loop import dev_scores
from hyperspan.training.loss import Teachers, TrainingLoss
from hyperspan.training.start import new_student, read_teachers, with_annotated
from hyperspan.types import AnnotationScope, Sentence
from tests.support.models import HARBOUR, loss_of
from tests.support.runs import same_result, train

SMALL = {"hidden": 12, "span_hidden": 12, "input_dropout": 0.0, "output_dropout": 0.0}
WORDS = {"words": {"dimension": 16, "tag_dimension": 32}, "characters": {"encoder": "none"}}
TRAINING = {
    "learning_rate": 0.02,
    "batch_size": 4,
    "schedule": "constant",
    "warmup_epochs": 0.0,
    "lm_loss_weight": 0.0,
    "eval_epochs": 1,
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a teacher, some labelled sentences, and all sentences as text."""
    folder = tmp_path_factory.mktemp("distillation")
    config = {
        "data": {"train": HARBOUR},
        "encoder": SMALL | {"hidden": 24, "span_hidden": 24},
        "training": TRAINING | {"epochs": 20, "ema_decay": 0.0},
        **WORDS,
    }
    train(Config.from_mapping(config).settled(), folder / "teacher", device="cpu")
    sentences = read_sentences(HARBOUR)
    text = "".join(" ".join(sentence.tokens) + "\n" for sentence in sentences)
    (folder / "some.data").write_text(
        "\n\n".join(Path(HARBOUR).read_text(encoding="utf-8").split("\n\n")[:3]) + "\n\n", encoding="utf-8"
    )
    (folder / "all.txt").write_text(text, encoding="utf-8")
    return folder


def settings(place: Path, **distillation: Any) -> Config:
    return Config.from_mapping(
        {
            "data": {"train": str(place / "some.data"), "dev": HARBOUR},
            "encoder": SMALL,
            "training": TRAINING | {"epochs": 30, "ema_decay": 0.9, "patience": 0},
            **WORDS,
            "distillation": {"teacher": str(place / "teacher"), "text": str(place / "all.txt")} | distillation,
        }
    ).settled()


@pytest.mark.slow
def test_a_student_learns_from_text_what_its_few_annotations_do_not_tell(place: Path, tmp_path: Path) -> None:
    teacher = dev_scores(load_model(place / "teacher"), read_sentences(HARBOUR))["f1"]
    taught = train(settings(place), tmp_path / "taught", device="cpu").dev_f1
    alone = train(
        settings(place, teacher="", text=""), tmp_path / "alone", overrides=["training.epochs=60"], device="cpu"
    ).dev_f1
    assert teacher > 0.9 and taught is not None and alone is not None
    assert taught > teacher - 0.15 and taught > alone + 0.2
    # With a vocabulary of its own the student has five of the teacher's six labels.
    own = train(settings(place, copy_embeddings=False), tmp_path / "own", device="cpu")
    assert len(load_model(own.folder).labels) == 5 and own.dev_f1 is not None and own.dev_f1 > alone
    small = compact(load_model(tmp_path / "taught"))
    assert small.config.distillation.teacher == "teacher" and small.config.distillation.text == "all.txt"


def test_a_student_that_is_resumed_ends_with_the_same_bits(place: Path, tmp_path: Path) -> None:
    config = settings(place, sentences=5, copy_embeddings=False)  # each epoch reads other sentences
    train(config, tmp_path / "whole", overrides=["training.epochs=4"], device="cpu")
    train(config, tmp_path / "parts", overrides=["training.epochs=2"], device="cpu")
    train(config, tmp_path / "parts", overrides=["training.epochs=4"], device="cpu", resume=True)
    assert same_result(tmp_path / "whole", tmp_path / "parts")
    lines = (place / "all.txt").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "other.txt").write_text("".join([*lines[:-1], "Another harbour .\n"]), encoding="utf-8")
    with pytest.raises(InputError, match="was trained on other sentences"):
        train(config, tmp_path / "parts", overrides=[f"distillation.text={tmp_path}/other.txt"], resume=True)


def models(place: Path, **distillation: Any) -> tuple[Recognizer, Recognizer, list[Sentence]]:
    teacher, config = load_model(place / "teacher"), settings(place, **distillation)
    assert isinstance(teacher, Recognizer)
    return new_student(config, teacher), teacher, read_sentences(HARBOUR)[:4]


def test_the_loss_mixes_that_of_the_teacher_with_that_of_gold_mentions(place: Path) -> None:
    student, teacher, sentences = models(place, gold_weight=0.25)
    student.eval()
    unlabelled = [Sentence(sentence.tokens) for sentence in sentences[2:]]
    objective = TrainingLoss(student, [teacher])
    assert Teachers(student, [teacher]).readers == [0, 0]
    given = [*sentences[:2], *unlabelled]
    part = objective.collate(given, [True, True, False, False])
    found = objective(part).values
    gold = loss_of(student, given)
    with torch.no_grad():
        of = partial(SegmentalHypergraph, lengths=part.batch.lengths)
        both = (model(batch).map(torch.from_numpy) for model, batch in ((student, part.batch), (teacher, part.batch)))
        own, other = map(of, both)
        taught = own.cross_entropy(other)
    torch.testing.assert_close(found[:2], 0.25 * gold[:2] + 0.75 * taught[:2])
    torch.testing.assert_close(found[2:], taught[2:])


def test_labels_that_the_training_data_lack_are_taught_by_the_teacher_alone(place: Path, tmp_path: Path) -> None:
    student, teacher, _ = models(place, gold_weight=1.0)
    student.eval()
    plain = read_sentences(str(place / "some.data"))
    marked = with_annotated(plain, student.labels)
    known = {mention.label for sentence in plain for mention in sentence.mentions}
    [missing] = set(student.labels) - known
    assert all(sentence.annotated == AnnotationScope(known) for sentence in marked)
    assert with_annotated(plain, known) is plain

    def gradient(sentences: Sequence[Sentence], taught: Recognizer) -> torch.Tensor:
        objective = TrainingLoss(student, [taught])
        loss = objective(objective.collate(list(sentences), [True] * len(sentences))).values.sum()
        start = student.get_parameter("scorer.start.bias")  # T → X of all types, then T → I
        return torch.autograd.grad(loss, start)[0].unflatten(0, (-1, len(student.labels)))[0]

    before, after = gradient(plain, teacher), gradient(marked, teacher)
    changed = torch.tensor([label == missing for label in student.labels])
    torch.testing.assert_close(before[~changed], after[~changed])
    assert not torch.isclose(before[changed], after[changed])
    torch.testing.assert_close(gradient(marked, student)[changed], torch.zeros(1), atol=1e-4, rtol=0)

    result = train(settings(place, text=""), tmp_path / "run", overrides=["training.epochs=1"], device="cpu")
    assert load_model(result.folder).labels == teacher.labels


def test_a_student_begins_with_the_vectors_of_its_teacher(place: Path) -> None:
    student, teacher, _ = models(place)
    assert student.vocabulary is teacher.vocabulary
    assert torch.equal(student.state_dict()["encoder.words.trained"], teacher.state_dict()["encoder.words.trained"])
    with pytest.raises(InputError, match=r"words\.dimension is 8, but the vectors of distillation\.teacher have 16"):
        new_student(settings(place).override(["words.dimension=8"]), teacher)


@pytest.fixture
def reader_of_context(tiny_encoder: Path, tmp_path: Path) -> Path:
    """A teacher with a pretrained encoder that reads nine words around each sentence."""
    changes = [f"data.train={HARBOUR}", "data.joined=true", "transformer.context=9", f"transformer.name={tiny_encoder}"]
    small = ["encoder.hidden=6", "encoder.span_hidden=6", "training.epochs=1", "words.dimension=4"]
    return train(Config().override([*changes, *small]), tmp_path / "context", device="cpu").folder


def test_a_student_with_vectors_of_its_own_learns_from_the_mean_of_several_teachers(
    place: Path, reader_of_context: Path, tmp_path: Path
) -> None:
    (tmp_path / "vectors.txt").write_text("the 1 0 0 0 0 2\nharbour 0 1 0 0 3 0\n", encoding="utf-8")
    names = [str(place / "teacher"), str(reader_of_context), str(place / "teacher")]
    changes = ["words.dimension=6", f"words.vectors={tmp_path / 'vectors.txt'}", "training.epochs=1"]
    config = settings(place, teacher=names, copy_embeddings=False, sentences=3).override(changes)
    student = train(config, tmp_path / "student", device="cpu").folder
    assert load_model(student).config.distillation.teachers == tuple(names)
    train(config, tmp_path / "student", overrides=["training.epochs=2"], device="cpu", resume=True)
    two = f"distillation.teacher={json.dumps(names[:2])}"
    with pytest.raises(InputError, match="was trained on other sentences"):
        train(config, tmp_path / "student", overrides=["training.epochs=3", two], device="cpu", resume=True)

    teachers, taught = read_teachers(config, "cpu"), load_model(student)
    assert isinstance(taught, Recognizer) and context_of(config) == 9
    objective = TrainingLoss(taught, teachers)
    assert Teachers(taught, teachers).readers == [0, 1, 2, 1], "those of the same words share a batch"
    sentences = read_sentences(HARBOUR, config, context=9)[:2]
    part = objective.collate(sentences, [False, False])
    found = objective(part).values
    kinds = torch.tensor([teachers[0].labels.index(label) for label in taught.labels])
    with torch.no_grad():
        read = [one(one.collate(sentences)).map(torch.from_numpy) for one in teachers]
    scores = [one.map(lambda tensor: tensor[..., kinds]) for one in read]
    of = partial(SegmentalHypergraph, lengths=part.batch.lengths)
    torch.testing.assert_close(found, of(taught(part.batch)).cross_entropy(of(mean_scores(scores))))


def test_a_student_copies_the_words_of_a_teacher_with_a_pretrained_encoder(
    place: Path, reader_of_context: Path
) -> None:
    config = settings(place, teacher=str(reader_of_context)).override(["words.dimension=4"])
    [teacher] = read_teachers(config, "cpu")
    student = new_student(config, teacher)
    assert not student.vocabulary.transformer and student.vocabulary.words == teacher.vocabulary.words
    assert Teachers(student, [teacher]).readers == [0, 1]


def test_every_epoch_reads_the_next_sentences() -> None:
    sentences = read_sentences(HARBOUR)[:4]
    text = Unlabelled(sentences, 3)
    assert [text.of_epoch(epoch) for epoch in range(2)] == [sentences[:3], [sentences[3], *sentences[:2]]]


def test_text_is_read_from_files_folders_and_corpora(place: Path, tmp_path: Path) -> None:
    text = (place / "all.txt").read_text(encoding="utf-8")
    with gzip.open(tmp_path / "a.txt.gz", "wt", encoding="utf-8") as file:
        file.write(text)
    with lzma.open(tmp_path / "b.txt.xz", "wt", encoding="utf-8") as file:
        file.write(text + "many " * 200)

    def found(text: Path | str, **more: Any) -> Sequence[Sentence]:
        return read_unlabelled(settings(place, text=str(text), **more)).sentences

    plain = found(place / "all.txt")
    assert len(plain) == len(read_sentences(HARBOUR)) and not any(sentence.mentions for sentence in found(HARBOUR))
    assert found(tmp_path) == [*plain, *plain]  # the long one is left out
    assert found(place / "all.txt", sentences=1) == plain[:30]  # one an epoch
    first, second = text.split("\n")[:2]
    (tmp_path / "c.txt").write_text(f"{first}\n{second}\n \n{first}\n", encoding="utf-8")
    around = read_unlabelled(settings(place, text=str(tmp_path / "c.txt")), context=3).sentences
    assert around[1].before == around[0].tokens[-3:] and around[0].after == around[1].tokens[:3]
    assert around[1].after == around[2].before == (), "a blank line ends a document"
    (tmp_path / "c.txt").unlink()
    (tmp_path / "b.txt.xz").write_bytes(b"no archive")
    with pytest.raises(InputError, match=r"b\.txt\.xz cannot be read as text"):
        found(tmp_path)
    (tmp_path / "empty.txt").write_text("\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"empty\.txt holds no sentences; name a file of text in distillation\.text"):
        found(tmp_path / "empty.txt")


def test_a_teacher_has_the_labels_and_the_kind_of_its_student(place: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the labels FAC, .*which distillation\.teacher has not \(DNA"):
        train(settings(place, teacher="genia", copy_embeddings=False), tmp_path / "a", device="cpu")
    with pytest.raises(InputError, match="there is no model 'nobody'"):
        train(settings(place, teacher="nobody"), tmp_path / "a", device="cpu")
    chain = {"data": {"train": HARBOUR}, "model": {"kind": "linear-chain"}, "encoder": SMALL}
    train(chain, tmp_path / "chain", overrides=["training.epochs=1"], device="cpu")
    with pytest.raises(InputError, match=r"a model of kind linear-chain, but a student of kind segmental learns"):
        train(settings(place, teacher=str(tmp_path / "chain")), tmp_path / "a", device="cpu")


@pytest.mark.parametrize("copied", [True, False])
def test_names_of_a_student_are_labels_that_it_has(place: Path, tmp_path: Path, copied: bool) -> None:
    config = settings(place, copy_embeddings=copied).override(['model.names={x-name = "PER"}'])
    with pytest.raises(InputError, match=r"model\.names has the key 'x-name', but the labels are .*PER"):
        train(config, tmp_path / "a", device="cpu")
