"""Results of trained rows: one JSON file per seed, from which all tables are made; and the progress of each row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments.rows import Row
from hyperspan.errors import InputError
from hyperspan.evaluation.intervals import Counts
from hyperspan.files import Target
from hyperspan.training.events import read_log

RESULT, PREDICTIONS, MODEL = "result.json", "predictions.jsonl", "model"
"""The files of a row and seed: the figures, the predictions on test, and the folder of the run."""
COUNTED = ("right", "predicted", "gold")


@dataclass(frozen=True)
class Result:
    """A trained row of one seed, scored on test once, or on dev alone where a setting is being chosen."""

    row: str
    data: str
    seed: int
    config: Mapping[str, Mapping[str, Any]]
    """The settings that differ from the defaults, by section and key."""
    dev: Mapping[str, Any] | None
    """The report on dev of the finished model, as `hyperspan evaluate --json` prints it; None without dev."""
    test: Mapping[str, Any] | None
    """The same on test; None if only dev was scored."""
    counts: Counts | None = field(compare=False)
    """(sentences, 3): correct, predicted and gold mentions of each sentence of the part that was scored last. None for
    recorded runs whose counts were not kept; they have means, and no intervals."""
    best_epoch: int
    epochs: int
    """The number of epochs trained."""
    parameters: int
    seconds: float
    """The training time of all epochs."""
    device: str
    """The device used for training and scoring."""
    machine: str
    """Its name."""
    version: str
    """The version of hyperspan."""
    cpu_seconds: float | None = None
    """The processor time of training; None if it was resumed."""
    discontinuous: Counts | None = field(default=None, compare=False)
    """The counts of discontinuous mentions alone; None where there are none."""

    @property
    def report(self) -> Mapping[str, Any]:
        """The report on the part that the row is scored on."""
        report = self.dev if self.test is None else self.test
        assert report is not None
        return report

    @property
    def known_counts(self) -> Counts:
        """The counts of each sentence, which must be there."""
        if self.counts is None:
            raise InputError(f"the recorded run of {self.row}, seed {self.seed}, has no counts of sentences")
        return self.counts

    @property
    def f1(self) -> float:
        return self.report["micro"]["f1"]

    @property
    def dev_f1(self) -> float | None:
        return None if self.dev is None else self.dev["micro"]["f1"]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        others = {} if self.discontinuous is None else {"discontinuous": _columns(self.discontinuous)}
        optional = ("discontinuous", *(["cpu_seconds"] if self.cpu_seconds is None else []))
        without = {key: value for key, value in vars(self).items() if key not in optional}
        return {**without, "counts": _columns(self.counts), **others}

    def write(self, path: Path) -> None:
        """Write the result as JSON, atomically."""
        with Target(str(path), force=True).open() as file:
            file.write(json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n")

    @classmethod
    def from_json(cls, text: bytes, source: str) -> Result:
        """Check and convert the JSON of :meth:`to_dict`; `source` says where it is from."""
        try:
            given = json.loads(text)
            counts = {"counts": _counts(given["counts"]), "discontinuous": _counts(given.get("discontinuous"))}
            return cls(**{**given, **counts})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{source} is not a result of experiments ({type(error).__name__}: {error}); remove it to train that row "
                "again, or restore it, if it is of the repository, with git checkout"
            ) from None

    @classmethod
    def read(cls, path: Path) -> Result:
        """Read a result that :meth:`write` wrote."""
        return cls.from_json(path.read_bytes(), str(path))


def _columns(counts: Counts | None) -> dict[str, str] | None:
    """Counts as text, a line of numbers for each of COUNTED."""
    if counts is None:
        return None
    return {name: " ".join(map(str, column)) for name, column in zip(COUNTED, counts.T.tolist(), strict=True)}


def _counts(given: Mapping[str, str] | None) -> Counts | None:
    """The counts that :func:`_columns` wrote."""
    return None if given is None else np.array([given[name].split() for name in COUNTED], dtype=np.int64).T


def folder_of(output: Path, data: str, row: Row, seed: int) -> Path:
    """The folder of a row and seed."""
    return output / data / row.name / f"seed-{seed}"


RECORDED = Path(__file__).parent / "results"
"""The folder of recorded results."""
_SCORES = ("micro", "overlapping", "non_overlapping", "by_width", "words_per_second")
"""The parts of a report that are recorded, and these, where there are discontinuous mentions:"""
_OF_DISCONTINUOUS = ("discontinuous", "with_discontinuous")


def read_results(
    output: Path, data: str, rows: Iterable[Row], seeds: Sequence[int], recorded: Path | None = None
) -> dict[str, list[Result]]:
    """The finished seeds of each row, by its name; rows without any are left out.

    A row of which the output folder has nothing is looked for in the file of recorded results. Without `seeds`, each
    row has its usual number of them.
    """
    known = read_recorded(recorded) if recorded is not None else {}
    found: dict[str, list[Result]] = {}
    for row in rows:
        wanted = seeds or row.seeds
        files = {seed: folder_of(output, data, row, seed) / RESULT for seed in wanted}
        own = [_own(file, data, row, seed) for seed, file in files.items() if file.is_file()]
        if finished := own or [known[row.name, seed] for seed in wanted if (row.name, seed) in known]:
            found[row.name] = finished
    return found


def _own(file: Path, data: str, row: Row, seed: int) -> Result:
    """The result in the folder of a row and seed."""
    found = Result.read(file)
    if (found.row, found.data, found.seed) != (row.name, data, seed):
        raise InputError(
            f"{file} is the result of {found.row}, seed {found.seed}, on {found.data}; move it to the folder of that run"
        )
    return found


def recorded_file(study: str, data: str) -> Path:
    """The file of recorded results of a study on a corpus."""
    return RECORDED / study / f"{data}.jsonl"


def read_recorded(path: Path) -> dict[tuple[str, int], Result]:
    """The recorded results, by row and seed; none if the file is not there."""
    found: dict[tuple[str, int], Result] = {}
    for number, line in enumerate(path.read_bytes().splitlines() if path.is_file() else [], 1):
        result = Result.from_json(line, f"line {number} of {path}")
        what = (result.row, result.seed)
        other = f"a result on {result.data}" if result.data != path.stem else ""
        again = f"{result.row}, seed {result.seed}, again" if what in found else ""
        if other or again:
            raise InputError(f"line {number} of {path} is {other or again}; restore it with git checkout, or remove it")
        found[what] = result
    return found


def record(results: Iterable[Result], path: Path, rows: Iterable[str]) -> int:
    """Add results to a file of recorded results, in place of earlier ones and in the order of `rows`; return how many
    it holds."""
    known = read_recorded(path) | {(result.row, result.seed): result for result in results}
    order = {name: place for place, name in enumerate(rows)}
    path.parent.mkdir(parents=True, exist_ok=True)
    with Target(str(path), force=True).open() as file:
        for _, result in sorted(known.items(), key=lambda item: (order.get(item[0][0], len(order)), item[0])):
            short = replace(result, dev=_shortened(result.dev), test=_shortened(result.test))
            file.write(json.dumps(short.to_dict(), ensure_ascii=False) + "\n")
    return len(known)


def _shortened(report: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """A report without what the tables do not need."""
    if report is None:
        return None
    some = _OF_DISCONTINUOUS if report.get("discontinuous", {}).get("gold") else ()
    return {part: report[part] for part in (*_SCORES, *some) if part in report}


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
