"""``python -m experiments.paper``: train and score the rows of the paper's tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from experiments import CONFIGS
from experiments.cli import make_single
from hyperspan.cli import run_app
from hyperspan.cli.options import Format, Overrides, Threads, TrainingDevice, split_names
from hyperspan.errors import InputError


def paper(
    table: Annotated[
        Literal["main", "ablation", "paper", "overlap", "speed", "statistics", "ambiguity"] | None,
        typer.Argument(
            help="The table to make. main, ablation and paper train missing rows; overlap and speed need finished rows."
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Print the progress of each row and exit.")] = False,
    data: Annotated[str, typer.Option(help="The corpus: genia or litbank.")] = "genia",
    data_dir: Annotated[
        Path, typer.Option(help="The folder of corpora and vectors; replaces data/ in configurations.")
    ] = Path("data"),
    rows: Annotated[
        list[str] | None,
        typer.Option(
            "--rows", help="Only these rows, repeated or separated by commas. Default: all rows with a configuration."
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            help="Random seeds, separated by commas. Default: the seeds of each row, mostly 1,2,3.", show_default=False
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder for models, predictions, results and tables.")
    ] = Path("runs/reproduce"),
    configs: Annotated[
        Path, typer.Option(help="A folder of configurations. Default: experiments/configs.", show_default=False)
    ] = CONFIGS,
    overrides: Overrides = None,
    against: Annotated[str, typer.Option(help="The row that all others are tested against.")] = "sh-n",
    no_train: Annotated[
        bool, typer.Option("--no-train", help="Do not train; tabulate finished rows, whatever their configuration.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Retrain started and finished rows.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Rows to train at once, each in its own process.")] = 1,
    record: Annotated[bool, typer.Option("--record", help="Add finished rows to experiments/results.")] = False,
    device: TrainingDevice = "auto",
    threads: Threads = None,
    format_: Format = "table",
) -> None:
    """Reproduce the paper's tables: train and score each row, and print it next to the paper's figures.

    Finished rows are not trained again. Stopped rows resume.

    Example: python -m experiments.paper main --data genia --rows sh-6,sh-n --seeds 1

    Example: python -m experiments.paper --list
    """
    from experiments.paper.command import list_rows, make_table
    from experiments.paper.request import Request
    from experiments.paper.results import recorded_file

    request = Request(
        data=data,
        data_dir=data_dir,
        rows=tuple(split_names(rows)),
        seeds=_seeds(seeds),
        output=output,
        configs=configs,
        overrides=tuple(overrides or ()),
        against=against,
        train=not no_train,
        force=force,
        device=device,
        threads=threads,
        jobs=jobs,
        record=record,
        recorded=recorded_file(data),
    )
    if list_:
        list_rows(request)
    elif table is None:
        raise InputError(
            "no table is named; choose main, ablation, paper, overlap, speed, statistics or ambiguity, or give --list"
        )
    else:
        make_table(table, request, format_)


def _seeds(given: str | None) -> tuple[int, ...]:
    if given is None:
        return ()
    parts = split_names([given])
    if not parts or not all(part.isdecimal() and len(part) < 10 for part in parts):
        raise InputError(f"--seeds {given!r} is not a list of whole numbers; write for example --seeds 1,2,3")
    return tuple(dict.fromkeys(map(int, parts)))


def make_command() -> typer.Typer:
    """Build the command."""
    return make_single(paper)


if __name__ == "__main__":
    run_app(make_command, "python -m experiments.paper")
