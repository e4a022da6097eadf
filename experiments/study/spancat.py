"""Rows of spaCy's spancat: trained by an interpreter that has spaCy, on the same sentences, and scored like the others.

The configuration is what spacy init config --pipeline spancat --optimize efficiency gives (20,000 steps at most,
patience 1,600), with spans of 1 to 6 words. ``spancat-vectors`` also has static word vectors, ``spancat-wide`` spans as
wide as the widest mention of its training sentences.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from experiments.processor import processor
from experiments.result import PREDICTIONS, Result
from experiments.rows import Row, Sentences
from experiments.settings import differences
from experiments.study import train_spancat
from hyperspan.config import Config
from hyperspan.errors import InputError, TrainingError
from hyperspan.evaluation import evaluate
from hyperspan.evaluation.scores import sentence_counts
from hyperspan.training.data import TrainingData
from hyperspan.types import Mention, Sentence

WIDEST = 6
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1")
LOG_LINES = 5
"""The number of log lines to show for a failed run."""


def check_spacy(python: str) -> None:
    """Raise an error if an interpreter cannot be run or has no spaCy."""
    try:
        has_spacy = subprocess.run([python, "-I", "-c", "import spacy"], capture_output=True).returncode == 0
    except OSError as error:
        raise InputError(f"{python} cannot be run ({error.strerror}); name an interpreter that has spaCy") from None
    if not has_spacy:
        raise InputError(f"{python} has no spaCy; install it there, or name an interpreter that has it with --spancat")


def run_spancat(
    row: Row, corpus: str, config: Config, data: TrainingData, folder: Path, python: str, vectors: Path
) -> Result:
    """Train on prepared sentences in the folder of a run, with one thread, and score on dev."""
    widest = max((m.end - m.start for sentence in data.train for m in sentence.mentions), default=1)
    job = {
        "train": write_sentences(data.train, folder / "train.jsonl"),
        "dev": write_sentences(data.dev, folder / "dev.jsonl"),
        "folder": str(folder),
        "seed": config.training.seed,
        "sizes": list(range(1, (widest if row.spancat == "wide" else WIDEST) + 1)),
        "vectors": str(vectors) if row.spancat == "vectors" else "",
    }
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    with (folder / "log").open("wb") as log:
        command = [python, "-I", train_spancat.__file__, str(folder / "job.json")]
        environment = os.environ | ONE_THREAD | {"CUDA_VISIBLE_DEVICES": ""}
        failed = subprocess.run(command, stdout=log, stderr=log, env=environment).returncode
    if failed:
        lines = (folder / "log").read_text(encoding="utf-8", errors="replace").splitlines()
        raise TrainingError(f"{row.name}, seed {config.training.seed}, failed: {' / '.join(lines[-LOG_LINES:])}")
    lines = (folder / PREDICTIONS).read_text(encoding="utf-8").splitlines()
    found = [
        Sentence(sentence.tokens, [Mention(*mention) for mention in json.loads(line)])
        for sentence, line in zip(data.dev, lines, strict=True)
    ]
    taken = json.loads((folder / "taken.json").read_text(encoding="utf-8"))
    return _result(row, corpus, config, data.dev, found, taken)


def _result(row: Row, corpus: str, config: Config, dev: Sentences, found: Sentences, taken: dict[str, Any]) -> Result:
    gold = [Sentence(sentence.tokens, sentence.mentions) for sentence in dev]
    return Result(
        row=row.name,
        data=corpus,
        seed=config.training.seed,
        config=differences(config),
        dev=evaluate(gold, found, samples=0).to_dict() | {"words_per_second": 0.0},
        test=None,
        counts=sentence_counts(gold, found),
        best_epoch=0,
        epochs=0,
        parameters=0,
        seconds=taken["seconds"],
        cpu_seconds=taken["cpu_seconds"],
        device="cpu",
        machine=processor(),
        version=taken["version"],
    )


def write_sentences(sentences: Sentences, path: Path) -> str:
    """Write the tokens and mentions of sentences for spaCy's process."""
    with path.open("w", encoding="utf-8") as file:
        for sentence in sentences:
            mentions = [{"start": m.start, "end": m.end, "entity_type": m.label} for m in sorted(sentence.mentions)]
            print(json.dumps({"tokens": sentence.tokens, "entity_mentions": mentions}), file=file)
    return str(path)
