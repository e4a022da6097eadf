"""Studies: rows that are trained once and tabulated, what they learn from, folds, and significance of differences."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from experiments import result as results
from experiments.preparations import halves, halves_absent, kept_fifth, sure_half
from experiments.result import Result
from experiments.rows import CORPORA, Corpus
from experiments.study import studies
from experiments.study.folds import folded
from experiments.study.studies import DISCONTINUOUS, PARTIAL, STUDIES
from experiments.study.tables import comparison_sections, sections
from hyperspan.config import Config
from hyperspan.corpora.formats import write_corpus
from hyperspan.types import NOTHING_ANNOTATED, Document, Mention, Sentence
from tests.experiments.support import study

TEXT = "Rod and cone cells."
ROD, CONE = Mention(0, 18, "CL", ((0, 3), (13, 18))), Mention(8, 18, "CL")
SMALL = ("training.epochs=1", "encoder.hidden=4", "encoder.span_hidden=4", "encoder.layers=1", "words.dimension=4")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A small corpus in the place and format of CRAFT."""
    folder = tmp_path / "data" / "craft"
    folder.mkdir(parents=True)
    documents = [Document(TEXT, [ROD, CONE], id=str(number)) for number in range(30)]
    for part in ("train", "dev", "test"):
        write_corpus(documents, folder / f"{part}.jsonl.gz")
    return folder.parent


def made(row: str, seed: int, right: int, sentences: int = 40, data: str = "craft") -> Result:
    """A run that has found all of two mentions in some sentences, and the contiguous one in the others."""
    counts = np.array([[2, 2, 2] if index < right else [1, 1, 2] for index in range(sentences)])
    some = np.array([[1, 1, 1] if index < right else [0, 0, 1] for index in range(sentences)])
    groups = {"micro": counts, "discontinuous": some, "with_discontinuous": counts}
    report = {
        name: dict(zip(("correct", "predicted", "gold"), one.sum(0).tolist(), strict=True))
        for name, one in groups.items()
    }
    values = {"config": {}, "best_epoch": 1, "epochs": 1, "parameters": 1, "seconds": 1.0, "device": "cpu"}
    values |= {"machine": "", "version": "", "dev": report, "test": report, "counts": counts, "discontinuous": some}
    return Result(row=row, data=data, seed=seed, **values)  # type: ignore[arg-type]


def test_a_study_trains_its_rows_once_and_tabulates_them(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "RECORDED", tmp_path / "recorded")
    small = [part for one in (*SMALL, "words.vectors=") for part in ("--set", one)]
    where = ["--data", "craft", "--data-dir", str(data), "--output", str(tmp_path / "out"), "--threads", "1"]
    given = ["discontinuous", *where, *small, "--device", "cpu", "--rows", "segmental", "--seeds", "1"]
    done = study(*given, "--record", "--format", "markdown")
    assert done.returncode == 0, done.stderr
    assert "### craft, test" in done.stdout and "| segmental, which leaves them out |" in done.stdout
    file = tmp_path / "out" / "discontinuous" / "craft" / "segmental" / "seed-1" / "result.json"
    run = Result.read(file)
    assert run.report["micro"]["gold"] == 60 and run.report["discontinuous"]["gold"] == 30
    assert run.discontinuous is not None and run.discontinuous[:, 2].sum() == 30 and run.known_counts[:, 2].sum() == 60
    assert run.config["model"].get("kind", "segmental") == "segmental" and run.config["training"]["start"] == ""
    (line,) = (tmp_path / "recorded" / "discontinuous" / "craft.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["dev"]["discontinuous"]["gold"] == 30
    before = file.stat().st_mtime_ns
    assert "1 of 1 runs are finished already" in study(*given).stderr and file.stat().st_mtime_ns == before
    listed = study("discontinuous", *where, "--list", "--rows", "segmental,hull", "--seeds", "1,2")
    states = [line.split(maxsplit=2)[2] for line in listed.stdout.splitlines()]
    assert states[0].startswith("seed 1: finished, F1") and states[1] == "not started"


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ("partial --against full", "| 50% of the mentions, the rest unknown | 73.89 ± 0.28 | 72.02 ± 0.46 |"),
        ("discontinuous", "| discontinuous, at most three parts | 69.15 ± 0.69 | 27.79 ± 0.48 |"),
    ],
)
def test_recorded_runs_of_studies_are_tabulated(given: str, line: str, tmp_path: Path) -> None:
    """They have no counts of sentences: means, but no comparison."""
    done = study(*given.split(), "--no-train", "--output", str(tmp_path), "--format", "markdown")
    assert done.returncode == 0 and line in done.stdout
    assert "trained with another" not in done.stderr and "difference" not in done.stdout


def test_folds_test_each_article_once_and_never_learn_from_it() -> None:
    documents = [Document(f"article {number}", id=str(number)) for number in range(23)]
    every = [folded(documents, fold) for fold in range(1, 6)]
    assert sorted(document.id for parts in every for document in parts["test"]) == sorted(d.id for d in documents)
    for parts in every:
        ids = [document.id for documents in parts.values() for document in documents]
        assert len(ids) == len(set(ids)) == 23 and parts["dev"]


def test_differences_on_discontinuous_mentions_are_told_from_chance() -> None:
    right = {"segmental": 0, "biohd": 19, "discontinuous": 20, "discontinuous-3": 40}
    runs = {row: [made(row, seed, found) for seed in (1, 2)] for row, found in right.items()}
    runs["segmental"].append(made("segmental", 3, 40))  # a seed that other rows lack is not compared
    against = next(row for row in DISCONTINUOUS.rows if row.name == "discontinuous")
    (table,) = comparison_sections(DISCONTINUOUS, {"craft": runs}, against)
    lines = {(line[0], line[1]): line[2:] for line in table.rows}
    assert len(lines) == 3 * 3
    below = lines["segmental, which leaves them out", "discontinuous"]
    assert below[0] == "+66.67" and float(below[2]) < 0.001
    same = lines["a linear chain of BIOHD tags", "discontinuous"]
    assert 0 < float(same[0]) < 3 and float(same[2]) > 0.5
    assert lines["discontinuous, at most three parts", "discontinuous"][0] == "-33.33"


def test_scores_are_means_over_seeds_of_all_folds_together() -> None:
    found = {
        "genia-1": {"biohd": [made("biohd", seed, 10, 10, "genia-1") for seed in (1, 2)]},
        "genia-2": {"biohd": [made("biohd", 1, 0, 30, "genia-2"), made("biohd", 2, 10, 30, "genia-2")]},
    }
    test, dev = sections(DISCONTINUOUS, found)
    assert (test.title, dev.title) == ("genia, test", "genia, dev")
    assert test.rows[0][1:5] == ["81.32 ± 6.22", "53.33 ± 18.86", "100.00 ± 0.00", "37.50 ± 17.68"]
    assert test.rows[0][-1] == "2" and "folds" in dev.note


def test_preparations_keep_what_they_say() -> None:
    sentences = [Sentence([*"abc"], [Mention(0, 1, "X"), Mention(1, 3, "Y")]) for _ in range(200)]
    config = Config().override(["training.seed=3"])
    fifth, dev = kept_fifth(sentences, sentences, config)
    assert dev is sentences and 40 < sum(len(one.mentions) for one in fifth) < 120
    assert all(one.annotated is None for one in fifth)
    assert all(one.annotated == NOTHING_ANNOTATED for one in sure_half(sentences, [], config)[0])
    some, absent = halves(sentences, [], config)[0], halves_absent(sentences, [], config)[0]
    assert [one.mentions for one in some] == [one.mentions for one in absent]
    assert all(len(one.mentions) == 1 and one.annotated is not None for one in some)
    assert kept_fifth(sentences, [], config)[0] == fifth
    assert kept_fifth(sentences, [], config.override(["training.seed=4"]))[0] != fifth


def test_rows_of_studies_have_names_of_their_own() -> None:
    for one in STUDIES.values():
        named = [(row.name, corpus) for row in one.rows for corpus in row.data]
        assert len({*named}) == len(named)
        assert set(one.corpora) <= set(CORPORA)
    assert isinstance(CORPORA["craft"], Corpus) and studies.PARTIAL is PARTIAL
