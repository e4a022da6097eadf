"""`hyperspan info` as a user drives it."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest

from experiments import CONFIGS
from hyperspan import __version__
from hyperspan.errors import EXTRAS
from hyperspan.runtime.cards import ModelCard
from hyperspan.runtime.folders import DEFAULT_MODEL, PRETRAINED
from tests.support.process import call

NAMES = ("craft", "english", "genia", "litbank")


def test_info_says_what_runs_and_what_is_installed() -> None:
    shown = call("info")
    assert shown.returncode == 0 and not shown.stderr
    for word in (f"hyperspan {__version__}", "kernels", "word_lstm", "genia", "protein", "transformers"):
        assert word in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) < 80


def test_files_that_a_configuration_misses_are_named_at_once(tmp_path: Path) -> None:
    failed = call("train", str(CONFIGS / "genia/sh-n.toml"), cwd=tmp_path)
    assert failed.returncode == 2 and len(failed.stderr.splitlines()) == 1
    for key in ("data.train", "data.dev", "words.vectors"):
        assert f"{key} is data/" in failed.stderr and f"--set {key}=FILE" in failed.stderr
    assert "obtain them" in failed.stderr and "--set words.vectors= does without vectors" in failed.stderr


def test_info_as_json() -> None:
    found = json.loads(call("info", "--json").stdout)
    assert list(found) == ["version", "python", "torch", "kernels", "extras", "models"]
    assert found["kernels"]["devices"]["cpu"]["argmax"]["runs"] in ("c", "reference")
    assert {model["name"] for model in found["models"]} == set(NAMES)
    assert all(model["bytes"] > 1e6 and model["labels"] for model in found["models"])
    assert found["extras"]["ray"]["install"] == 'pip install "hyperspan[ray]"'


def test_info_survives_a_wrong_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYPERSPAN_KERNELS", "quick")
    shown = call("info")
    assert shown.returncode == 0 and "HYPERSPAN_KERNELS is 'quick'" in shown.stdout


def test_info_knows_every_extra() -> None:
    extras = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    known = {name: tuple(re.split(r"\W", needed, maxsplit=1)[0] for needed in asked) for name, asked in extras.items()}
    del known["dev"]
    assert known == EXTRAS


def test_info_says_what_the_labels_of_models_mean() -> None:
    shown = call("info", *NAMES)
    assert shown.returncode == 0 and not shown.stderr
    assert f"{DEFAULT_MODEL} *" in shown.stdout and shown.stdout.count(" *") == 1
    for name in NAMES:
        card = ModelCard.read(PRETRAINED / name)
        figures = f"F1 on {card.figures.corpus}: {card.figures.dev:.1f} dev, {card.figures.test:.1f} test"
        assert all(part in shown.stdout for part in (name, figures, card.domain, "MIT"))
        for label, meaning in card.labels.items():  # those of names alone are listed together
            assert label.removesuffix("-name") in shown.stdout
            assert label.endswith("-name") or meaning in shown.stdout


def test_info_of_models_as_json() -> None:
    found = {entry["name"]: entry for entry in json.loads(call("info", *NAMES, "--json").stdout)}
    assert list(found) == list(NAMES)
    assert [name for name, entry in found.items() if entry["default"]] == [DEFAULT_MODEL]
    assert all(
        entry["bytes"] > 1e6 and entry["figures"]["test"] and all(entry["labels"].values()) for entry in found.values()
    )


def test_info_shows_folders_without_a_card_and_refuses_what_is_no_model(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in ("config.toml", "words.txt", "model.safetensors"):
        shutil.copy(PRETRAINED / "genia" / name, mine)
    (mine / "vocabulary.json").write_text(json.dumps({"labels": ["[red]odd\x1b[0m", "plain"]}))
    shown = call("info", "mine", cwd=tmp_path)
    assert shown.returncode == 0 and "\x1b" not in shown.stdout
    assert all(text in shown.stdout for text in ("mine", "[red]odd", "plain", "F1 unknown", "licence unknown"))
    (mine / "card.toml").write_text("title = 3")
    failed = call("info", "mine", cwd=tmp_path)
    assert failed.returncode == 2 and "title is 3" in failed.stderr and len(failed.stderr.splitlines()) == 1
