"""What these tests neither see nor leave behind."""

from __future__ import annotations

from pathlib import Path

import pytest

from hyperspan.models.scorers import SCORERS
from hyperspan.reproduce import results


@pytest.fixture(autouse=True)
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where results are recorded once the folder is there: not in the repository, which holds some."""
    folder = tmp_path / "experiments"
    monkeypatch.setattr(results, "CHECKOUT", folder)
    return folder


@pytest.fixture(autouse=True)
def _kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kinds of models that experiments register are forgotten after each test."""
    monkeypatch.setattr(SCORERS, "built_in", {**SCORERS.built_in})
