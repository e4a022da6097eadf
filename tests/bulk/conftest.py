"""A bulk job without a model."""

from __future__ import annotations

import pytest

import hyperspan.bulk
from hyperspan.bulk import run
from hyperspan.bulk.processes import Processes
from hyperspan.bulk.workers import ThisProcess
from tests.bulk.fakes import FakeAnnotator


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeAnnotator:
    """The annotator that jobs use while a test runs, in this process unless a number of workers is given."""
    annotator = FakeAnnotator()
    monkeypatch.setattr(run, "load", lambda *_: annotator)
    monkeypatch.setattr(run, "hash_of", lambda model: f"sha256:{model}")

    def in_this_process(device: str, workers: int | None) -> Processes | ThisProcess:
        return ThisProcess(device) if workers is None else Processes(device, workers)

    monkeypatch.setattr(hyperspan.bulk, "Processes", in_this_process)
    return annotator
