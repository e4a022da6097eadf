"""The events of a training run, and the logs that listen to them: JSON lines and TensorBoard files.

`record` is an event as JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from hyperspan.errors import CorpusError, InputError, require
from hyperspan.files import Target

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

    from hyperspan.training.curve import CurveRun

LOG = "log.jsonl"
"""The file name in the folder of a run."""


@dataclass(frozen=True)
class TrainingEvent:
    """An event of a training run."""

    name: ClassVar[str]

    def record(self) -> dict[str, Any]:
        return {"event": self.name, **asdict(self)}


Listener = Callable[[TrainingEvent], None]


@dataclass(frozen=True)
class DataNote(TrainingEvent):
    """A remark on the data, before training."""

    name = "note"
    text: str


@dataclass(frozen=True)
class SettingsChosen(TrainingEvent):
    """The values chosen for "auto" keys, by key."""

    name = "settings"
    sentences: int
    english: bool
    values: dict[str, Any]


@dataclass(frozen=True)
class RunStarted(TrainingEvent):
    """Training starts, or resumes after `epoch` epochs and `step` steps."""

    name = "start"
    epochs: int
    steps: int
    parameters: int
    model: str
    sentences: int
    words: int
    device: str
    epoch: int
    step: int
    settings: dict[str, Any] = field(default_factory=dict)
    """The values of the keys that may be "auto"."""


@dataclass(frozen=True)
class StepsTaken(TrainingEvent):
    """More steps were taken; `loss` is the mean of the epoch so far."""

    name = "step"
    epoch: int
    step: int
    loss: float
    words_per_second: float
    learning_rate: float


@dataclass(frozen=True)
class EpochFinished(TrainingEvent):
    """An epoch and its scores on dev, None if there is no dev."""

    name = "epoch"
    epoch: int
    step: int
    loss: float
    dev: dict[str, float] | None
    best: bool
    learning_rate: float
    seconds: float
    words_per_second: float
    too_wide: int
    """Gold mentions that the model cannot represent: beyond its limits, or overlapping in ways that its structure does
    not allow."""


@dataclass(frozen=True)
class Hint(TrainingEvent):
    """A hint on what to try, after an epoch or at the end of a run."""

    name = "hint"
    epoch: int
    text: str


@dataclass(frozen=True)
class PartStarted(TrainingEvent):
    """The run of a learning curve on a part starts or resumes, with its index among the remaining runs."""

    name = "part"
    size: int
    seed: int
    number: int
    of: int


@dataclass(frozen=True)
class PartFinished(TrainingEvent):
    """A run of a learning curve has ended and is recorded."""

    name = "part finished"
    run: CurveRun
    number: int
    of: int


@dataclass(frozen=True)
class RunEnded(TrainingEvent):
    """Training ended, after all epochs or by early stopping (patience, or the end of the schedule plateau)."""

    name = "end"
    epoch: int
    best_epoch: int
    best_f1: float | None
    seconds: float
    stopped: str


Record = dict[str, Any]
"""A line of a log, from :meth:`TrainingEvent.record`."""


class JsonLinesLog:
    """Writes one JSON line for the start, every epoch, the end and every hint of a run; complete lines survive a kill.

    A run resumed after an epoch continues the log: lines after that epoch and partial lines are removed, and the
    original start line stays. So the log of an interrupted run reads like that of an uninterrupted one.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> log = JsonLinesLog(file, resume_from_epoch=0)
    >>> log(RunStarted(2, 4, 1_000, "segmental", 20, 300, "cpu", epoch=0, step=0))
    >>> for epoch in (1, 2):
    ...     log(EpochFinished(epoch, 2 * epoch, 1 / epoch, None, True, 0.1, 1.0, 300.0, 0))
    >>> resumed = JsonLinesLog(file, resume_from_epoch=1)
    >>> [event["event"] for event in read_log(file)]
    ['start', 'epoch']
    """

    def __init__(self, path: str | Path, resume_from_epoch: int):
        self._path = Path(path)
        self._kept: list[Record] = []
        if resume_from_epoch > 0 and self._path.exists():
            so_far = takewhile(lambda event: event["event"] != "end", read_log(self._path))
            self._kept = [event for event in so_far if _belongs_before(event, resume_from_epoch)]
        self._rewrite()

    def __call__(self, event: TrainingEvent) -> None:
        if isinstance(event, RunStarted) and self._kept and self._kept[0]["event"] == "start":
            first = self._kept[0]  # keep the original start
            self._kept[0] = {**event.record(), "epoch": first["epoch"], "step": first["step"]}
            self._rewrite()
        elif not isinstance(event, StepsTaken):
            with self._path.open("ab") as stream:
                stream.write(_line(event.record()).encode("utf-8"))

    def _rewrite(self) -> None:
        with Target(str(self._path), force=True).open() as stream:
            stream.writelines(map(_line, self._kept))


def read_log(path: str | Path) -> list[Record]:
    """Read the events of a log; a truncated last line, as a killed run leaves it, is ignored.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "log.jsonl"
    >>> _ = file.write_text('{"event": "epoch", "epoch": 1}\\n{"event": "ep')
    >>> read_log(file)
    [{'event': 'epoch', 'epoch': 1}]
    """
    path = Path(path)
    try:
        *lines, _cut_off = path.read_bytes().split(b"\n")  # nothing follows the end of the last whole line
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); name the log of a training run") from None
    events: list[Record] = []
    for number, line in enumerate(lines, start=1):
        try:
            event = json.loads(line)
        except ValueError:
            event = None
        if not isinstance(event, dict) or "event" not in event:
            raise CorpusError(
                f"{path}:{number}: not an event of a training run; expected the JSON that training writes"
            )
        events.append(event)
    return events


def _belongs_before(event: Record, resumed_epoch: int) -> bool:
    """Whether an event belongs to the epochs before the one that a run resumes after."""
    return event["event"] == "start" or (event["event"] in ("epoch", "hint") and event["epoch"] <= resumed_epoch)


def _line(event: Record) -> str:
    return json.dumps(_finite(event), ensure_ascii=False, allow_nan=False) + "\n"


def _finite(value: Any) -> Any:
    """Replace infinity and NaN, which JSON lacks, by null."""
    if isinstance(value, dict):
        return {name: _finite(inner) for name, inner in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def require_tensorboard() -> None:
    """Raise an error unless :class:`TensorBoardLog` can write."""
    require("plots", "writing TensorBoard logs", "tensorboard")


class TensorBoardLog:
    """Writes losses, learning rates, speed and scores by step for TensorBoard; a resumed run hides what it repeats."""

    def __init__(self, folder: str | Path):
        require_tensorboard()
        from torch.utils.tensorboard import SummaryWriter

        self._writer_class = SummaryWriter
        self._folder = Path(folder)
        self._writer: SummaryWriter | None = None

    def __call__(self, event: TrainingEvent) -> None:
        if isinstance(event, RunStarted):
            self._writer = self._writer_class(str(self._folder), purge_step=event.step + 1 if event.step else None)
        if self._writer is None:
            raise InputError(f"the event {event.name!r} came before 'start'; TensorBoard logs begin with 'start'")
        if isinstance(event, StepsTaken):
            self._writer.add_scalar("loss/step", event.loss, event.step)
            self._writer.add_scalar("training/learning_rate", event.learning_rate, event.step)
            self._writer.add_scalar("training/words_per_second", event.words_per_second, event.step)
        elif isinstance(event, EpochFinished):
            self._writer.add_scalar("loss/epoch", event.loss, event.step)
            self._writer.add_scalar("training/seconds", event.seconds, event.step)
            for name, score in (event.dev or {}).items():
                self._writer.add_scalar(f"dev/{name}", score, event.step)
            self._writer.flush()
        elif isinstance(event, RunEnded):
            self._writer.close()
