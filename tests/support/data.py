"""The real corpora, which are not part of the project: beside the checkout or where $HYPERSPAN_DATA says. And places
in any data."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


def places_in(value: Any) -> Iterator[tuple[Any, ...]]:
    """The keys that lead to each value inside one of JSON."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield (key,)
        yield from ((key, *rest) for rest in places_in(value[key]))
