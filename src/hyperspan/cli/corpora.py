"""What the commands on corpora share: how their options are said, how progress and problems are shown."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from hyperspan.corpora.registry import FORMATS
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError
from hyperspan.progress import print_every_minute
from hyperspan.types import Document

_KNOWN = ", ".join(FORMATS.built_in)
From = Annotated[
    str | None, typer.Option("--from", help=f"The format of the input. Default: recognised. One of {_KNOWN}.")
]
OnError = Annotated[
    Literal["raise", "skip"],
    typer.Option("--on-error", help="Stop at what is wrong in the input, or leave it out and count it."),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="NAME=VALUE", help="What a format understands besides, e.g. repair=true; repeat for more."
    ),
]
Split = Annotated[
    str | None, typer.Option("--split", metavar="FILE", help="Of a folder of ACE, the documents that this file lists.")
]
SHOWN = 5
"""So many skipped records are named; the rest is counted."""


def parse_options(given: list[str] | None) -> dict[str, Any]:
    """NAME=VALUE pairs; true, false, none and whole numbers become what they say.

    >>> parse_options(["repair=true", "layers=4", "types=raw"])
    {'repair': True, 'layers': 4, 'types': 'raw'}
    """
    words = {"true": True, "false": False, "none": None}
    options: dict[str, Any] = {}
    for pair in given or []:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InputError(f"--option {pair!r} is not NAME=VALUE; write for example --option repair=true")
        whole = value.removeprefix("-").isdecimal() and len(value) < 10
        options[name.replace("-", "_")] = int(value) if whole else words.get(value.lower(), value)
    return options


def with_progress(documents: Iterable[Document], what: str) -> Iterator[Document]:
    """The documents, with a count on standard error while they pass: always on a terminal, else every minute."""
    console = Console(stderr=True)
    columns = (SpinnerColumn(), TextColumn("{task.description} {task.completed:,} documents"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what, total=None)
        with print_every_minute(
            lambda: f"hyperspan: {what}, {progress.tasks[0].completed:,.0f} documents so far", console
        ):
            for document in documents:
                yield document
                progress.advance(task)


def report(problems: Problems) -> None:
    """On standard error: what was decided, and what was left out."""
    for what, times in problems.notes.items():
        print(f"hyperspan: {times:,} × {what}", file=sys.stderr)
    if problems.skipped:
        print(f"hyperspan: left out {len(problems.skipped):,} records that cannot be read:", file=sys.stderr)
        for line in problems.skipped[:SHOWN]:
            print(f"  {line}", file=sys.stderr)
        if len(problems.skipped) > SHOWN:
            print(f"  and {len(problems.skipped) - SHOWN:,} more", file=sys.stderr)
