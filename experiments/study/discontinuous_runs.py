"""The runs of ``python -m experiments.study discontinuous``: their data, training, and files."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from attrs import evolve

import hyperspan
from experiments import CONFIGS
from experiments.speed.measure import processor
from experiments.study.discontinuous_scores import scores
from hyperspan.config import Config
from hyperspan.corpora.registry import read_corpus, write_corpus
from hyperspan.errors import InputError
from hyperspan.training.log import read_log
from hyperspan.training.loop import CHECKPOINT
from hyperspan.training.run import LOG
from hyperspan.types import Document, Mention

ROWS = ("segmental", "hull", "joined", "biohd", "discontinuous", "discontinuous-3")
"""The compared rows: names of configurations."""
FOLDS = 5
CORPORA = ("craft", *(f"genia-{fold}" for fold in range(1, FOLDS + 1)))
SEEDS = (1, 2, 3)
GENIA_XML = "genia/xml/GENIAcorpus3.02.first126articles.xml.gz"
GENIA_SETTINGS = ("training.epochs=20", "training.batch_size=32", "training.ema_decay=0.99")
"""The settings for GENIA's 1,169 training sentences; CRAFT has 17,220."""
DEV_OF_FOLD = 9
"""One in this many articles outside the test fold is dev."""
SPLITS = ("train", "dev", "test")
Splits = dict[str, list[Document]]


@dataclass(frozen=True, order=True)
class DiscontinuousRun:
    """One training run."""

    corpus: str
    row: str
    seed: int

    def __str__(self) -> str:
        return f"{self.corpus}/{self.row}/{self.seed}"

    @property
    def name(self) -> str:
        """The prefix of its file names."""
        return str(self).replace("/", "-")

    def figures_in(self, output: Path) -> Path:
        """The file of its figures."""
        return output / f"{self.name}.jsonl"

    @property
    def settings(self) -> tuple[str, ...]:
        """The settings that are not in its configuration."""
        return (f"training.seed={self.seed}", *(() if self.corpus == "craft" else GENIA_SETTINGS))


def planned_runs(only: Sequence[str]) -> list[DiscontinuousRun]:
    """All runs whose names match one of the patterns.

    >>> [str(run) for run in planned_runs(["craft/segmental/*"])]
    ['craft/segmental/1', 'craft/segmental/2', 'craft/segmental/3']
    """
    runs = [DiscontinuousRun(corpus, row, seed) for corpus in CORPORA for seed in SEEDS for row in ROWS]
    chosen = [run for run in runs if any(fnmatch(str(run), pattern) for pattern in only)]
    if not chosen:
        raise InputError(f"--only {' '.join(only)} matches no run; a run is CORPUS/ROW/SEED, such as {runs[0]}")
    return chosen


def read_splits(data: Path, corpus: str, documents: int = 0) -> Splits:
    """The first documents of train, dev and test of a corpus (0: all)."""
    if corpus == "craft":
        found = {split: list(read_corpus(data / f"craft/{split}.jsonl.gz")) for split in SPLITS}
    else:
        found = folded(list(read_corpus(data / GENIA_XML)), int(corpus.removeprefix("genia-")))
    return {split: listed[: documents or None] for split, listed in found.items()}


def folded(documents: Sequence[Document], fold: int) -> Splits:
    """Split into train, dev and test, with one fold as test.

    >>> {split: len(found) for split, found in folded([Document(str(number)) for number in range(126)], 1).items()}
    {'train': 88, 'dev': 12, 'test': 26}
    """
    others = [document for index, document in enumerate(documents) if index % FOLDS != fold - 1]
    return {
        "train": [document for index, document in enumerate(others) if index % DEV_OF_FOLD],
        "dev": others[::DEV_OF_FOLD],
        "test": list(documents[fold - 1 :: FOLDS]),
    }


def blank(document: Document) -> Document:
    """The document without mentions, as a model sees it."""
    sentences = [evolve(sentence, mentions=(), duplicates=()) for sentence in document.sentences]
    return evolve(document, mentions=(), sentences=sentences)


def train_run(
    run: DiscontinuousRun, splits: Splits, place: Path, device: str, overrides: Sequence[str]
) -> tuple[dict[str, Any], Splits]:
    """Train or resume one run in a folder; return its figures, and dev and test with its predictions."""
    config = Config.read(
        CONFIGS / "craft" / f"{run.row}.toml", [*run.settings, "training.start=", *overrides, *_files(splits, place)]
    )
    began = time.perf_counter()
    hyperspan.train(config, place / "model", device=device, threads=1, resume=(place / "model" / CHECKPOINT).is_file())
    seconds = {"train": time.perf_counter() - began}
    epochs = [one["dev"]["f1"] for one in read_log(place / "model" / LOG) if one["event"] == "epoch" and one["dev"]]
    annotator = hyperspan.load(place / "model", device=device)
    words: dict[str, int] = {}
    found: Splits = {}
    for split in ("dev", "test"):
        began = time.perf_counter()
        found[split] = list(annotator.pipe(map(blank, splits[split])))
        seconds[split] = time.perf_counter() - began
        words[split] = sum(len(sentence) for document in found[split] for sentence in document.sentences)
    figures = {split: scores(splits[split], found[split]) for split in found}
    about = {"device": device, "machine": processor(), "version": hyperspan.__version__, "overrides": [*overrides]}
    return {**vars(run), **figures, "epochs": epochs, "seconds": seconds, "words": words, **about}, found


def _files(splits: Splits, place: Path) -> list[str]:
    """Write train and dev; return overrides with their paths."""
    place.mkdir(parents=True, exist_ok=True)
    files = {split: place / f"{split}.jsonl" for split in ("train", "dev")}
    for split, file in files.items():
        write_corpus(splits[split], file, force=True)
    return [f"data.{split}={file}" for split, file in files.items()]


def write_run(output: Path, run: DiscontinuousRun, figures: dict[str, Any], found: Splits) -> None:
    """Write the predicted mentions, then the figures, which mark the run as finished."""
    output.mkdir(parents=True, exist_ok=True)
    with gzip.open(output / f"{run.name}.found.json.gz", "wt", encoding="utf-8") as file:
        for split, documents in found.items():
            for number, document in enumerate(documents):
                mentions = [
                    [m.start, m.end, m.label, *([m.fragments] if m.fragments else [])]
                    for m in sorted(document.mentions)
                ]
                print(json.dumps({"split": split, "number": number, "mentions": mentions}), file=file)
    run.figures_in(output).write_text(json.dumps(figures) + "\n", encoding="utf-8")


def read_figures(output: Path) -> list[dict[str, Any]]:
    """The figures of all finished runs."""
    files = sorted(output.glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def read_found(output: Path, run: DiscontinuousRun, splits: Splits) -> Splits:
    """The documents of dev and test with the mentions that a run has found."""
    with gzip.open(output / f"{run.name}.found.json.gz", "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    found: Splits = {"dev": [], "test": []}
    for line in lines:
        mentions = [
            Mention(start, end, label, tuple((a, b) for part in parts for a, b in part))
            for start, end, label, *parts in line["mentions"]
        ]
        document = splits[line["split"]][line["number"]]
        found[line["split"]].append(evolve(blank(document), mentions=mentions))
    return found
