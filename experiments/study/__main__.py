"""``python -m experiments.study NAME``: train and score the rows of a study."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from experiments import study
from experiments.cli import Format, Listed, new_app, trains_rows
from experiments.request import Request
from experiments.study.studies import STUDIES
from hyperspan.cli import run_app


def command_of(name: str) -> Callable[..., None]:
    """The command of one study."""

    def command(
        request: Request,
        list_: Listed = False,
        data: Annotated[list[str] | None, typer.Option(help="Only this corpus; repeat for more. Default: all.")] = None,
        plot: Annotated[Path | None, typer.Option(help="Also draw learning curves to this PNG.")] = None,
        format_: Format = "table",
    ) -> None:
        from experiments.study.command import list_runs, run_study

        if list_:
            list_runs(name, request, data or ())
        else:
            run_study(name, request, data or (), format_, plot)

    return trains_rows(command)


def make_app() -> typer.Typer:
    """Build the commands."""
    app = new_app(help=study.__doc__, no_args_is_help=True)
    for name, one in STUDIES.items():
        app.command(name, help=f"{one.about[:1].upper()}{one.about[1:]}.")(command_of(name))
    return app


if __name__ == "__main__":
    run_app(make_app, "python -m experiments.study")
