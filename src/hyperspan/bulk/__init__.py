"""Bulk annotation: many files into shards, by processes of this machine or on a Ray cluster; any job resumes.

Inputs are divided into shards by their content alone (`plan`). A shard is read, annotated and committed as a unit
(`shards`): its files appear complete or not at all, and the last of them marks it as done. `job` describes the state of
a folder. An engine (`workers`, `ray`) annotates one shard, and any number of them work at a time, in any order and as
often as is needed; the resulting folder is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from numbers import Integral
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Literal

from hyperspan.bulk.folder import folder_at
from hyperspan.bulk.inputs import Kind, find_inputs
from hyperspan.bulk.plan import ShardLimits
from hyperspan.bulk.processes import Processes
from hyperspan.bulk.run import JobSummary, Progress, run_job
from hyperspan.bulk.shards import JobSettings, OutputFormat
from hyperspan.bulk.workers import Engine, ThisProcess
from hyperspan.corpora.outputs import check_bulk_output
from hyperspan.corpora.tables import Columns
from hyperspan.errors import InputError, check_kind
from hyperspan.runtime.folders import DEFAULT_MODEL

__all__ = ["JobSummary", "Progress", "annotate_files"]


def annotate_files(
    inputs: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    model: str | Path = DEFAULT_MODEL,
    threshold: float | dict[str, float] | None = None,
    recall: float | dict[str, float] | None = None,
    precision: float | dict[str, float] | None = None,
    types: Iterable[str] | None = None,
    top_k: int = 0,
    names: bool = False,
    pronouns: bool = True,
    format: OutputFormat = "jsonl",  # noqa: A002
    kind: Kind | None = None,
    text_column: str = "text",
    id_column: str = "id",
    shard_records: int = ShardLimits.records,
    shard_bytes: int = ShardLimits.bytes,
    engine: Literal["plain", "ray"] = "plain",
    workers: int | None = None,
    ray_address: str | None = None,
    device: str = "cpu",
    dtype: str = "float32",
    force: bool = False,
    on_progress: Callable[[Progress], None] = lambda progress: None,
) -> JobSummary:
    """Annotate files and folders into a folder of shards, or resume the job in that folder.

    - `inputs`: files, folders or URLs of JSON Lines, Parquet, CSV, TSV or text. `kind` sets their format, which
      otherwise follows from the file names. `text_column` and `id_column` name the columns (or keys) to read.
    - `output`: the folder of shards. Invalid records go to its subfolder `rejected`. `format` is jsonl or parquet.
    - `model`, `device`, `dtype`: as for :func:`hyperspan.load`. `threshold`, `recall`, `precision`, `types`, `top_k`,
      `names`, `pronouns`: as for :class:`hyperspan.Annotator`.
    - `shard_records`, `shard_bytes`: the maximal records and bytes of text per shard.
    - `engine`: "plain" runs on this machine, "ray" on a Ray cluster at `ray_address`. `workers` is the number of
      processes with a model each; 0 annotates in this process, which a crash in native code then ends.
    - `force`: start over in a folder that contains another job. `on_progress` is called as shards finish.

    >>> import json, tempfile
    >>> from pathlib import Path
    >>> from hyperspan import annotate_files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "texts.jsonl").write_text('{"id": 7, "text": "IL-2 binds."}\\n{"title": "no text"}\\n')
    ...     summary = annotate_files([f"{folder}/texts.jsonl"], f"{folder}/found", model="genia")
    ...     [line] = Path(folder, "found/documents/part-00000.jsonl").read_text().splitlines()
    ...     [record] = Path(folder, "found/rejected/part-00000.jsonl").read_text().splitlines()
    >>> summary.documents, json.loads(line)["mentions"][0]["text"]
    (1, 'IL-2')
    >>> json.loads(record)["line"], json.loads(record)["reason"]
    (2, 'the key "text" is missing, its keys are "title"')
    """
    for name, value in {"text_column": text_column, "id_column": id_column}.items():
        check_kind(name, value, str)
    check_kind("workers", workers, Integral, NoneType)
    check_kind("force", force, bool)
    check_kind("on_progress", on_progress, Callable)
    check_kind("output", output, str, PathLike)
    check_kind("inputs", inputs, Iterable, PathLike)
    check_kind("types", types, Iterable, NoneType)
    settings = JobSettings(
        dict(threshold) if isinstance(threshold, dict) else threshold,
        None if types is None else tuple(sorted({types} if isinstance(types, str) else set(types))),
        top_k,
        format,
        kind,
        Columns(text_column, id_column),
        ShardLimits(shard_records, shard_bytes),
        names,
        pronouns,
        dtype,
        recall,
        precision,
    )
    paths = [str(name) for name in ([inputs] if isinstance(inputs, (str, Path)) else inputs)]
    check_bulk_output(str(output), format, paths)
    folder = folder_at(str(output))
    found, left_out = find_inputs(paths, kind, folder.name)
    notes = (
        [f"left out {left_out:,} files whose names begin with a dot or an underscore, or do not say what they hold"]
        if left_out
        else []
    )
    with _engine(engine, workers, ray_address, device) as chosen:
        return run_job(chosen, folder, settings, str(model), found, force, notes, on_progress)


def _engine(name: str, workers: int | None, address: str | None, device: str) -> AbstractContextManager[Engine]:
    if name == "ray":
        from hyperspan.bulk.ray import RayTasks

        return RayTasks(workers, address, device)
    if name != "plain":
        raise InputError(f"there is no engine {name!r}; choose plain or ray")
    if address is not None:
        raise InputError("the plain engine works on this machine; an address is for the engine ray (--engine ray)")
    return nullcontext(ThisProcess(device) if workers == 0 else Processes(device, workers))
