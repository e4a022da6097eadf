"""``python -m experiments.study NAME``: train and score the rows of a study."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from experiments import CONFIGS, study
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
    new_app,
    seeds_of,
)
from experiments.request import Request
from experiments.study.studies import STUDIES
from hyperspan.cli import run_app
from hyperspan.cli.options import Format, Overrides, Threads, TrainingDevice, split_names


def command_of(name: str) -> Callable[..., None]:
    """The command of one study."""

    def command(
        list_: Listed = False,
        data: Annotated[list[str] | None, typer.Option(help="Only this corpus; repeat for more. Default: all.")] = None,
        data_dir: DataDir = Path("data"),
        rows: Rows = None,
        seeds: Seeds = None,
        output: Output = Path("runs"),
        configs: Configs = CONFIGS,
        overrides: Overrides = None,
        against: Annotated[str, typer.Option(metavar="ROW", help="Test this row against all others.")] = "",
        no_train: NoTrain = False,
        force: Force = False,
        jobs: Jobs = 1,
        record: Record = False,
        python: Annotated[str, typer.Option(help="An interpreter that has spaCy, for spancat.")] = sys.executable,
        plot: Annotated[Path | None, typer.Option(help="Also draw learning curves to this PNG.")] = None,
        device: TrainingDevice = "auto",
        threads: Threads = None,
        format_: Format = "table",
    ) -> None:
        from experiments.study.command import list_runs, run_study

        request = Request(
            data="",
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
            python=python,
        )
        if list_:
            list_runs(name, request, data or ())
        else:
            run_study(name, request, data or (), format_, plot)

    return command


def make_app() -> typer.Typer:
    """Build the commands."""
    app = new_app(help=study.__doc__, no_args_is_help=True)
    for name, one in STUDIES.items():
        app.command(name, help=f"{one.about[:1].upper()}{one.about[1:]}.")(command_of(name))
    return app


if __name__ == "__main__":
    run_app(make_app, "python -m experiments.study")
