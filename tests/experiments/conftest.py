"""What tests of experiments leave behind: nothing."""

from __future__ import annotations

import pytest

from hyperspan.plugins import MODELS


@pytest.fixture(autouse=True)
def _kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kinds of models that experiments register are forgotten after each test."""
    monkeypatch.setattr(MODELS, "built_in", MODELS.built_in)
