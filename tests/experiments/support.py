"""What tests of experiments share: their commands, a small corpus with rows that train in a moment, and results without
training."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np

from experiments.cli import run_command
from experiments.figures.__main__ import draw
from experiments.paper import __main__ as of_paper
from experiments.result import Result
from experiments.study.__main__ import make_app
from hyperspan.cli import run_app
from hyperspan.evaluation.intervals import measures
from tests.support.process import call

HARBOUR = Path("src/hyperspan/corpora/examples/harbour.data")
SMALL = {
    "words.vectors": "",
    "words.dimension": 6,
    "words.tag_dimension": 0,
    "encoder.layers": 1,
    "encoder.hidden": 6,
    "encoder.span_hidden": 6,
    "training.epochs": 1,
}


def make_corpus(folder: Path) -> Path:
    """A folder of corpora, with train, dev and test where the configurations of GENIA look."""
    (folder / "genia").mkdir(parents=True)
    for part in ("train", "dev", "test"):
        shutil.copy(HARBOUR, folder / "genia" / f"{part}.data")
    return folder


def paper(*arguments: str) -> CompletedProcess[str]:
    """What `python -m experiments.paper` answers in this process."""
    return call(*arguments, main=_paper)


def study(*arguments: str) -> CompletedProcess[str]:
    """What `python -m experiments.study` answers in this process."""
    return call(*arguments, main=_study)


def figures(*arguments: str) -> CompletedProcess[str]:
    """What `python -m experiments.figures` answers in this process."""
    return call(*arguments, main=_figures)


def _paper(arguments: tuple[str, ...]) -> None:
    sys.argv = ["experiments.paper", *arguments]
    run_command(of_paper.paper, "experiments.paper")


def _figures(arguments: tuple[str, ...]) -> None:
    sys.argv = ["experiments.figures", *arguments]
    run_command(draw, "experiments.figures")


def _study(arguments: tuple[str, ...]) -> None:
    sys.argv = ["experiments.study", *arguments]
    run_app(make_app, "python -m experiments.study")


def result(row: str, seed: int, right: Sequence[int], gold: int = 2, predicted: int = 2, **others: object) -> Result:
    """What a row leaves behind that predicts as many mentions in each sentence as there are, and has so many right."""
    counts = np.array([(found, predicted, gold) for found in right], dtype=np.int64)
    scores = dict(zip(("precision", "recall", "f1"), measures(counts.sum(axis=0)).tolist(), strict=True))
    test = {"micro": scores, "overlapping": scores, "non_overlapping": scores, "words_per_second": 1000.0 * seed}
    test |= {"by_width": {}, "by_label": {"protein": scores}}
    of_dev = {"f1": 0.7} if others.get("test", test) else {}  # or it is dev that is counted
    values = {
        "row": row,
        "data": "genia",
        "seed": seed,
        "dev": test | {"micro": scores | of_dev},
        "best_epoch": 1,
        "epochs": 2,
        "parameters": 1234,
        "seconds": 1.5,
        "device": "cpu",
        "machine": "a processor",
        "version": "0",
        "config": {"training": {"epochs": 2}},
        "test": test,
        "counts": counts,
    }
    return Result(**{**values, **others})  # type: ignore[arg-type]
