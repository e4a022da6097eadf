"""The bundled models do what their cards say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hyperspan
from hyperspan.corpora import read_corpus
from hyperspan.evaluation.models import evaluate_model
from hyperspan.runtime.cards import HEADINGS, ModelCard
from hyperspan.runtime.folders import PRETRAINED, bundled_models
from tests.support.data import data_path

DATA = {
    "craft": "craft/test.jsonl.gz",
    "english": "gum/test.jsonl.gz",
    "genia": "genia/test.data",
    "litbank": "litbank/test.data.gz",
}


def test_all_are_there_and_small_together() -> None:
    assert bundled_models() == sorted(DATA)
    assert sum(file.stat().st_size for file in PRETRAINED.rglob("*.*")) <= 46e6


@pytest.mark.parametrize("name", DATA)
def test_they_are_small_and_say_what_they_are(name: str) -> None:
    folder = PRETRAINED / name
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 10e6
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert tuple(re.findall("^## (.*)", readme, re.MULTILINE)) == HEADINGS
    figures = ModelCard.read(folder).figures
    for part, f1 in (("dev", figures.dev), ("test", figures.test)):
        assert re.search(rf"^\| {figures.corpus} {part} \|[^|]+\|[^|]+\| {f1:.2f} \|", readme, re.MULTILINE)
    [row] = [line for line in Path("docs/index.md").read_text("utf-8").splitlines() if line.startswith(f"| [`{name}`]")]
    assert row.endswith(f"| {figures.test:.1f} |")
    config = (folder / "config.toml").read_text(encoding="utf-8")
    assert "/" not in config, "no paths of the machine that it was trained on"


def test_readme_has_the_figures_of_the_cards() -> None:
    cards = [ModelCard.read(file.parent) for file in PRETRAINED.glob("*/card.toml")]
    scores = [card.figures.test or 0 for card in cards]
    assert f"| {min(scores):.1f} – {max(scores):.1f} |" in Path("README.md").read_text(encoding="utf-8")


def test_overlapping_mentions_are_found_in_raw_text() -> None:
    text = "We found that c-Rel binds the IL-2 promoter in Jurkat T cells."
    document = hyperspan.load("genia")(text)
    found = {(mention.text, mention.label) for mention in document.mentions}
    assert {("IL-2 promoter", "DNA"), ("IL-2", "protein"), ("Jurkat T cells", "cell_line")} <= found
    assert all(0 < (mention.probability or 0) <= 1 for mention in document.mentions)

    document = hyperspan.load("litbank")("The inn saw Captain Morrow's wife leave for Halifax.")
    found = {(mention.text, mention.label) for mention in document.mentions}
    assert {("Captain Morrow's wife", "PER"), ("Captain Morrow", "PER"), ("Halifax", "GPE")} <= found

    document = hyperspan.load("craft")("Rod and cone cells of the retina express Pax6.")
    found = {(tuple(document.text[start:end] for start, end in one.parts), one.label) for one in document.mentions}
    assert {(("Rod", "cells"), "CL"), (("cone cells",), "CL"), (("retina",), "UBERON"), (("Pax6",), "PR")} <= found

    document = hyperspan.load("english")("The mayor of Oslo planted a tree near the old station in May.")
    found = {(mention.text, mention.label) for mention in document.mentions}
    assert {("The mayor of Oslo", "person"), ("Oslo", "place"), ("May", "time")} <= found


@pytest.mark.corpora
@pytest.mark.parametrize("name", DATA)
def test_the_figures_of_the_card_are_found_again(name: str) -> None:
    annotator = hyperspan.load(name)
    path = data_path(DATA[name])
    report = evaluate_model(annotator, list(read_corpus(path)), samples=10).report
    card = (Path(PRETRAINED) / name / "README.md").read_text(encoding="utf-8")
    row = re.search(r"test \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", card)
    assert row is not None
    measured = [report.micro.precision, report.micro.recall, report.micro.f1]
    assert [100 * value for value in measured] == pytest.approx([float(value) for value in row.groups()], abs=0.03)
