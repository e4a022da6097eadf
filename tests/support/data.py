"""The real corpora, which are not part of the project: beside the checkout or where $HYPERSPAN_DATA says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ALL = pytest.param(None, marks=pytest.mark.corpora, id="all")
"""In the place of how much of a corpus is tested: all of it, where corpora are."""
BESIDE = Path(__file__).parents[2].parent / "shared" / "data"


def data_path(name: str) -> Path:
    """The file or folder of this name, or the test is skipped."""
    path = Path(os.environ.get("HYPERSPAN_DATA", BESIDE)) / name
    if not path.exists():
        pytest.skip(f"needs the corpus {name}: put it into {path.parent} or set HYPERSPAN_DATA")
    return path
