"""The benchmark of the bundled models: what it measures with, and what it reports. Nothing here looks at a clock."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.speed.bundled import WORDS, corpus_files, run, sample, scores, start, table
from hyperspan.errors import InputError
from hyperspan.runtime.loading import load

FOUR_LINES = "IL-2 binds\nNN VB\n0,1 protein\n\nThe IL-2 promoter .\nDT NN NN .\n1,2 protein|1,3 DNA\n\n"


def test_corpus_files_are_the_parts_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "genia").mkdir()
    assert corpus_files(tmp_path, "genia") == {}
    (tmp_path / "genia/dev.data").write_text(FOUR_LINES)
    (tmp_path / "genia/test.jsonl.gz").write_bytes(b"")
    (tmp_path / "genia/test.ids").write_text("1\n")
    assert {part: path.name for part, path in corpus_files(tmp_path, "genia").items()} == {
        "dev": "dev.data",
        "test": "test.jsonl.gz",
    }
    (tmp_path / "genia").rename(tmp_path / "gum")
    assert corpus_files(tmp_path, "english").keys() == {"dev", "test"}, "which has the name of its language"


def test_sample_is_running_text_of_the_corpus_or_invented(tmp_path: Path) -> None:
    (tmp_path / "test.data").write_text(FOUR_LINES)
    sentences, texts = sample({"test": tmp_path / "test.data"}, words=100)
    assert [len(sentence) for sentence in sentences] == [2, 4]
    assert " ".join(texts) == "IL-2 binds The IL-2 promoter."
    sentences, texts = sample({}, WORDS)
    assert len(sentences) > 1_000 and WORDS <= sum(len(text.split()) for text in texts) < WORDS + 1_500


def test_scores_are_those_of_evaluate(tmp_path: Path) -> None:
    assert scores(load("genia"), {}) is None
    (tmp_path / "dev.data").write_text(FOUR_LINES)
    found = scores(load("genia"), {"dev": tmp_path / "dev.data"})
    assert found is not None and 0 < found["dev"] <= 1


def test_start_is_measured_beside_the_version() -> None:
    found = start("litbank", starts=1)
    assert found["start_over_version"] == pytest.approx(found["start_seconds"] / found["version_seconds"])
    assert found["peak_mb"] is None or found["peak_mb"] > 20


def test_a_model_that_is_not_bundled_is_named() -> None:
    with pytest.raises(InputError, match="there is no bundled model 'nonsense'; choose from craft, english, genia"):
        run(models=["nonsense"])


@pytest.mark.slow
def test_run_gives_the_figures_of_the_contract(tmp_path: Path) -> None:
    figures = run(models=["genia"], data=tmp_path, rounds=1, starts=1)
    [found] = figures["models"].values()
    assert {"words_per_second", "ratio_to_spancat", "f1", "start_seconds", "start_over_version", "peak_mb"} <= {*found}
    assert json.loads(json.dumps(figures)) == figures
    assert any(line.startswith("words a second") for line in table(figures))
