"""What these tests neither see nor leave behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.paper import results
from hyperspan.plugins import MODELS


@pytest.fixture(autouse=True)
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where results are recorded: not in the repository, which holds some."""
    folder = tmp_path / "recorded"
    monkeypatch.setattr(results, "RECORDED", folder)
    return folder


@pytest.fixture(autouse=True)
def _kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kinds of models that experiments register are forgotten after each test."""
    monkeypatch.setattr(MODELS, "built_in", MODELS.built_in)
