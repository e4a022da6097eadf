"""On Ray: the same documents as with the plain engine, whatever dies on the way."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import hyperspan.bulk.workers
from hyperspan import kernels
from hyperspan.bulk import Progress, annotate_files
from hyperspan.bulk import ray as ray_engine
from hyperspan.bulk.ray import RayTasks
from hyperspan.bulk.shards import JobSettings
from hyperspan.errors import InputError, JobError
from hyperspan.runtime.loading import load
from tests.bulk import workers
from tests.bulk.fakes import CRASHES, lines_in, texts_in, write_jsonl
from tests.bulk.processes import named
from tests.support.models import TEXT
from tests.support.process import call

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.xdist_group("ray"),
    pytest.mark.usefixtures("cluster"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"),
]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "texts").mkdir()
    write_jsonl(tmp_path / "texts/a.jsonl", [{"id": n, "text": f"{TEXT} Text {n}."} for n in range(12)])
    (tmp_path / "texts/b.txt").write_text("The keeper of Oz left.")
    (tmp_path / "texts/c.jsonl").write_text('nonsense\n{"text": 1}\n')
    return tmp_path / "texts"


@pytest.mark.slow
def test_workers_use_the_kernels_that_are_forced_here(
    corpus: Path, tmp_path: Path, small_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_engine, "annotate_remotely", workers.reference_task)
    options: dict[str, Any] = {"model": small_folder, "engine": "ray", "workers": 1}
    with pytest.raises(JobError, match="plain PyTorch is not forced here"):
        annotate_files([corpus], tmp_path / "out", **options)
    with kernels.reference():
        annotate_files([corpus], tmp_path / "out", **options)
    assert len(texts_in(tmp_path / "out")) == 13


@pytest.mark.parametrize(
    ("gpus", "cpus", "given", "count", "share"),
    [
        (1, 16, None, 8, 1 / 8),
        (2, 8, None, 8, 1 / 4),
        (4, 64, 4, 4, 1.0),
        (2, 64, 3, 3, 1 / 2),
        (1, 64, 14, 14, 1 / 14),
    ],
)
def test_tasks_share_the_gpus(
    monkeypatch: pytest.MonkeyPatch, gpus: int, cpus: int, given: int | None, count: int, share: float
) -> None:
    asked: list[dict[str, Any]] = []

    def remote(**options: Any) -> Any:
        asked.append(options)
        return lambda task: SimpleNamespace(remote=lambda: None)

    resources = {"CPU": float(cpus), "GPU": float(gpus)}
    fake = SimpleNamespace(cluster_resources=lambda: resources, remote=remote, put=lambda value: value)
    engine = RayTasks(given, device="cuda")
    monkeypatch.setattr(engine, "_connect", lambda model_bytes: fake)
    job: Any = SimpleNamespace(
        id="", model={"name": "genia", "hash": ""}, settings=JobSettings(), output=SimpleNamespace(name="")
    )
    engine.start(job, load("genia"))
    engine.close()
    assert engine.count == count and {options["num_gpus"] for options in asked} == {share}


def test_a_cluster_without_a_gpu_is_told_of(corpus: Path, tmp_path: Path, small_folder: Path) -> None:
    with pytest.raises(JobError, match="the device is cuda, but the cluster has no GPU; leave --device out"):
        annotate_files([corpus], tmp_path / "out", model=small_folder, engine="ray", device="cuda")


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        (workers.poisoned_task, ") ended their workers 2 times each; fewer workers need less memory"),
        (workers.full_disk, "cannot be written (No space left on device): make room"),
        (workers.old_worker, ", and this is 0.0.1; install the same on all machines"),
        (workers.elsewhere, "4 shards that workers have written are not in"),
    ],
)
def test_workers_that_cannot_go_on_end_the_job_with_a_sentence(
    corpus: Path, tmp_path: Path, small_folder: Path, monkeypatch: pytest.MonkeyPatch, task: Any, sentence: str
) -> None:
    options: dict[str, Any] = {"model": small_folder, "shard_records": 4}
    monkeypatch.setattr(hyperspan.bulk.workers, "TRIES", 2)
    monkeypatch.setattr(ray_engine, "annotate_remotely", task)
    with pytest.raises(JobError) as raised:
        annotate_files([corpus], tmp_path / "out", **options, engine="ray", workers=1)
    assert sentence in str(raised.value) and "of 4 shards are finished and kept" in str(raised.value)
    if task is workers.poisoned_task:
        assert "; 3 of 4 shards" in str(raised.value)
        monkeypatch.setattr(ray_engine, "annotate_remotely", workers.fake_task)
        assert annotate_files([corpus], tmp_path / "out", **options, engine="ray", workers=1).resumed == 3
        assert len(texts_in(tmp_path / "out")) == 13


def test_whatever_one_record_raises_the_others_are_done(
    tmp_path: Path, small_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_engine, "annotate_remotely", workers.fake_task)
    words = ["fine", *CRASHES, "split panic", "fine too"]
    write_jsonl(tmp_path / "made.jsonl", [{"text": word} for word in words])
    arguments = ([tmp_path / "made.jsonl"], tmp_path / "out")
    summary = annotate_files(*arguments, model=small_folder, shard_records=3, engine="ray", workers=1)
    assert texts_in(tmp_path / "out") == ["fine", "fine too"]
    reasons = [record["reason"] for record in lines_in(tmp_path / "out/rejected")]
    assert len(reasons) == summary.rejected == len(words) - 2 and "PanicError" in reasons[-1]


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced(
    tmp_path: Path, small_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_engine, "annotate_remotely", workers.fake_task)
    write_jsonl(tmp_path / "made.jsonl", [{"text": f"text {n}"} for n in range(300)])
    killed: list[int] = []

    def kill_one(progress: Progress) -> None:
        tasks = named(os.getpid(), "ray::fake_task") if not killed and progress.shards >= 20 else []
        if tasks:  # between two tasks, no worker is named like one
            killed.append(tasks[0])
            os.kill(killed[0], signal.SIGKILL)

    arguments = ([tmp_path / "made.jsonl"], tmp_path / "out")
    summary = annotate_files(
        *arguments, model=small_folder, shard_records=2, engine="ray", workers=2, on_progress=kill_one
    )
    assert killed and (summary.documents, summary.resumed) == (300, 0)
    assert texts_in(tmp_path / "out") == [f"text {n}" for n in range(300)]


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("127.0.0.1:1", "the Ray cluster at 127.0.0.1:1 cannot be reached ([Errno 111] Connection refused)"),
        ("nonsense", "the address of a Ray cluster is 'nonsense', but HOST:PORT is expected, or auto"),
    ],
)
def test_clusters_that_are_not_there(
    corpus: Path, tmp_path: Path, small_folder: Path, monkeypatch: pytest.MonkeyPatch, address: str, sentence: str
) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    with pytest.raises((JobError, InputError)) as raised:
        annotate_files([corpus], tmp_path / "out", model=small_folder, engine="ray", ray_address=address)
    assert sentence in str(raised.value)


def test_without_the_extra_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    (tmp_path / "a.txt").write_text("Ada")
    result = call("bulk", "a.txt", "-o", "out", "--engine", "ray", cwd=tmp_path)
    assert result.returncode == 2 and 'pip install "hyperspan[ray]"' in result.stderr
