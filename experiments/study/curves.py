"""Learning curves of hyperspan and spaCy's spancat on few sentences, with training times.

Each run trains one system on a part of a corpus: the first n sentences of its training set after a shuffle by the seed,
so that larger parts contain smaller ones. All systems get the same sentences with their gold tokens and no
part-of-speech tags, and choose their best step on the whole dev set, on which one scorer then compares their mentions
with gold by span and label. Each run is a separate process with one thread.

hyperspan has its defaults and no warm start; hyperspan-warm starts from a model of another corpus; spancat has what
spacy init config --pipeline spancat --optimize efficiency gives (20,000 steps at most, patience 1,600), with spans of 1
to 6 words; spancat-vectors also has static word vectors, spancat-wide spans as wide as the widest mention of its
training sentences.

Finished runs are lines of a file; the command runs the missing ones, and prints all as Markdown tables.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import IO, Annotated, Any

import typer

from experiments import train_spancat
from experiments.speed.measure import processor
from experiments.study.curves_report import draw, table
from hyperspan.corpora import read_corpus
from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError
from hyperspan.evaluation import evaluate
from hyperspan.types import Mention, Sentence

__all__ = ["run", "table"]

SUFFIXES = {"genia": ".data", "litbank": ".data.gz", "gum": ".jsonl.gz"}
SEEDS = {
    "genia": {30: 3, 100: 3, 300: 3, 1000: 3, 3000: 1},
    "litbank": {100: 2, 300: 2, 1000: 2},
    "gum": {100: 2, 300: 2, 1000: 2},
}
"""The number of seeds for each number of training sentences."""
STARTS = {"genia": "english", "litbank": "english", "gum": "litbank"}
"""The start models of hyperspan-warm: never a model of the corpus itself; `english` was trained on GUM."""
SYSTEMS = {"hyperspan": 1, "hyperspan-warm": 1, "spancat": 3, "spancat-vectors": 4, "spancat-wide": 9}
"""The compared systems, with the rough relative duration of a run, so that long ones start first."""
VARIANTS = ("spancat-vectors", "spancat-wide")
"""Variants that are run only on 300 sentences of GENIA."""
WIDEST = 6
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1")
LOG_LINES = 5
"""The number of log lines to show for a failed run."""


@dataclass(frozen=True, order=True)
class SystemRun:
    """One training run of one system."""

    system: str
    corpus: str
    sentences: int
    seed: int

    def __str__(self) -> str:
        return f"{self.system}/{self.corpus}/{self.sentences}/{self.seed}"

    @property
    def cost(self) -> int:
        """The rough relative duration."""
        return SYSTEMS[self.system] * (500 + self.sentences)


def run_of(result: dict[str, Any]) -> SystemRun:
    """The run that has this result."""
    return SystemRun(result["system"], result["corpus"], result["sentences"], result["seed"])


def planned(only: Sequence[str]) -> list[SystemRun]:
    """All runs whose names match one of the patterns, the longest first.

    >>> [str(run) for run in planned(["spancat*/genia/300/1"])]
    ['spancat-wide/genia/300/1', 'spancat-vectors/genia/300/1', 'spancat/genia/300/1']
    """
    runs = [
        SystemRun(system, corpus, sentences, seed + 1)
        for corpus, sizes in SEEDS.items()
        for sentences, seeds in sizes.items()
        for system, seed in itertools.product(SYSTEMS, range(seeds))
        if system not in VARIANTS or (corpus, sentences) == ("genia", 300)
    ]
    chosen = [run for run in runs if any(fnmatch(str(run), pattern) for pattern in only)]
    if not chosen:
        raise InputError(
            f"--only {' '.join(only)} matches no run; a run is SYSTEM/CORPUS/SENTENCES/SEED, for example {runs[0]}"
        )
    return sorted(chosen, key=lambda run: (-run.cost, run))


def part(sentences: Sequence[Sentence], size: int, seed: int) -> list[Sentence]:
    """Sample `size` sentences without replacement; for one seed, larger parts contain smaller ones."""
    order = list(range(len(sentences)))
    random.Random(seed).shuffle(order)
    return [sentences[index] for index in order[:size]]


def write_sentences(sentences: Sequence[Sentence], path: Path) -> str:
    """Write the tokens and mentions of sentences for the processes of both systems, in the format cnn-ner."""
    with path.open("w", encoding="utf-8") as file:
        for sentence in sentences:
            mentions = [{"start": m.start, "end": m.end, "entity_type": m.label} for m in sorted(sentence.mentions)]
            print(json.dumps({"tokens": sentence.tokens, "entity_mentions": mentions}), file=file)
    return str(path)


def whole_lines(path: Path) -> list[str]:
    """The lines of a file, empty without a file. An incomplete last line, left by a killed process, is removed from the
    file."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        path.write_text(whole, encoding="utf-8")
    return whole.splitlines()


class ResultFile:
    """A file of finished runs, one line each."""

    def __init__(self, path: Path):
        self.path = path
        try:
            self.results: list[dict[str, Any]] = [json.loads(line) for line in whole_lines(path)]
            self.finished = {run_of(result) for result in self.results}
        except (ValueError, KeyError, TypeError):
            raise InputError(f"{path} holds no results of this benchmark; name another file with --output") from None

    def add(self, result: dict[str, Any]) -> None:
        """Append a finished run."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            print(json.dumps(result), file=file)
        self.results.append(result)


@dataclass
class CurveCorpus:
    """The sentences of a corpus, read when they are first needed."""

    name: str
    data: Path

    @cached_property
    def train(self) -> list[Sentence]:
        return self.read("train")

    @cached_property
    def dev(self) -> list[Sentence]:
        return self.read("dev")

    def read(self, split: str) -> list[Sentence]:
        """The sentences of a split that have words."""
        documents = read_corpus(self.data / self.name / f"{split}{SUFFIXES[self.name]}")
        return [
            sentence
            for document in documents
            for sentence in with_sentences(document, Problems()).sentences
            if len(sentence)
        ]


@dataclass
class CurveRunner:
    """Starts runs and scores their predictions."""

    work: Path
    """The working folder of the processes; its content may be removed at the end."""
    data: Path
    python: str
    vectors: Path
    starts: dict[str, str]
    device: str
    """The device of hyperspan; spaCy uses the CPU."""
    corpora: dict[str, CurveCorpus] = field(init=False)

    def __post_init__(self) -> None:
        self.corpora = {name: CurveCorpus(name, self.data) for name in SEEDS}

    def start(self, run: SystemRun) -> subprocess.Popen[bytes]:
        """Write the input files of a run and start its process."""
        corpus, folder = self.corpora[run.corpus], self._folder(run)
        folder.mkdir(parents=True)
        sentences = part(corpus.train, run.sentences, run.seed)
        job = {
            "train": write_sentences(sentences, folder / "train.jsonl"),
            "dev": write_sentences(corpus.dev, folder / "dev.jsonl"),
            "folder": str(folder),
            "seed": run.seed,
            **self._settings(run, sentences),
        }
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        ours = [sys.executable, "-m", "experiments.study.train_hyperspan"]
        theirs = [self.python, "-I", train_spancat.__file__]
        command = [*(ours if "overrides" in job else theirs), str(folder / "job.json")]
        with (folder / "log").open("wb") as log:
            environment = os.environ | ONE_THREAD | ({} if self.device == "cuda" else {"CUDA_VISIBLE_DEVICES": ""})
            return subprocess.Popen(command, stdout=log, stderr=log, env=environment)

    def _folder(self, run: SystemRun) -> Path:
        return self.work / str(run).replace("/", "-")

    def _settings(self, run: SystemRun, sentences: Sequence[Sentence]) -> dict[str, Any]:
        """The settings of a system."""
        if run.system == "hyperspan":
            return {"overrides": ["training.start="], "device": self.device}
        if run.system == "hyperspan-warm":
            return {"overrides": [f"training.start={self.starts[run.corpus]}"], "device": self.device}
        widest = max((m.end - m.start for sentence in sentences for m in sentence.mentions), default=1)
        sizes = list(range(1, (widest if run.system == "spancat-wide" else WIDEST) + 1))
        return {"sizes": sizes, "vectors": str(self.vectors) if run.system == "spancat-vectors" else ""}

    def score(self, run: SystemRun) -> dict[str, Any]:
        """The figures of a run that succeeded."""
        folder, dev = self._folder(run), self.corpora[run.corpus].dev
        lines = (folder / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
        found = [
            Sentence(sentence.tokens, [Mention(*mention) for mention in json.loads(line)])
            for sentence, line in zip(dev, lines, strict=True)
        ]
        gold = [Sentence(sentence.tokens, sentence.mentions) for sentence in dev]
        start = {"start": self.starts[run.corpus]} if run.system == "hyperspan-warm" else {}
        taken = json.loads((folder / "result.json").read_text(encoding="utf-8"))
        score = evaluate(gold, found, samples=0).micro.to_dict()
        return {**vars(run), **start, **score, **taken, "machine": processor()}

    def log_of(self, run: SystemRun) -> str:
        """The end of a failed run's log."""
        lines = (self._folder(run) / "log").read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-LOG_LINES:])


def finished_runs(
    runner: CurveRunner, runs: Sequence[SystemRun], jobs: int
) -> Iterator[tuple[SystemRun, dict[str, Any] | None]]:
    """Train with several processes at once; yield each run as it ends, with its figures, or None if it failed."""
    waiting, active = list(reversed(runs)), dict[SystemRun, subprocess.Popen[bytes]]()
    try:
        while waiting or active:
            while waiting and len(active) < jobs:
                run = waiting.pop()
                active[run] = runner.start(run)
            for run in [run for run, process in active.items() if process.poll() is not None]:
                failed = active.pop(run).returncode != 0
                yield run, None if failed else runner.score(run)
            time.sleep(0.1)
    finally:
        for process in active.values():
            process.kill()
            process.wait()


def train_all(runner: CurveRunner, runs: Sequence[SystemRun], jobs: int, file: ResultFile, report: IO[str]) -> None:
    """Train the runs missing from the file and add them; raise an error at the end if some failed."""
    waiting = [run for run in runs if run not in file.finished]
    failed = []
    for count, (run, result) in enumerate(finished_runs(runner, waiting, jobs), start=1):
        if result is None:
            failed.append(str(run))
            print(f"hyperspan: {run} failed:\n{runner.log_of(run)}", file=report, flush=True)
            continue
        file.add(result)
        figures = f"F1 {100 * result['f1']:.2f} in {result['seconds']:,.0f} s"
        print(f"hyperspan: {run}: {figures} ({count} of {len(waiting)})", file=report, flush=True)
    if failed:
        raise InputError(f"these runs failed: {', '.join(failed)}; the others are in {file.path}")


def check_spacy(python: str) -> None:
    """Raise an error if an interpreter cannot be run or has no spaCy."""
    try:
        has_spacy = subprocess.run([python, "-I", "-c", "import spacy"], capture_output=True).returncode == 0
    except OSError as error:
        raise InputError(f"{python} cannot be run ({error.strerror}); name an interpreter that has spaCy") from None
    if not has_spacy:
        raise InputError(f"{python} has no spaCy; install it there, or name an interpreter that has it with --python")


def starts_with(changes: Sequence[str]) -> dict[str, str]:
    """The start models by corpus, with changes such as ``gum=genia``."""
    pairs = [change.partition("=") for change in changes]
    if wrong := [
        change for change, (name, _, start) in zip(changes, pairs, strict=True) if name not in SEEDS or not start
    ]:
        raise InputError(f"--start {wrong[0]} is not CORPUS=MODEL, where CORPUS is one of {', '.join(SEEDS)}")
    return STARTS | {name: start for name, _, start in pairs}


def run(
    data: Annotated[Path, typer.Option(help="The folder with genia, litbank and gum.")] = Path("data"),
    vectors: Annotated[Path, typer.Option(help="Word vectors (npz) for spancat-vectors.")] = Path("data/vectors.npz"),
    output: Annotated[Path, typer.Option(help="The file of finished runs.")] = Path("runs/learning-curve.jsonl"),
    only: Annotated[list[str] | None, typer.Option(help="A pattern SYSTEM/CORPUS/SENTENCES/SEED of runs.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="How many runs are trained at once, each with one thread.")] = 1,
    python: Annotated[str, typer.Option(help="An interpreter that has spaCy.")] = sys.executable,
    start: Annotated[list[str] | None, typer.Option(help="CORPUS=MODEL: what hyperspan-warm starts from.")] = None,
    device: Annotated[str, typer.Option(help="Where hyperspan trains: cpu, or cuda; spaCy has the CPU.")] = "cpu",
    report: Annotated[bool, typer.Option("--report", help="Train nothing; print what the file holds.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Also draw F1 against sentences to this file.")] = None,
) -> dict[str, Any]:
    runs, starts, file = planned(only or ["*"]), starts_with(start or []), ResultFile(output)
    if not report:
        if any(run.system.startswith("spancat") and run not in file.finished for run in runs):
            check_spacy(python)
        with tempfile.TemporaryDirectory() as work:
            train_all(CurveRunner(Path(work), data, python, vectors, starts, device), runs, jobs, file, sys.stderr)
    if plot is not None:
        draw(file.results, plot)
    return {"runs": sorted(file.results, key=run_of)}
