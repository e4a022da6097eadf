"""``python -m experiments.paper``: train and score the rows of the paper's tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from experiments.cli import Format, Listed, run_command, trains_rows
from experiments.request import Request
from hyperspan.errors import InputError


def reproduce(
    request: Request,
    table: Annotated[
        Literal["main", "ablation", "paper", "overlap", "speed", "statistics", "ambiguity"] | None,
        typer.Argument(
            help="The table to make. main, ablation and paper train missing rows; overlap and speed need finished rows."
        ),
    ] = None,
    list_: Listed = False,
    data: Annotated[str, typer.Option(help="The corpus: genia or litbank.")] = "genia",
    format_: Format = "table",
) -> None:
    """Reproduce the paper's tables: train and score each row, and print it next to the paper's figures.

    Finished rows are not trained again. Stopped rows resume. Models, predictions, results and tables are in the folder
    of --output.

    Example: python -m experiments.paper main --data genia --rows sh-6,sh-n --seeds 1

    Example: python -m experiments.paper --list
    """
    from experiments.paper.command import list_rows, make_table
    from experiments.result import recorded_file

    request = replace(request, data=data, recorded=recorded_file("paper", data))
    if list_:
        list_rows(request)
    elif table is None:
        raise InputError(
            "no table is named; choose main, ablation, paper, overlap, speed, statistics or ambiguity, or give --list"
        )
    else:
        make_table(table, request, format_)


paper = trains_rows(reproduce, output=Path("runs/reproduce"), against="sh-n")

if __name__ == "__main__":
    run_command(paper, "experiments.paper")
