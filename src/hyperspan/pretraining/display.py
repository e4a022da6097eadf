"""A pretraining run as people watch it: a bar on a terminal; in files a line a minute."""

from __future__ import annotations

import time
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from hyperspan.pretraining.run import PretrainingProgress, PretrainingRun
from hyperspan.progress import print_every_minute


class PretrainingDisplay:
    """Shows how far a run is."""

    def __init__(self, console: Console):
        self._console = console
        self._state = "reading the texts"
        self._until_exit = ExitStack()
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeRemainingColumn(compact=True),
            console=console,
            transient=True,
            redirect_stdout=False,
            disable=not console.is_terminal,
        )
        self._task = self._bars.add_task(self._state, total=None)
        self._began = time.monotonic()

    def __enter__(self) -> Self:
        self._bars.start()
        if not self._console.is_terminal:
            self._until_exit.enter_context(print_every_minute(lambda: f"{self._state} …", self._write))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._until_exit.close()
        self._bars.stop()

    def start(self, run: PretrainingRun) -> None:
        """Says what a run has to do."""
        took = time.monotonic() - self._began
        where = f", from step {run.step:,}" if run.step else ""
        self._write(
            f"{run.subwords:,} subwords (read in {took:.0f} s), {run.batches.steps_an_epoch:,} steps an epoch, "
            f"on {run.device}{where}"
        )

    def __call__(self, progress: PretrainingProgress) -> None:
        self._state = (
            f"step {progress.step:,} ({progress.share:.0%}): loss {progress.loss:.3f}, "
            f"{progress.subwords_per_second:,.0f} subwords/s"
        )
        self._bars.update(self._task, description=self._state, completed=progress.share, total=1.0)

    def _write(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
