"""The options --names and --no-pronouns of the commands, as a user drives them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from hyperspan.corpora.formats import read_corpus, write_corpus
from hyperspan.types import Document, Mention
from tests.support.marked_names import DEFAULT, FOUND_NAMES, PRONOUNS, TEXT
from tests.support.process import call as hyperspan


def found(record: dict[str, Any]) -> set[tuple[str, str]]:
    return {(TEXT[mention["start"] : mention["end"]], mention["label"]) for mention in record["mentions"]}


def annotated(named_folder: Path, *options: str) -> dict[str, Any]:
    result = hyperspan("annotate", TEXT, "--model", named_folder, "--format", "jsonl", *options)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_annotate_finds_names_on_request(named_folder: Path) -> None:
    assert found(annotated(named_folder)) == DEFAULT
    assert found(annotated(named_folder, "--names")) == FOUND_NAMES
    assert found(annotated(named_folder, "--names", "--labels", "place", "--threshold", "place=0.5")) == {
        ("Oz", "place")
    }
    assert found(annotated(named_folder, "--names", "--top-k", "2", "--forbid", "0:3:person")) == {("Oz", "place")}
    wrong = hyperspan("annotate", TEXT, "--model", named_folder, "--names", "--labels", "person-name")
    assert wrong.returncode == 2 and "it knows person, place" in wrong.stderr


def test_annotate_leaves_out_pronouns(named_folder: Path) -> None:
    assert found(annotated(named_folder, "--no-pronouns")) == DEFAULT - PRONOUNS
    assert found(annotated(named_folder, "--pronouns")) == DEFAULT
    page = hyperspan("annotate", TEXT, "--model", named_folder, "--names", "--no-pronouns", "--format", "html").stdout
    assert "the most probable set; names alone; without pronouns; hyperspan" in page and "person-name" not in page


def test_bulk_takes_both_options(named_folder: Path, tmp_path: Path) -> None:
    texts = tmp_path / "texts.jsonl"
    texts.write_text(json.dumps({"id": "1", "text": TEXT}) + "\n")
    bulk = ["bulk", str(texts), "--model", named_folder, "--workers"]
    for workers, option, expected in (
        ("0", "--pronouns", DEFAULT),
        ("0", "--no-pronouns", DEFAULT - PRONOUNS),
        ("1", "--names", FOUND_NAMES),
    ):
        output = tmp_path / f"out{option}"
        result = hyperspan(*bulk, workers, "-o", str(output), option)
        assert result.returncode == 0, result.stderr
        assert found(json.loads((output / "documents/part-00000.jsonl").read_text())) == expected
    again = hyperspan(*bulk, "0", "-o", str(tmp_path / "out--names"))
    assert again.returncode == 2 and "holds another job (with names True, and now False)" in again.stderr


@pytest.fixture(scope="module")
def gold(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A corpus of names, as a user has it who asks for names."""
    path = tmp_path_factory.mktemp("gold") / "gold.jsonl"
    mentions = [Mention(TEXT.index(text), TEXT.index(text) + len(text), label) for text, label in FOUND_NAMES]
    write_corpus([Document(TEXT, mentions, id="1")], str(path))
    return str(path)


def scores(named_folder: Path, *arguments: str) -> dict[str, Any]:
    result = hyperspan("evaluate", *arguments, "--model", named_folder, "--json", "--samples", "0")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_evaluate_scores_names_under_the_labels_of_the_corpus(named_folder: Path, gold: str, tmp_path: Path) -> None:
    whole, names = scores(named_folder, gold), scores(named_folder, gold, "--names")
    assert whole["micro"]["predicted"] == len(DEFAULT) and whole["micro"]["correct"] == 2
    assert names["micro"]["f1"] == 1.0 and names["micro"]["predicted"] == 2
    assert scores(named_folder, gold, "--no-pronouns")["micro"]["predicted"] == len(DEFAULT - PRONOUNS)
    assert scores(named_folder, gold, "--names", "--labels", "place")["micro"]["gold"] == 1
    errors, output = tmp_path / "errors.jsonl", tmp_path / "predicted.jsonl"
    extra = ["--threshold", "0.01", "--errors", str(errors), "--output", str(output)]
    scores(named_folder, gold, "--names", *extra)
    assert found(json.loads(output.read_text())) >= FOUND_NAMES
    listed = [json.loads(line) for line in errors.read_text().splitlines()]
    assert listed and "person-name" not in errors.read_text()


def test_evaluate_reads_corpora_that_mark_names_too(named_folder: Path, gold: str, tmp_path: Path) -> None:
    """Such as the one that a model was trained on, with labels of names beside those of all mentions."""
    [document] = read_corpus(gold)
    whole = [Mention(TEXT.index(text), TEXT.index(text) + len(text), label) for text, label in DEFAULT]
    names = [evolve(mention, label=f"{mention.label}-name") for mention in document.mentions]
    write_corpus([evolve(document, mentions=[*whole, *names])], str(tmp_path / "both.jsonl"))
    assert scores(named_folder, str(tmp_path / "both.jsonl"))["micro"]["f1"] == 1.0
    found = scores(named_folder, str(tmp_path / "both.jsonl"), "--names")["micro"]
    assert found["f1"] == 1.0 and found["gold"] == 2
    others = scores(named_folder, str(tmp_path / "both.jsonl"), "--no-pronouns")["micro"]
    assert others["f1"] == 1.0 and others["gold"] == len(DEFAULT - PRONOUNS)


def test_evaluate_says_that_a_corpus_marks_no_names(tmp_path: Path) -> None:
    """Where it has labels that names never have, most of its mentions are descriptions and pronouns."""
    mentions = [Mention(0, 3, "person"), Mention(9, 15, "time")]
    write_corpus([Document("Ada left in May.", mentions)], str(tmp_path / "all.jsonl"))
    noted = hyperspan("evaluate", str(tmp_path / "all.jsonl"), "-m", "english", "--names").stderr
    assert "the corpus marks no names (organization-name, person-name, place-name)" in noted
    assert "leave out --names" in noted
