"""``python -m experiments.paper``: train and score the rows of the paper's tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from experiments import CONFIGS
from experiments.cli import (
    Configs,
    DataDir,
    Force,
    Jobs,
    Listed,
    NoTrain,
    Output,
    Record,
    Rows,
    Seeds,
    make_single,
    seeds_of,
)
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
    list_: Listed = False,
    data: Annotated[str, typer.Option(help="The corpus: genia or litbank.")] = "genia",
    data_dir: DataDir = Path("data"),
    rows: Rows = None,
    seeds: Seeds = None,
    output: Output = Path("runs/reproduce"),
    configs: Configs = CONFIGS,
    overrides: Overrides = None,
    against: Annotated[str, typer.Option(help="The row that all others are tested against.")] = "sh-n",
    no_train: NoTrain = False,
    force: Force = False,
    jobs: Jobs = 1,
    record: Record = False,
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
    from experiments.request import Request
    from experiments.result import recorded_file

    request = Request(
        data=data,
        data_dir=data_dir,
        rows=tuple(split_names(rows)),
        seeds=seeds_of(seeds),
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
        recorded=recorded_file("paper", data),
    )
    if list_:
        list_rows(request)
    elif table is None:
        raise InputError(
            "no table is named; choose main, ablation, paper, overlap, speed, statistics or ambiguity, or give --list"
        )
    else:
        make_table(table, request, format_)


def make_command() -> typer.Typer:
    """Build the command."""
    return make_single(paper)


if __name__ == "__main__":
    run_app(make_command, "python -m experiments.paper")
