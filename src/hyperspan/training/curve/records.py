"""What a learning curve has in its folder: the finished runs, and the settings that they have in common."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from hyperspan import __version__
from hyperspan.config import Config, DataConfig
from hyperspan.errors import InputError, OutputExistsError
from hyperspan.files import Target
from hyperspan.training.checkpoint import fingerprint
from hyperspan.training.curve.parts import Parts
from hyperspan.types import Sentence

RESULTS, SETTINGS, RUNS = "results.jsonl", "settings.json", "runs"
"""What is in the folder of a curve: a line for each finished run, what the runs have in common, and those under way."""
PICTURES = ("curve.json", "curve.png", "curve.svg")
WITHOUT_INFLUENCE = {"seed": 0, "micro_batch_size": 0, "checkpoint_minutes": 0.0}
"""Keys of the section training with which the runs of one curve may differ."""


@dataclass(frozen=True)
class CurveRun:
    """A finished run."""

    size: int
    seed: int
    sentences: int
    """That it was trained on."""
    mentions: int
    """In them."""
    f1: float
    """On dev."""
    epochs: int
    seconds: float
    """Of training, with the scores on dev."""


def read_runs(folder: Path) -> list[CurveRun]:
    """The finished runs of a curve."""
    path = folder / RESULTS
    if not path.exists():
        return []
    try:
        return [CurveRun(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    except (ValueError, TypeError):
        raise InputError(
            f"{path} is not what hyperspan curve wrote; begin anew with --force, or name another folder"
        ) from None


def write_runs(folder: Path, runs: Iterable[CurveRun]) -> None:
    """Records finished runs, all or nothing: a kill leaves the file as it was, or as it is to be."""
    with Target(str(folder / RESULTS), force=True).open() as stream:
        stream.writelines(json.dumps(asdict(run)) + "\n" for run in runs)


def settings_of(
    config: Config, parts: Parts, corpus: Sequence[Sentence], dev: Sequence[Sentence]
) -> dict[str, dict[str, Any]]:
    """What decides on the result of a run besides its size and seed, by section and key."""
    training = replace(config.training, **WITHOUT_INFLUENCE)
    tables = replace(config, data=DataConfig(joined=config.data.joined), training=training).tables()
    data = {"train": fingerprint(corpus), "dev": fingerprint(dev)}
    return {"hyperspan": {"version": __version__}, "curve": {"unit": parts.unit}, "corpora": data, **tables}


def open_folder(folder: Path, settings: dict[str, dict[str, Any]], *, force: bool) -> None:
    """Makes the folder ready; raises an error where it holds another curve, or something else."""
    before = _read_settings(folder)
    if before is not None and not force:
        if changed := _difference(before, json.loads(json.dumps(settings))):
            raise OutputExistsError(
                f"{folder} holds a curve with another {changed}; go on with what it was begun with, begin anew with --force, or "
                "name another folder with --output"
            )
        return
    if before is not None:
        for name in (RESULTS, SETTINGS, *PICTURES):
            (folder / name).unlink(missing_ok=True)
        shutil.rmtree(folder / RUNS, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    with Target(str(folder / SETTINGS), force=True).open() as stream:
        json.dump(settings, stream, indent=2)


def _read_settings(folder: Path) -> dict[str, dict[str, Any]] | None:
    """The settings of the curve in a folder; None where there is no such folder, or nothing but hidden files in it."""
    if not folder.exists() or (folder.is_dir() and all(file.name.startswith(".") for file in folder.iterdir())):
        return None
    try:
        settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        if not all(settings[section].keys() for section in ("hyperspan", "curve", "corpora")):
            raise ValueError
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        # Not even with --force: the files of others are not for this command to delete.
        raise OutputExistsError(
            f"{folder} holds other files than those of a curve; name a new folder with --output"
        ) from None
    return settings


def _difference(one: dict[str, dict[str, Any]], other: dict[str, dict[str, Any]]) -> str | None:
    """The first key in which two settings differ."""
    for section in one | other:
        a, b = one.get(section, {}), other.get(section, {})
        for key in a | b:
            if a.get(key) != b.get(key):
                return f"data.{key}" if section == "corpora" else f"{section}.{key}"
    return None
