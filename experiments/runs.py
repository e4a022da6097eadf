"""Train a row and score it once on test (or on dev, to choose a setting). A plain function, callable without the
command line."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from experiments import CONFIGS
from experiments.paper.rows import rows_named
from experiments.processor import processor
from experiments.result import MODEL, PREDICTIONS, RESULT, Result, folder_of
from experiments.rows import Row, corpus_named
from experiments.settings import config_of, differences, finished_result
from experiments.study.spancat import run_spancat
from experiments.variants import decode_otherwise, register
from hyperspan import __version__
from hyperspan.config import Config, keys
from hyperspan.corpora.formats import read_corpus, write_corpus
from hyperspan.corpora.source import Problems
from hyperspan.errors import InputError
from hyperspan.evaluation import evaluate_model
from hyperspan.evaluation.scores import discontinuous_only, sentence_counts
from hyperspan.nn import load_model
from hyperspan.nn.validation import validate
from hyperspan.runtime.annotator import Annotator
from hyperspan.training.checks import check_files
from hyperspan.training.data import TrainingData, read_data, read_dev
from hyperspan.training.events import Listener, read_log
from hyperspan.training.loop import CHECKPOINT
from hyperspan.training.run import choose_device, train
from hyperspan.training.settings import typical

VECTORS = "vectors.npz"
"""The word vectors of spancat, in the folder of data."""
WARM_UP = 20
"""The number of sentences decoded before timing begins."""


def run_row(
    row: Row | str,
    data: str,
    seed: int,
    output: str | Path,
    device: str = "auto",
    *,
    configs: str | Path = CONFIGS,
    data_dir: str | Path = "data",
    overrides: Iterable[str] = (),
    threads: int | None = None,
    force: bool = False,
    python: str = sys.executable,
    listeners: Sequence[Listener] = (),
) -> Result:
    """The result of a row with a seed: read from its folder if finished, otherwise trained or resumed.

    A finished row with a different configuration is an error; with `force` a row is always retrained.

    >>> result = run_row("sh-n", "genia", 1, "runs/reproduce", "cuda")  # doctest: +SKIP
    >>> result.f1  # doctest: +SKIP
    0.7479
    """
    row = rows_named([row])[0] if isinstance(row, str) else row
    folder = folder_of(Path(output), data, row, seed)
    overrides = tuple(overrides)
    config = config_of(row, data, configs, data_dir, [*overrides, f"training.seed={seed}"])
    if not force and (finished := finished_result(folder, config)) is not None:
        return finished
    test = Path(data_dir) / corpus_named(data).file(row.part)
    check_run(config, test)
    if force and folder.exists():
        shutil.rmtree(folder)
    model = folder / MODEL
    model.mkdir(parents=True, exist_ok=True)
    if row.spancat:
        prepared = training_data(row, config)
        assert prepared is not None and row.part == "dev"
        result = run_spancat(row, data, config, prepared, folder, python, Path(data_dir) / VECTORS)
        result.write(folder / RESULT)
        return result
    begun, taken = (model / CHECKPOINT).is_file(), None
    if row.decodes:
        base = row.base
        assert base is not None
        places: dict[str, Any] = {"configs": configs, "data_dir": data_dir, "threads": threads}
        run_row(base, data, seed, output, device, overrides=overrides, listeners=listeners, **places)
        decode_otherwise(row, folder_of(Path(output), data, base, seed) / MODEL, model)
    else:
        given = {"data": training_data(row, config), "listeners": listeners}
        began = time.process_time()
        train(
            config,
            model,
            device=device,
            threads=threads,
            resume=begun,
            force=not begun,
            small=False,
            set_aside=False,
            **given,
        )
        taken = None if begun else time.process_time() - began
    result = _scored(row, data, config, folder, test if row.part == "test" else None, device)
    result = replace(result, cpu_seconds=taken)
    result.write(folder / RESULT)
    (model / CHECKPOINT).unlink(missing_ok=True)  # nothing is left to resume, and it is three times the model
    return result


def training_data(row: Row, config: Config) -> TrainingData | None:
    """The sentences that a row learns from, if they are not simply those of its corpora."""
    if row.prepare is None:
        return None
    data = read_data(config, Problems())
    return TrainingData(*row.prepare(data.train, data.dev, config))


def check_run(config: Config, test: Path) -> None:
    """Raise an error if it is clear before training that a run must fail."""
    register()
    parts = [("trained on", corpus.path) for corpus in config.data.train_corpora]
    parts += [("selected on", corpus.path) for corpus in config.data.dev_corpora]
    for use, file in (*parts, ("scored on", str(test))):
        if file and not Path(file).exists():
            raise InputError(
                f"{file} is not there, which rows are {use}; put it there, or name the folder of corpora with --data-dir"
            )
    validate(typical(config))
    check_files(config)


def _scored(row: Row, data: str, config: Config, folder: Path, test: Path | None, device: str) -> Result:
    """Score a trained model on dev and, unless it is None, on test; write its predictions on the last of them."""
    place = choose_device(device)
    model = load_model(folder / MODEL, place)
    annotator, format_ = Annotator(model), config.data.format or None
    list(annotator.recognize(read_dev(config)[:WARM_UP]))
    parts = {"dev": [corpus.path for corpus in config.data.dev_corpora], "test": [] if test is None else [str(test)]}
    reports: dict[str, dict[str, Any]] = {}
    counts = discontinuous = np.zeros((0, 3), dtype=np.int64)
    for part, files in parts.items():
        if files:
            gold = [document for file in files for document in read_corpus(file, format_)]
            found = evaluate_model(annotator, gold, samples=0, tokenizer=model.tokenizer)
            reports[part] = found.report.to_dict()
            sides = (found.aligned.gold, found.aligned.systems[0])
            counts = sentence_counts(*sides)
            discontinuous = sentence_counts(*map(discontinuous_only, sides))
            write_corpus(found.documents, folder / PREDICTIONS, "jsonl", force=True)
    epochs = [event for event in read_log(folder / MODEL / "log.jsonl") if event["event"] == "epoch"]
    return Result(
        row=row.name,
        data=data,
        seed=config.training.seed,
        config=differences(config.with_values(model.config.values(keys("auto")))),
        dev=reports.get("dev"),
        test=reports.get("test"),
        counts=counts,
        discontinuous=discontinuous if discontinuous.any() else None,
        best_epoch=max((event["epoch"] for event in epochs if event["best"]), default=0),
        epochs=len(epochs),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        seconds=sum(event["seconds"] for event in epochs),
        device=str(place),
        machine=torch.cuda.get_device_name(place) if place.type == "cuda" else processor(),
        version=__version__,
    )
