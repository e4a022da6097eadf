"""The line that says how a page was made."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hyperspan.errors import InputError
from hyperspan.render.html import provenance, today


def test_the_day_is_that_of_source_date_epoch_where_it_is_set() -> None:
    code = "from hyperspan.render.html import provenance; print(provenance('runs/mine', {'DNA': 0.25}, ['DNA'], 2))"
    environment = os.environ | {"SOURCE_DATE_EPOCH": "86400"}
    said = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert said.startswith(
        "Model mine; every mention at least this probable: 0.5, DNA 0.25; types DNA; 2 constraints; "
    )
    assert said.endswith("; 1970-01-02.\n")


def test_today_refuses_a_day_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for given in ("99999999999999", "9" * 400):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", given)
        with pytest.raises(
            InputError, match=r"^SOURCE_DATE_EPOCH is 9{14,40}, which is no day before .*; give seconds"
        ):
            today()


def test_provenance_names_the_folder_of_a_model_that_is_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine" / "inner").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "mine")
    assert provenance(".").startswith("Model mine;")
    monkeypatch.chdir(tmp_path / "mine" / "inner")
    assert provenance("..").startswith("Model mine;") and provenance("../../mine").startswith("Model mine;")
