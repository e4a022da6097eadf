"""The events of a training run, for its listeners; `record` is one as JSON, for logs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar


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
class RunEnded(TrainingEvent):
    """Training ended, after all epochs or by early stopping (patience, or the end of the schedule plateau)."""

    name = "end"
    epoch: int
    best_epoch: int
    best_f1: float | None
    seconds: float
    stopped: str
