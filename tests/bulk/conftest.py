"""A bulk job without a model."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hyperspan.bulk
from hyperspan.bulk import annotate_files, run
from hyperspan.bulk.processes import Processes
from hyperspan.bulk.workers import ThisProcess
from tests.bulk.engines import OPTIONS, TEXTS
from tests.bulk.fakes import FakeAnnotator, write_jsonl
from tests.bulk.processes import below, have_ended, kill_all


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


@pytest.fixture(scope="module")
def genes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    records: list[Any] = [{"id": n, "text": TEXTS[n % len(TEXTS)]} for n in range(12)]
    return write_jsonl(tmp_path_factory.mktemp("genes") / "texts.jsonl", [*records, {"txet": "typo"}])


@pytest.fixture(scope="module")
def whole(genes: Path) -> Path:
    annotate_files(genes, genes.parent / "whole", workers=0, **OPTIONS)
    return genes.parent / "whole"


@pytest.fixture(scope="package")
def cluster() -> Iterator[None]:
    """One for all tests of the group "ray"; after them nothing of it is left."""
    ray: Any = pytest.importorskip("ray")
    before = set(below(os.getpid()))
    ray.init("local", num_cpus=2, include_dashboard=False, object_store_memory=200_000_000, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()
    left = {process: name for process, name in below(os.getpid()).items() if process not in before and "ray" in name}
    ended = have_ended(left, 60)
    kill_all(lambda: set(left).intersection(below(os.getpid())))  # so that nothing outlives the tests even if they fail
    assert ended, left
