"""What tests of training share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.runs import CONFIG


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "harbour.toml"
    file.write_text(CONFIG, encoding="utf-8")
    return file
