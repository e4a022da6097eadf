"""Display of a learning curve: progress bars on a terminal, otherwise one line per run and at least one per minute."""

from __future__ import annotations

from functools import singledispatchmethod

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn

from hyperspan.training.curve.runs import PartFinished, PartStarted
from hyperspan.training.display import EventDisplay, duration
from hyperspan.training.events import EpochFinished, RunStarted, StepsTaken, TrainingEvent


class CurveDisplay(EventDisplay):
    """Shows the events of a learning curve on a console."""

    def __init__(self, console: Console):
        state = TextColumn("{task.fields[state]}")
        super().__init__(console, TextColumn("{task.description}"), BarColumn(), state, TimeElapsedColumn())
        self._part = ""
        self._epochs = 0
        self._scores = ""
        self._all = self._bars.add_task("runs", total=None, state=self._state)
        self._one = self._bars.add_task("", total=None, state="", visible=False)

    @singledispatchmethod
    def _show(self, event: TrainingEvent) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]: a descriptor
        """Show an event; each kind has its own method."""

    @_show.register
    def _start_part(self, event: PartStarted) -> None:
        self._part = f"{event.size:,} sentences, seed {event.seed}"
        self._state, self._scores = f"{self._part} ({event.number} of {event.of})", ""
        self._bars.update(self._all, total=event.of, completed=event.number - 1, state=f"{event.number} of {event.of}")
        self._bars.reset(self._one, description=self._part, state="", visible=True)

    @_show.register
    def _start_run(self, event: RunStarted) -> None:
        self._epochs = event.epochs
        self._bars.update(self._one, total=event.steps, completed=event.step)

    @_show.register
    def _step(self, event: StepsTaken) -> None:
        self._bars.update(self._one, completed=event.step)

    @_show.register
    def _finish_epoch(self, event: EpochFinished) -> None:
        if event.dev is not None:
            self._scores = f", dev F1 {100 * event.dev['f1']:.1f}"
        reached = f"epoch {event.epoch}/{self._epochs}{self._scores}"
        self._state = f"{self._part}: {reached}"
        self._bars.update(self._one, completed=event.step, state=reached)

    @_show.register
    def _finish_part(self, event: PartFinished) -> None:
        place = f"{event.number} of {event.of}"
        score = f"dev F1 {100 * event.run.f1:.1f} in {duration(event.run.seconds)}"
        self._print(f"hyperspan: {self._part}: {score} ({place})")
        self._bars.update(self._all, completed=event.number)
