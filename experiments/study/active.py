"""Active learning: how many words of labelling suggestions save, compared with random order.

A chain simulates an annotator who labels in rounds. It starts with as many words as 100 random sentences have. Each
round trains a model on all labelled sentences, scores it on dev and test, and lets it choose what to label next from
the rest of the training set, whose gold is then revealed. Orders are those of hyperspan suggest --by, some variants,
random order, and longest sentence first. Rounds of all orders have equally many words. The models start from the
bundled word vectors, and from no bundled model, since these have seen the training sets. They see no dev set while they
train and choose.

A chain is a separate process that writes a line per round to its own file. The command resumes where it stopped, and
prints all finished rounds as Markdown tables.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from fnmatch import fnmatch
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from experiments.study.active_chain import MODEL_FREE, VARIANTS, ActiveJob
from experiments.study.active_report import draw, table
from experiments.study.curves import LOG_LINES, ONE_THREAD, whole_lines
from hyperspan.errors import InputError
from hyperspan.labelling.uncertainty import CRITERIA

__all__ = ["run", "table"]

CORPORA = ("genia", "litbank")
ROUNDS = (100, 250, 500, 900, 1_400, 2_000)
ORDERS = (*MODEL_FREE, *CRITERIA, *VARIANTS)
SETTINGS = (
    "training.batch_size=16",
    "training.learning_rate=0.004",
    "training.lm_loss_weight=0",
    "characters.encoder=cnn",
    "model.max_width=12",
)
"""The settings of the models: small ones that learn quickly."""


def planned(only: Sequence[str], seeds: int) -> list[tuple[str, str, int]]:
    """The chains whose names CORPUS/ORDER/SEED match one of the patterns, grouped by seed.

    >>> planned(["litbank/m*/2"], 3)
    [('litbank', 'mix', 2)]
    """
    chains = [(corpus, by, seed) for seed in range(1, seeds + 1) for by in ORDERS for corpus in CORPORA]
    chosen = [chain for chain in chains if any(fnmatch("{}/{}/{}".format(*chain), pattern) for pattern in only)]
    if not chosen:
        raise InputError(f"--only {' '.join(only)} matches no chain; one is CORPUS/ORDER/SEED, for example genia/mix/1")
    return chosen


def read_rounds(folder: Path) -> list[dict[str, Any]]:
    """The finished rounds of all chains in a folder."""
    try:
        lines = [line for path in sorted(folder.glob("*.jsonl")) for line in whole_lines(path)]
        return [{key: value for key, value in json.loads(line).items() if key not in ("new", "next")} for line in lines]
    except (ValueError, AttributeError):
        raise InputError(
            f"{folder} holds other files than those of this benchmark; name another with --output"
        ) from None


def run_chains(jobs: Sequence[ActiveJob], at_once: int, report: IO[str]) -> None:
    """Run chains as processes, several at once; raise an error at the end if some failed."""
    waiting, active, failed = list(reversed(jobs)), dict[str, subprocess.Popen[bytes]](), list[str]()
    with tempfile.TemporaryDirectory() as work:
        try:
            while waiting or active:
                while waiting and len(active) < at_once:
                    job = waiting.pop()
                    active[Path(job.output).stem] = _start(job, Path(work))
                for name in [name for name, process in active.items() if process.poll() is not None]:
                    if active.pop(name).returncode:
                        failed.append(name)
                        log = (Path(work) / f"{name}.log").read_text(encoding="utf-8", errors="replace")
                        print(f"hyperspan: {name} failed:", *log.splitlines()[-LOG_LINES:], sep="\n", file=report)
                    print(f"hyperspan: {name} ended, {len(waiting) + len(active)} to go", file=report, flush=True)
                time.sleep(0.1)
        finally:
            for process in active.values():
                process.kill()
                process.wait()
    if failed:
        raise InputError(f"these chains failed: {', '.join(failed)}; the finished rounds of all are kept")


def _start(job: ActiveJob, work: Path) -> subprocess.Popen[bytes]:
    name = Path(job.output).stem
    path = work / f"{name}.json"
    path.write_text(json.dumps(asdict(job)), encoding="utf-8")
    environment = os.environ | ONE_THREAD | ({"CUDA_VISIBLE_DEVICES": ""} if job.device == "cpu" else {})
    with (work / f"{name}.log").open("wb") as log:
        command = [sys.executable, "-m", "experiments.study.active_chain", str(path)]
        return subprocess.Popen(command, stdout=log, stderr=log, env=environment)


def run(
    data: Annotated[Path, typer.Option(help="The folder with genia and litbank.")] = Path("data"),
    output: Annotated[Path, typer.Option(help="The folder of finished rounds, a file for each chain.")] = Path(
        "runs/active"
    ),
    only: Annotated[
        list[str] | None, typer.Option(help="A pattern CORPUS/ORDER/SEED of chains; repeat for more.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="How often each order is tried.")] = 3,
    rounds: Annotated[str, typer.Option(help="Sentences on average, in whose words rounds are counted.")] = ",".join(
        map(str, ROUNDS)
    ),
    jobs: Annotated[int, typer.Option(min=1, help="How many chains run at once, each with one thread.")] = 1,
    device: Annotated[str, typer.Option(help="Where models train and choose: cpu, or cuda.")] = "cpu",
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Of each training. Default: the fewer, the more is labelled.")
    ] = None,
    sentences: Annotated[int | None, typer.Option(min=1, help="Only so many of each set, for a quick look.")] = None,
    report: Annotated[bool, typer.Option("--report", help="Train nothing; print what the folder holds.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Also draw F1 against words to this PNG or SVG file.")] = None,
) -> dict[str, Any]:
    chains = planned(only or ["*"], seeds)
    settings = (*SETTINGS, *([f"training.epochs={epochs}"] if epochs else ()))
    sizes = _sizes(rounds)
    if not report:
        output.mkdir(parents=True, exist_ok=True)
        planned_jobs = [
            ActiveJob(
                *chain, str(data), str(output / "{}-{}-{}.jsonl".format(*chain)), sizes, device, settings, sentences
            )
            for chain in chains
        ]
        run_chains(planned_jobs, jobs, sys.stderr)
    found = read_rounds(output)
    if plot is not None:
        draw(found, plot)
    return {"rounds": found}


def _sizes(written: str) -> tuple[int, ...]:
    """The rounds of an option, such as 100,250.

    >>> _sizes("100, 250")
    (100, 250)
    """
    parts = [part.strip() for part in written.split(",")]
    sizes = [int(part) for part in parts if part.isdecimal()]
    if len(sizes) < len(parts) or sizes != sorted(set(sizes)) or not sizes or sizes[0] == 0:
        raise InputError(f"--rounds is {written!r}, but must be growing numbers of sentences, such as 100,250,500")
    return tuple(sizes)
