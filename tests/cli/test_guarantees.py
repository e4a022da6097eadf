"""Promises of recall and precision as a user drives them: calibrate, annotate, evaluate, bulk."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hyperspan import Document, Mention, load, write_corpus
from tests.support.process import call as hyperspan

WORDS = "at least 90% of mentions of protein are found, expected; calibrated on 60 sentences of gold.jsonl"
NEWS = (
    "The company said on Tuesday that it will open three new offices in Seattle next year. Its managers expect more than "
    "400 jobs, and the mayor of the city welcomed the decision."
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus, and a model that makes promises by it."""
    place = tmp_path_factory.mktemp("guarantees")
    texts = [(f"IL-{k} binds c-Rel.", 3 + len(str(k))) for k in range(2, 62)]
    gold = [Document(text, [Mention(0, end, "protein"), Mention(end + 7, end + 12, "protein")]) for text, end in texts]
    write_corpus(gold, place / "gold.jsonl")
    model = ["-m", "genia", "--output", str(place / "model"), "--json"]
    made = hyperspan("model", "calibrate", str(place / "gold.jsonl"), "--guarantees-only", *model)
    assert made.returncode == 0, made.stderr
    every, protein = json.loads(made.stdout)["guarantees"]
    assert (every["label"], protein["label"], every["units"], every["price"]) == ("*", "protein", 60, 1 / 61)
    assert every["most_recall"] == pytest.approx(1 - 1 / 61) and every["recall"]["0.99"] is None
    assert (place / "model" / "config.toml").read_bytes() == (load_folder() / "config.toml").read_bytes()
    return place


def load_folder() -> Path:
    from hyperspan.runtime.folders import folder_of

    return folder_of("genia")


def test_annotate_carries_the_promise_in_json_on_the_page_and_on_the_terminal(place: Path) -> None:
    asked = ["annotate", "IL-7 binds.", "-m", str(place / "model"), "--recall", "0.9"]
    answer = hyperspan(*asked, "--json")
    assert json.loads(answer.stdout)["metadata"] == {"promise": WORDS} and WORDS in answer.stderr
    assert f"; {WORDS}; hyperspan " in hyperspan(*asked, "--format", "html").stdout
    off = hyperspan("annotate", NEWS, *asked[2:])
    assert "the promise of recall or precision does not hold there" in off.stderr
    assert "does not hold there" not in hyperspan("annotate", NEWS, "-m", str(place / "model")).stderr


def test_evaluate_prints_promised_and_achieved(place: Path) -> None:
    asked = ["evaluate", str(place / "gold.jsonl"), "-m", str(place / "model")]
    shown = hyperspan(*asked, "--recall", "0.9")
    assert shown.returncode == 0, shown.stderr
    first, header, row, words = shown.stdout.splitlines()[:4]
    assert (first.strip(), header.split()[-1], words.strip()) == ("Promise of recall", "sentences", WORDS)
    assert row.split()[2] == "90.0%" and row.split()[-1] == "60"
    found = json.loads(hyperspan(*asked, "--recall", "0.9", "--json").stdout)
    [kept] = found["promise"]["kept"]
    fixed = json.loads(hyperspan(*asked, "--threshold", str(kept["threshold"]), "--json").stdout)
    assert found["micro"] == fixed["micro"] and found["micro"]["recall"] == pytest.approx(kept["achieved"])
    low, high = kept["interval"]
    assert low <= kept["achieved"] <= high and found["promise"]["unit"] == "sentence"


def test_bulk_makes_the_same_promise(place: Path, tmp_path: Path) -> None:
    asked = [
        "bulk",
        str(place / "gold.jsonl"),
        "-m",
        str(place / "model"),
        "-o",
        str(tmp_path / "found"),
        "--workers",
        "0",
    ]
    made = hyperspan(*asked, "--recall", "0.9")
    assert made.returncode == 0 and WORDS in made.stderr, made.stderr
    lines = (tmp_path / "found" / "documents" / "part-00000.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["metadata"]["promise"] for line in lines} == {WORDS}
    again = hyperspan(*asked, "--recall", "0.8")
    assert again.returncode != 0 and "with recall 0.9" in again.stderr


def test_calibrate_measures_guarantees_across_halves(place: Path, tmp_path: Path) -> None:
    made = hyperspan(
        "model", "calibrate", str(place / "gold.jsonl"), "-m", "genia", "--output", str(tmp_path / "model"), "--json"
    )
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout)["guarantees"][0]["units"] == 60
    assert load(tmp_path / "model")("IL-7 binds.", recall=0.9).metadata["promise"] == WORDS


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--recall", "0.99"], "60 sentences of gold.jsonl can promise at most 98.3%; ask for less"),
        (["--recall", "0.9", "--threshold", "0.5"], "leave one of them out"),
        (["--recall", "0.9", "--precision", "0.9"], "recall and precision are both asked for"),
        (["--recall", "high"], "the recall 'high' is not a probability"),
        (["--recall", "DNA=0.9"], "nothing can be promised of DNA, since gold.jsonl has no such mention"),
    ],
)
def test_promises_that_cannot_be_made_are_one_sentence(place: Path, options: list[str], problem: str) -> None:
    for asked in (["annotate", "IL-7 binds."], ["evaluate", str(place / "gold.jsonl")]):
        answer = hyperspan(*asked, "-m", str(place / "model"), *options)
        assert (
            answer.returncode == 2 and problem in " ".join(answer.stderr.split()) and "Traceback" not in answer.stderr
        )
