"""The speed-up of training with two processes instead of one on this machine: `hyperspan benchmark parallel`.

Whole runs of ``hyperspan train``, with and without torchrun, take turns: one process with one thread, one with two
threads, two with one thread each. The model has the paper's sizes; the sentences are synthetic, with GENIA's lengths,
or given. The figure is the words per second of the last epoch in the log, without reading, writing and dev.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from hyperspan.benchmarks.invented import invented_sentences
from hyperspan.benchmarks.measure import Data, Rounds, machine, median_ratio
from hyperspan.corpora import write_corpus
from hyperspan.corpora.documents import document_of
from hyperspan.training.log import read_log

ONE = [sys.executable]
TWO = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
WAYS = {
    "1 process, 1 thread": (ONE, 1),
    "1 process, 2 threads": (ONE, 2),
    "2 processes, 1 thread each": (TWO, 1),
}


def speed(way: str, config: Path, changes: list[str]) -> float:
    """Words per second of one run."""
    start, threads = WAYS[way]
    with tempfile.TemporaryDirectory() as folder:
        command = [*start, "-m", "hyperspan", "train", str(config), "--output", f"{folder}/run", "--device", "cpu"]
        options = [part for change in changes for part in ("--set", change)]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            raise SystemExit(done.stderr)
        epochs = [event for event in read_log(f"{folder}/run/log.jsonl") if event["event"] == "epoch"]
    return epochs[-1]["words_per_second"]


def run(
    data: Data = None,
    sentences: Annotated[int, typer.Option(help="How many are invented.")] = 800,
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="SECTION.KEY=VALUE", help="For another model.")
    ] = None,
    rounds: Rounds = 3,
) -> dict[str, Any]:
    """The words per second of each setup, and its speed-up over the first."""
    with tempfile.TemporaryDirectory() as folder:
        train = Path(folder) / "train.jsonl"
        if data is None:
            write_corpus([document_of([sentence]) for sentence in invented_sentences(sentences)], train, "jsonl")
        config = Path(folder) / "config.toml"
        config.write_text(f"[data]\ntrain = {json.dumps(str(data or train))}\n[training]\nepochs = 2\n", "utf-8")
        found = [[speed(way, config, changes or []) for way in WAYS] for _ in range(rounds)]
    speeds = dict(zip(WAYS, zip(*found, strict=True), strict=True))
    first = speeds[next(iter(WAYS))]
    return {
        "machine": machine(),
        "sentences": str(data or "invented, as long as GENIA's"),
        "changes": changes or [],
        "ways": {
            way: {"words_per_second": statistics.median(those), "times_as_fast": median_ratio(those, first)}
            for way, those in speeds.items()
        },
    }
