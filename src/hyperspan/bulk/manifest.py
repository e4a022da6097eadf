"""Read and check manifest.json, and compare its job with the requested one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hyperspan import __version__
from hyperspan.bulk.folder import Folder
from hyperspan.bulk.inputs import Input
from hyperspan.bulk.plan import Plan
from hyperspan.bulk.shards import Done, JobSettings
from hyperspan.errors import OutputExistsError
from hyperspan.runtime.options import ANY_LABEL

MANIFEST = "manifest.json"
FORMAT, VERSION = "hyperspan-bulk", 3


def read_manifest(output: Folder) -> dict[str, Any] | None:
    """The raw manifest of a folder, in any version; None if there is none, an error if it is not hyperspan's."""
    raw = output.read(MANIFEST)
    if raw is None:
        return None
    try:
        record = json.loads(raw)
        if record["format"] == FORMAT:
            return record
    except (ValueError, KeyError, TypeError):
        pass
    raise OutputExistsError(
        f"{output.name}/{MANIFEST} is not one that this hyperspan writes; choose another folder for the output"
    )


LATER_OPTIONS = {"names": False, "pronouns": True}
"""The options that manifests of this version have not always had, and their defaults."""


@dataclass(frozen=True)
class Manifest:
    """The data needed to resume a job."""

    job: str
    hyperspan: str
    """The version of hyperspan that started it."""
    model: dict[str, str]
    """Its name and its hash."""
    options: dict[str, Any]
    plan: Plan
    done: dict[int, Done]

    @staticmethod
    def parse(record: dict[str, Any], folder: str) -> Manifest:
        """Parse the manifest of a folder; an error if it is damaged or of another version."""
        remedy = "choose another folder, or start over with --force"
        if record.get("version") != VERSION:
            raise OutputExistsError(
                f"{folder}/{MANIFEST} has the version {record.get('version')!r:.20}, but this hyperspan goes on with jobs of "
                f"version {VERSION}; {remedy}"
            )
        try:
            if record["totals"]["shards"] != len(record["shards"]):
                raise ValueError("expected as many shards as were planned")
            return Manifest(
                job=_text(record["job"]),
                hyperspan=_text(record["versions"]["hyperspan"]),
                model={key: _text(record["model"][key]) for key in ("name", "hash")},
                options={**LATER_OPTIONS, **record["options"]},
                plan=Plan.from_json(record),
                done={
                    shard["number"]: Done.from_json({"number": shard["number"], **shard["result"]})
                    for shard in record["shards"]
                    if shard["result"]
                },
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            raise OutputExistsError(f"{folder}/{MANIFEST} is damaged; {remedy}") from None

    def difference(self, model: dict[str, str], settings: JobSettings, inputs: Sequence[Input]) -> str | None:
        """What has changed since the job was started; None if nothing has."""
        if self.hyperspan != __version__:
            return f"of hyperspan {self.hyperspan}, and this is {__version__}"
        if self.model["hash"] != model["hash"]:
            return f"its model {self.model['name']} is not this {model['name']}"
        for option, value in settings.to_json().items():
            began = self.options.get(option)
            if began != value:
                return f"{_with(option, began)}, and now {_shown(value) if began is None else _with(option, value)}"
        before = {file.name: file for file in self.plan.inputs}
        now = {file.name: file for file in inputs}
        for name in (*before, *now):
            if name not in now or name not in before:
                return f"{name} is {'no longer' if name in before else 'now'} among its inputs"
            if before[name] != now[name]:
                return f"its input {name} has changed"
        return None if list(before) == list(now) else "its inputs were in another order"


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a text, got {value!r:.80}")
    return value


def _with(option: str, value: object) -> str:
    """An option of a job with its value, or its absence."""
    if isinstance(value, bool):
        return f"{'with' if value else 'without'} {option}"
    without = {"threshold": "without a threshold", "types": "with all types", "kind": "without --from"}
    return without.get(option, f"without {option}") if value is None else f"with {option} {_shown(value)}"


def _shown(value: object) -> str:
    """The value of an option as users write it.

    >>> _shown({"*": 0.5, "protein": 0.3}), _shown(["DNA", "RNA"])
    ('0.5, protein=0.3', 'DNA, RNA')
    """
    if isinstance(value, dict):
        return ", ".join(f"{each}" if name == ANY_LABEL else f"{name}={each}" for name, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
