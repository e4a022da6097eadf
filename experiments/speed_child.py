"""Measure one thing with one checkout, whose folder src is on the path; the last line printed is the figures as JSON.

:mod:`experiments.speed_ratio` starts it in a folder with texts. It uses public names alone, which old checkouts have.
"""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hyperspan

LATENCY_TEXTS, STARTS = 200, 3
SNIPPET = "The IL-2 promoter binds NF-kappa B."
PAPER = (
    *("words.vectors=", "words.dimension=100", "characters.encoder=none", "encoder.layers=1", "encoder.hidden=128"),
    *("encoder.span_hidden=128", "encoder.input_dropout=0.5", "encoder.output_dropout=0", "training.start="),
    *("training.batch_size=32", "training.epochs=2", "training.learning_rate=0.001", "training.schedule=constant"),
    *("training.warmup_epochs=0", "training.lm_loss_weight=0", "training.ema_decay=0", "training.patience=0"),
)
"""The paper's sizes, without what would follow from the corpus."""


def cpu_seconds() -> float:
    """The processor time of this process and of those that it waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def timed(call: Callable[[], float]) -> dict[str, float]:
    """The wall and processor time of a call, which returns the units of work that it did."""
    wall, cpu = time.perf_counter(), cpu_seconds()
    units = call()
    return {"units": units, "wall": time.perf_counter() - wall, "cpu": cpu_seconds() - cpu}


def annotate(model: str) -> dict[str, float]:
    """Raw text to documents, in words."""
    texts = json.loads(Path("texts.json").read_text("utf-8"))
    hyperspan.load(model)(texts[0])
    annotator = hyperspan.load(model)  # which has seen no word yet
    return timed(lambda: sum(map(len, (s for document in annotator.pipe(texts) for s in document.sentences))))


def sentence(model: str) -> dict[str, float]:
    """One call after the other, each with one sentence."""
    texts = json.loads(Path("texts.json").read_text("utf-8"))
    short = [line for text in texts for line in text.split("\n\n")][:LATENCY_TEXTS]
    annotator = hyperspan.load(model)
    annotator(short[0])

    def one_by_one() -> float:
        for text in short:
            annotator(text)
        return len(short)

    return timed(one_by_one)


def bulk(model: str) -> dict[str, float]:
    """A job of two workers, from its start to its end, in words."""
    words = sum(len(text.split()) for text in json.loads(Path("texts.json").read_text("utf-8")))
    shutil.rmtree("out", ignore_errors=True)

    def job() -> float:
        hyperspan.annotate_files("texts.jsonl", "out", model=model, workers=2, shard_records=20)
        return words

    return timed(job)


def train(max_width: str) -> dict[str, float]:
    """The second of two epochs, in words: the steps alone, since there is no dev."""
    ends: list[tuple[float, float]] = []

    def listen(event: Any) -> None:
        if event.name == "epoch":
            ends.append((time.perf_counter(), cpu_seconds()))

    shutil.rmtree("model", ignore_errors=True)
    settings = ["data.train=train.data", f"model.max_width={max_width}", *PAPER]
    hyperspan.train({}, "model", overrides=settings, device="cpu", threads=1, listeners=[listen])
    words = sum(len(line.split()) for line in Path("train.data").read_text("utf-8").split("\n")[::4])
    (wall, cpu), (later, later_cpu) = ends
    return {"units": words, "wall": later - wall, "cpu": later_cpu - cpu}


def start(model: str) -> dict[str, float]:
    """The command ``hyperspan annotate``, from its start to its end."""
    command = [sys.executable, "-m", "hyperspan", "annotate", SNIPPET, "--model", model]

    def starts() -> float:
        for _ in range(STARTS):
            subprocess.run(command, check=True, capture_output=True)
        return STARTS

    subprocess.run(command, check=True, capture_output=True)
    return timed(starts)


MEASURES = {measure.__name__: measure for measure in (annotate, sentence, bulk, train, start)}

if __name__ == "__main__":
    source, name, argument = sys.argv[1:]
    if not Path(hyperspan.__file__).is_relative_to(source):
        raise SystemExit(f"hyperspan comes from {hyperspan.__file__}, not from {source}")
    print(json.dumps(MEASURES[name](argument)))
