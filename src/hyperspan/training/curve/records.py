"""The files of a learning curve: the finished runs, and their common settings."""

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
from hyperspan.types import Sentence

RESULTS, SETTINGS, RUNS = "results.jsonl", "settings.json", "runs"
"""The files in the folder of a curve: a line per finished run, the common settings, and the runs in progress."""
PICTURES = ("curve.json", "curve.png", "curve.svg")
WITHOUT_INFLUENCE = {"seed": 0, "micro_batch_size": 0}
"""Keys of the section training in which the runs of one curve may differ."""


@dataclass(frozen=True)
class CurveRun:
    """A finished run."""

    size: int
    seed: int
    sentences: int
    """The number of training sentences."""
    mentions: int
    """The number of mentions in the training sentences."""
    f1: float
    """The F1 on dev."""
    epochs: int
    seconds: float
    """The training time, including dev evaluation."""


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
    """Record finished runs atomically: a kill leaves either the old or the new file."""
    with Target(str(folder / RESULTS), force=True).open() as stream:
        stream.writelines(json.dumps(asdict(run)) + "\n" for run in runs)


def settings_of(config: Config, corpus: Sequence[Sentence], dev: Sequence[Sentence]) -> dict[str, dict[str, Any]]:
    """The settings that determine a run besides its size and seed, by section and key."""
    training = replace(config.training, **WITHOUT_INFLUENCE)
    tables = replace(config, data=DataConfig(joined=config.data.joined), training=training).tables()
    data = {"train": fingerprint(corpus), "dev": fingerprint(dev)}
    return {"hyperspan": {"version": __version__}, "corpora": data, **tables}


def open_folder(folder: Path, settings: dict[str, dict[str, Any]], *, force: bool) -> None:
    """Prepare the folder; raise an error if it holds another curve or other files."""
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
    """The settings of the curve in a folder; None if the folder does not exist or holds only hidden files."""
    if not folder.exists() or (folder.is_dir() and all(file.name.startswith(".") for file in folder.iterdir())):
        return None
    try:
        settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        if not all(settings[section].keys() for section in ("hyperspan", "corpora")):
            raise ValueError
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        # Not even with --force: this command never deletes other files.
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
