"""Training and decoding speed of configurations, relative to the first: `python -m experiments.speed rows NAME…`.

Untrained models of all of them take turns on the same sentences, with one thread on a CPU, and decode with what they
have learnt in these steps. Without names, the rows of the study of discontinuous mentions are measured.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

import torch
import typer

from experiments.cli import OneDevice, Rounds
from experiments.configuration import named
from experiments.speed.measure import in_turns, machine, median_ratio
from experiments.speed.paper_model import trainer_for
from experiments.study.studies import DISCONTINUOUS
from hyperspan.cli.options import Overrides
from hyperspan.config import Config
from hyperspan.nn import Model, new_model
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.batches import shuffled_batches
from hyperspan.training.data import read_sentences
from hyperspan.training.loop import Trainer
from hyperspan.training.run import choose_device
from hyperspan.training.settings import CorpusFacts, complete
from hyperspan.types import Sentence

SENTENCES = 2_000
BATCHES = 8


@dataclass
class MeasuredRow:
    """A model and the batches that it is measured on."""

    model: Model
    trainer: Trainer
    batches: list[list[Sentence]]

    @classmethod
    def of(cls, config: Config, place: torch.device) -> MeasuredRow:
        """A new model for the first sentences of its corpus."""
        config = config.override(["data.dev=", "training.start="])
        sentences = [one for one in read_sentences(str(config.data.train), config) if len(one)][:SENTENCES]
        config = complete(config, CorpusFacts.of(sentences))
        order = shuffled_batches([len(one) for one in sentences], config.training.batch_size, seed=1)
        batches = [[sentences[index] for index in indices] for indices in islice(order, BATCHES)]
        model = new_model(config, sentences).to(place)
        return cls(model, trainer_for(model, sentences), batches)

    @property
    def words(self) -> int:
        """The words of all batches."""
        return sum(len(sentence) for batch in self.batches for sentence in batch)

    def training(self) -> None:
        """Take a training step on each batch."""
        for batch in self.batches:
            self.trainer.take_step(batch)
        self._wait()

    def decoding(self) -> None:
        """Decode the mentions of all sentences."""
        for _ in Annotator(self.model).recognize([sentence for batch in self.batches for sentence in batch]):
            pass
        self._wait()

    def _wait(self) -> None:
        if self.model.device.type == "cuda":
            torch.cuda.synchronize()


def run(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Configurations, CORPUS/NAME as the docs name them.")
    ] = None,
    overrides: Overrides = None,
    device: OneDevice = "cpu",
    rounds: Rounds = 5,
) -> dict[str, Any]:
    place = choose_device(device)
    if place.type == "cpu":
        torch.set_num_threads(1)
    wanted = names or [f"craft/{row.name}" for row in DISCONTINUOUS.rows]
    measured = [MeasuredRow.of(named(name).override(overrides or ()), place) for name in wanted]
    training = in_turns([one.training for one in measured], rounds)
    for one in measured:
        one.model.eval()
    decoding = in_turns([one.decoding for one in measured], rounds)
    rows = [
        {
            "row": name,
            "training": _figures(one.words, training[0], training[index]),
            "decoding": _figures(one.words, decoding[0], decoding[index]),
        }
        for index, (name, one) in enumerate(zip(wanted, measured, strict=True))
    ]
    return {"machine": machine() if device == "cpu" else torch.cuda.get_device_name(), "rows": rows}


def _figures(words: int, first: Sequence[float], taken: Sequence[float]) -> dict[str, float]:
    return {"words_per_second": words / statistics.median(taken), "share": median_ratio(first, taken)}


def table(figures: dict[str, Any]) -> Iterator[str]:
    """Words per second, absolute and relative to the first row."""
    yield figures["machine"]
    yield "| row | training, words/s | share | decoding, words/s | share |"
    yield "|---|---:|---:|---:|---:|"
    for one in figures["rows"]:
        parts = [one[part] for part in ("training", "decoding")]
        cells = [f"{part['words_per_second']:,.0f} | {part['share']:.2f}" for part in parts]
        yield f"| {one['row']} | {' | '.join(cells)} |"
