"""``hyperspan reproduce``: the paper's tables, trained and counted again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from hyperspan.cli.options import Format, Overrides, Threads, TrainingDevice, split_names
from hyperspan.configs import FOLDER as SHIPPED
from hyperspan.errors import InputError


def reproduce(
    table: Annotated[
        Literal["main", "ablation", "paper", "overlap", "speed", "statistics", "ambiguity"] | None,
        typer.Argument(
            help="Which table; main, ablation and paper train what is missing, overlap and speed are of finished rows."
        ),
    ] = None,
    list_: Annotated[bool, typer.Option("--list", help="Print each row with how far it has come, and stop.")] = False,
    data: Annotated[str, typer.Option(help="The corpus: genia or litbank.")] = "genia",
    data_dir: Annotated[
        Path, typer.Option(help="Where corpora and vectors are; it stands for data/ in configurations.")
    ] = Path("data"),
    rows: Annotated[
        list[str] | None,
        typer.Option(
            "--rows", help="Only these rows, repeated or separated by commas. Default: all with a configuration."
        ),
    ] = None,
    seeds: Annotated[str, typer.Option(help="Separated by commas.")] = "1,2,3",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder of models, predictions, results and tables.")
    ] = Path("runs/reproduce"),
    configs: Annotated[Path, typer.Option(help="A folder of configurations in place of the shipped ones.")] = SHIPPED,
    overrides: Overrides = None,
    against: Annotated[str, typer.Option(help="The row that all others are compared with.")] = "sh-n",
    no_train: Annotated[
        bool, typer.Option("--no-train", help="Only tabulate what is finished, with whatever configuration.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Train rows anew that are begun or finished.")] = False,
    device: TrainingDevice = "auto",
    threads: Threads = None,
    format_: Format = "table",
) -> None:
    """Make the paper's tables: train and score every row, beside the paper's figures.

    A row that is finished is not trained again, one that was stopped goes on.

    Example: hyperspan reproduce main --data genia --rows sh-6,sh-n --seeds 1

    Example: hyperspan reproduce --list
    """
    from hyperspan.reproduce.command import Request, list_rows, make_table

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
    )
    if list_:
        list_rows(request)
    elif table is None:
        raise InputError(
            "no table is named; choose main, ablation, paper, overlap, speed, statistics or ambiguity, or give --list"
        )
    else:
        make_table(table, request, format_)


def _seeds(given: str) -> tuple[int, ...]:
    parts = split_names([given])
    if not parts or not all(part.isdecimal() and len(part) < 10 for part in parts):
        raise InputError(f"--seeds {given!r} is not a list of whole numbers; write for example --seeds 1,2,3")
    return tuple(dict.fromkeys(map(int, parts)))
