"""How much distributions over sets of mentions improve when mentions depend on each other.

A run is CORPUS/ROW/SEED. A row is a configuration of dependence/, all with one encoder and one schedule:

segmental: chains with different starts or types are independent. together: mentions of one span depend on each other.
both: all mentions that begin at one word do. reversed: the segmental hypergraph from right to left, whose chains share
an end. Each is measured alone and coupled: with potentials of pairs of mentions across words and types, which are
fitted on dev; dev itself is measured with those of its other half.

The corpora are genia, litbank, gum and craft. Each run writes its figures and the measures of each sentence to two
files in --output. Finished runs are not repeated, and interrupted ones resume, so that each may be a separate process:
``--list`` prints their commands. ``--report`` prints tables of finished runs, ``--compare`` adds significance tests
between systems, ``--speed`` measures the words per second of all rows, in turns.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Annotated, Any

import typer

from hyperspan.benchmarks.dependence_report import comparisons, table
from hyperspan.benchmarks.dependence_runs import planned_runs, read_figures, run_and_write
from hyperspan.benchmarks.dependence_speed import speeds

__all__ = ["run", "table"]


def run(
    data: Annotated[Path, typer.Option(help="The folder with genia, litbank, gum and craft.")] = Path("data"),
    vectors: Annotated[Path, typer.Option(help="The word vectors of all rows.")] = Path(
        "data/glove6B_100d_subset_f16.npz"
    ),
    output: Annotated[Path, typer.Option(help="The folder of finished runs, two files each.")] = Path(
        "runs/dependence"
    ),
    only: Annotated[list[str] | None, typer.Option(help="A pattern CORPUS/ROW/SEED of runs.")] = None,
    device: Annotated[str, typer.Option(help="Where to train: cpu, or cuda.")] = "cpu",
    sentences: Annotated[int, typer.Option(min=0, help="Read so many sentences of each split; 0 for all.")] = 0,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Override a key of the configuration.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="Train nothing; print a command for each missing run.")] = False,
    report: Annotated[bool, typer.Option("--report", help="Train nothing; print what is there.")] = False,
    compare: Annotated[
        bool, typer.Option("--compare", help="Also compare all systems with segmental, by chance.")
    ] = False,
    speed: Annotated[bool, typer.Option("--speed", help="Train nothing; measure the speed of all rows.")] = False,
) -> dict[str, Any]:
    overrides = [f"words.vectors={vectors}", *(set_ or [])]
    runs = planned_runs(only or ["*"])
    if speed:
        return {"speeds": speeds(data / "genia/train.data", device, overrides)}
    waiting = [run for run in runs if not run.figures_in(output).is_file()]
    if list_:
        options = ["--data", data, "--output", output, "--device", device, "--sentences", sentences]
        options += ["--vectors", vectors, *(part for override in set_ or [] for part in ("--set", override))]
        command = ["hyperspan", "benchmark", "dependence", *map(str, options), "--only"]
        return {"commands": [shlex.join([*command, str(run)]) for run in waiting]}
    for run in waiting if not (report or compare) else ():
        place = output / "unfinished" / run.name
        run_and_write(run, data, place, output, device, sentences, overrides)
        shutil.rmtree(place)
    figures: dict[str, Any] = {"runs": read_figures(output)}
    if compare:
        figures["comparisons"] = comparisons(runs, output)
    return figures
