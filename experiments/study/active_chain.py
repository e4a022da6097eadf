"""One simulation of labelling in rounds: ``python -m experiments.study.active_chain JOB``.

JOB is a JSON file; its keys are the fields of :class:`ActiveJob`.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hyperspan
from experiments.study.curves import SUFFIXES, CurveCorpus, whole_lines
from hyperspan.corpora.documents import document_of
from hyperspan.evaluation import evaluate
from hyperspan.labelling.suggestions import rank
from hyperspan.labelling.uncertainty import Criterion, entropy
from hyperspan.runtime.annotator import Annotator
from hyperspan.training.data import TrainingData
from hyperspan.types import Sentence

VARIANTS = {
    "entropy-by-word": Criterion(entropy, overhead=0.0),
}
"""Additional criteria besides those of the command, for comparison."""
MODEL_FREE = ("random", "longest")
"""Orders that need no model."""


@dataclass(frozen=True)
class ActiveJob:
    """A chain of rounds; each trains on all labelled sentences and then chooses what to label next."""

    corpus: str
    by: str
    seed: int
    data: str
    """The folder of the corpora."""
    output: str
    """The file that gets a line for each round. Rounds already in it are skipped."""
    rounds: tuple[int, ...]
    """The labelled amount of each round: as many words as this many sentences have on average."""
    device: str = "cpu"
    overrides: tuple[str, ...] = ()
    """Overrides of the configuration."""
    sentences: int | None = None
    """The number of sentences of train, dev and test to use, for a quick look."""


class Simulation:
    """The rounds of one job."""

    def __init__(self, job: ActiveJob):
        self.job = job
        corpus = CurveCorpus(job.corpus, Path(job.data))
        order = list(range(len(corpus.train)))
        random.Random(job.seed).shuffle(order)
        self.pool = [_without_offsets(corpus.train[index]) for index in order[: job.sentences]]
        self.held_out = {name: corpus.read(name)[: job.sentences] for name in ("dev", "test")}
        self.mean_words = sum(map(len, self.pool)) / len(self.pool)

    def run(self) -> None:
        """Compute the rounds that are not in the output."""
        path, job = Path(self.job.output), self.job
        path.parent.mkdir(parents=True, exist_ok=True)
        finished = [json.loads(line) for line in whole_lines(path)]
        labelled = [index for line in finished for index in line["new"]]
        new: list[int] = finished[-1]["next"] if finished else self._in_order(range(len(self.pool)), self._budget(0))
        for number in range(len(finished), len(job.rounds)):
            labelled += new
            result = self._round(number, labelled)
            line = {"corpus": job.corpus, "by": job.by, "seed": job.seed, "round": number, **result, "new": new}
            with path.open("a", encoding="utf-8") as file:
                print(json.dumps(line), file=file)
            new = result["next"]

    def _round(self, number: int, labelled: Sequence[int]) -> dict[str, Any]:
        """Train on the labelled sentences, score the model, and choose the next ones."""
        sentences, began = [self.pool[index] for index in labelled], time.perf_counter()
        words = sum(map(len, sentences))
        with tempfile.TemporaryDirectory() as folder:
            annotator = self._train(sentences, folder)
            trained = time.perf_counter()
            scores = {name: _f1(annotator, gold) for name, gold in self.held_out.items()}
            scored = time.perf_counter()
            rest = sorted(set(range(len(self.pool))) - set(labelled))
            chosen = self._choose(annotator, rest, sentences, self._budget(number + 1) - words)
        counts = {"sentences": len(sentences), "words": words, "mentions": sum(len(one.mentions) for one in sentences)}
        times = {"training": trained - began, "scoring": scored - trained, "choosing": time.perf_counter() - scored}
        seconds = {name: round(value, 2) for name, value in times.items()}
        return {**counts, "f1": scores, "seconds": seconds, "next": chosen}

    def _train(self, sentences: Sequence[Sentence], folder: str) -> Annotator:
        job = self.job
        source = Path(job.data) / job.corpus / f"train{SUFFIXES[job.corpus]}"  # not read: the sentences are available
        overrides = ["training.start=", f"training.seed={job.seed}", *job.overrides]
        hyperspan.train(
            {"data": {"train": str(source)}},
            f"{folder}/model",
            overrides=overrides,
            device=job.device,
            threads=1,
            data=TrainingData(sentences, ()),
        )
        return hyperspan.load(f"{folder}/model", job.device)

    def _budget(self, number: int) -> float:
        """The number of words labelled in a round."""
        return self.job.rounds[number] * self.mean_words if number < len(self.job.rounds) else 0

    def _choose(
        self, annotator: Annotator, rest: Sequence[int], labelled: Sequence[Sentence], budget: float
    ) -> list[int]:
        """The sentences to label next, within a budget of words."""
        if budget < 1:
            return []
        if self.job.by in MODEL_FREE:
            longest = sorted(rest, key=lambda index: -len(self.pool[index]))
            return self._in_order(longest if self.job.by == "longest" else rest, budget)
        documents = [document_of([self.pool[index]]) for index in rest]
        suggested = rank(
            annotator,
            documents,
            by=VARIANTS.get(self.job.by, self.job.by),
            count=None,
            budget_words=int(budget),
            labelled=labelled,
            seed=self.job.seed,
        )
        return [rest[one.document] for one in suggested]

    def _in_order(self, indices: Sequence[int], budget: float) -> list[int]:
        """The first sentences, within a budget of words."""
        chosen: list[int] = []
        for index in indices:
            budget -= len(self.pool[index])
            if budget < 0:
                break
            chosen.append(index)
        return chosen


def _without_offsets(sentence: Sentence) -> Sentence:
    return Sentence(sentence.tokens, sentence.mentions)


def _f1(annotator: Annotator, gold: Sequence[Sentence]) -> float:
    """F1 of the model's mentions, by span and label."""
    found = list(annotator.recognize(gold))
    return evaluate(gold, found, samples=0).micro.f1


if __name__ == "__main__":
    Simulation(ActiveJob(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))).run()
