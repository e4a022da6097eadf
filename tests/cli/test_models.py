"""`hyperspan models` as a user drives it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from hyperspan.runtime.cards import ModelCard
from hyperspan.runtime.folders import DEFAULT_MODEL, PRETRAINED, bundled_models
from tests.support.process import call, hyperspan


def test_models_lists_the_bundled_ones_and_what_they_find() -> None:
    shown = hyperspan("models")
    assert shown.returncode == 0 and not shown.stderr
    assert f"\n{DEFAULT_MODEL} *" in shown.stdout and shown.stdout.count(" *") == 1
    for name in bundled_models():
        card = ModelCard.read(PRETRAINED / name)
        figures = f"F1 on {card.figures.corpus}: {card.figures.dev:.1f} dev, {card.figures.test:.1f} test"
        assert all(part in shown.stdout for part in (name, figures, card.domain, "MIT"))
        for label, meaning in card.labels.items():  # those of names alone are listed together
            assert label.removesuffix("-name") in shown.stdout
            assert label.endswith("-name") or meaning in shown.stdout


def test_models_as_json() -> None:
    found = {entry["name"]: entry for entry in json.loads(hyperspan("models", "--json").stdout)}
    assert list(found) == [DEFAULT_MODEL, *(name for name in bundled_models() if name != DEFAULT_MODEL)]
    assert [name for name, entry in found.items() if entry["default"]] == [DEFAULT_MODEL]
    assert all(
        entry["bytes"] > 1e6 and entry["figures"]["test"] and all(entry["labels"].values()) for entry in found.values()
    )


def test_models_lists_folders_without_a_card_and_refuses_what_is_no_model(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    for name in ("config.toml", "words.txt", "model.safetensors"):
        shutil.copy(PRETRAINED / "genia" / name, mine)
    (mine / "vocabulary.json").write_text(json.dumps({"labels": ["[red]odd\x1b[0m", "plain"]}))
    shown = hyperspan("models", "mine", cwd=tmp_path)
    assert shown.returncode == 0 and "\x1b" not in shown.stdout
    assert all(text in shown.stdout for text in ("mine", "[red]odd", "plain", "F1 unknown", "licence unknown"))
    (mine / "card.toml").write_text("title = 3")
    failed = call("models", "mine", cwd=tmp_path)
    assert failed.returncode == 2 and "title is 3" in failed.stderr and len(failed.stderr.splitlines()) == 1
