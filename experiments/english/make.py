"""Make the bundled model `english` from its corpora, in one command.

The word vectors are glove6B_100d_subset_f16.npz. `--start` is a model of `experiments/configs/gum/student.toml`, whose
teachers want a GPU. The rest takes about 40 minutes on two CPU cores. The model is in runs/english-small;
`src/hyperspan/pretrained/english` also has its card and README.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from experiments.cli import DATA_DIR, DataDir, run_command
from hyperspan.cli.options import Threads

WORDS = 14_500
"""Words without training that the model keeps of those that have vectors: more would make it larger than 10 MB."""
BIAS = -0.9
"""Added to the score of starting a mention of the ten types. On dev, F1 stays the same from 0 to -1.2, and the mentions
that are found are calibrated best from -0.9 on."""
VECTORS = "glove6B_100d_subset_f16.npz"
Step = tuple[Path, list[str]]
"""What a step makes, and its command."""


def ours(name: str) -> list[str]:
    """A command of this folder."""
    return [sys.executable, "-m", f"experiments.english.{name}"]


def steps(data: Path, start: str, threads: int) -> Iterator[Step]:
    hyperspan = [sys.executable, "-m", "hyperspan"]
    made, runs = Path("data/english-corpora"), Path("runs")
    free = Path("data/gum/free.jsonl.gz")
    dev = ["data/gum/dev.jsonl.gz", str(made / "names.dev.jsonl.gz")]
    yield free, [*ours("free_genres"), str(data / "gum/train.jsonl.gz"), "--output", str(free)]
    corpora = [*ours("corpora"), "--data-dir", str(data), "--output", str(made), "--free", str(free)]
    yield made / "silver.jsonl.gz", corpora
    yield made / "plain.train.jsonl", [*ours("plain"), "--output", str(made)]
    model, cautious, calibrated, small = (
        runs / name for name in ("english", "english-cautious", "english-calibrated", "english-small")
    )
    train = [*hyperspan, "train", "experiments/configs/gum/english.toml", "--output", str(model)]
    train += ["--start", start, "--threads", str(threads), "--no-set-aside"]
    if (model / "checkpoint.safetensors").exists():
        train.append("--resume")
    yield model / "README.md", train
    caution = [*ours("caution"), str(model), "--output", str(cautious), "--bias", str(BIAS)]
    yield cautious, caution
    yield calibrated, [*hyperspan, "model", "calibrate", *dev, "--model", str(cautious), "--output", str(calibrated)]
    compact = [*hyperspan, "model", "compact", "--model", str(calibrated), "--output", str(small)]
    yield small, [*compact, "--words", str(WORDS)]
    gold = str(made / "gum.jsonl.gz")  # with AMALGUM, which has novels, fewer novels would be noticed as foreign
    profile = [*hyperspan, "model", "profile", gold, "--dev", dev[0], "--model", str(small)]
    yield runs / "profiled", [*profile, "--output", "runs/profiled"]


def make(
    vectors: Annotated[Path, typer.Argument(help="The word vectors of GloVe.")],
    start: Annotated[str, typer.Option(help="A model of hyperspan train experiments/configs/gum/student.toml.")],
    data_dir: DataDir = DATA_DIR,
    threads: Threads = None,
) -> None:
    """Make the bundled model `english` from the corpora of a folder with gum, amalgum and names.

    What is there already is not made again, and training resumes.

    Example: python -m experiments.english.make VECTORS --data-dir CORPORA --start runs/gum-student
    """
    Path("data/gum").mkdir(parents=True, exist_ok=True)
    for source, name in ((data_dir / "gum/dev.jsonl.gz", "gum/dev.jsonl.gz"), (vectors, VECTORS)):
        if not (Path("data") / name).exists():
            (Path("data") / name).symlink_to(source.resolve())
    for made, command in steps(data_dir, start, threads or os.cpu_count() or 1):
        if made.exists():
            print(f"{made} is there", file=sys.stderr)
            continue
        print(" ".join(command), file=sys.stderr)
        if status := subprocess.run(command, check=False).returncode:
            sys.exit(status)


if __name__ == "__main__":
    run_command(make, "experiments.english.make")
