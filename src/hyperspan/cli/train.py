"""``hyperspan train``: train a model from a configuration."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from hyperspan.cli.guesses import check_no_model
from hyperspan.cli.options import TrainingGroup, output_option
from hyperspan.cli.output import say
from hyperspan.errors import require_torch

if TYPE_CHECKING:
    from hyperspan.training.run import TrainingResult


def train(
    config: Annotated[str, typer.Argument(metavar="CONFIG", help="A TOML file.")],
    output: Annotated[
        Path | None, output_option("The folder for the model. Default: runs/NAME for NAME.toml.", "FOLDER")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume the run in the output folder.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Start over if the folder already contains a run.")] = False,
    tensorboard: Annotated[bool, typer.Option("--tensorboard", help="Also write logs for TensorBoard.")] = False,
    set_aside: Annotated[
        bool,
        typer.Option(
            "--set-aside/--no-set-aside",
            help="Set half of a large dev set aside to measure what the model can promise with --recall and --precision.",
        ),
    ] = True,
    *,
    training: TrainingGroup,
) -> None:
    """Train a model and keep the checkpoint with the best dev F1.

    Example: hyperspan train mine.toml --set training.seed=3
    """
    check_no_model("train {data} --start {model}", [config], "mine.toml")
    settings = training.config(config)
    folder = output or Path("runs") / Path(config).stem

    # torch is imported only once the configuration is known to be good
    require_torch("training")
    from hyperspan.cli.progress import TrainingDisplay
    from hyperspan.training.loop import CHECKPOINT
    from hyperspan.training.run import train as train_model

    try:
        with TrainingDisplay(Console(stderr=True)) as display:
            result = train_model(
                settings,
                folder,
                device=training.device,
                threads=training.threads,
                resume=resume,
                force=force,
                listeners=[display],
                tensorboard=tensorboard,
                set_aside=set_aside,
            )
    except KeyboardInterrupt:
        begun = (folder / CHECKPOINT).is_file()
        where = (
            f"go on with --resume, the run is in {folder}{os.sep}" if begun else "there is nothing yet to go on with"
        )
        say(f"stopped; {where}")
        raise
    say(f"{_score(result)}the model is in {folder}{os.sep}")


def _score(result: TrainingResult) -> str:
    """Format the dev F1 with its confidence interval."""
    if result.dev_f1 is None:
        return ""
    worth = ""
    if (sure := result.dev_confidence) and sure.methods["f1"] == "exact":
        low, high = sure.f1
        worth = f" ({sure.note or f'{sure.level:.0%} interval {100 * low:.1f}–{100 * high:.1f}'})"
    return f"best dev F1 {100 * result.dev_f1:.2f}{worth}; "
