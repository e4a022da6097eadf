"""How commands print progress, problems and JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from hyperspan.corpora.source import Losses, Problems
from hyperspan.errors import counted
from hyperspan.progress import print_every_minute
from hyperspan.types import Document

SHOWN = 5
"""How many skipped records are listed; the others are only counted."""


def say(text: str) -> None:
    """Print what is no result, on standard error."""
    print(f"hyperspan: {text}", file=sys.stderr, flush=True)


class AddCount(Protocol):
    """A function that adds to a counter, and may change what is said before it."""

    def __call__(self, more: int, what: str | None = None, /) -> None: ...


@contextmanager
def counting(what: str, unit: str) -> Iterator[AddCount]:
    """Show a counter on standard error, live on a terminal and otherwise every minute; the block adds to it."""
    if not sys.stderr.isatty():
        done, said = 0, what

        def add(more: int, what: str | None = None) -> None:
            nonlocal done, said
            done, said = done + more, what or said

        with print_every_minute(lambda: f"hyperspan: {said}, {done:,.0f} {unit} so far"):
            yield add
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn(f"{{task.description}} {{task.completed:,}} {unit}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda more, what=None: progress.update(task, advance=more, description=what)


def with_progress(documents: Iterable[Document], what: str) -> Iterator[Document]:
    """Yield the documents and show how many have passed."""
    with counting(what, "documents") as add:
        for document in documents:
            yield document
            add(1)


def print_json(found: object) -> None:
    print(json.dumps(found, indent=2, ensure_ascii=False))


def report_losses(losses: Losses) -> None:
    """Print on standard error which mentions the output format could not represent."""
    for reason, count in losses.lost.items():
        say(f"left out {counted(count, 'mention')} ({reason})")
    if losses.marking_lost:
        what = counted(losses.marking_lost, "partially annotated document")
        say(f"not kept: the marking of {what}; what was unknown is absent now")


def report(problems: Problems) -> None:
    """Print notes and skipped records on standard error."""
    for what, times in problems.notes.items():
        say(f"{times:,} × {what}")
    if problems.skipped:
        say(f"left out {counted(len(problems.skipped), 'record')} that cannot be read:")
        for line in problems.skipped[:SHOWN]:
            print(f"  {line}", file=sys.stderr)
        if len(problems.skipped) > SHOWN:
            print(f"  and {len(problems.skipped) - SHOWN:,} more", file=sys.stderr)
