"""Processes with a model each: the same shards as in one process, whatever dies."""

from __future__ import annotations

import io
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from hyperspan.bulk import Progress, annotate_files, folder, processes, workers
from hyperspan.bulk.inputs import Input
from hyperspan.bulk.plan import Shard
from hyperspan.bulk.processes import Processes, WorkerStart, portable, processes_for
from hyperspan.bulk.records import InputPiece
from hyperspan.bulk.shards import JobSettings, ShardResult, WorkerDiedError
from hyperspan.bulk.workers import TRIES, OnWords, run_shards
from hyperspan.errors import InputError, JobError, MissingExtraError, OutputExistsError
from hyperspan.runtime.loading import load
from tests.bulk.engines import OPTIONS
from tests.bulk.fakes import contents, lines_in, texts_in
from tests.bulk.processes import have_ended, is_running, named, state_of

WORKER = f"{sys.executable} -P -c"


# -- the loop, without processes ---------------------------------------------------------------------------------------


class FakeEngine:
    """Says ten words and annotates, but for the shards that do something else instead."""

    device, closed = "cpu", False

    def __init__(self, count: int, outcomes: dict[int, BaseException]):
        self.count, self.outcomes = count, outcomes
        self.tried: list[int] = []

    def start(self, job: Any, annotator: Any) -> None: ...

    def annotate(self, shard: Shard, on_words: OnWords) -> ShardResult:
        self.tried.append(shard.number)
        on_words(10)
        if shard.number in self.outcomes:
            raise self.outcomes[shard.number]
        return ShardResult(shard.number, words=12)

    def close(self) -> None:
        self.closed = True


SHARDS = [Shard(number, (InputPiece(Input(f"{number}.txt", "text", 5), 0, 5),)) for number in range(5)]


def run(engine: FakeEngine, words: list[int]) -> Iterator[int]:
    return (done.number for done in run_shards(SHARDS, engine, words.append))


@pytest.mark.parametrize("count", [0, 1, 3, 9])
def test_all_shards_are_done_and_their_words_counted(count: int) -> None:
    engine, words = FakeEngine(count, {}), list[int]()
    assert sorted(run(engine, words)) == [0, 1, 2, 3, 4]
    assert sum(words) == 60 and engine.closed


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize(
    ("error", "tries", "sentence"),
    [
        (
            WorkerDiedError("killed"),
            TRIES,
            r"the shards part-00001 \(from 1.txt; killed\) ended their workers 4 times each",
        ),
        (InputError("it cannot be read"), 1, "it cannot be read"),
    ],
)
def test_a_shard_that_fails_is_told_of_when_the_others_are_done(
    count: int, error: Exception, tries: int, sentence: str
) -> None:
    engine, words, done = FakeEngine(count, {1: error}), list[int](), list[int]()
    with pytest.raises((JobError, InputError), match=sentence):
        done.extend(run(engine, words))
    assert sorted(done) == [0, 2, 3, 4] and engine.tried.count(1) == tries and engine.closed
    assert sum(words) == 48 + (10 if tries == 1 else 0), "words of workers that have died do not count"


@pytest.mark.parametrize("count", [0, 2])
def test_an_error_of_the_job_ends_it_at_once(count: int) -> None:
    engine = FakeEngine(count, {0: OSError(28, "No space left on device")})
    with pytest.raises(OSError, match="No space"):
        list(run(engine, []))
    assert engine.closed and len(engine.tried) <= 3


def test_closing_the_iterator_ends_the_workers() -> None:
    engine = FakeEngine(2, {})
    results = run_shards(SHARDS, engine, lambda words: None)
    next(results)
    results.close()
    assert engine.closed


def test_errors_that_no_other_process_could_read() -> None:
    class LocalError(Exception):
        pass

    assert repr(portable(LocalError("cheese"))) == "RuntimeError('LocalError: cheese')"
    assert isinstance(portable(InputError("cheese")), InputError)
    assert "needs the extra `plots`" in str(portable(MissingExtraError("drawing", "plots")))


# -- processes ---------------------------------------------------------------------------------------------------------


def test_a_worker_that_is_killed_is_replaced(genes: Path, whole: Path, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill(_: Progress) -> None:
        if len(killed) < 3 and (there := set(named(os.getpid(), WORKER)) - set(killed)):
            killed.append(there.pop())
            os.kill(killed[-1], signal.SIGKILL)

    annotate_files(genes, tmp_path / "out", workers=2, on_progress=kill, **OPTIONS)
    assert len(killed) == 3 and contents(tmp_path / "out") == contents(whole)


JOB = """
import sys
from hyperspan.bulk import annotate_files
def wait(progress):
    if progress.shards:
        print("done", flush=True)
        sys.stdin.read()  # until it is killed: a small job would soon be over
annotate_files(sys.argv[1], sys.argv[2], model="genia", shard_records=2, threshold=0.4, workers=2, on_progress=wait)
"""


def test_killed_it_commits_nothing_more_and_goes_on(genes: Path, whole: Path, tmp_path: Path) -> None:
    """With as many threads as there are CPUs, which changes no bytes either."""
    out = tmp_path / "out"
    command = [sys.executable, "-c", JOB, str(genes), str(out)]
    env = os.environ | {"OMP_NUM_THREADS": str(os.cpu_count())}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as job:
        assert job.stdout is not None and job.stdout.readline() == "done\n"
        workers = named(job.pid, WORKER)
        job.kill()
    assert workers and have_ended(workers, 60)
    notes = [json.loads(note.read_text()) for note in (out / ".progress").iterdir() if note.name.startswith("part-")]
    assert sum(note["rejected"] for note in notes if note["number"] < 6) == 0
    assert annotate_files(genes, out, workers=1, **OPTIONS).resumed == len(notes) < 7
    assert contents(out) == contents(whole)


def test_folder_stays_locked_while_a_worker_of_a_killed_job_lives(
    genes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker may still rename a shard of the old options into a new job."""
    monkeypatch.setattr(folder, "PATIENCE", 0.1)
    out = tmp_path / "out"
    command = [sys.executable, "-c", JOB.replace("workers=2", "workers=1"), str(genes), str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None and job.stdout.readline() == "done\n"
        [worker] = named(job.pid, WORKER)
        held = {str(file.readlink()) for file in Path(f"/proc/{worker}/fd").iterdir()}
        assert str(out / ".lock") in held
        os.kill(worker, signal.SIGSTOP)
        while state_of(worker) != "T":
            time.sleep(0.01)
        try:
            job.kill()
            job.wait()
            if is_running(worker):  # Ray, if it was used before in this process, kills what has lost its parent
                with pytest.raises(OutputExistsError, match="another run is writing to"):
                    annotate_files(genes, out, force=True)
        finally:
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)


def test_interrupted_it_leaves_no_worker(genes: Path, tmp_path: Path) -> None:
    def stop(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        annotate_files(genes, tmp_path / "out", workers=2, on_progress=stop, **OPTIONS)
    assert not named(os.getpid(), WORKER)
    assert not [name for name in contents(tmp_path / "out") if "/." in name], "nothing half-written is left"


PRINTING = """
import os, sys
from hyperspan.runtime.annotator import Annotator
results = Annotator.results
def loud(self, *arguments, **options):
    print("loud")
    os.write(1, b"louder")
    assert sys.stdin.read() == ""
    return results(self, *arguments, **options)
Annotator.results = loud
"""


def test_what_a_worker_prints_or_reads_is_not_among_answers_and_tasks(
    genes: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text(PRINTING)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    annotate_files(genes, tmp_path / "out", workers=1, **OPTIONS)
    assert contents(tmp_path / "out") == contents(whole)


ENDS = {
    "part-00000": ("os.kill(os.getpid(), 9)", "line 1", "killed by SIGKILL"),
    "part-00001": ("raise KeyboardInterrupt", "line 3", "killed by SIGINT"),
}
ENDING = """
import os, sys
from hyperspan.runtime.annotator import Annotator
results = Annotator.results
def ended(self, documents, *arguments, **options):
    def checked():
        for document in documents:
            exec(ENDS.get(document.id, ""))
            yield document
    return results(self, checked(), *arguments, **options)
Annotator.results = ended
"""


def test_how_a_worker_has_ended_is_told_with_the_place_of_its_shard(
    genes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = {str(2 * number): end for number, (end, _, _) in enumerate(ENDS.values())}
    (tmp_path / "sitecustomize.py").write_text(f"ENDS = {ends}\n{ENDING}")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    monkeypatch.setattr(workers, "TRIES", 1)
    with pytest.raises(JobError, match="ended their workers") as raised:
        annotate_files(genes, tmp_path / "out", workers=1, **OPTIONS)
    assert all(f"{part} (from {line} of {genes}; {how})" in str(raised.value) for part, (_, line, how) in ENDS.items())
    assert annotate_files(genes, tmp_path / "out", workers=0, **OPTIONS).resumed == 5


def test_a_worker_whose_parent_goes_while_it_loads_leaves_quietly(tmp_path: Path) -> None:
    loading = "import hyperspan.bulk.processes as own\nown._load = own.annotating = lambda *_: None\nmain(tasks)"
    command = [sys.executable, "-P", "-c", processes._CODE.replace("main(tasks)", loading)]
    start = WorkerStart(sys.path, "genia", "cpu", 1, JobSettings(), str(tmp_path), "job")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as worker:
        assert worker.stdin is not None and worker.stdout is not None and worker.stderr is not None
        worker.stdout.close()
        worker.stdin.write(pickle.dumps(sys.path) + pickle.dumps(start))
        worker.stdin.close()
        assert worker.stderr.read() == b""


NO_ROOM = """
import hyperspan.bulk.processes as own
def load(*_): raise MemoryError("no room")
own._load = load
main(tasks)"""


@pytest.mark.parametrize(
    ("instead", "said"), [("sys.exit(3)", r"exit status 3\); .* 0 of 7 shards are finished"), (NO_ROOM, r"no room\)")]
)
def test_workers_that_cannot_start_are_told_of_in_a_sentence(
    genes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, instead: str, said: str
) -> None:
    monkeypatch.setattr(processes, "_CODE", processes._CODE.replace("main(tasks)", instead))
    monkeypatch.setattr(processes, "STARTS", 2)
    with pytest.raises(JobError, match=rf"workers cannot start \({said}"):
        annotate_files(genes, tmp_path / "out", workers=1, **OPTIONS)


def test_a_worker_without_its_parent_ends_at_once_only_in_a_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    busy, tasks = threading.Event(), SimpleQueue[Shard | None]()
    processes._listen(io.BytesIO(pickle.dumps(Shard(3, ()))), tasks, busy)
    assert (tasks.get(), tasks.get(), ended) == (Shard(3, ()), None, [])
    busy.set()
    processes._listen(io.BytesIO(b"\x80\x05cut off"), tasks, busy)
    assert ended == [1]


# -- GPUs, as far as they can be tested without one --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gigabytes", "cpus", "count"), [(139, 16, 15), (139, 64, 23), (80, 8, 7), (16, 8, 2), (4, 8, 1), (80, 1, 1)]
)
def test_processes_on_a_gpu_follow_its_memory_and_the_cpus(gigabytes: int, cpus: int, count: int) -> None:
    assert processes_for(gigabytes * 2**30, cpus) == count


@pytest.mark.parametrize("mps", [False, True])
def test_several_processes_on_a_gpu_without_mps_are_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, mps: bool
) -> None:
    monkeypatch.setattr(processes, "_gpu_memory", lambda device: 80 * 2**30)
    monkeypatch.setattr(processes, "cpu_count", lambda: 16)
    monkeypatch.setenv("CUDA_MPS_PIPE_DIRECTORY", str(tmp_path))
    if mps:
        (tmp_path / "control").touch()
    assert Processes("cuda").count == 13
    assert Processes("cuda", 1).count == 1
    assert [record.getMessage() for record in caplog.records] == (
        []
        if mps
        else [
            "hyperspan: 13 processes share the GPU, which computes for one at a time; NVIDIA's MPS, switched on with "
            "nvidia-cuda-mps-control -d, is up to twice as fast"
        ]
    )


def test_a_gpu_that_has_failed_ends_the_worker_and_not_the_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, genes: Path
) -> None:
    torch = pytest.importorskip("torch")

    def fail() -> None:
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nmore")

    annotator = load("genia")
    monkeypatch.setattr(annotator.model, "quick_distribution", lambda *_: fail())
    monkeypatch.setattr(annotator.model, "distribution", lambda *_: fail())
    monkeypatch.setattr("hyperspan.bulk.run.load", lambda *_: annotator)
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", fail)
    with pytest.raises(JobError, match=r"ended their workers 4 times each.*; 1 of 7 shards are finished"):
        annotate_files(genes, tmp_path / "out", workers=0, **OPTIONS)
    assert len(lines_in(tmp_path / "out/rejected")) == 1 and texts_in(tmp_path / "out") == []


def test_a_device_that_is_not_there_is_an_error_before_anything_is_written(genes: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the device 'cuda:77' cannot be used"):
        annotate_files(genes, tmp_path / "out", device="cuda:77", **OPTIONS)
    assert not (tmp_path / "out").exists()
