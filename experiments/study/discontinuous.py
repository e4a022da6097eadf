"""How well models find discontinuous mentions, compared with a model that omits them and with other approaches.

A run is CORPUS/ROW/SEED. A row is a configuration of craft/, all with one encoder and one schedule:

segmental: a segmental hypergraph, which omits discontinuous mentions. hull: the same, with each learnt as one
contiguous mention from its first to its last word. joined: a segmental hypergraph finds parts, a classifier joins them.
biohd: a linear-chain CRF over BIOHD tags. discontinuous, discontinuous-3: the hypergraph of discontinuous mentions with
at most two and three parts.

The corpora are craft and genia-1 to genia-5: the articles of GENIA's XML in five folds, of which one is tested and a
ninth of the others are dev. Each run writes its figures and its predictions on dev and test to two files in --output.
Finished runs are not repeated, and interrupted ones resume, so that each may be a separate process: ``--list`` prints
their commands. ``--report`` prints tables of finished runs, ``--compare`` adds significance tests between rows,
``--speed`` measures the words per second of all rows, in turns.
"""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments import CONFIGS
from experiments.speed.discontinuous import speeds
from experiments.study.discontinuous_report import comparisons, table
from experiments.study.discontinuous_runs import (
    ROWS,
    DiscontinuousRun,
    planned_runs,
    read_figures,
    read_splits,
    train_run,
    write_run,
)
from hyperspan.errors import InputError

__all__ = ["run", "table"]


def run(
    data: Annotated[Path, typer.Option(help="The folder with craft and genia.")] = Path("data"),
    vectors: Annotated[Path, typer.Option(help="The word vectors of all rows.")] = Path("data/biomed-100.npz"),
    output: Annotated[Path, typer.Option(help="The folder of finished runs, two files each.")] = Path(
        "runs/discontinuous"
    ),
    only: Annotated[list[str] | None, typer.Option(help="A pattern CORPUS/ROW/SEED of runs.")] = None,
    device: Annotated[str, typer.Option(help="Where to train: cpu, or cuda.")] = "cpu",
    documents: Annotated[int, typer.Option(min=0, help="Read so many documents of each split; 0 for all.")] = 0,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Override a key of the configuration.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="Train nothing; print a command for each missing run.")] = False,
    report: Annotated[bool, typer.Option("--report", help="Train nothing; print what is there.")] = False,
    compare: Annotated[str, typer.Option(metavar="ROW", help="Compare this row with all others, by chance.")] = "",
    speed: Annotated[bool, typer.Option("--speed", help="Train nothing; measure the speed of all rows.")] = False,
) -> dict[str, Any]:
    overrides = [f"words.vectors={vectors}", *(set_ or [])]
    runs = planned_runs(only or ["*"])
    if compare and compare not in ROWS:
        raise InputError(f"--compare {compare} is no row; it is one of {', '.join(ROWS)}")
    if speed:
        rows = {run.row: str(CONFIGS / "craft" / f"{run.row}.toml") for run in runs}
        return {"speeds": speeds(rows, data / "craft/train.jsonl.gz", device, overrides)}
    waiting = [run for run in runs if not run.figures_in(output).is_file()]
    if list_:
        options = ["--data", data, "--output", output, "--device", device, "--documents", documents]
        options += ["--vectors", vectors, *(part for override in set_ or [] for part in ("--set", override))]
        command = ["python", "-m", "experiments.study", "discontinuous", *map(str, options), "--only"]
        return {"commands": [shlex.join([*command, str(run)]) for run in waiting]}
    for run in waiting if not report else ():
        place = output / "unfinished" / run.name
        splits = read_splits(data, run.corpus, documents)
        write_run(output, run, *train_run(run, splits, place, device, overrides))
        shutil.rmtree(place)
    figures: dict[str, Any] = {"runs": read_figures(output)}
    if compare:
        finished = [DiscontinuousRun(one["corpus"], one["row"], one["seed"]) for one in figures["runs"]]
        figures["comparisons"] = comparisons(finished, output, data, compare, documents)
    return figures
