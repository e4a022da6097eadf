"""One run of a job, with any engine: load the model, open the folder, annotate what is missing, sum up."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from hyperspan.bulk.engine import Engine, Task
from hyperspan.bulk.folder import Folder, RemoteFolder
from hyperspan.bulk.inputs import Input
from hyperspan.bulk.job import Job, hash_of
from hyperspan.bulk.shards import PROGRESS, REJECTED, Done, JobSettings
from hyperspan.corpora.tables import Columns
from hyperspan.errors import HyperspanError, JobError
from hyperspan.inference.annotator import Annotator
from hyperspan.inference.loading import load


@dataclass(frozen=True)
class Progress:
    """How far a job is."""

    shards: int
    """Those that are done, of …"""
    total: int
    words: int
    """… and what was annotated in this run."""


@dataclass(frozen=True)
class JobSummary:
    """What a job has written, in all its runs."""

    documents: int
    rejected: int
    mentions: int
    words: int
    shards: int
    resumed: int
    """The shards that were done before this run."""
    notes: tuple[str, ...] = ()


@dataclass
class JobRun:
    """One run of a job, to its end or to what stops it."""

    engine: Engine
    output: Folder | RemoteFolder
    settings: JobSettings
    model: str
    on_progress: Callable[[Progress], None]

    def __call__(self, inputs: Sequence[Input], force: bool, notes: Sequence[str] = ()) -> JobSummary:
        annotator = load(self.model, self.engine.device)
        annotator.options(**self.settings.wanted)
        with self.output.created():
            model = {"name": self.model, "hash": hash_of(self.model)}
            try:
                job = Job.open(self.output, model, self.settings, inputs, each=self.engine.each, force=force)
            except OSError as error:
                raise JobError(f"{_reason(error, self.output)}; nothing is annotated yet") from None
            resumed = len(job.done)
            try:
                self._annotate(job, annotator)
            except (HyperspanError, OSError) as error:
                with suppress(OSError):
                    job.look_again()
                raise JobError(
                    f"{_reason(error, self.output)}; {len(job.done):,} of {len(job.plan.shards):,} shards are finished and "
                    "kept, and the same command goes on with the others"
                ) from None
        untagged = sum(done.untagged for done in job.done.values())
        if untagged and annotator.reads_tags:
            notes = (
                *notes,
                f"this model was trained with part-of-speech tags, which {untagged:,} documents have not; expect it to find less",
            )
        return _summary(job, resumed, notes)

    def _annotate(self, job: Job, annotator: Annotator) -> None:
        """Does what is missing, until nothing is."""
        counter = _ProgressCounter(self.on_progress, len(job.done), len(job.plan.shards))
        missing = job.missing
        if missing:
            task = Task(annotator, self.model, job.id, job.plan.inputs, missing, job.settings, job.output, counter.add)
            for done in self.engine.run(task):
                counter.done(done)
            job.look_again()
            if job.missing:
                raise JobError(
                    f"{len(job.missing):,} shards that workers have written are not in {self.output.name}; "
                    "name a folder or URL that all machines share"
                )
        if missing or self.output.sizes(PROGRESS):
            job.finish()


class _ProgressCounter:
    """Words and shards as they are done; the words of a shard may be reported before it is done."""

    def __init__(self, on_progress: Callable[[Progress], None], shards: int, total: int):
        self.on_progress = on_progress
        self.shards, self.total = shards, total
        self.words = self.unfinished = 0

    def add(self, words: int) -> None:
        self.unfinished += words
        self._show()

    def done(self, done: Done) -> None:
        self.words, self.unfinished = self.words + done.words, 0
        self.shards += 1
        self._show()

    def _show(self) -> None:
        self.on_progress(Progress(self.shards, self.total, self.words + self.unfinished))


def _summary(job: Job, resumed: int, notes: Sequence[str]) -> JobSummary:
    totals = job.totals()
    if totals["rejected"] and not totals["documents"]:
        reason = next(done.first_reason for done in job.done.values() if done.rejected)
        raise JobError(
            f"all {totals['rejected']:,} records were rejected, the first because {reason}; see {job.output.name}/{REJECTED}"
        )
    column = job.settings.columns.id
    if (
        column != Columns.id
        and totals["documents"]
        and all(done.nameless == done.documents for done in job.done.values())
    ):
        notes = (*notes, f"no document has a name under {column!r} (--id-column); their ids are empty")
    return JobSummary(**totals, resumed=resumed, notes=tuple(notes))


def _reason(error: HyperspanError | OSError, output: Folder | RemoteFolder) -> str:
    if isinstance(error, HyperspanError):
        return str(error)
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    said = (error.strerror or str(error) or type(error).__name__).partition("\n")[0].removesuffix(".")
    return f"{output.name} cannot be written ({said}){': make room' if full else ''}"
