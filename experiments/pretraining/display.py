"""Display of a pretraining run: a progress bar on a terminal; in files one line per minute."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from hyperspan.progress import print_every_minute


class RunDisplay:
    """Shows the current activity and progress of a run."""

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

    def __enter__(self) -> Self:
        self._bars.start()
        if not self._console.is_terminal:
            self._until_exit.enter_context(print_every_minute(lambda: f"{self._state} …", self.print))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._until_exit.close()
        self._bars.stop()

    def update(self, state: str, share: float) -> None:
        """Show the current activity and the finished share of the run."""
        self._state = state
        self._bars.update(self._task, description=state, completed=share, total=1.0)

    def print(self, text: str) -> None:
        """Print a permanent line."""
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
