"""Make the bundled model `english` from its corpora, in one command.

    python -m experiments.english.make CORPORA VECTORS --start runs/gum-student

CORPORA is a folder with gum, amalgum and names, VECTORS glove6B_100d_subset_f16.npz. `--start` is a model of
`experiments/configs/gum/student.toml`, whose teachers want a GPU. The rest takes about 40 minutes on two CPU cores.
What is there already is not made again, and training resumes. The model is in runs/english-small;
`src/hyperspan/pretrained/english` also has its card and README.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

WORDS = 14_500
"""Words without training that the model keeps of those that have vectors: more would make it larger than 10 MB."""
BIAS = -0.9
"""Added to the score of starting a mention of the ten types. On dev, F1 stays the same from 0 to -1.2, and the mentions
that are found are calibrated best from -0.9 on."""
VECTORS = "glove6B_100d_subset_f16.npz"
Step = tuple[Path, list[str]]
"""What a step makes, and its command."""


def steps(data: Path, start: str, threads: int) -> Iterator[Step]:
    python, hyperspan = [sys.executable], [sys.executable, "-m", "hyperspan"]
    made, runs = Path("data/english-corpora"), Path("runs")
    free = Path("data/gum/free.jsonl.gz")
    dev = ["data/gum/dev.jsonl.gz", str(made / "names.dev.jsonl.gz")]
    yield free, [*python, "scripts/gum_free_genres.py", str(data / "gum/train.jsonl.gz"), str(free)]
    corpora = [*python, "-m", "experiments.english.corpora", str(data), str(made), "--free", str(free)]
    yield made / "silver.jsonl.gz", corpora
    yield made / "plain.train.jsonl", [*python, "-m", "experiments.english.plain", str(made)]
    model, cautious, calibrated, small = (
        runs / name for name in ("english", "english-cautious", "english-calibrated", "english-small")
    )
    train = [
        *hyperspan,
        "train",
        "experiments/configs/gum/english.toml",
        "--output",
        str(model),
        "--start",
        start,
        "--threads",
        str(threads),
    ]
    if (model / "checkpoint.safetensors").exists():
        train.append("--resume")
    yield model / "README.md", train
    caution = [*python, "-m", "experiments.english.caution", str(model), str(cautious), "--bias", str(BIAS)]
    yield cautious, caution
    yield calibrated, [*hyperspan, "calibrate", str(cautious), *dev, "--output", str(calibrated)]
    yield small, [*hyperspan, "compact", str(calibrated), str(small), "--words", str(WORDS)]
    gold = str(made / "gum.jsonl.gz")  # with AMALGUM, which has novels, fewer novels would be noticed as foreign
    yield runs / "profiled", [*hyperspan, "profile", str(small), gold, "--dev", dev[0], "--output", "runs/profiled"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of gum, amalgum and names")
    parser.add_argument("vectors", type=Path, help="the word vectors of GloVe")
    parser.add_argument(
        "--start", required=True, help="a model of hyperspan train experiments/configs/gum/student.toml"
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    Path("data/gum").mkdir(parents=True, exist_ok=True)
    for source, name in ((given.data / "gum/dev.jsonl.gz", "gum/dev.jsonl.gz"), (given.vectors, VECTORS)):
        if not (Path("data") / name).exists():
            (Path("data") / name).symlink_to(source.resolve())
    for made, command in steps(given.data, given.start, given.threads):
        if made.exists():
            print(f"{made} is there", file=sys.stderr)
            continue
        print(" ".join(command), file=sys.stderr)
        if status := subprocess.run(command, check=False).returncode:
            sys.exit(status)


if __name__ == "__main__":
    main()
