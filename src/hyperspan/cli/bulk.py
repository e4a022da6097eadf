"""What ``hyperspan annotate`` does with a folder of shards as its output: a bulk job."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from hyperspan.errors import InputError
from hyperspan.progress import every_minute

if TYPE_CHECKING:
    from hyperspan.bulk import Progress

_PANEL = "Bulk jobs: many files into a folder of shards"
Engine = Annotated[
    str | None,
    typer.Option(help="plain (this process) or ray (workers, also on other machines).", rich_help_panel=_PANEL),
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Of ray: how many. Default: one a CPU, or a GPU.", rich_help_panel=_PANEL)
]
RayAddress = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT|auto",
        help="A running cluster. Default: $RAY_ADDRESS, or a cluster of its own on this machine.",
        rich_help_panel=_PANEL,
    ),
]
TextKey = Annotated[
    str | None,
    typer.Option(
        "--column",
        "--text-column",
        help="The column of a table (CSV, TSV, Parquet), or the key of JSON Lines in a bulk job, with the texts. Default: text.",
    ),
]
IdKey = Annotated[str | None, typer.Option("--id-column", help="The one with their names. Default: id.")]
ShardRecords = Annotated[int, typer.Option(min=1, help="The most records in a shard.", rich_help_panel=_PANEL)]
ShardMegabytes = Annotated[float, typer.Option(help="The most MB of text in a shard.", rich_help_panel=_PANEL)]


def annotate_in_bulk(given: Sequence[str], output: str, **options: Any) -> None:
    """Runs the job, or goes on with it, and says on standard error what it has come to."""
    from hyperspan.bulk import annotate_files

    if output == "-":
        raise InputError(
            "a bulk job writes a folder of shards, which standard output cannot be; name one with --output"
        )
    if not given:
        raise InputError("a bulk job needs files, folders or URLs to read; name some")
    try:
        with _shown() as on_progress, redirect_stdout(sys.stderr):  # to which Ray says what has died
            summary = annotate_files(given, output, **options, on_progress=on_progress)
    except KeyboardInterrupt:
        print("hyperspan: stopped; finished shards are kept, and the same command goes on", file=sys.stderr)
        raise
    for note in summary.notes:
        print(f"hyperspan: {note}", file=sys.stderr)
    before = f", {summary.resumed:,} of them before" if summary.resumed else ""
    print(
        f"hyperspan: {summary.mentions:,} mentions in {summary.documents:,} documents are in {output} "
        f"({summary.shards:,} shards{before})",
        file=sys.stderr,
    )
    if summary.rejected:
        print(
            f"hyperspan: {summary.rejected:,} records are no documents; {output.rstrip('/')}/rejected says which and why",
            file=sys.stderr,
        )


@contextmanager
def _shown() -> Iterator[Callable[[Progress], None]]:
    """Shards and words on standard error while they are done: always on a terminal, else every minute."""
    console = Console(stderr=True)
    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("shards, {task.fields[words]:,} words"),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("annotating", total=None, words=0)

        def state() -> str:
            done = bar.tasks[0]
            total = f" of {done.total:,.0f}" if done.total is not None else ""
            return (
                f"hyperspan: {done.completed:,.0f}{total} shards are done, {done.fields['words']:,} words in this run"
            )

        with every_minute(state, console):
            yield lambda progress: bar.update(
                task, completed=progress.shards, total=progress.total, words=progress.words
            )
