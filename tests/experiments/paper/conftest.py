"""What these tests do not see."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments import result as results


@pytest.fixture(autouse=True)
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where results of the paper are recorded: not in the repository, which holds some."""
    folder = tmp_path / "recorded"
    monkeypatch.setattr(results, "RECORDED", folder)
    return folder / "paper"
