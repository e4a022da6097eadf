"""Run a job with any engine: load the model, open the folder, annotate what is missing, summarise."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace

from hyperspan.bulk.folder import Folder
from hyperspan.bulk.inputs import Input, first_line
from hyperspan.bulk.job import Job, hash_of
from hyperspan.bulk.shards import DOCUMENTS, PROGRESS, REJECTED, JobSettings
from hyperspan.bulk.workers import Engine, run_shards
from hyperspan.corpora.tables import Columns
from hyperspan.errors import HyperspanError, JobError
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.domain import foreign_note
from hyperspan.runtime.loading import load
from hyperspan.runtime.notes import notes_on


@dataclass(frozen=True)
class Progress:
    """The progress of a job."""

    shards: int
    """The number of finished shards, out of …"""
    total: int
    words: int
    """… and the number of words annotated in this run."""


@dataclass(frozen=True)
class JobSummary:
    """What a job has written, in all its runs."""

    documents: int
    rejected: int
    mentions: int
    words: int
    shards: int
    resumed: int
    """The number of shards finished before this run."""
    notes: tuple[str, ...] = ()


def run_job(
    engine: Engine,
    output: Folder,
    settings: JobSettings,
    model: str,
    inputs: Sequence[Input],
    force: bool,
    notes: Sequence[str],
    on_progress: Callable[[Progress], None],
) -> JobSummary:
    """Run a job until it is finished or stopped."""
    annotator = load(
        model, engine.device, settings.dtype
    )  # whole, in milliseconds: damaged weights are refused before a job begins
    promise = annotator.options(**settings.annotator_options).promise
    with output.created():
        about = {"name": model, "hash": hash_of(model)}
        try:
            job = Job.open(output, about, settings, inputs, force=force)
        except OSError as error:
            raise JobError(f"{_reason(error, output)}; nothing is annotated yet") from None
        resumed = len(job.done)
        try:
            _annotate(job, engine, annotator, on_progress)
        except (HyperspanError, OSError) as error:
            with suppress(OSError):
                job.reload()
            raise JobError(
                f"{_reason(error, output)}; {len(job.done):,} of {job.shards:,} shards are finished and "
                "kept, and the same command resumes the others"
            ) from None
    untagged, foreign, judged = (
        sum(getattr(done, name) for done in job.done.values()) for name in ("untagged", "foreign", "judged")
    )
    languages = sum((Counter(done.languages) for done in job.done.values()), Counter[str]())
    more = notes_on(annotator, untagged, foreign_note(annotator.card, foreign, judged, languages), promise)
    return _summary(job, resumed, [*notes, *more])


def _annotate(job: Job, engine: Engine, annotator: Annotator, on_progress: Callable[[Progress], None]) -> None:
    """Annotate missing shards until there are none."""
    progress = Progress(len(job.done), job.shards, 0)

    def add_words(words: int) -> None:
        nonlocal progress
        progress = replace(progress, words=progress.words + words)
        on_progress(progress)

    if not job.is_complete:
        engine.start(job, annotator)
        try:
            with closing(run_shards(job.missing(), engine, add_words)) as results:
                for _ in results:
                    progress = replace(progress, shards=progress.shards + 1)
                    on_progress(progress)
        finally:
            with suppress(OSError):
                job.output.sweep(DOCUMENTS, REJECTED, PROGRESS)  # of workers that were ended in the middle of a shard
        job.reload()
        if not job.is_complete:
            raise JobError(
                f"{job.shards - len(job.done):,} shards that workers have written are not in {job.output.name}; "
                "name a folder or URL that all machines share"
            )
        job.finish()
    elif job.output.sizes(PROGRESS):
        job.finish()


def _summary(job: Job, resumed: int, notes: Sequence[str]) -> JobSummary:
    totals = job.totals()
    if totals["rejected"] and not totals["documents"]:
        reason = next(done.first_reason for done in job.done.values() if done.rejected)
        raise JobError(
            f"all records ({totals['rejected']:,}) were rejected, the first because {reason}; see {job.output.name}/{REJECTED}"
        )
    column = job.settings.columns.id
    if (
        column != Columns.id
        and totals["documents"]
        and all(done.without_id == done.documents for done in job.done.values())
    ):
        notes = (*notes, f"no document has a name under {column!r} (--id-column); their ids are empty")
    return JobSummary(**totals, resumed=resumed, notes=tuple(notes))


def _reason(error: HyperspanError | OSError, output: Folder) -> str:
    if isinstance(error, HyperspanError):
        return str(error)
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return f"{output.name} cannot be written ({first_line(error)}){': make room' if full else ''}"
