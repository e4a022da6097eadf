"""A bulk job and its folder: what it is (manifest.json), and which of its shards are done or missing."""

from __future__ import annotations

import hashlib
import json
import platform
import uuid
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from itertools import zip_longest
from pathlib import Path
from typing import Any

from hyperspan import __version__
from hyperspan.bulk.folder import Folder
from hyperspan.bulk.inputs import Input
from hyperspan.bulk.plan import PLAN, PlannedShard, Shard, job_of_plan, read_plan, shard_name, write_plan, write_results
from hyperspan.bulk.shards import DOCUMENTS, PROGRESS, REJECTED, JobSettings, ShardResult
from hyperspan.errors import OutputExistsError
from hyperspan.runtime.cards import CARD
from hyperspan.runtime.folders import folder_of
from hyperspan.runtime.options import ANY_LABEL

MANIFEST = "manifest.json"
FORMAT, VERSION = "hyperspan-bulk", 4
START_OVER = "choose another folder, or start over with --force"
MODEL_FILES = ("config.toml", "vocabulary.json", "words.txt", "model.safetensors")
"""The model files that determine its output."""


def model_files(model: str | Path) -> dict[str, bytes]:
    """All files needed to load a model on another machine, by name."""
    found = {name: folder_of(model) / name for name in (*MODEL_FILES, CARD)}
    return {name: path.read_bytes() for name, path in found.items() if name in MODEL_FILES or path.is_file()}


def hash_of(model: str | Path) -> str:
    """A hash of a model, independent of its location and name."""
    whole = hashlib.sha256()
    for name in MODEL_FILES:
        with (folder_of(model) / name).open("rb") as file:
            whole.update(f"{name} {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return f"sha256:{whole.hexdigest()}"


# -- the manifest ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Manifest:
    """The data needed to resume a job, besides its plan."""

    job: str
    hyperspan: str
    """The version of hyperspan that started it."""
    model: dict[str, str]
    """Its name and its hash."""
    options: dict[str, Any]
    shards: int

    @staticmethod
    def read(output: Folder) -> dict[str, Any] | None:
        """The raw manifest of a folder, in any version; None if there is none, an error if it is not hyperspan's."""
        raw = output.read(MANIFEST)
        if raw is None:
            return None
        with suppress(ValueError, KeyError, TypeError):
            record = json.loads(raw)
            if record["format"] == FORMAT:
                return record
        raise OutputExistsError(
            f"{output.name}/{MANIFEST} is not one that this hyperspan writes; choose another folder for the output"
        )

    @staticmethod
    def parse(record: dict[str, Any], folder: str) -> Manifest:
        """Parse the manifest of a folder; an error if it is damaged or of another version."""
        if record.get("version") != VERSION:
            raise OutputExistsError(
                f"{folder}/{MANIFEST} has the version {record.get('version')!r:.20}, but this hyperspan goes on with "
                f"jobs of version {VERSION}; {START_OVER}"
            )
        try:
            if not isinstance(record["options"], dict) or type(record["totals"]["shards"]) is not int:
                raise TypeError("expected options and a number of shards")
            return Manifest(
                job=_text(record["job"]),
                hyperspan=_text(record["versions"]["hyperspan"]),
                model={key: _text(record["model"][key]) for key in ("name", "hash")},
                options=record["options"],
                shards=record["totals"]["shards"],
            )
        except (KeyError, TypeError):
            raise _damaged(folder, MANIFEST) from None

    def difference(self, model: dict[str, str], settings: JobSettings) -> str | None:
        """What else than the inputs has changed since the job was started; None if nothing has."""
        if self.hyperspan != __version__:
            return f"of hyperspan {self.hyperspan}, and this is {__version__}"
        if self.model["hash"] != model["hash"]:
            return f"its model {self.model['name']} is not this {model['name']}"
        for option, value in settings.to_json().items():
            began = self.options.get(option)
            if began != value:
                return f"with {option} {_shown(began)}, and now {_shown(value)}"
        return None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, got {value!r:.80}")
    return value


def _shown(value: object) -> str:
    """The value of an option as users write it.

    >>> _shown({"*": 0.5, "protein": 0.3}), _shown(["DNA", "RNA"]), _shown(None)
    ('0.5, protein=0.3', 'DNA, RNA', 'none')
    """
    if value is None:
        return "none"
    if isinstance(value, dict):
        return ", ".join(f"{each}" if name == ANY_LABEL else f"{name}={each}" for name, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _damaged(folder: str, name: str) -> OutputExistsError:
    return OutputExistsError(f"{folder}/{name} is damaged; {START_OVER}")


# -- the job -----------------------------------------------------------------------------------------------------------


@dataclass
class Job:
    """A job: what to do, in which folder, and which shards are done."""

    output: Folder
    model: dict[str, str]
    """Its name and its hash."""
    settings: JobSettings
    shards: int = 0
    """The number of its shards."""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Part of the plan and of every progress note, so that those of an abandoned job are ignored."""
    done: dict[int, ShardResult] = field(default_factory=dict)

    @staticmethod
    def open(
        output: Folder, model: dict[str, str], settings: JobSettings, inputs: Sequence[Input], *, force: bool = False
    ) -> Job:
        """Resume the job of a folder, or start a new one if the folder is empty or with `force`."""
        record = Manifest.read(output)
        if record is not None and not force:
            manifest = Manifest.parse(record, output.name)
            job = Job(output, model, settings, manifest.shards, manifest.job)
            planned = job_of_plan(output) == job.id  # not if its plan was lost or is that of a job that never began
            difference = manifest.difference(model, settings) or (job.input_difference(inputs) if planned else None)
            if difference:
                raise OutputExistsError(
                    f"{output.name} holds another job ({difference}); choose another folder, or start over with --force"
                )
            if planned:
                job.reload()
                job._remove_strays()
                return job
        if record is None and _holds_others(output) and (not force or output.sizes(DOCUMENTS)):
            remedy = "choose another folder" + ("" if force else ", or write there with --force")
            raise OutputExistsError(f"{output.name} is not empty and holds no job to resume; {remedy}")
        job = Job(output, model, settings)
        job.shards = write_plan(output, job.id, inputs, settings.limits, settings.columns)
        job.write_manifest()
        job._remove_strays()
        return job

    @property
    def is_complete(self) -> bool:
        return len(self.done) == self.shards

    def missing(self) -> Iterator[Shard]:
        """The shards that are not done, read from the plan one by one."""
        for entry in self._plan():
            if isinstance(entry, PlannedShard) and entry.shard.number not in self.done:
                yield entry.shard

    def input_difference(self, inputs: Sequence[Input]) -> str | None:
        """How the inputs differ from those of the plan; None if they do not."""
        planned = (entry for entry in self._plan() if isinstance(entry, Input))
        if all(one == other for one, other in zip_longest(planned, inputs)):
            return None
        before = {entry.name: entry for entry in self._plan() if isinstance(entry, Input)}
        now = {file.name: file for file in inputs}
        for name in (*before, *now):
            if name not in now or name not in before:
                return f"{name} is {'no longer' if name in before else 'now'} among its inputs"
            if before[name] != now[name]:
                return f"its input {name} has changed"
        return "its inputs were in another order"

    def _plan(self) -> Iterator[Input | PlannedShard]:
        try:
            yield from read_plan(self.output)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise _damaged(self.output.name, PLAN) from None

    def reload(self) -> None:
        """Find the done shards in the folder alone: noted in the plan or in a progress file, with all files present."""
        self.done.clear()
        if job_of_plan(self.output) != self.id:
            return
        noted, shards = self._progress(), 0
        documents, rejected = self.output.sizes(DOCUMENTS), self.output.sizes(REJECTED)
        for entry in self._plan():
            if isinstance(entry, PlannedShard):
                shards, name = shards + 1, entry.shard.name
                done = noted.get(entry.shard.number) or self._result(entry)
                if done is None or documents.get(f"{name}.{self.settings.format}") != done.bytes:
                    continue
                if not done.rejected or f"{name}.jsonl" in rejected:
                    self.done[done.number] = done
        if shards != self.shards:
            raise _damaged(self.output.name, PLAN)

    def _progress(self) -> dict[int, ShardResult]:
        """The progress notes of this job."""
        noted: dict[int, ShardResult] = {}
        for name in filter(_is_ours, self.output.sizes(PROGRESS)):
            note = self.output.read(f"{PROGRESS}/{name}")
            with suppress(ValueError, TypeError, AttributeError):  # an invalid note: its shard is repeated
                record = json.loads(note or b"{}")
                if record.pop("job", None) == self.id:
                    done = ShardResult.from_json(record)
                    noted[done.number] = done
        return noted

    def _result(self, entry: PlannedShard) -> ShardResult | None:
        """The counts of a shard in the plan, if it was done."""
        if entry.result is None:
            return None
        try:
            return ShardResult.from_json({"number": entry.shard.number, **entry.result})
        except TypeError:
            raise _damaged(self.output.name, PLAN) from None

    def _remove_strays(self) -> None:
        """Remove files of no finished shard: leftovers of killed writers and of an abandoned job."""
        self.output.sweep(DOCUMENTS, REJECTED, PROGRESS)
        ours = set(map(shard_name, self.done))
        for below in (DOCUMENTS, REJECTED, PROGRESS):
            names = filter(_is_ours, self.output.sizes(below))
            self.output.remove(below, [name for name in names if name.partition(".")[0] not in ours])

    def finish(self) -> None:
        """Complete the plan and the manifest with all notes, and remove leftovers of dead workers."""
        results = {number: asdict(done) for number, done in self.done.items()}
        for result in results.values():
            del result["number"]
        write_results(self.output, results)
        self.write_manifest()
        self.output.sweep(DOCUMENTS, REJECTED, PROGRESS)
        self.output.remove(PROGRESS, list(self.output.sizes(PROGRESS)))

    def write_manifest(self) -> None:
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "job": self.id,
            "complete": self.is_complete,
            "versions": _versions(),
            "model": self.model,
            "options": self.settings.to_json(),
            "totals": self.totals(),
        }
        with self.output.writing(MANIFEST) as stream:
            stream.write(json.dumps(manifest, indent=1).encode() + b"\n")

    def totals(self) -> dict[str, int]:
        counted = ("documents", "rejected", "mentions", "words")
        sums = {name: sum(getattr(done, name) for done in self.done.values()) for name in counted}
        return {"shards": self.shards, **sums}


def _holds_others(output: Folder) -> bool:
    """Whether a folder without a manifest holds anything but the plan of a job that ended before it had one."""
    names = output.names()
    return bool(names - {PLAN}) or (PLAN in names and job_of_plan(output) is None)


def _is_ours(name: str) -> bool:
    """Whether a file belongs to a shard and is complete."""
    return name.startswith("part-")


def _versions() -> dict[str, str]:
    versions = {"hyperspan": __version__, "python": platform.python_version()}
    for package in ("torch", "pyarrow", "ray"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions
