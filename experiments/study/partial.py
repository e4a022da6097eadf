"""How well models learn from partial annotation, compared with full annotation and with missing mentions as absent.

A run is CORPUS/SETTING/SHARE/SEED. A random share (in percent) of the training mentions is kept:

full: all mentions (SHARE 100). absent: the others are treated as absent. sure: the others are unknown. sure-no-rate:
the same without the penalty on the expected number of mentions. halves: half of the sentences annotate some types, the
other half the others (SHARE 50). halves-absent: the same, with unannotated types treated as absent.

Dev and test are fully annotated. Each run writes one JSON line to its own file in --output; finished runs are not
repeated, so that each may be a separate process: ``--list`` prints their commands, ``--report`` the table of finished
runs.
"""

from __future__ import annotations

import json
import random
import shlex
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Any

import typer
from attrs import evolve

import hyperspan
from experiments.speed.measure import processor
from hyperspan.corpora.documents import with_sentences
from hyperspan.corpora.registry import read_corpus
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError
from hyperspan.evaluation import evaluate
from hyperspan.training.data import TrainingData
from hyperspan.types import NOTHING_ANNOTATED, AnnotationScope, Mention, Sentence

CORPORA = {"genia": "genia/{}.data", "litbank": "litbank/{}.data.gz"}
SETTINGS = {
    "full": (100,),
    "absent": (50, 20),
    "sure": (50, 20),
    "sure-no-rate": (50, 20),
    "halves": (50,),
    "halves-absent": (50,),
}
"""The compared settings, and their shares of mentions."""
SEEDS = (1, 2, 3)


@dataclass(frozen=True, order=True)
class PartialRun:
    """One training run."""

    corpus: str
    setting: str
    share: int
    seed: int

    def __str__(self) -> str:
        return f"{self.corpus}/{self.setting}/{self.share}/{self.seed}"


def planned_runs(only: Sequence[str]) -> list[PartialRun]:
    """All runs whose names match one of the patterns.

    >>> [str(run) for run in planned_runs(["genia/sure/*/1"])]
    ['genia/sure/50/1', 'genia/sure/20/1']
    """
    runs = [
        PartialRun(corpus, setting, share, seed)
        for corpus in CORPORA
        for setting, shares in SETTINGS.items()
        for share in shares
        for seed in SEEDS
    ]
    chosen = [run for run in runs if any(fnmatch(str(run), pattern) for pattern in only)]
    if not chosen:
        raise InputError(
            f"--only {' '.join(only)} matches no run; a run is CORPUS/SETTING/SHARE/SEED, such as {runs[0]}"
        )
    return chosen


def prepared(sentences: Sequence[Sentence], run: PartialRun) -> list[Sentence]:
    """The training sentences of a run, which depend on its seed."""
    draw = random.Random(run.seed)
    if run.setting.startswith("halves"):
        return _halves(sentences, draw, absent=run.setting == "halves-absent")
    kept = [_kept(sentence, draw, run.share / 100) for sentence in sentences]
    if run.setting.startswith("sure"):
        return [evolve(sentence, annotated=NOTHING_ANNOTATED) for sentence in kept]
    return kept


def _kept(sentence: Sentence, draw: random.Random, share: float) -> Sentence:
    kept = [mention for mention in sorted(sentence.mentions) if draw.random() < share]
    return Sentence(sentence.tokens, kept, tags=sentence.tags)


def _halves(sentences: Sequence[Sentence], draw: random.Random, *, absent: bool) -> list[Sentence]:
    """Half of the sentences annotate every second label, by frequency; the other half the others."""
    counts = Counter(mention.label for sentence in sentences for mention in sentence.mentions)
    labels = [label for label, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]
    parts = [frozenset(labels[0::2]), frozenset(labels[1::2])]

    def of_types(sentence: Sentence, types: frozenset[str]) -> Sentence:
        kept: list[Mention] = [mention for mention in sentence.mentions if mention.label in types]
        return Sentence(sentence.tokens, kept, tags=sentence.tags, annotated=None if absent else AnnotationScope(types))

    return [of_types(sentence, draw.choice(parts)) for sentence in sentences]


def read_split(data: Path, corpus: str, split: str, sentences: int) -> list[Sentence]:
    """The first sentences of a corpus (0: all)."""
    documents = read_corpus(data / CORPORA[corpus].format(split))
    found = [one for document in documents for one in with_sentences(document, Problems()).sentences if len(one)]
    return [Sentence(one.tokens, one.mentions, tags=one.tags) for one in found[: sentences or None]]


def train_run(run: PartialRun, data: Path, sentences: int, device: str, overrides: Sequence[str]) -> dict[str, Any]:
    """Train one run; return its figures."""
    train, dev, test = (read_split(data, run.corpus, split, sentences) for split in ("train", "dev", "test"))
    given = prepared(train, run)
    files = [f"data.{split}={data / CORPORA[run.corpus].format(split)}" for split in ("train", "dev")]
    settings = [*files, f"training.seed={run.seed}", "training.start=", *overrides]
    settings += ["partial.rate_weight=0"] * (run.setting == "sure-no-rate")
    result: dict[str, Any] = {**vars(run), "sentences": len(train), "mentions": sum(len(one.mentions) for one in given)}
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        hyperspan.train(
            {}, f"{place}/model", overrides=settings, device=device, data=TrainingData(given, dev), force=True
        )
        result["seconds"] = time.perf_counter() - began
        annotator = hyperspan.load(f"{place}/model", device=device)
        for name, gold in {"dev": dev, "test": test}.items():
            found = list(annotator.recognize([evolve(sentence, mentions=()) for sentence in gold]))
            result[name] = evaluate(gold, found, samples=0).micro.to_dict()
    return result | {"device": device, "machine": processor(), "version": hyperspan.__version__}


def table(figures: dict[str, Any]) -> Iterator[str]:
    """F1 on test and dev, in percent, over seeds: mean and standard deviation; or commands if requested."""
    if "commands" in figures:
        yield from figures["commands"]
        return
    groups: dict[tuple[str, str, int], list[dict[str, Any]]] = defaultdict(list)
    for result in figures["runs"]:
        groups[result["corpus"], result["setting"], result["share"]].append(result)
    yield "| corpus | setting | mentions kept | seeds | test F1 | test precision | test recall | dev F1 |"
    yield "|---|---|---|---|---|---|---|---|"
    order = list(SETTINGS)
    for (corpus, setting, share), results in sorted(
        groups.items(), key=lambda i: (i[0][0], order.index(i[0][1]), -i[0][2])
    ):
        columns = [
            _mean(results, *path) for path in (("test", "f1"), ("test", "precision"), ("test", "recall"), ("dev", "f1"))
        ]
        yield f"| {corpus} | {setting} | {share}% | {len(results)} | {' | '.join(columns)} |"


def _mean(results: Sequence[dict[str, Any]], split: str, name: str) -> str:
    values = [100 * result[split][name] for result in results]
    spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{spread}"


def run(
    data: Annotated[Path, typer.Option(help="The folder with genia and litbank.")] = Path("data"),
    output: Annotated[Path, typer.Option(help="The folder of finished runs, a file each.")] = Path("runs/partial"),
    only: Annotated[list[str] | None, typer.Option(help="A pattern CORPUS/SETTING/SHARE/SEED of runs.")] = None,
    device: Annotated[str, typer.Option(help="Where to train: cpu, or cuda.")] = "cpu",
    epochs: Annotated[int, typer.Option(min=0, help="Epochs of each run; 0 for the default.")] = 0,
    sentences: Annotated[int, typer.Option(min=0, help="Read so many sentences of each split; 0 for all.")] = 0,
    set_: Annotated[list[str] | None, typer.Option("--set", help="Override a key of the configuration.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="Train nothing; print a command for each missing run.")] = False,
    report: Annotated[bool, typer.Option("--report", help="Train nothing; print what is there.")] = False,
) -> dict[str, Any]:
    overrides = [*([f"training.epochs={epochs}"] if epochs else []), *(set_ or [])]
    runs = planned_runs(only or ["*"])
    waiting = [run for run in runs if not _file_of(run, output).is_file()]
    if list_:
        options = ["--data", str(data), "--output", str(output), "--device", device, "--sentences", str(sentences)]
        options += [part for override in overrides for part in ("--set", override)]
        command = ["python", "-m", "experiments.study", "partial", *options, "--only"]
        return {"commands": [shlex.join([*command, str(run)]) for run in waiting]}
    for run in waiting if not report else ():
        result = train_run(run, data, sentences, device, overrides)
        output.mkdir(parents=True, exist_ok=True)
        _file_of(run, output).write_text(json.dumps(result | {"overrides": overrides}) + "\n", encoding="utf-8")
    files = sorted(output.glob("*.jsonl"))
    return {"runs": [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]}


def _file_of(run: PartialRun, output: Path) -> Path:
    return output / f"{str(run).replace('/', '-')}.jsonl"
