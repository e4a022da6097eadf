"""Several processes that prepare batches for one that computes: the same shards as by one process, whatever dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import deque
from dataclasses import replace
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import pytest
from attrs import evolve

from hyperspan.bulk import Progress, annotate_files
from hyperspan.bulk.compute import ModelComputer, computer_of
from hyperspan.bulk.engine import TRIES, Backlog
from hyperspan.bulk.plan import Shard
from hyperspan.bulk.remote import RemoteAnnotator
from hyperspan.bulk.requests import Answer, BatchRequest, portable
from hyperspan.bulk.worker import ConnectedComputer
from hyperspan.errors import InputError, JobError, OutputExistsError
from hyperspan.nn import load_model, save_model
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.folders import folder_of
from hyperspan.runtime.loading import load
from hyperspan.types import Document, Mention
from tests.bulk.fakes import PanicError, contents, lines_in, write_jsonl
from tests.bulk.processes import have_ended, named
from tests.support.coordination import TEXT as COORDINATED
from tests.support.coordination import coordination_annotator, coordination_model

TEXTS = [
    "IL-2 promoter activity in Jurkat T cells. The c-Rel protein binds it.",
    "",
    "NF-kappa B and AP-1 bind the IL-2 promoter; human B cells express CD28 mRNA.",
    "Nothing here.",
    "Activated T lymphocytes express the interleukin-2 receptor alpha chain gene.",
    "GATA-1, GATA-2 and the erythroid cell line K562. IL-2 promoter activity in Jurkat T cells.",
]
WORKER = f"{sys.executable} -c from hyperspan.bulk.worker"


@pytest.fixture(scope="module")
def annotator() -> Annotator:
    return Annotator(load_model(folder_of("genia")))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    records: list[Any] = [{"id": n, "text": TEXTS[n % len(TEXTS)]} for n in range(12)]
    return write_jsonl(tmp_path_factory.mktemp("pool") / "texts.jsonl", [*records, {"txet": "typo"}])


@pytest.fixture(scope="module")
def whole(corpus: Path) -> Path:
    annotate_files(corpus, corpus.parent / "whole", shard_records=2, threshold=0.4)
    return corpus.parent / "whole"


class DirectComputer:
    """Computes in this process, batches of at most so many sentences, and none with a word of more than 40
    characters."""

    def __init__(self, computer: ModelComputer, most: int = 1_000):
        self.computer, self.most = computer, most
        self.asked: list[int] = []
        self.answers: list[Answer] = []

    def send(self, request: BatchRequest) -> None:
        assert not self.answers, "one request at a time"
        size = len(request.arrays[0].lengths) if request.arrays else len(request.sentences)
        self.asked.append(size)
        spelled = request.arrays[1].characters.shape[1] if request.arrays else 0
        if size > self.most:
            self.answers.append(Answer(too_large=True))
        elif spelled > 40:
            self.answers.append(Answer(error=portable(PanicError("too long a word"))))
        else:
            self.answers.append(self.computer.answer(request))

    def receive(self) -> Answer:
        return self.answers.pop()


@pytest.mark.parametrize(
    "options", [{}, {"threshold": {"protein": 0.2}}, {"types": ["DNA"], "top_k": 2}, {"types": []}]
)
@pytest.mark.parametrize("most", [1_000, 3, 1])
def test_arrays_of_ids_give_what_sentences_give(annotator: Annotator, options: dict[str, Any], most: int) -> None:
    computer = DirectComputer(computer_of(annotator.model, annotator.options(**options)), most)
    remote = RemoteAnnotator(computer.computer.facts(str(folder_of("genia"))), computer)
    found = list(remote.pipe(TEXTS, **options))
    for one, other in zip(found, annotator.pipe(TEXTS, **options), strict=True):
        assert evolve(one, alternatives=None) == evolve(other, alternatives=None)
        for first, second in zip(one.alternatives or (), other.alternatives or (), strict=True):
            assert [ranked.mentions for ranked in first.sets] == [ranked.mentions for ranked in second.sets]
            assert [r.probability for r in first.sets] == pytest.approx([r.probability for r in second.sets], abs=1e-6)
        for mine, theirs in zip(one.mentions, other.mentions, strict=True):
            assert mine.probability == pytest.approx(theirs.probability, abs=1e-6)
    assert sum(size for size in computer.asked if size <= most) == 6, "sentences that are the same are computed once"
    assert (remote.batch_entries < annotator.model.batch_entries) == (most < 6)


def test_the_parts_of_discontinuous_mentions_come_back(tmp_path: Path) -> None:
    annotator = coordination_annotator()
    save_model(coordination_model(), tmp_path / "model")
    computer = DirectComputer(computer_of(annotator.model, annotator.options()))
    [found] = RemoteAnnotator(computer.computer.facts(str(tmp_path / "model")), computer).pipe([COORDINATED])
    assert found.mentions == annotator(COORDINATED).mentions and any(one.fragments for one in found.mentions)


@pytest.mark.parametrize("asked", [{"require": [Mention(0, 4, "protein")]}, {"candidates": 0.1}], ids=list)
def test_what_the_other_process_does_not_compute_is_refused(annotator: Annotator, asked: dict[str, Any]) -> None:
    computer = DirectComputer(computer_of(annotator.model, annotator.options()))
    remote = RemoteAnnotator(computer.computer.facts(str(folder_of("genia"))), computer)
    with pytest.raises(InputError, match="without candidates or constraints; use Annotator"):
        remote("IL-2 promoter", **asked)
    assert not computer.asked


def test_one_sentence_that_is_too_large_and_a_text_that_fails(annotator: Annotator) -> None:
    computer = DirectComputer(computer_of(annotator.model, annotator.options()), 0)
    remote = RemoteAnnotator(computer.computer.facts(str(folder_of("genia"))), computer)
    failed: list[tuple[Any, BaseException]] = []
    assert not list(remote.pipe([TEXTS[0]], on_error=lambda text, error: failed.append((text, error))))
    assert isinstance(failed[0][1], MemoryError)
    computer.most = 1_000
    texts = [TEXTS[0], "x" * 50, TEXTS[2]]
    found = list(remote.pipe(texts, on_error=lambda text, error: failed.append((text, error))))
    assert [document.text for document in found] == [TEXTS[0], TEXTS[2]] and failed[1][0] == "x" * 50
    assert isinstance(failed[1][1], PanicError)


def test_errors_that_no_other_process_could_read() -> None:
    class LocalError(Exception):
        pass

    assert repr(portable(LocalError("cheese"))) == "RuntimeError('LocalError: cheese')"
    assert isinstance(portable(InputError("cheese")), InputError)


def test_workers_write_what_one_process_writes(corpus: Path, whole: Path, tmp_path: Path) -> None:
    seen: list[Progress] = []
    options: dict[str, Any] = {"shard_records": 2, "threshold": 0.4, "workers": 2}
    summary = annotate_files(corpus, tmp_path / "out", on_progress=seen.append, **options)
    assert (summary.documents, summary.rejected, summary.shards) == (12, 1, 7)
    assert seen[-1] == Progress(7, 7, summary.words)
    assert _shards(tmp_path / "out") == _shards(whole)
    assert not named(os.getpid(), WORKER)
    assert annotate_files(corpus, tmp_path / "out", **options).resumed == 7


def test_a_worker_that_is_killed_is_replaced(corpus: Path, whole: Path, tmp_path: Path) -> None:
    killed: list[int] = []

    def kill(_: Progress) -> None:
        if len(killed) < 3:
            killed.append(named(os.getpid(), WORKER)[0])
            os.kill(killed[-1], signal.SIGKILL)

    annotate_files(corpus, tmp_path / "out", shard_records=2, threshold=0.4, workers=2, on_progress=kill)
    assert len(killed) == 3 and _shards(tmp_path / "out") == _shards(whole)


JOB = """
import sys
from hyperspan.bulk import annotate_files
def wait(_):
    print("done", flush=True)
    sys.stdin.read()  # until it is killed: a small job would soon be over
annotate_files(sys.argv[1], sys.argv[2], shard_records=2, threshold=0.4, workers=2, on_progress=wait)
"""


def test_killed_it_commits_nothing_more_and_goes_on(corpus: Path, whole: Path, tmp_path: Path) -> None:
    """With as many threads as there are CPUs, which changes no bytes either."""
    out = tmp_path / "out"
    command = [sys.executable, "-c", JOB, str(corpus), str(out)]
    env = os.environ | {"OMP_NUM_THREADS": str(os.cpu_count())}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as job:
        assert job.stdout is not None and job.stdout.readline() == "done\n"
        workers = named(job.pid, WORKER)
        job.kill()
    assert workers and have_ended(workers, 60)
    notes = [json.loads(note.read_text()) for note in (out / ".progress").iterdir() if note.name.startswith("part-")]
    assert sum(note["rejected"] for note in notes if note["number"] < 6) == 0
    assert annotate_files(corpus, out, shard_records=2, threshold=0.4, workers=1).resumed == len(notes) < 7
    assert _shards(out) == _shards(whole)


@pytest.mark.xfail(strict=True, reason="step 20: workers inherit the lock of the folder")
def test_folder_stays_locked_while_a_worker_of_a_killed_job_lives(corpus: Path, tmp_path: Path) -> None:
    """The worker may still rename a shard of the old options into a new job."""
    out = tmp_path / "out"
    command = [sys.executable, "-c", JOB.replace("workers=2", "workers=1"), str(corpus), str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None and job.stdout.readline() == "done\n"
        [worker] = named(job.pid, WORKER)
        os.kill(worker, signal.SIGSTOP)
        try:
            job.kill()
            job.wait()
            with pytest.raises(OutputExistsError, match="another run is writing to"):
                annotate_files(corpus, out, shard_records=7, force=True)
        finally:
            os.kill(worker, signal.SIGKILL)


def test_interrupted_it_leaves_no_worker(corpus: Path, tmp_path: Path) -> None:
    def stop(_: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        annotate_files(corpus, tmp_path / "out", shard_records=2, workers=2, on_progress=stop)
    assert not named(os.getpid(), WORKER)


def test_an_input_that_disappears_does_not_stop_the_rest(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text("IL-2 binds.")

    def take_away(_: Progress) -> None:
        (tmp_path / "c.txt").unlink(missing_ok=True)

    inputs = [tmp_path / f"{name}.txt" for name in "abc"]
    with pytest.raises(JobError, match=r"c\.txt cannot be read .*; 2 of 3 shards are finished and kept"):
        annotate_files(inputs, tmp_path / "out", shard_records=1, workers=1, on_progress=take_away)
    assert len(lines_in(tmp_path / "out/documents")) == 2


def test_shards_and_workers_are_given_up_after_some_tries() -> None:
    shard = Shard(1, ())
    backlog = Backlog(deque())
    for _ in range(TRIES):
        backlog.lose(shard, "killed")
    assert len(backlog.waiting) == TRIES - 1
    with pytest.raises(JobError, match=r"the shards part-00001 ended their workers 4 times each"):
        backlog.check()
    for _ in range(TRIES - 1):
        backlog.lose(None, "exit status 1")
    with pytest.raises(JobError, match=r"workers cannot start \(exit status 1\)"):
        backlog.lose(None, "exit status 1")


@pytest.mark.parametrize("sent", [b"", b"\0\0", b"\0\0\0\x63cut off"])
def test_a_worker_ends_where_the_model_is_gone_even_within_an_answer(sent: bytes) -> None:
    ours, theirs = Pipe()
    os.write(theirs.fileno(), sent)
    theirs.close()
    with pytest.raises(SystemExit):
        ConnectedComputer(ours).receive()
    with pytest.raises(SystemExit):
        ConnectedComputer(ours).send(BatchRequest(None))


def test_workers_need_no_torch() -> None:
    script = "import sys, hyperspan.bulk.worker; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_model_without_arrays_of_ids_is_sent_sentences(annotator: Annotator) -> None:
    computer = DirectComputer(computer_of(annotator.model, annotator.options()))
    facts = computer.computer.facts(str(folder_of("genia")))
    remote = RemoteAnnotator(replace(facts, reads_ids=False), computer)
    assert remote(Document(TEXTS[0])).mentions == load("genia")(TEXTS[0]).mentions


def _shards(output: Path) -> dict[str, bytes]:
    return {name: content for name, content in contents(output).items() if name != "manifest.json"}
