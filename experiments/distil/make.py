"""Make the bundled models `english`, `genia`, `litbank` and `craft` from their corpora, in one command each.

Three large teachers on MiniLM learn from the corpus. What they say of many unlabelled sentences, and of the training
sentences, is written down; a small student learns from that. Then it is calibrated, made smaller, and gets a profile
of its text. The folder of corpora has `gum`, `amalgum`, `names`, `genia`, `litbank` and `craft`, beside it are `text`
and `vectors`, and data/minilm is the encoder. The result is runs/NAME-final; its card and README are written by hand,
and `experiments.guarantees store` measures what the bundled model promises.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from experiments.cli import DATA_DIR, DataDir, run_command
from hyperspan.cli.options import TrainingDevice

MADE = Path("data")
ENGLISH = MADE / "english-corpora"
Step = tuple[Path, list[str]]
"""What a step makes, and its command."""


@dataclass(frozen=True)
class Recipe:
    """How a model is made. Steps are those that its runs took; these ran for a given time."""

    folder: str
    """Of its configurations."""
    teacher_steps: int
    student_steps: int
    text: str
    """The file of text without labels."""
    sentences: int
    """How many sentences of it are read at most."""
    portion: int
    """How many of them an epoch reads."""
    dev: Sequence[str]
    train: str
    """The corpus of the profile."""
    teacher: str = "teacher"
    student: str = "student"
    words: int | None = None
    """So many words without training are kept of those that have vectors."""


RECIPES = {
    "english": Recipe(
        folder="gum",
        teacher_steps=3150,
        student_steps=7356,
        text="english.txt.xz",
        sentences=900_000,
        portion=110_000,
        dev=["data/gum/dev.jsonl.gz", str(ENGLISH / "names.dev.jsonl.gz")],
        train=str(ENGLISH / "gum.jsonl.gz"),
        teacher="english-teacher",
        student="english",
        words=35_000,
    ),
    "genia": Recipe(
        folder="genia",
        teacher_steps=2450,
        student_steps=14_664,
        text="biomed.txt.xz",
        sentences=300_000,
        portion=40_000,
        dev=["data/genia/dev.data"],
        train="data/genia/train.data",
    ),
    "litbank": Recipe(
        folder="litbank",
        teacher_steps=934,
        student_steps=17_038,
        text="english-corpora/fiction.txt.xz",
        sentences=120_000,
        portion=20_000,
        dev=["data/litbank/dev.data.gz"],
        train="data/litbank/train.data.gz",
    ),
    "craft": Recipe(
        folder="craft",
        teacher_steps=3480,
        student_steps=6924,
        text="biomed-fine.txt.xz",
        sentences=160_000,
        portion=30_000,
        dev=["data/craft/dev.jsonl.gz"],
        train="data/craft/train.jsonl.gz",
        words=40_000,
    ),
}
BIOMED = ("biomed-1.txt.xz=6500000", "biomed-2.txt.xz=6500000")
EVERYDAY = {
    "wikipedia": 9_500_000,
    "podcasts": 3_500_000,
    "openstax": 2_300_000,
    "usgov": 1_910_000,
    "howto": 560_000,
    "wikinews": 220_000,
}
"""Words of each file of English text."""


def module(name: str, *arguments: object) -> list[str]:
    return [sys.executable, "-m", name, *map(str, arguments)]


def steps(name: str, corpora: Path, device: str) -> Iterator[Step]:
    """The steps that make a model, in their order."""
    recipe = RECIPES[name]
    fit, targets = "experiments.distil.fit", MADE / f"{name}-targets"
    yield from {"genia": genia_steps, "craft": craft_steps}.get(name, english_steps)(corpora, device)
    configs = Path("experiments/configs") / recipe.folder
    teachers = [Path("runs") / f"{name}-teacher-{seed}" for seed in (1, 2, 3)]
    for seed, teacher in enumerate(teachers, 1):
        options = ["--steps", recipe.teacher_steps, "--set", f"training.seed={seed}", "--device", device]
        yield teacher / "done", module(fit, configs / f"{recipe.teacher}.toml", "-o", teacher, *options)
    student = configs / f"{recipe.student}.toml"
    text = ["--text", MADE / recipe.text, "--most", recipe.sentences, "--device", device]
    yield targets / "done", module("experiments.distil.targets", student, "-o", targets, *text)
    run = Path("runs") / name
    options = [*text, "--targets", targets, "--portion", recipe.portion, "--steps", recipe.student_steps]
    yield run / "done", module(fit, student, "-o", run, *options)
    if name == "english":
        for number, taken in enumerate(PLAIN_STEPS, 1):
            yield from plain_steps(run, number, taken)
            run = Path(f"runs/english-named-{number}")
    yield from finishing_steps(name, run)


def plain_steps(run: Path, number: int, taken: int) -> Iterator[Step]:
    """A short run with many texts of numbers and tables, whose teacher is what it starts from."""
    plain, targets = Path("experiments/configs/gum/english-plain.toml"), MADE / f"plain-targets-{number}"
    teacher = ["--set", f"distillation.teacher={run}"]
    alone = [*teacher, "--set", "training.start=", "--device", "cpu"]
    yield targets / "done", module("experiments.distil.targets", plain, "-o", targets, *alone)
    learnt, named = Path(f"runs/english-plain-{number}"), Path(f"runs/english-named-{number}")
    given = [*teacher, "--set", f"training.start={run}", "--targets", targets, "--steps", taken, "--device", "cpu"]
    yield learnt / "done", module("experiments.distil.fit", plain, "-o", learnt, *given)
    yield named, module("experiments.english.name_bias", learnt, "-o", named, "--bias", NAME_BIAS)


PLAIN_STEPS = (800, 900)
NAME_BIAS = 0.3
"""On dev, more names are found with it: after the second run 90.7% of persons and 71.0% of organizations instead of
90.1% and 68.8%."""


def finishing_steps(name: str, run: Path) -> Iterator[Step]:
    """From a trained model to one that can be bundled."""
    recipe, model = RECIPES[name], "hyperspan"
    small, calibrated, final = (Path("runs") / f"{name}-{part}" for part in ("small", "calibrated", "final"))
    fewer = [] if recipe.words is None else ["--words", recipe.words]
    fewer += ["--drop", "ORG"] if name == "litbank" else []  # which it never finds
    yield small, module(model, "model", "compact", "-m", run, "-o", small, *fewer)
    yield calibrated, module(model, "model", "calibrate", *recipe.dev, "-m", small, "-o", calibrated)
    dev = ["--dev", recipe.dev[0], "-m", calibrated, "-o", final]
    yield final, module(model, "model", "profile", recipe.train, *dev)


def english_steps(corpora: Path, device: str) -> Iterator[Step]:
    """The corpora and texts of `english`, on which the teachers of `litbank` rest, too."""
    free, text = MADE / "gum/free.jsonl.gz", corpora.parent / "text/english"
    yield free, module("experiments.english.free_genres", corpora / "gum/train.jsonl.gz", "-o", free)
    made = module("experiments.english.corpora", "--free", free, "--data-dir", corpora, "-o", ENGLISH)
    yield ENGLISH / "silver.jsonl.gz", made
    yield ENGLISH / "plain.train.jsonl", module("experiments.english.plain", "-o", ENGLISH)
    parts = [f"{text / source}.txt.xz={words}" for source, words in EVERYDAY.items()]
    yield MADE / "english.txt.xz", module("experiments.distil.text", *parts, "-o", MADE / "english.txt.xz")


def genia_steps(corpora: Path, device: str) -> Iterator[Step]:
    """The text of `genia`, and the encoder that has read it."""
    text, encoder = MADE / "biomed.txt.xz", MADE / "minilm-bio"
    parts = [corpora.parent / "text" / part for part in BIOMED]
    yield text, module("experiments.distil.text", *parts, "--tokenizer", "split", "-o", text)
    settings = ["--epochs", 6.5, "--tokenizer", "split", "--batch", 512, "--learning-rate", "5e-4", "--device", device]
    yield vectors_step()
    read = [MADE / "minilm", text, "data/genia/train.data", "-o", encoder]
    yield encoder, module("experiments.pretraining", *read, *settings)


def craft_steps(corpora: Path, device: str) -> Iterator[Step]:
    """The text of `craft`, cut as its models cut it, and the word vectors."""
    text = MADE / "biomed-fine.txt.xz"
    parts = [f"{corpora.parent / 'text' / name}.txt.xz=3500000" for name in ("biomed-1", "biomed-2")]
    yield text, module("experiments.distil.text", *parts, "--tokenizer", "fine", "-o", text)
    yield vectors_step()


def vectors_step() -> Step:
    vectors = MADE / "biomed-vectors.npz"
    return vectors, module("experiments.distil.vectors", "craft", "-o", vectors)


def link(corpora: Path) -> None:
    """What configurations expect in data/: the corpora, and the word vectors."""
    for folder in ("genia", "litbank", "gum", "craft"):
        (MADE / folder).mkdir(parents=True, exist_ok=True)
        for file in (corpora / folder).glob("*.*"):
            if not (MADE / folder / file.name).exists():
                (MADE / folder / file.name).symlink_to(file.resolve())
    for file in (corpora.parent / "vectors").glob("*.npz"):
        if not (MADE / file.name).exists():
            (MADE / file.name).symlink_to(file.resolve())


def make(
    name: Annotated[Literal["english", "genia", "litbank", "craft"], typer.Argument(help="The bundled model.")],
    data_dir: DataDir = DATA_DIR,
    device: TrainingDevice = "auto",
) -> None:
    """Make a bundled model from its corpora. What is there already is not made again.

    Example: python -m experiments.distil.make litbank --data-dir CORPORA --device cuda
    """
    link(data_dir)
    for made, command in steps(name, data_dir, device):
        if made.exists():
            print(f"{made} is there", file=sys.stderr)
            continue
        print(" ".join(command), file=sys.stderr)
        if status := subprocess.run(command, check=False, env={**os.environ, "HF_HUB_OFFLINE": "1"}).returncode:
            sys.exit(status)


if __name__ == "__main__":
    run_command(make, "experiments.distil.make")
