"""A bulk job without a model."""

from __future__ import annotations

import pytest

from hyperspan.bulk import job
from tests.bulk.fakes import FakeAnnotator


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeAnnotator:
    """The annotator that jobs use while a test runs."""
    annotator = FakeAnnotator()
    monkeypatch.setattr("hyperspan.bulk.job.load", lambda *_: annotator)
    monkeypatch.setattr(job, "hash_of", lambda model: f"sha256:{model}")
    return annotator
