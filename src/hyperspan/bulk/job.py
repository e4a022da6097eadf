"""A bulk job and its folder: its manifest (manifest.json), and which shards are done or missing."""

from __future__ import annotations

import hashlib
import json
import platform
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hyperspan import __version__
from hyperspan.bulk.folder import Folder
from hyperspan.bulk.inputs import Input
from hyperspan.bulk.manifest import FORMAT, MANIFEST, VERSION, Manifest, read_manifest
from hyperspan.bulk.plan import Map, Plan, Shard, make_plan
from hyperspan.bulk.shards import DOCUMENTS, PROGRESS, REJECTED, Done, JobSettings
from hyperspan.errors import OutputExistsError
from hyperspan.runtime.cards import CARD
from hyperspan.runtime.folders import folder_of

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


@dataclass
class Job:
    """A job: what to do, in which folder, and which shards are done."""

    output: Folder
    model: dict[str, str]
    """Its name and its hash."""
    settings: JobSettings
    plan: Plan
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Part of every progress note, so that notes of an abandoned job are ignored."""
    done: dict[int, Done] = field(default_factory=dict)

    @staticmethod
    def open(
        output: Folder,
        model: dict[str, str],
        settings: JobSettings,
        inputs: Sequence[Input],
        *,
        each: Map = map,
        force: bool = False,
    ) -> Job:
        """Resume the job of a folder, or start a new one if the folder is empty or with `force`."""
        record = read_manifest(output)
        if record is not None and not force:
            manifest = Manifest.parse(record, output.name)
            if difference := manifest.difference(model, settings, inputs):
                raise OutputExistsError(
                    f"{output.name} holds another job ({difference}); choose another folder, or start over with --force"
                )
            job = Job(output, model, settings, manifest.plan, manifest.job)
            job._find_done(manifest.done)
            job._remove_strays()
            return job
        if record is None and output.holds_anything() and (not force or output.sizes(DOCUMENTS)):
            remedy = "choose another folder" + ("" if force else ", or write there with --force")
            raise OutputExistsError(f"{output.name} is not empty and holds no job to resume; {remedy}")
        job = Job(output, model, settings, make_plan(inputs, settings.limits, settings.columns, each))
        job.write_manifest()
        job._remove_strays()
        return job

    @property
    def missing(self) -> list[Shard]:
        """The shards that are not done."""
        return [shard for shard in self.plan.shards if shard.number not in self.done]

    def _find_done(self, noted: Mapping[int, Done]) -> None:
        """Find the done shards: noted in the manifest or in a progress file, with all files present."""
        known = dict(noted)
        for name in filter(_is_ours, self.output.sizes(PROGRESS)):
            note = self.output.read(f"{PROGRESS}/{name}")
            with suppress(ValueError, TypeError, AttributeError):  # an invalid note: its shard is repeated
                record = json.loads(note or b"{}")
                if record.pop("job", None) == self.id:
                    done = Done.from_json(record)
                    known[done.number] = done
        documents, rejected = self.output.sizes(DOCUMENTS), self.output.sizes(REJECTED)
        for shard in self.plan.shards:
            done = known.get(shard.number)
            if done is None or documents.get(f"{shard.name}.{self.settings.format}") != done.bytes:
                continue
            if not done.rejected or f"{shard.name}.jsonl" in rejected:
                self.done[shard.number] = done

    def _remove_strays(self) -> None:
        """Remove files of no finished shard: leftovers of killed writers and of an abandoned job."""
        self.output.sweep(DOCUMENTS, REJECTED, PROGRESS)
        ours = {self.plan.shards[number].name for number in self.done}
        for below in (DOCUMENTS, REJECTED, PROGRESS):
            names = filter(_is_ours, self.output.sizes(below))
            self.output.remove(below, [name for name in names if name.partition(".")[0] not in ours])

    def reload(self) -> None:
        """Read the state from the folder alone, ignoring reports of workers."""
        self.done.clear()
        record = read_manifest(self.output)
        self._find_done(Manifest.parse(record, self.output.name).done if record is not None else {})

    def finish(self) -> None:
        """Complete the manifest with all notes, and remove leftovers of dead workers."""
        self.write_manifest()
        self.output.sweep(DOCUMENTS, REJECTED, PROGRESS)
        self.output.remove(PROGRESS, list(self.output.sizes(PROGRESS)))

    def write_manifest(self) -> None:
        plan = asdict(self.plan)
        for shard in plan["shards"]:
            done = self.done.get(shard["number"])
            shard["result"] = done and {name: value for name, value in asdict(done).items() if name != "number"}
        manifest = {
            "format": FORMAT,
            "version": VERSION,
            "job": self.id,
            "complete": not self.missing,
            "versions": _versions(),
            "model": self.model,
            "options": self.settings.to_json(),
            "totals": self.totals(),
            **plan,
        }
        with self.output.writing(MANIFEST) as stream:
            stream.write(json.dumps(manifest, indent=1).encode() + b"\n")

    def totals(self) -> dict[str, int]:
        counted = ("documents", "rejected", "mentions", "words")
        sums = {name: sum(getattr(done, name) for done in self.done.values()) for name in counted}
        return {"shards": len(self.plan.shards), **sums}


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
