"""Each mistake in the data has its one sentence, before a model is trained; data without mistakes have none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from hyperspan.config import Config
from hyperspan.corpora.documents import document_of
from hyperspan.corpora.formats import write_corpus
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError
from hyperspan.nn import new_model
from hyperspan.training.advice import check_data, data_notes, offset_notes
from hyperspan.training.data import read_sentences
from hyperspan.types import Mention, Sentence
from tests.support.process import call as hyperspan

SMALL = ["words.dimension=4", "encoder.hidden=4", "encoder.span_hidden=4"]


def sentence(number: int, *mentions: Mention) -> Sentence:
    """Five words, the second of them its own."""
    return Sentence(["the", f"zoo-{number}", "of", f"city-{number % 3}", "sleeps"], mentions)


ZOO, CITY = Mention(0, 4, "FAC"), Mention(3, 4, "GPE")
TRAIN = [sentence(number, ZOO, CITY) for number in range(12)]
DEV = [sentence(number, ZOO, CITY) for number in range(12, 20)]


def notes(train: Sequence[Sentence], dev: Sequence[Sentence], *changes: str) -> list[str]:
    files = [] if any(change.startswith("data.dev") for change in changes) else ["data.dev=dev.jsonl"]
    config = Config().override([*SMALL, "data.train=train.jsonl", *files, *changes])
    return list(data_notes(new_model(config, train), train, dev))


def test_good_data_have_no_notes() -> None:
    check_data(Config(), TRAIN)
    assert notes(TRAIN, DEV) == []


@pytest.mark.parametrize(
    ("train", "changes", "message"),
    [
        ([], [], "mine.data holds no sentences; name annotated"),
        ([sentence(1), sentence(2)], [], "mine.data holds no mentions in its 2 sentences; name annotated"),
        ([sentence(1, Mention(0, 4, "FAC", ((0, 1), (3, 4))))], [], r"holds only discontinuous mentions \(1\), but"),
        (
            [sentence(1, ZOO), sentence(2, Mention(0, 5, "FAC"))],
            ["model.max_width=3"],
            "model.max_width is 3, but all 2 mentions of mine.data are wider, up to 5 words; set model.max_width = 5$",
        ),
    ],
)
def test_data_that_teach_nothing_are_refused(train: list[Sentence], changes: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_data(Config().override(["data.train=mine.data", *changes]), train)


def test_hulls_of_discontinuous_mentions_are_something_to_learn() -> None:
    only = [sentence(1, Mention(0, 4, "FAC", ((0, 1), (3, 4))))]
    config = Config().override(["model.discontinuous=hull", "model.max_width=4"])
    check_data(config, only)
    model = new_model(config.settled(), only)
    assert model.gold(only[0]) == {(0, 4, 0)}
    assert any("1 discontinuous mention learnt as contiguous ones" in note for note in data_notes(model, only, []))
    with pytest.raises(InputError, match=r"are wider, up to 4 words"):
        check_data(config.override(["model.max_width=3"]), only)


def test_discontinuous_mentions_beyond_the_limits_are_noted() -> None:
    words = [f"w{number}" for number in range(12)]
    given = [[(0, 1), (2, 3)], [(0, 1), (5, 6)], [(0, 1), (2, 3), (4, 5)], [(0, 3), (4, 7)], [(0, 6)]]
    mentions = [Mention(parts[0][0], parts[-1][1], "X", parts) for parts in given]
    limits = [f"discontinuous.{key}" for key in ("parts=2", "gap=2", "later_width=2")]
    config = Config().override([*SMALL, "model.kind=discontinuous", "model.max_width=5", *limits])
    train = [Sentence([*words, str(number)], mentions) for number in range(5)]
    found = [note for note in data_notes(new_model(config, train), train, []) if "would allow" in note]
    assert found == [
        "5 of 25 training mentions (20%) have more parts than discontinuous.parts = 2 and cannot be found; "
        "discontinuous.parts = 3 would allow all",
        "5 of 25 training mentions (20%) have a gap wider than discontinuous.gap = 2 and cannot be found; "
        "discontinuous.gap = 4 would allow all",
        "5 of 25 training mentions (20%) have a later part wider than discontinuous.later_width = 2 and cannot be found; "
        "discontinuous.later_width = 3 would allow all",
        "5 of 25 training mentions (20%) are wider than model.max_width = 5 and cannot be found; "
        "model.max_width = 6 would allow all",
    ]


@pytest.mark.parametrize(("parts", "advice"), [(2, "; discontinuous.parts = 3 would allow more"), (3, "")])
def test_notes_advise_no_more_parts_than_can_be_set(parts: int, advice: str) -> None:
    five = Mention(0, 9, "X", [(start, start + 1) for start in range(0, 10, 2)])
    config = Config().override(["model.kind=discontinuous", f"discontinuous.parts={parts}"])
    reader: Any = Reader(config, ("X",), discontinuous=True)
    found = list(data_notes(reader, [Sentence([*"abcdefghij"], [five])] * 10, []))
    assert (
        f"10 of 10 training mentions (100%) have more parts than discontinuous.parts = {parts} and cannot be found{advice}"
        in found
    )


def test_a_student_may_have_sentences_without_mentions() -> None:
    check_data(Config().override(["distillation.teacher=large"]), [sentence(1)])


@pytest.mark.parametrize(
    ("train", "dev", "changes", "expected"),
    [
        (
            TRAIN,
            [*DEV, sentence(30, Mention(1, 2, "NEW"))],
            [],
            "labels of dev that train has not, which the model cannot find: NEW (1); rename them, or annotate some in train",
        ),
        (
            TRAIN,
            [sentence(number, ZOO) for number in range(12, 20)],
            [],
            "labels of train without a mention in dev: GPE (12); dev F1 says nothing about them",
        ),
        (
            [*TRAIN, sentence(30, Mention(1, 2, "VEH")), sentence(31, Mention(1, 2, "VEH"))],
            [*DEV, sentence(40, Mention(1, 2, "VEH"))],
            [],
            "labels with fewer than ten mentions: VEH (2); expect the model to miss it, or annotate more",
        ),
        (
            TRAIN,
            [*TRAIN[:4], *DEV[:3]],
            [],
            "4 of 7 dev sentences (57%) are in train too, so dev F1 will say nothing about new text; "
            "hyperspan convert --fractions makes train and dev of one corpus",
        ),
        (
            TRAIN,
            [TRAIN[0], *DEV[:7]],
            [],
            "1 of 8 dev sentences (12%) are in train too, so dev F1 will be too high for new text; "
            "hyperspan convert --fractions makes train and dev of one corpus",
        ),
        (
            TRAIN,
            TRAIN,
            ["data.dev=train.jsonl"],
            "12 of 12 dev sentences (100%) are in train too, so dev F1 will say nothing about new text; "
            "hyperspan convert --fractions makes train and dev of one corpus",
        ),
        (
            TRAIN,
            [],
            ["data.dev="],
            "data.dev is empty, so the last epoch is kept and nothing says how good it is; hyperspan convert --fractions makes train and dev "
            "of one corpus",
        ),
        (
            TRAIN,
            [sentence(40), sentence(41)],
            [],
            "dev has no mentions that begin and end at words in its 2 sentences, so dev F1 will be 0 and choose no epoch; name annotated sentences in "
            "data.dev",
        ),
        (
            TRAIN,
            DEV,
            ["model.max_width=3"],
            "12 of 24 training mentions (50%) are wider than model.max_width = 3 and cannot be found; model.max_width = 4 would "
            "allow all",
        ),
        (
            [*TRAIN, *(sentence(number) for number in range(30, 90))],
            DEV,
            [],
            "60 of 72 training sentences (83%) have no mentions, from which the model learns to find none; leave out those that "
            "nobody has annotated",
        ),
        (
            [*TRAIN, *(sentence(number, ZOO, evolve(CITY, probability=0.7)) for number in range(30, 33))],
            DEV,
            [],
            "3 of 15 training sentences (20%) hold mentions with probabilities, which look like predictions that nobody has "
            "corrected; correct them with hyperspan label, or remove the probabilities",
        ),
    ],
)
def test_what_a_user_may_not_expect_is_one_note(
    train: list[Sentence], dev: list[Sentence], changes: list[str], expected: str
) -> None:
    assert notes(train, dev, *changes) == [expected]


def test_one_sentence_is_trained_on_with_a_note() -> None:
    first, second = notes(TRAIN[:1], DEV)
    assert first == (
        "train has 1 sentence, which the model can learn by heart but not generalise from; annotate at least 30"
    )
    assert second.startswith("labels with fewer than ten mentions: FAC (1), GPE (1);")


@dataclass
class Reader:
    """A model as far as notes look at it."""

    config: Config
    labels: tuple[str, ...] = ("FAC", "GPE")
    max_width: int | None = None
    context: int = 0
    reads_tags: bool = False
    discontinuous: bool = False


@pytest.mark.parametrize("change", ["words.vectors=bundled", "training.start=genia"])
def test_english_vectors_and_models_are_noted_for_other_languages(change: str) -> None:
    reader: Any = Reader(Config().override(["data.dev=dev.jsonl", change]))
    german = [Sentence(["der", "Zoo", "von", f"Ort-{number}", "schläft"], [ZOO, CITY]) for number in range(24)]
    (note,) = data_notes(reader, german[:12], german[12:])
    assert note.startswith(
        f"train does not look like English, for which {change.replace('=', ' = ')} is made; leave it out"
    )
    english = [Sentence("the zoo of Oz was on that street when they saw it".split(), [ZOO, CITY])] * 12
    assert not any("English" in note for note in data_notes(reader, english, DEV))


def test_many_rare_labels_are_counted_not_named() -> None:
    train = [*TRAIN, *(sentence(30 + n, Mention(1, 2, f"L{n:02}")) for n in range(12))]
    assert "L07 (1) and 4 more; expect the model to miss them" in notes(train, DEV)[0]


def test_refusals_come_before_files_are_written(tmp_path: Path) -> None:
    """As a user meets them: one sentence, no traceback, exit 2, and no folder."""
    write_corpus([document_of([sentence(number, ZOO) for number in range(5)])], tmp_path / "train.jsonl")
    (tmp_path / "mine.toml").write_text('[data]\ntrain = "train.jsonl"\n', encoding="utf-8")
    done = hyperspan("train", "mine.toml", "--set", "model.max_width=3", cwd=tmp_path)
    assert done.returncode == 2 and not (tmp_path / "runs").exists()
    assert done.stderr.strip().endswith(
        "model.max_width is 3, but all 5 mentions of train.jsonl are wider, up to 4 words; set model.max_width = 4"
    )
    assert "Traceback" not in done.stderr


def test_offset_notes_tell_that_offsets_are_one_off(tmp_path: Path) -> None:
    texts = ["Ada left the zoo.", "Bob saw the harbour."]
    rows = [{"text": text, "mentions": [{"start": 0, "end": 2, "label": "PER"}]} for text in texts]
    file = tmp_path / "off.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    problems = Problems()
    train = read_sentences(str(file), problems=problems)
    assert list(offset_notes(problems, train, ())) == [
        "2 of 2 mentions begin or end inside a word; check that offsets count characters from 0, and that the end is the "
        "character after the last one"
    ]
    assert not list(offset_notes(Problems(), train, ()))
