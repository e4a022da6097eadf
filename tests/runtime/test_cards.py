"""Cards of models: what they say is read and written, and a card of any origin is refused in one sentence."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import hyperspan
from hyperspan.errors import CardWarning, InputError
from hyperspan.runtime.cards import CARD, UNKNOWN, Figures, ModelCard
from hyperspan.runtime.domain import DomainCheck
from hyperspan.runtime.folders import PRETRAINED, bundled_models
from hyperspan.training.model_card import RunFacts, readme, write_cards
from hyperspan.types import Sentence
from tests.support.coordination import coordination_model
from tests.support.models import small_model


def test_card_is_the_same_after_writing_and_reading(tmp_path: Path) -> None:
    profile = {"unknown": 0.25, "words": {"odd key": [1, 2.5, "ä"]}}
    card = ModelCard(
        'a "b"', "Käse.", "d", "l", "MIT", {"odd label.x": "", "PER": "people"}, Figures("C", 1.0), profile
    )
    card.write(tmp_path)
    assert ModelCard.read(tmp_path) == card
    UNKNOWN.write(tmp_path)
    assert ModelCard.read(tmp_path) == UNKNOWN


def test_card_is_shown_without_its_profile() -> None:
    assert "counts" not in repr(ModelCard("zoo", profile={"counts": "x" * 50_000}))


def test_card_that_is_missing_is_empty(tmp_path: Path) -> None:
    assert ModelCard.read(tmp_path) == UNKNOWN


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("title = 3", "title is 3"),
        (f"title = 0x{'F' * 6000}", "title is a number of thousands of digits"),
        (f"labels = 0x{'F' * 6000}", "labels is a number of thousands of digits"),
        (f"[figures]\ndev = 0x{'F' * 6000}", "figures.dev is a number of thousands of digits"),
        ('title = "a\\nb"', "control characters"),
        ('description = "a\\u202eb"', "control characters"),
        (f'domain = "{"x" * 201}"', "at most 200 characters"),
        ("labels = 3", "must be a table"),
        ("[labels]\nPER = 1", "labels.PER is 1"),
        ('[labels]\n"a\\u0007" = ""', "control characters"),
        ("[figures]\ndev = nan", "from 0 to 100"),
        ("[figures]\ndev = true", "from 0 to 100"),
        ('[figures]\ntest = "good"', "from 0 to 100"),
        ("[figures]\nf1 = 3", "no key figures.f1"),
        ("[profile]\nx = nan", "not nan"),
        ("other = 3", "no key other"),
        ("title", "not TOML"),
        ("title = " + "[" * 3000, "nested too deeply"),
        ("#" * 70_000, "65,536 bytes"),
    ],
)
def test_card_of_any_origin_is_refused_in_a_sentence(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / CARD).write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        ModelCard.read(tmp_path)
    message = str(caught.value)
    assert expected in message and CARD in message and "\n" not in message and len(message) < 500
    with pytest.warns(CardWarning, match="the model is used without its card") as warned:
        assert ModelCard.read_or_warn(tmp_path) == UNKNOWN
    assert len(warned) == 1


def test_card_of_odd_names_can_be_read_again(tmp_path: Path) -> None:
    card = ModelCard.for_labels("a\nb" * 200, ("x\u202e", "y"), Figures("\udcff.jsonl", 3.0))
    card.write(tmp_path)
    assert ModelCard.read(tmp_path) == card
    for many in ([f"label {n}" for n in range(5000)], [chr(0x4E00 + n) for n in range(5000)]):
        assert ModelCard.for_labels("many", tuple(many), Figures()).labels == {}


@pytest.mark.parametrize("name", bundled_models())
def test_bundled_models_say_what_each_label_means(name: str) -> None:
    card = ModelCard.read(PRETRAINED / name)
    labels = json.loads((PRETRAINED / name / "vocabulary.json").read_bytes())["labels"]
    assert sorted(card.labels) == sorted(labels)
    assert all(card.labels.values()) and all((card.description, card.domain, card.language, card.licence))
    assert card.title == name and None not in vars(card.figures).values()
    fit = hyperspan.load(name).domain_fit("Wer reitet so spät durch Nacht und Wind? Es ist der Vater mit seinem Kind.")
    assert DomainCheck.of(card) is not None and fit is not None and fit.foreign


def test_annotator_has_the_card_of_its_model() -> None:
    assert hyperspan.load("genia").card == ModelCard.read(PRETRAINED / "genia")


@pytest.mark.parametrize(
    ("card", "expected"),
    [("#" * 70_000, "65,536 bytes"), ("title = 3", "title is 3"), ("[profile]\nlimit = 0", "must have a number")],
)
def test_wrong_card_does_not_block_the_model(tmp_path: Path, card: str, expected: str) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(PRETRAINED / "genia", folder)
    (folder / CARD).write_text(card, encoding="utf-8")
    with pytest.warns(CardWarning, match=expected) as warned:
        annotator = hyperspan.load(folder)
    assert len(warned) == 1
    assert annotator("c-Rel binds the IL-2 promoter.").mentions and annotator.domain_fit("Ein Text. " * 30) is None


def test_wrong_card_stays_as_it_is_when_training_ends(tmp_path: Path) -> None:
    (tmp_path / CARD).write_text("title = 3")
    facts = RunFacts(0.5, 1, [Sentence(("Anna", "left"))], [], 1.0)
    with pytest.warns(CardWarning, match="title is 3"):
        write_cards(small_model(), tmp_path, facts, force=False)
    assert (tmp_path / CARD).read_text() == "title = 3" and (tmp_path / "README.md").exists()
    write_cards(small_model(), tmp_path, facts, force=True)
    assert ModelCard.read(tmp_path).profile


def test_the_readme_of_a_model_says_which_discontinuous_mentions_it_finds() -> None:
    text = readme(coordination_model(), RunFacts(None, 1, (), (), 1.0))
    assert (
        "| mentions | overlapping in any way, with gaps, at most 5 words in the first part, at most 2 in each later one; "
        "at most 2 parts, with at most 3 words in a gap |"
    ) in text
