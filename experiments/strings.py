"""What wrong and missing labels of a language model cost a small model, and what wins it back.

The gold of some sentences of LitBank is hidden behind labels as a language model would write them: strings without
places, some of which are missing and some wrong. Models are trained on these, on what is sure in them, and with the
most doubtful texts corrected, and scored on test. Dev is annotated in full, as by hand.

Example: python -m experiments.strings --data-dir ../shared/data
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any

import typer
from attrs import evolve

from experiments.cli import DATA_DIR, DataDir, Seeds, run_module, seeds_of
from hyperspan import load, train
from hyperspan.config import Config
from hyperspan.corpora.formats import read_corpus, write_corpus
from hyperspan.evaluation import evaluate, evaluate_model
from hyperspan.labelling.suggestions import rank
from hyperspan.types import Document, Mention

MISSING, WRONG = 0.1, 0.05
"""The shares of gold mentions that the labels lack, and that have another label or another first or last word."""
CORRECTED = 30
"""How many of the most doubtful of other texts, which the first model has not seen, are corrected and added."""
EPOCHS = 15
"""Enough to compare rows, and few for a machine without a GPU."""
DEV = 100
"""The number of sentences of dev."""


def labelled(document: Document, labels: Sequence[str], chance: Random) -> dict[str, Any]:
    """A text with labels as a language model writes them, of which some are missing and some wrong."""
    items: list[tuple[str, str]] = []
    for mention in sorted(document.mentions):
        drawn = chance.random()
        if drawn < MISSING:
            continue
        items.append(_wrong(mention, labels, chance) if drawn < MISSING + WRONG else (mention.text, mention.label))
    return {"text": document.text, "entities": [{"text": text, "label": label} for text, label in dict.fromkeys(items)]}


def _wrong(mention: Mention, labels: Sequence[str], chance: Random) -> tuple[str, str]:
    words = mention.text.split()
    if len(words) > 1 and chance.random() < 0.5:
        return " ".join(words[1:] if chance.random() < 0.5 else words[:-1]), mention.label
    return mention.text, chance.choice([label for label in labels if label != mention.label])


def run(
    data_dir: DataDir = DATA_DIR,
    sentences: Annotated[int, typer.Option(min=50, help="Sentences to train on.")] = 300,
    seeds: Seeds = "1,2,3",
) -> dict[str, Any]:
    """Train on damaged labels in several ways, and score on LitBank's test."""
    files = {part: data_dir / "litbank" / f"{part}.data.gz" for part in ("train", "dev", "test")}
    corpus = {part: [evolve(document, sentences=()) for document in read_corpus(file)] for part, file in files.items()}
    rows: dict[str, list[float]] = {}
    kept: list[float] = []
    for seed in seeds_of(seeds):
        with tempfile.TemporaryDirectory() as folder:
            found, quality = _of_seed(corpus, sentences, seed, Path(folder))
        kept.append(quality)
        for name, f1 in found.items():
            rows.setdefault(name, []).append(f1)
    return {"labels": kept, "f1": rows, "sentences": sentences}


def _of_seed(corpus: dict[str, list[Document]], count: int, seed: int, folder: Path) -> tuple[dict[str, float], float]:
    """F1 on test by what a model was trained on, and that of the labels themselves."""
    chance = Random(seed)
    drawn = chance.sample(corpus["train"], 2 * count)
    gold, others = drawn[:count], drawn[count:]
    labels = sorted({mention.label for document in gold for mention in document.mentions})
    with (folder / "labels.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(labelled(document, labels, chance)) + "\n" for document in drawn)
    damaged = list(read_corpus(folder / "labels.jsonl", "strings"))
    sure = list(read_corpus(folder / "labels.jsonl", "strings", complete=False))[:count]
    write_corpus(corpus["dev"][:DEV], folder / "dev.jsonl")

    def scored(name: str, part: Sequence[Document]) -> float:
        write_corpus(part, folder / f"{name}.jsonl")
        data = [f"data.train={folder}/{name}.jsonl", f"data.dev={folder}/dev.jsonl"]
        settings = [*data, f"training.seed={seed}", f"training.epochs={EPOCHS}"]
        train(Config().override(settings), folder / name, device="cpu", threads=1)
        return evaluate_model(load(folder / name), corpus["test"], samples=0).report.micro.f1

    first, more = damaged[:count], damaged[count:]
    found = {
        "gold": scored("gold", gold),
        "as they are": scored("damaged", first),
        "sure, the rest unknown": scored("sure", sure),
    }
    doubtful = rank(load(folder / "damaged"), [document.text for document in more], count=CORRECTED)
    corrected = [others[one.document] for one in doubtful]
    found["as they are, and others as they are"] = scored("more", [*first, *more[:CORRECTED]])
    found["as they are, and doubtful others corrected"] = scored("corrected", [*first, *corrected])
    return found, evaluate(gold, first, samples=0).micro.f1


def table(figures: dict[str, Any]) -> Iterator[str]:
    """The figures as Markdown."""
    yield f"F1 of the labels themselves: {', '.join(f'{100 * f1:.1f}' for f1 in figures['labels'])}"
    yield ""
    yield "| trained on | F1 on test, by seed |"
    yield "|---|---:|"
    for name, values in figures["f1"].items():
        yield f"| {name} | {', '.join(f'{100 * f1:.1f}' for f1 in values)} |"


if __name__ == "__main__":
    run_module(sys.modules[__name__], "experiments.strings")
