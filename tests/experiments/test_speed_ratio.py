"""Two checkouts are measured in turns, each with its own code. No test measures time: these look at what is run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.speed_ratio import MODELS, WHAT, in_turns, material, measure, texts

ROOT = Path(__file__).parents[2]


def test_speed_ratio_measures_both_checkouts(tmp_path: Path) -> None:
    material(tmp_path, words=200, training_sentences=8)
    found = in_turns([ROOT, ROOT], 1, ["one sentence"], tmp_path)
    [(one, other)] = found["one sentence"]
    assert one["units"] == other["units"] >= 10
    assert all(values[clock] > 0 for values in (one, other) for clock in ("wall", "cpu"))


@pytest.mark.parametrize("name", [f"annotate with {MODELS[1]}", "bulk", "training, c = 6"])
def test_speed_ratio_counts_the_words_of_both_checkouts_alike(name: str, tmp_path: Path) -> None:
    material(tmp_path, words=200, training_sentences=8)
    assert measure(ROOT, WHAT[name], tmp_path)["units"] > 100


def test_speed_ratio_refuses_a_folder_that_is_no_checkout(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "experiments.speed_ratio", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "src/hyperspan" in done.stderr


def test_speed_child_refuses_the_code_of_another_checkout(tmp_path: Path) -> None:
    child = [sys.executable, str(ROOT / "experiments" / "speed_child.py"), str(tmp_path), "start", "genia"]
    done = subprocess.run(child, capture_output=True, text=True, check=False)
    assert done.returncode and "not from" in done.stderr


def test_texts_have_about_so_many_words() -> None:
    given = texts(3_000)
    assert 3_000 <= sum(len(text.split()) for text in given) < 4_500
    assert json.dumps(given) == json.dumps(texts(3_000))
