"""Results of trained rows: one JSON file per seed, from which all tables are made; and the progress of each row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hyperspan.errors import InputError
from hyperspan.evaluation.significance import Counts
from hyperspan.files import Target
from hyperspan.reproduce.rows import Row
from hyperspan.training.log import read_log

RESULT, PREDICTIONS, MODEL = "result.json", "predictions.jsonl", "model"
"""The files of a row and seed: the figures, the predictions on test, and the folder of the run."""
COUNTED = ("right", "predicted", "gold")


@dataclass(frozen=True)
class Result:
    """A trained row of one seed, scored on test once."""

    row: str
    data: str
    seed: int
    dev_f1: float | None
    """The dev F1 of the finished model, as a fraction; None without dev."""
    best_epoch: int
    epochs: int
    """The number of epochs trained."""
    parameters: int
    seconds: float
    """The training time of all epochs."""
    device: str
    """The device used for training and scoring."""
    version: str
    """The version of hyperspan."""
    config: Mapping[str, Mapping[str, Any]]
    test: Mapping[str, Any]
    """The report on test, as `hyperspan evaluate --format json` prints it."""
    counts: Counts = field(compare=False)
    """(sentences, 3): correct, predicted and gold mentions of each test sentence."""

    @property
    def f1(self) -> float:
        return self.test["micro"]["f1"]

    def write(self, path: Path) -> None:
        """Write the result as JSON, atomically."""
        columns = zip(COUNTED, self.counts.T.tolist(), strict=True)
        given = {**vars(self), "counts": {name: " ".join(map(str, column)) for name, column in columns}}
        with Target(str(path), force=True).open() as file:
            file.write(json.dumps(given, indent=1, ensure_ascii=False) + "\n")

    @classmethod
    def read(cls, path: Path) -> Result:
        """Read a result that :meth:`write` wrote."""
        try:
            given = json.loads(path.read_text(encoding="utf-8"))
            counts = np.array([given["counts"][name].split() for name in COUNTED], dtype=np.int64).T
            found = cls(**{**given, "counts": counts})
            _ = found.f1, found.test["overlapping"]["f1"], found.test["non_overlapping"]["f1"]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path} is not a result of hyperspan reproduce ({error}); remove it to train that row again"
            ) from None
        return found


def folder_of(output: Path, data: str, row: Row, seed: int) -> Path:
    """The folder of a row and seed."""
    return output / data / row.name / f"seed-{seed}"


def read_results(output: Path, data: str, rows: Iterable[Row], seeds: Sequence[int]) -> dict[str, list[Result]]:
    """The finished seeds of each row, by its name; rows without any are left out."""
    found: dict[str, list[Result]] = {}
    for row in rows:
        files = [folder_of(output, data, row, seed) / RESULT for seed in seeds]
        results = [Result.read(file) for file in files if file.is_file()]
        if results:
            found[row.name] = results
    return found


@dataclass(frozen=True)
class State:
    """The progress of a row with one seed."""

    epoch: int = 0
    epochs: int = 0
    """The number of epochs to train; 0 if not started."""
    f1: float | None = None
    """The test F1, once finished."""

    def __str__(self) -> str:
        if self.f1 is not None:
            return f"finished, F1 {100 * self.f1:.2f}"
        return f"epoch {self.epoch} of {self.epochs}" if self.epochs else "not started"


def state_of(folder: Path) -> State:
    """The state of the run in the folder of a row and seed."""
    if (folder / RESULT).is_file():
        return State(f1=Result.read(folder / RESULT).f1)
    log = folder / MODEL / "log.jsonl"
    events = read_log(log) if log.is_file() else []
    epochs = next((event["epochs"] for event in events if event["event"] == "start"), 0)
    return State(max((event["epoch"] for event in events if event["event"] == "epoch"), default=0), epochs)
