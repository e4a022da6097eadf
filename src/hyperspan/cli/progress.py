"""Displays of training runs and learning curves: progress bars on a terminal; in files one line per epoch or run, and
at least one per minute.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import singledispatchmethod
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from hyperspan.errors import counted
from hyperspan.progress import print_every_minute
from hyperspan.training.events import (
    DataNote,
    EpochFinished,
    Hint,
    PartFinished,
    PartStarted,
    RunEnded,
    RunStarted,
    SettingsChosen,
    StepsTaken,
    TrainingEvent,
)

_HEADER = f"{'epoch':>9} {'loss':>10} {'dev P':>7} {'dev R':>7} {'dev F1':>7} {'words/s':>10} {'time':>12}"
_ENDINGS = {
    "epochs": "all epochs are done",
    "patience": "the scores got no better for a while",
    "plateau": "a lower learning rate no longer helps",
}


class EventDisplay:
    """Base class of console displays: progress bars on a terminal, otherwise at least one line per minute."""

    def __init__(self, console: Console, *columns: ProgressColumn):
        self._console = console
        self._state = "reading the data"
        """The current activity, for output without bars."""
        self._printed = time.monotonic()
        self._until_exit = ExitStack()
        # Standard output is for results: it is not redirected.
        self._bars = Progress(
            *columns, console=console, transient=True, redirect_stdout=False, disable=not console.is_terminal
        )

    def __enter__(self) -> Self:
        self._bars.start()
        if not self._console.is_terminal:
            self._until_exit.enter_context(
                print_every_minute(lambda: f"{self._state} …", self._write, printed=lambda: self._printed)
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._until_exit.close()
        self._bars.stop()

    def __call__(self, event: TrainingEvent) -> None:
        self._show(event)

    def _show(self, event: TrainingEvent) -> None:
        raise NotImplementedError

    def _print(self, text: str, style: str | None = None) -> None:
        self._printed = time.monotonic()
        self._write(text, style)

    def _write(self, text: str, style: str | None = None) -> None:
        self._console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


class TrainingDisplay(EventDisplay):
    """Shows the events of the training loop on a console.

    >>> import sys
    >>> with TrainingDisplay(Console(file=sys.stdout, force_terminal=False)) as show:
    ...     show(RunStarted(20, 9_500, 1_900_000, "segmental", 15_022, 401_500, "cpu", epoch=0, step=0))
    ...     scores = {"precision": 0.7, "recall": 0.6, "f1": 0.646}
    ...     show(EpochFinished(1, 475, 8.25, scores, True, 0.001, seconds=93.4, words_per_second=4300.0, too_wide=0))
    training segmental: 1,900,000 parameters, 15,022 sentences, 401,500 words, 20 epochs, on cpu
    epoch 1/20: loss 8.2500, dev P 70.0 R 60.0 F1 64.6 (best), 4,300 words/s, 1 min 33 s
    """

    def __init__(self, console: Console):
        remaining = TimeRemainingColumn(compact=True)
        super().__init__(
            console,
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[state]}"),
            remaining,
            TextColumn("left"),
        )
        self._epochs = 0
        self._steps_an_epoch = 1
        self._header_shown = False
        self._too_wide_shown = False
        self._run: TaskID | None = None
        self._epoch: TaskID | None = None

    @singledispatchmethod
    def _show(self, event: TrainingEvent) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]: a descriptor
        """Show an event; each kind has its own method."""

    @_show.register
    def _note(self, event: DataNote) -> None:
        self._print(event.text)

    @_show.register
    def _settings(self, event: SettingsChosen) -> None:
        corpus = counted(event.sentences, "English sentence" if event.english else "sentence")
        values = " ".join(f"{key}={_shown(value)}" for key, value in event.values.items())
        self._print(f"settings for {corpus}, which --set changes: {values}")

    @_show.register
    def _hint(self, event: Hint) -> None:
        self._print(f"hint: {event.text}", style="yellow")

    @_show.register
    def _start(self, event: RunStarted) -> None:
        self._epochs = event.epochs
        self._steps_an_epoch = max(1, event.steps // max(1, event.epochs))
        sizes = {"parameter": event.parameters, "sentence": event.sentences, "word": event.words, "epoch": event.epochs}
        counts = ", ".join(counted(number, noun) for noun, number in sizes.items())
        self._print(f"training {event.model}: {counts}, on {event.device}")
        if event.epoch:
            self._print(f"resumed after epoch {event.epoch}")
        self._state = f"epoch {event.epoch + 1}/{self._epochs}"
        self._run = self._bars.add_task("training", total=event.steps, completed=event.step, state="")
        self._epoch = self._bars.add_task(
            f"epoch {event.epoch + 1}/{self._epochs}", total=self._steps_an_epoch, state=""
        )

    @_show.register
    def _step(self, event: StepsTaken) -> None:
        if self._run is None or self._epoch is None:
            return
        within = event.step - (event.epoch - 1) * self._steps_an_epoch
        state = f"loss {event.loss:.4f} · {event.words_per_second:,.0f} words/s"
        self._state = f"epoch {event.epoch}/{self._epochs}: step {within:,} of {self._steps_an_epoch:,}, {state}"
        self._bars.update(self._run, completed=event.step)
        self._bars.update(self._epoch, completed=within, state=state, description=f"epoch {event.epoch}/{self._epochs}")

    @_show.register
    def _finish_epoch(self, event: EpochFinished) -> None:
        if self._console.is_terminal:
            if not self._header_shown:
                self._print(_HEADER, style="dim")
                self._header_shown = True
            self._print(_row(event, self._epochs), style="bold green" if event.best else None)
        else:
            self._print(_sentence(event, self._epochs))
        self._state = f"epoch {min(event.epoch + 1, self._epochs)}/{self._epochs}"
        if event.too_wide and not self._too_wide_shown:  # the same mentions every epoch
            self._print(
                f"{event.too_wide:,} mentions are ignored in training: beyond the limits of the model, or overlapping as it cannot represent"
            )
            self._too_wide_shown = True
        if self._run is not None and self._epoch is not None:
            self._bars.update(self._run, completed=event.step)
            following = min(event.epoch + 1, self._epochs)
            self._bars.reset(self._epoch, description=f"epoch {following}/{self._epochs}", state="")

    @_show.register
    def _end(self, event: RunEnded) -> None:
        best = "" if event.best_f1 is None else f"; best dev F1 {_percent(event.best_f1)}, epoch {event.best_epoch}"
        self._state = "scoring the model"
        self._print(f"{_ENDINGS[event.stopped]}: {counted(event.epoch, 'epoch')} in {duration(event.seconds)}{best}")


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value) or '""'


def _row(event: EpochFinished, epochs: int) -> str:
    """A line of the table under _HEADER."""
    dev = event.dev
    scores = [_percent(dev[name]) if dev else "–" for name in ("precision", "recall", "f1")]
    return (
        f"{event.epoch:>4}/{epochs:<4} {event.loss:>10.4f} {scores[0]:>7} {scores[1]:>7} {scores[2]:>7} "
        f"{event.words_per_second:>10,.0f} {duration(event.seconds):>12}{'  best' if event.best else ''}"
    )


def _sentence(event: EpochFinished, epochs: int) -> str:
    """A self-explanatory line, for files."""
    dev = event.dev
    scores = ""
    if dev:
        precision, recall, f1 = (_percent(dev[name]) for name in ("precision", "recall", "f1"))
        scores = f", dev P {precision} R {recall} F1 {f1}{' (best)' if event.best else ''}"
    speed = f"{event.words_per_second:,.0f} words/s, {duration(event.seconds)}"
    return f"epoch {event.epoch}/{epochs}: loss {event.loss:.4f}{scores}, {speed}"


def _percent(score: float) -> str:
    return f"{100 * score:.1f}"


def duration(seconds: float) -> str:
    """Format a duration in at most two units.

    >>> [duration(seconds) for seconds in (8.04, 93.4, 7_265)]
    ['8.0 s', '1 min 33 s', '2 h 1 min']
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


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
