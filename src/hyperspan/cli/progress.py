"""Displays of training and learning curves: one live line on a terminal; in a log few lines, ever further apart."""

from __future__ import annotations

import time
from contextlib import ExitStack
from functools import singledispatchmethod
from itertools import groupby
from textwrap import fill
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

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

_ENDINGS = {
    "epochs": "all epochs are done",
    "patience": "the scores got no better for a while",
    "plateau": "a lower learning rate no longer helps",
}


class EventDisplay:
    """Base class of displays: a live line on a terminal; a line in a log after a minute of silence, then two …"""

    def __init__(self, console: Console):
        self._console = console
        self._state = "reading the data"
        """The current activity, for a log."""
        self._began = self._printed = time.monotonic()
        self._until_exit = ExitStack()
        columns = (TextColumn("{task.description}"), BarColumn(12), TextColumn("{task.fields[state]}"))
        # Standard output is for results: it is not redirected.
        self._live = Progress(
            *columns,
            TimeRemainingColumn(compact=True),
            TextColumn("left"),
            console=console,
            transient=True,
            redirect_stdout=False,
            disable=not console.is_terminal,
        )
        self._line = self._live.add_task(self._state, total=None, state="")

    def __enter__(self) -> Self:
        self._live.start()
        if not self._console.is_terminal:
            self._until_exit.enter_context(
                print_every_minute(lambda: f"{self._state} …", self._print, printed=self._silent_until)
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._until_exit.close()
        self._live.stop()

    def __call__(self, event: TrainingEvent) -> None:
        self._show(event)

    def _show(self, event: TrainingEvent) -> None:
        raise NotImplementedError

    def _silent_until(self) -> float:
        """The time of the last line, later by as much as had passed before it."""
        return self._printed + (self._printed - self._began)

    def _print(self, text: str, style: str | None = None) -> None:
        self._printed = time.monotonic()
        self._console.print(text, style=style, markup=False, highlight=False, soft_wrap=True)


class TrainingDisplay(EventDisplay):
    """Shows the events of the training loop on a console. In a log, epochs 1, 2, 4, 8 … and the last have a line.

    >>> import sys
    >>> with TrainingDisplay(Console(file=sys.stdout, force_terminal=False)) as show:
    ...     show(RunStarted(20, 9_500, 1_900_000, "segmental", 15_022, 401_500, "cpu", epoch=0, step=0))
    ...     scores = {"precision": 0.7, "recall": 0.6, "f1": 0.646}
    ...     show(EpochFinished(1, 475, 8.25, scores, True, 0.001, seconds=93.4, words_per_second=4300.0, too_wide=0))
    training segmental: 1,900,000 parameters, 15,022 sentences, 401,500 words, 20 epochs, on cpu
    epoch 1/20: loss 8.2500, dev P 70.0 R 60.0 F1 64.6 (best), 4,300 words/s, 1 min 33 s
    """

    def __init__(self, console: Console):
        super().__init__(console)
        self._epochs = 0
        self._steps_an_epoch = 1
        self._too_wide_shown = False
        self._scores = ""
        self._best = 0.0
        self._next = 1
        """The next epoch with a line in a log."""

    @singledispatchmethod
    def _show(self, event: TrainingEvent) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]: a descriptor
        """Show an event; each kind has its own method."""

    @_show.register
    def _note(self, event: DataNote) -> None:
        self._print(event.text)

    @_show.register
    def _settings(self, event: SettingsChosen) -> None:
        corpus = counted(event.sentences, "English sentence" if event.english else "sentence")
        self._print(f"settings for {corpus}, which --set changes:")
        for section, keys in groupby(event.values, lambda key: key.partition(".")[0]):
            values = ", ".join(f"{key.partition('.')[2]}={_shown(event.values[key])}" for key in keys)
            self._print(fill(values, 78, initial_indent=f"  {section:<12} ", subsequent_indent=" " * 15))

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
        self._live.update(self._line, description=self._state, total=event.steps, completed=event.step)

    @_show.register
    def _step(self, event: StepsTaken) -> None:
        within = event.step - (event.epoch - 1) * self._steps_an_epoch
        state = f"loss {event.loss:.4f}{self._scores} · {event.words_per_second:,.0f} words/s"
        reached = f"epoch {event.epoch}/{self._epochs}"
        self._state = f"{reached}: step {within:,} of {self._steps_an_epoch:,}, {state}"
        self._live.update(self._line, completed=event.step, description=reached, state=state)

    @_show.register
    def _finish_epoch(self, event: EpochFinished) -> None:
        if event.dev is not None:
            self._best = event.dev["f1"] if event.best else self._best
            best = f", best {_percent(self._best)}" if self._best else ""  # it is not known after a resumption
            self._scores = f" · F1 {_percent(event.dev['f1'])}{best}"
        if not self._console.is_terminal and self._has_line(event):
            self._print(_sentence(event, self._epochs))
            self._next = 2 * event.epoch
        self._state = f"epoch {min(event.epoch + 1, self._epochs)}/{self._epochs}"
        if event.too_wide and not self._too_wide_shown:  # the same mentions every epoch
            self._print(
                f"{event.too_wide:,} mentions are ignored in training: beyond the limits of the model, or overlapping as it cannot represent"
            )
            self._too_wide_shown = True
        state = f"loss {event.loss:.4f}{self._scores} · {event.words_per_second:,.0f} words/s"
        self._live.update(self._line, completed=event.step, description=self._state, state=state)

    def _has_line(self, event: EpochFinished) -> bool:
        """Whether an epoch has a line in a log: the last one, and few before, with scores where there are any."""
        if event.epoch == self._epochs:
            return True
        return event.epoch >= self._next and (event.dev is not None or not self._scores)

    @_show.register
    def _end(self, event: RunEnded) -> None:
        best = "" if event.best_f1 is None else f"; best dev F1 {_percent(event.best_f1)}, epoch {event.best_epoch}"
        self._state = "scoring the model"
        self._live.update(self._line, description=self._state, state="")
        self._print(f"{_ENDINGS[event.stopped]}: {counted(event.epoch, 'epoch')} in {duration(event.seconds)}{best}")


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value) or '""'


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
        super().__init__(console)
        self._part = ""
        self._epochs = 0
        self._scores = ""

    @singledispatchmethod
    def _show(self, event: TrainingEvent) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]: a descriptor
        """Show an event; each kind has its own method."""

    @_show.register
    def _start_part(self, event: PartStarted) -> None:
        self._part, self._scores = f"{event.size:,} sentences, seed {event.seed} ({event.number} of {event.of})", ""
        self._state = self._part
        self._live.reset(self._line, description=self._part, state="")

    @_show.register
    def _start_run(self, event: RunStarted) -> None:
        self._epochs = event.epochs
        self._live.update(self._line, total=event.steps, completed=event.step)

    @_show.register
    def _step(self, event: StepsTaken) -> None:
        self._live.update(self._line, completed=event.step)

    @_show.register
    def _finish_epoch(self, event: EpochFinished) -> None:
        if event.dev is not None:
            self._scores = f", dev F1 {_percent(event.dev['f1'])}"
        reached = f"epoch {event.epoch}/{self._epochs}{self._scores}"
        self._state = f"{self._part}: {reached}"
        self._live.update(self._line, completed=event.step, state=reached)

    @_show.register
    def _finish_part(self, event: PartFinished) -> None:
        self._print(f"hyperspan: {self._part}: dev F1 {_percent(event.run.f1)} in {duration(event.run.seconds)}")
