"""`hyperspan info` as a user drives it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from experiments import CONFIGS
from hyperspan import __version__
from hyperspan.cli.info import EXTRAS
from tests.support.process import call, hyperspan


def test_info_says_what_runs_and_what_is_installed() -> None:
    shown = hyperspan("info")
    assert shown.returncode == 0 and not shown.stderr
    for word in (f"hyperspan {__version__}", "kernels", "word_lstm", "genia", "protein", "transformers"):
        assert word in shown.stdout


def test_files_that_a_configuration_misses_are_named_at_once(tmp_path: Path) -> None:
    failed = call("train", str(CONFIGS / "genia/sh-n.toml"), cwd=tmp_path)
    assert failed.returncode == 2 and len(failed.stderr.splitlines()) == 1
    for key in ("data.train", "data.dev", "words.vectors"):
        assert f"{key} is data/" in failed.stderr and f"--set {key}=FILE" in failed.stderr
    assert "obtain them" in failed.stderr and "--set words.vectors= does without vectors" in failed.stderr


def test_info_as_json() -> None:
    found = json.loads(hyperspan("info", "--json").stdout)
    assert list(found) == ["version", "python", "torch", "kernels", "models", "extras"]
    assert found["kernels"]["devices"]["cpu"]["argmax"]["runs"] in ("c", "reference")
    assert {model["name"] for model in found["models"]} == {"craft", "english", "genia", "litbank"}
    assert all(model["bytes"] > 1e6 and model["labels"] for model in found["models"])
    assert found["extras"]["ray"]["install"] == 'pip install "hyperspan[ray]"'


def test_info_survives_a_wrong_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HYPERSPAN_KERNELS", "quick")
    shown = hyperspan("info")
    assert shown.returncode == 0 and "HYPERSPAN_KERNELS is 'quick'" in shown.stdout


def test_info_knows_every_extra() -> None:
    extras = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    known = {name: tuple(re.split(r"\W", needed, maxsplit=1)[0] for needed in asked) for name, asked in extras.items()}
    del known["dev"]
    assert known == EXTRAS
