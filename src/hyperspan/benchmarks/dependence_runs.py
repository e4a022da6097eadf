"""The runs of ``hyperspan benchmark dependence``: their data, training, measures, and files."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import torch
from attrs import evolve

import hyperspan
from hyperspan.batching import batches_by_length
from hyperspan.benchmarks.measure import processor
from hyperspan.benchmarks.set_measures import SentenceMeasures, SetMeasures, joined_measures, measure_sets, set_figures
from hyperspan.config import CalibrationConfig, Config, CouplingConfig
from hyperspan.errors import InputError
from hyperspan.models import Recognizer, load_model
from hyperspan.models.coupling import CoupledBatch, CouplingFit, components_of, fit_couplings
from hyperspan.models.coupling_bounds import approximations
from hyperspan.structures import CoupledHypergraph, Couplings
from hyperspan.training.data import TrainingData, read_sentences
from hyperspan.training.loop import CHECKPOINT
from hyperspan.types import Mention, Sentence

ROWS = ("segmental", "together", "both", "reversed")
"""The trained rows."""
CORPORA = {
    "genia": "genia/{}.data",
    "litbank": "litbank/{}.data.gz",
    "gum": "gum/{}.jsonl.gz",
    "craft": "craft/{}.jsonl.gz",
}
SEEDS = (1, 2, 3)
SPLITS = ("train", "dev", "test")
Splits = dict[str, list[Sentence]]
Figures = dict[str, Any]


@dataclass(frozen=True, order=True)
class DependenceRun:
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


def planned_runs(only: Sequence[str]) -> list[DependenceRun]:
    """All runs whose names match one of the patterns.

    >>> [str(run) for run in planned_runs(["genia/both/*"])]
    ['genia/both/1', 'genia/both/2', 'genia/both/3']
    """
    runs = [DependenceRun(corpus, row, seed) for corpus in CORPORA for row in ROWS for seed in SEEDS]
    chosen = [run for run in runs if any(fnmatch(str(run), pattern) for pattern in only)]
    if not chosen:
        raise InputError(f"--only {' '.join(only)} matches no run; a run is CORPUS/ROW/SEED, such as {runs[0]}")
    return chosen


def read_splits(data: Path, run: DependenceRun, sentences: int = 0) -> Splits:
    """The first sentences of train, dev and test (0: all), without discontinuous mentions, which no row supports."""
    found = {
        split: read_sentences(str(data / CORPORA[run.corpus].format(split)), _reading())[: sentences or None]
        for split in SPLITS
    }
    found = {split: [_contiguous(one) for one in some] for split, some in found.items()}
    return {s: [backwards(one) for one in some] for s, some in found.items()} if run.row == "reversed" else found


def _reading() -> Config:
    return Config().override(["model.tokenizer=split"]).settled()


def _contiguous(sentence: Sentence) -> Sentence:
    return evolve(sentence, mentions=[one for one in sentence.mentions if not one.fragments], duplicates=())


def backwards(sentence: Sentence) -> Sentence:
    """Reverse a sentence, so that mention ends become starts.

    >>> found = backwards(Sentence(["the", "old", "man"], [Mention(1, 3, "PER")]))
    >>> found.tokens, [mention.span for mention in found.mentions]
    (('man', 'old', 'the'), [(0, 2)])
    """
    n = len(sentence)
    mentions = [Mention(n - one.end, n - one.start, one.label) for one in sentence.mentions]
    return Sentence(tuple(reversed(sentence.tokens)), mentions)


def train_run(
    run: DependenceRun, splits: Splits, train: Path, place: Path, device: str, overrides: Sequence[str]
) -> Recognizer:
    """Train or resume one run in a folder; `train` is the source of its sentences."""
    row = "segmental" if run.row == "reversed" else run.row
    config = Config.read(f"dependence/{row}", [f"training.seed={run.seed}", f"data.train={train}", *overrides])
    model, data = place / "model", TrainingData(splits["train"], splits["dev"])
    unfinished = (model / CHECKPOINT).is_file()
    if unfinished or not (model / "model.safetensors").is_file():
        hyperspan.train(config, model, device=device, threads=1, resume=unfinished, data=data)
    found = load_model(model, "cpu")
    assert isinstance(found, Recognizer)
    # One temperature, as all rows support that.
    found.config = replace(found.config, calibration=CalibrationConfig(), coupling=CouplingConfig())
    return found.for_inference()


def measure_run(model: Recognizer, splits: Splits) -> Iterator[tuple[str, str, SetMeasures | Figures]]:
    """(split, system, measures) of a model alone and with couplings; on dev with those fitted to the other half."""
    dev, test = splits["dev"], splits["test"]
    yield "dev", "alone", measured(model, dev, None)
    yield "test", "alone", measured(model, test, None)
    halves = [[number for number in range(len(dev)) if number % 2 == half] for half in (0, 1)]
    parts: list[tuple[Sequence[int], SetMeasures]] = []
    for half, other in (halves, halves[::-1]):
        fit = fitted(model, [dev[number] for number in other])
        parts.append((half, measured(model, [dev[number] for number in half], fit and fit.couplings)))
    yield "dev", "coupled", joined_measures(parts)
    fit = fitted(model, dev)
    yield "test", "coupled", measured(model, test, fit and fit.couplings)
    if fit is not None:
        yield "dev", "couplings", {**vars(fit), "couplings": vars(fit.couplings)}
        yield "dev", "approximations", approximations(list(components_of(bases(model, dev))), fit.couplings, len(dev))


def bases(model: Recognizer, sentences: Sequence[Sentence]) -> Iterator[CoupledBatch]:
    """The distributions of sentences before coupling, and the gold mentions that they can represent."""
    for numbers in batches_by_length([len(sentence) for sentence in sentences], model.max_width):
        given = [sentences[number] for number in numbers]
        longest = max(map(len, given))
        gold = [model.representable(model.gold(_known(model, one)), longest) for one in given]
        with torch.inference_mode():
            yield CoupledBatch(model.uncoupled(model.collate(given)), gold, numbers)


def _known(model: Recognizer, sentence: Sentence) -> Sentence:
    return sentence.with_mentions([mention for mention in sentence.mentions if mention.label in model.labels])


def fitted(model: Recognizer, sentences: Sequence[Sentence]) -> CouplingFit | None:
    """Fit couplings to some sentences."""
    return fit_couplings(list(components_of(bases(model, sentences))), len(sentences))


def measured(model: Recognizer, sentences: Sequence[Sentence], couplings: Couplings | None) -> SetMeasures:
    """The measures of sentences, in their order."""
    parts: list[tuple[Sequence[int], SetMeasures]] = []
    for base, gold, numbers in bases(model, sentences):
        with torch.inference_mode():
            one = base if couplings is None else CoupledHypergraph.of(base, couplings)
            parts.append((numbers, measure_sets(one, gold)))
    return joined_measures(parts)


def run_and_write(
    run: DependenceRun, data: Path, place: Path, output: Path, device: str, sentences: int, overrides: Sequence[str]
) -> None:
    """Train and measure one run; write the measures of sentences, then the figures, which mark the run as finished."""
    splits = read_splits(data, run, sentences)
    began = time.perf_counter()
    model = train_run(run, splits, data / CORPORA[run.corpus].format("train"), place, device, overrides)
    seconds = {"train": time.perf_counter() - began}
    figures: Figures = {**vars(run), "dev": {}, "test": {}}
    rows: dict[str, dict[str, Any]] = {"dev": {}, "test": {}}
    began = time.perf_counter()
    for split, system, found in measure_run(model, splits):
        if isinstance(found, SetMeasures):
            figures[split][system] = set_figures(found)
            columns = {name: found.column(name).round(5).tolist() for name in SentenceMeasures._fields}
            rows[split][system] = columns
        else:
            figures[split][system] = found
    seconds["measure"] = time.perf_counter() - began
    about = {"device": device, "machine": processor(), "version": hyperspan.__version__, "overrides": [*overrides]}
    groups = [list(group) for group in model.config.joint.groups] if model.config.model.kind == "joint" else []
    output.mkdir(parents=True, exist_ok=True)
    with gzip.open(output / f"{run.name}.sentences.json.gz", "wt", encoding="utf-8") as file:
        json.dump(rows, file)
    run.figures_in(output).write_text(
        json.dumps({**figures, "groups": groups, "seconds": seconds, **about}) + "\n", encoding="utf-8"
    )


def read_figures(output: Path) -> list[Figures]:
    """The figures of all finished runs."""
    files = sorted(output.glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def read_rows(output: Path, run: DependenceRun) -> dict[str, dict[str, Any]]:
    """The measures of each sentence of dev and test, by split and system; empty if not available."""
    path = output / f"{run.name}.sentences.json.gz"
    if not path.is_file():
        return {"dev": {}, "test": {}}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)
