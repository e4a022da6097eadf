"""``hyperspan curve``: plot F1 against corpus size and estimate F1 with twice the data."""

from __future__ import annotations

import json
import os
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from hyperspan.cli.guesses import check_no_model
from hyperspan.cli.options import ReportingGroup, TrainingGroup, output_option, split_names
from hyperspan.cli.output import say
from hyperspan.errors import InputError, MissingExtraError, TrainingError, require_torch
from hyperspan.evaluation.tables import NO_VALUE, Section

if TYPE_CHECKING:
    from hyperspan.training.curve import LearningCurve


BAR = 20
"""The length of the bar of an F1 of 100."""


def curve(
    config: Annotated[str, typer.Argument(metavar="CONFIG", help="A TOML file.")],
    output: Annotated[
        Path | None, output_option("The output folder. Default: runs/curve/NAME for NAME.toml.", "FOLDER")
    ] = None,
    sizes: Annotated[
        list[str] | None,
        typer.Option(
            "--sizes",
            metavar="N,N,…",
            help="Training set sizes, in sentences. Default: about five sizes up to the whole corpus.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs per size, each with another sample and seed.")] = 3,
    force: Annotated[bool, typer.Option("--force", help="Start over if the folder already contains a curve.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the models of all runs.")] = False,
    *,
    training: TrainingGroup,
    reporting: ReportingGroup,
) -> None:
    """Train on growing samples of the corpus, plot dev F1, and estimate F1 with twice the data.

    To resume a stopped job, run the same command again.

    Example: hyperspan curve mine.toml --sizes 30,100,300 --seeds 3
    """
    check_no_model("curve {data} --start {model}", [config], "mine.toml")
    counts = _numbers("--sizes", sizes)
    settings = training.config(config)
    folder = output or Path("runs") / "curve" / Path(config).stem

    require_torch("training")
    from hyperspan.cli.progress import CurveDisplay
    from hyperspan.training.curve import learning_curve

    try:
        with CurveDisplay(Console(stderr=True)) as display:
            found = learning_curve(
                settings,
                folder,
                sizes=counts,
                seeds=seeds,
                device=training.device,
                threads=training.threads,
                force=force,
                keep=keep,
                listeners=[display],
            )
    except KeyboardInterrupt:
        say(f"stopped; the same command without --force goes on in {folder}{os.sep}")
        raise
    _write(found, folder)
    reporting.show(found.to_dict(), lambda: [_section(found)])
    if found.failed:
        raise TrainingError(f"not all runs could be trained: {'; '.join(found.failed)}")


def _section(curve: LearningCurve) -> Section:
    """A row per size with means over its runs, the spread of F1 and the fitted F1; and a row for twice the data."""
    from hyperspan.cli.progress import duration

    header = ("sentences", "mentions", "runs", "F1", "±", "fitted", "time a run", "")
    fitted = curve.forecast.fitted
    rows: list[tuple[str, ...]] = []
    for size in curve.sizes:
        runs = curve.of_size(size)
        f1 = fmean(run.f1 for run in runs)
        deviation = f"{100 * stdev(run.f1 for run in runs):.1f}" if len(runs) > 1 else NO_VALUE
        expected = NO_VALUE if fitted is None else f"{100 * fitted.law.f1([size])[0]:.1f}"
        mentions = f"{fmean(run.mentions for run in runs):,.0f}"
        time = duration(fmean(run.seconds for run in runs))
        bar = f"{'█' * round(BAR * f1):░<{BAR}}"
        rows.append((f"{size:,}", mentions, f"{len(runs)}", f"{100 * f1:.1f}", deviation, expected, time, bar))
    if fitted is not None:
        bar = f"{'▒' * round(BAR * fitted.f1):░<{BAR}}"
        rows.append((f"{fitted.size:,}", "", "", "", "", f"{100 * fitted.f1:.1f}", "", bar))
    return Section("F1 on dev by the size of the training corpus", header, rows, curve.forecast.sentence)


def _write(found: LearningCurve, folder: Path) -> None:
    """Write the curve as JSON and, if the extra is installed, as pictures."""
    from hyperspan.files import Target
    from hyperspan.render.plots import draw_curve

    written = [folder / "curve.json"]
    with Target(str(written[0]), force=True).open() as stream:  # made from results that stay
        json.dump(found.to_dict(), stream, indent=2, ensure_ascii=False)
    pictures = [folder / "curve.png", folder / "curve.svg"]
    try:
        draw_curve(found, *pictures)
        written += pictures
    except MissingExtraError as error:
        say(f"no picture, as {error}")
    say(f"wrote {', '.join(map(str, written))}")


def _numbers(option: str, given: list[str] | None) -> list[int]:
    parts = split_names(given)
    if given and not (parts and all(part.isdecimal() and len(part) < 10 for part in parts)):
        raise InputError(
            f"{option} {','.join(given)!r} is not a list of whole numbers; write for example {option} 30,100,300"
        )
    return [int(part) for part in parts]
