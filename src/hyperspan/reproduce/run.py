"""Train a row and score it once on test (or on dev, to choose a setting). A plain function, callable without the
command line."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from hyperspan import __version__
from hyperspan.config import SETTLED, Config
from hyperspan.configs import FOLDER as SHIPPED
from hyperspan.corpora.registry import read_corpus, write_corpus
from hyperspan.errors import InputError
from hyperspan.evaluation import align, evaluate_model
from hyperspan.evaluation.scores import sentence_counts
from hyperspan.inference.annotator import Annotator
from hyperspan.models import load_model
from hyperspan.models.validation import validate
from hyperspan.reproduce.configs import config_of, finished_result
from hyperspan.reproduce.results import MODEL, PREDICTIONS, RESULT, Result, folder_of
from hyperspan.reproduce.rows import Row, corpus_named, rows_named
from hyperspan.training.data import read_dev
from hyperspan.training.defaults import typical
from hyperspan.training.events import Listener
from hyperspan.training.log import read_log
from hyperspan.training.loop import CHECKPOINT, dev_scores
from hyperspan.training.run import check_files, choose_device, train

WARM_UP = 20
"""The number of sentences decoded before timing begins."""


def run_row(
    row: Row | str,
    data: str,
    seed: int,
    output: str | Path,
    device: str = "auto",
    *,
    configs: str | Path = SHIPPED,
    data_dir: str | Path = "data",
    overrides: Iterable[str] = (),
    threads: int | None = None,
    force: bool = False,
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
    config = config_of(row, data, configs, data_dir, [*overrides, f"training.seed={seed}"])
    if not force and (finished := finished_result(folder, config)) is not None:
        return finished
    test = Path(data_dir) / corpus_named(data).file(row.part)
    check_run(config, test)
    if force and folder.exists():
        shutil.rmtree(folder)
    model = folder / MODEL
    model.mkdir(parents=True, exist_ok=True)
    begun = (model / CHECKPOINT).is_file()
    train(config, model, device=device, threads=threads, resume=begun, force=not begun, listeners=listeners)
    result = _tested(row.name, data, config, folder, test, device)
    result.write(folder / RESULT)
    (model / CHECKPOINT).unlink(missing_ok=True)  # nothing is left to resume, and it is three times the model
    return result


def check_run(config: Config, test: Path) -> None:
    """Raise an error if it is clear before training that a run must fail."""
    parts = [("trained on", corpus.path) for corpus in config.data.train_corpora]
    parts += [("selected on", corpus.path) for corpus in config.data.dev_corpora]
    for use, file in (*parts, ("scored on", str(test))):
        if file and not Path(file).exists():
            raise InputError(
                f"{file} is not there, which rows are {use}; put it there, or name the folder of corpora with --data-dir"
            )
    validate(typical(config))
    check_files(config)


def _tested(row: str, data: str, config: Config, folder: Path, test: Path, device: str) -> Result:
    """Score a trained model on dev and test, and write its predictions on test."""
    place = choose_device(device)
    model = load_model(folder / MODEL, place)
    # Score again, as a bias may have been tuned on dev after the best epoch.
    dev = read_dev(config)
    gold = list(read_corpus(str(test), config.data.format or None))
    annotator = Annotator(model)
    list(annotator.recognize(itertools.islice((s for document in gold for s in document.sentences), WARM_UP)))
    found = evaluate_model(annotator, gold, tokenizer=model.tokenizer)
    write_corpus(found.documents, folder / PREDICTIONS, "jsonl", force=True)
    aligned = align(gold, found.documents)
    epochs = [event for event in read_log(folder / MODEL / "log.jsonl") if event["event"] == "epoch"]
    return Result(
        row=row,
        data=data,
        seed=config.training.seed,
        dev_f1=dev_scores(model, dev)["f1"] if dev else None,
        best_epoch=max((event["epoch"] for event in epochs if event["best"]), default=0),
        epochs=len(epochs),
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        seconds=sum(event["seconds"] for event in epochs),
        device=str(place),
        version=__version__,
        config=asdict(config.with_values(model.config.values(SETTLED))),
        test=found.report.to_dict(),
        counts=sentence_counts(aligned.gold, aligned.systems[0]),
    )
