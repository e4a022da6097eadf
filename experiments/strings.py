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

from experiments.cli import DATA_DIR, DataDir, Rows, Seeds, run_module, seeds_of
from hyperspan import load, train
from hyperspan.config import Config
from hyperspan.corpora.formats import read_corpus, write_corpus
from hyperspan.evaluation import evaluate, evaluate_model
from hyperspan.evaluation.models import model_errors
from hyperspan.labelling.suggestions import rank
from hyperspan.runtime.annotator import Annotator
from hyperspan.types import Document, Mention

MISSING, WRONG = 0.1, 0.05
"""The shares of gold mentions that the labels lack, and that have another label or another first or last word."""
CORRECTED = 30
"""How many texts are corrected."""
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


ROWS = {
    "gold": "gold",
    "damaged": "the labels as they are",
    "sure": "the labels as sure, the rest as unknown",
    "more": f"the labels, and {CORRECTED} texts more",
    "doubtful": f"the labels, and the {CORRECTED} most doubtful of other texts, corrected",
    "checked": f"the labels, of which the {CORRECTED} texts that models of other texts contradict most are corrected",
}
"""What models are trained on."""


def run(
    data_dir: DataDir = DATA_DIR,
    rows: Rows = None,
    sentences: Annotated[int, typer.Option(min=50, help="Sentences to train on.")] = 300,
    seeds: Seeds = "1,2,3",
    start: Annotated[
        str, typer.Option(help="The model to start from; `english` has learnt of labels of LitBank.")
    ] = "",
) -> dict[str, Any]:
    """Train on damaged labels in several ways, and score on LitBank's test."""
    files = {part: data_dir / "litbank" / f"{part}.data.gz" for part in ("train", "dev", "test")}
    corpus = {part: [evolve(document, sentences=()) for document in read_corpus(file)] for part, file in files.items()}
    names = [name for given in rows or ROWS for name in given.split(",")]
    found: dict[str, list[float]] = {name: [] for name in names}
    quality: list[float] = []
    for seed in seeds_of(seeds):
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial(corpus, sentences, seed, start, Path(folder))
            quality.append(evaluate(trial.gold, trial.labels, samples=0).micro.f1)
            for name in names:
                found[name].append(trial.f1(name))
                print(f"seed {seed}, {name}: {100 * found[name][-1]:.1f}", file=sys.stderr, flush=True)
    return {"labels": quality, "f1": found, "sentences": sentences}


class Trial:
    """The texts of one seed: with gold, and with labels that are damaged; each as many again that come later."""

    def __init__(self, corpus: dict[str, list[Document]], count: int, seed: int, start: str, folder: Path):
        chance = Random(seed)
        drawn = chance.sample(corpus["train"], 2 * count)
        labels = sorted({mention.label for document in drawn[:count] for mention in document.mentions})
        with (folder / "labels.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps(labelled(document, labels, chance)) + "\n" for document in drawn)
        damaged = list(read_corpus(folder / "labels.jsonl", "strings"))
        self.gold, self.later_gold = drawn[:count], drawn[count:]
        self.labels, self.later = damaged[:count], damaged[count:]
        self.sure = list(read_corpus(folder / "labels.jsonl", "strings", complete=False))[:count]
        self.test, self.folder = corpus["test"], folder
        self.settings = [f"training.seed={seed}", f"training.epochs={EPOCHS}", f"training.start={start}"]
        write_corpus(corpus["dev"][:DEV], folder / "dev.jsonl")

    def f1(self, name: str) -> float:
        """F1 on test of a row of :data:`ROWS`."""
        return evaluate_model(self.trained(name, self.texts(name)), self.test, samples=0).report.micro.f1

    def texts(self, name: str) -> list[Document]:
        """What a row is trained on."""
        if name == "doubtful":
            model = self.trained("damaged", self.labels)
            chosen = rank(model, [document.text for document in self.later], count=CORRECTED)
            return [*self.labels, *(self.later_gold[one.document] for one in chosen)]
        if name == "checked":
            wrong = self.contradicted()
            return [self.gold[index] if index in wrong else one for index, one in enumerate(self.labels)]
        more = [*self.labels, *self.later[:CORRECTED]]
        return {"gold": self.gold, "damaged": self.labels, "sure": self.sure, "more": more}[name]

    def contradicted(self) -> set[int]:
        """The texts whose labels a model of the other half of the texts contradicts most."""
        half, costs = len(self.labels) // 2, list[tuple[float, int]]()
        for name, first, last in (("one", 0, half), ("other", half, len(self.labels))):
            model = self.trained(name, [*self.labels[:first], *self.labels[last:]])
            evaluated = evaluate_model(model, self.labels[first:last], samples=0)
            costs += [(errors.cost, first + errors.place.document) for errors in model_errors(evaluated, model).errors]
        return {index for _, index in sorted(costs, reverse=True)[:CORRECTED]}

    def trained(self, name: str, texts: Sequence[Document]) -> Annotator:
        """A model of some texts."""
        if (self.folder / name).exists():
            return load(self.folder / name)
        write_corpus(texts, self.folder / f"{name}.jsonl")
        data = [f"data.train={self.folder}/{name}.jsonl", f"data.dev={self.folder}/dev.jsonl"]
        train(Config().override([*data, *self.settings]), self.folder / name, device="cpu", threads=1)
        return load(self.folder / name)


def table(figures: dict[str, Any]) -> Iterator[str]:
    """The figures as Markdown."""
    yield f"F1 of the labels themselves: {', '.join(f'{100 * f1:.1f}' for f1 in figures['labels'])}"
    yield ""
    yield "| trained on | F1 on test, by seed |"
    yield "|---|---:|"
    for name, values in figures["f1"].items():
        yield f"| {ROWS[name]} | {', '.join(f'{100 * f1:.1f}' for f1 in values)} |"


if __name__ == "__main__":
    run_module(sys.modules[__name__], "experiments.strings")
