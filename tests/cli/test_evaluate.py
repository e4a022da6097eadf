"""`hyperspan evaluate` as a user drives it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attrs import evolve

from hyperspan.config import Config
from hyperspan.corpora.formats import read_corpus, write_corpus
from tests.support.process import call as hyperspan

GOLD = """\
The head of the Oz bank left .
DT NN IN DT NNP NN VBD .
0,6 PER|3,6 ORG|4,5 GPE

Nobody knew Mary .
NN VBD NNP .
2,3 PER|2,3 PER

"""
PREDICTED = GOLD.replace("4,5 GPE", "4,5 PER").replace("2,3 PER|2,3 PER", "")


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Predictions and gold."""
    names = tmp_path / "predicted.data", tmp_path / "gold.data"
    for path, text in zip(names, (PREDICTED, GOLD), strict=True):
        path.write_text(text, encoding="utf-8")
    return str(names[0]), str(names[1])


def test_predictions_as_json(files: tuple[str, str]) -> None:
    result = hyperspan("evaluate", files[1], "--predictions", files[0], "--json")
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["micro"] == {
        "precision": 2 / 3,
        "recall": 0.5,
        "f1": pytest.approx(4 / 7),
        "correct": 2,
        "predicted": 3,
        "gold": 4,
    }
    assert found["overlapping"]["sentences"] == found["non_overlapping"]["sentences"] == 1
    assert found["overlapping"]["recall"] == 2 / 3 and found["non_overlapping"]["recall"] == 0
    assert found["per_type"]["ORG"]["f1"] == 1 and found["boundaries"]["precision"] == 1
    assert found["confusions"] == [{"gold": "GPE", "predicted": "PER", "count": 1}]
    assert found["by_depth"]["3"]["recall"] == 0 and found["by_width"]["1"]["gold"] == 2
    assert found["by_overlap"]["contains"]["recall"] == 1
    assert found["counts"]["gold_duplicates_removed"] == 1 and found["counts"]["words"] == 12
    assert found["confidence"]["samples"] == 1000 and len(found["confidence"]["f1"]) == 2
    assert found["calibration"] == {} and found["words_per_second"] is None


def test_tables(files: tuple[str, str]) -> None:
    summary = hyperspan("evaluate", files[1], "-p", files[0]).stdout
    assert len(summary.splitlines()) <= 24 and "By type" in summary and "By width" not in summary
    assert summary.splitlines()[-1].startswith("next: --errors errors.html shows every error") and "57.14" in summary
    table = hyperspan("evaluate", files[1], "-p", files[0], "--verbose")
    assert table.returncode == 0 and "57.14" in table.stdout and "1 with overlap" in table.stdout
    assert "\x1b" not in table.stdout and "Right span, wrong type" in table.stdout
    markdown = hyperspan("evaluate", files[1], "-p", files[0], "--markdown").stdout
    assert "| micro | 66.67 | 50.00 | 57.14 | 2 | 3 | 4 |" in markdown.splitlines()
    again = hyperspan("evaluate", "-", "-p", files[0], "--seed", "7", stdin=GOLD)
    assert again.returncode == 0 and "exact intervals; 4 mentions are too few to tell: the F1 on" in again.stdout
    assert "interval" not in hyperspan("evaluate", files[1], "-p", files[0], "--samples", "0").stdout


def test_other_formats_and_probabilities(files: tuple[str, str], tmp_path: Path) -> None:
    """Predictions by characters, of a format without sentences, with probabilities."""
    sure = {"PER": 0.9, "ORG": 0.6}
    predicted = [
        evolve(d, mentions=[evolve(m, probability=sure[m.label]) for m in d.mentions], sentences=())
        for d in read_corpus(files[0])
    ]
    path, plot = tmp_path / "predicted.jsonl", tmp_path / "plot.png"
    write_corpus(predicted, path, "jsonl")
    arguments = ["evaluate", files[1], "-p", str(path), "--json", "--plot", str(plot)]
    result = hyperspan(*arguments)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["micro"]["precision"] == 2 / 3
    assert found["calibration"]["predicted"]["brier"] == pytest.approx((0.1**2 + 0.9**2 + 0.4**2) / 3)
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "--force" in hyperspan(*arguments).stderr and hyperspan(*arguments, "--force").returncode == 0


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that has learnt nothing."""
    from hyperspan.nn import new_model, save_model

    folder = tmp_path_factory.mktemp("models") / "untrained"
    gold = folder.with_suffix(".data")
    gold.write_text(GOLD, encoding="utf-8")
    sizes = {"words": {"dimension": 4, "tag_dimension": 2}, "encoder": {"hidden": 4, "span_hidden": 4}}
    config = Config.from_mapping({**sizes, "model": {"max_width": 4}})
    save_model(new_model(config, [s for document in read_corpus(gold) for s in document.sentences]), folder)
    return folder


def test_a_model(model: Path, files: tuple[str, str], tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    result = hyperspan("evaluate", files[1], "-m", str(model), "--json")
    assert result.returncode == 0, result.stderr
    best = json.loads(result.stdout)
    assert best["micro"]["gold"] == 4 and best["words_per_second"] > 0
    arguments = ["evaluate", files[1], "-m", str(model), "--json", "--threshold", "0.01", "--output", str(output)]
    result = hyperspan(*arguments)
    assert result.returncode == 0 and "wrote predictions to" in result.stderr
    every = json.loads(result.stdout)
    assert every["calibration"]["predicted"] == every["calibration"]["candidates"] == best["calibration"]["candidates"]
    assert every["micro"]["predicted"] == every["calibration"]["predicted"]["count"] > 0
    saved = json.loads(hyperspan("evaluate", files[1], "-p", str(output), "--json").stdout)
    assert saved["micro"] == every["micro"] and saved["calibration"]["predicted"] == every["calibration"]["predicted"]


def test_errors_of_a_model_and_of_predictions(model: Path, files: tuple[str, str], tmp_path: Path) -> None:
    page, lines = tmp_path / "errors.html", tmp_path / "errors.jsonl"
    result = hyperspan("evaluate", files[1], "-m", str(model), "--json", "--errors", str(lines), "--labels", "PER")
    assert result.returncode == 0, result.stderr
    scores = json.loads(result.stdout)["micro"]
    records = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    differences = [one for record in records for one in record["differences"]]
    assert sum(one["gold"] is not None for one in differences) == scores["gold"] - scores["correct"] > 0
    assert sum(one["predicted"] is not None for one in differences) == scores["predicted"] - scores["correct"]
    assert "too wide" in {one["kind"] for one in differences}  # six words, and the model finds four
    wide = next(record for record in records if len(record["tokens"]) == 8)
    assert wide["gold_probability"] == 0 and wide["gold_log_probability"] is None and wide["predicted_probability"] > 0
    result = hyperspan("evaluate", files[1], "-p", files[0], "--errors", str(page))
    assert "wrote 2 differences in 2 sentences to" in result.stderr
    written = page.read_text(encoding="utf-8")
    assert "Errors of predicted.data on gold.data" in written and "<strong>wrong type</strong>" in written
    again = hyperspan("evaluate", files[1], "-p", files[0], "--errors", str(page))
    assert again.returncode == 2 and "--force" in again.stderr and again.stdout == ""


def test_a_model_and_a_corpus_without_a_common_label(model: Path, files: tuple[str, str]) -> None:
    assert "no label in common" not in hyperspan("evaluate", files[1], "-m", str(model), "--samples", "0").stderr
    found = hyperspan("evaluate", files[1], "-m", "genia", "--samples", "0")
    assert found.returncode == 0 and len(found.stderr.splitlines()) == 1
    assert "no label in common" in found.stderr and "in the corpus GPE, ORG, PER)" in found.stderr


def test_only_some_labels(model: Path, files: tuple[str, str], tmp_path: Path) -> None:
    (people := tmp_path / "people.data").write_text(GOLD.replace("|3,6 ORG|4,5 GPE", ""), encoding="utf-8")
    everything = ["evaluate", str(people), "-m", str(model), "--json", "--threshold", "0.01"]
    noted = hyperspan(*everything)
    every = json.loads(noted.stdout)
    [note] = noted.stderr.splitlines()
    others = {label: every["per_type"][label]["predicted"] for label in ("ORG", "GPE")}
    assert f"{sum(others.values())} predictions with a label that never occurs" in note and "--labels gold" in note
    assert all(f"{times} {label}" in note for label, times in others.items())

    result = hyperspan(*everything, "--labels", "gold")
    found = json.loads(result.stdout)
    assert result.stderr == "" and found["per_type"] == {"PER": every["per_type"]["PER"]}
    assert found["micro"] == every["per_type"]["PER"]
    assert found["micro"]["predicted"] == found["calibration"]["candidates"]["count"] > 0
    again = json.loads(hyperspan("evaluate", files[1], "-p", files[0], "--labels", "ORG,GPE", "--json").stdout)
    assert again["per_type"].keys() == {"ORG", "GPE"} and again["micro"]["gold"] == 2 and again["confusions"] == []


def test_evaluate_names_the_folder_of_predictions_that_is_the_current_one(
    files: tuple[str, str], tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    write_corpus(read_corpus(files[0]), folder, "brat")
    result = hyperspan("evaluate", str(folder), "-p", ".", "--errors", str(tmp_path / "errors.html"), cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "Errors of mine on mine" in (tmp_path / "errors.html").read_text(encoding="utf-8")


def test_evaluate_takes_a_threshold_for_each_label(model: Path, files: tuple[str, str]) -> None:
    result = hyperspan("evaluate", files[1], "-m", str(model), "--threshold", "0.5", "--threshold", "PER=0.01")
    assert result.returncode == 0, result.stderr
