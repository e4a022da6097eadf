"""The training and decoding speed of the rows of the study of discontinuous mentions, relative to the first row."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from experiments.speed.measure import in_turns, median_ratio
from experiments.speed.paper_model import trainer_for
from hyperspan.config import Config
from hyperspan.nn import Model, new_model
from hyperspan.runtime.annotator import Annotator
from hyperspan.runtime.batching import shuffled_batches
from hyperspan.training.data import read_sentences
from hyperspan.training.defaults import CorpusFacts, fitted
from hyperspan.training.loop import Trainer
from hyperspan.training.run import choose_device
from hyperspan.types import Sentence

SENTENCES = 2_000
BATCHES = 8
ROUNDS = 5


def speeds(rows: Mapping[str, str], train: Path, device: str, overrides: Sequence[str]) -> list[dict[str, Any]]:
    """Words per second of each row, in turns on the same sentences, with one thread on a CPU; `rows` are names of
    configurations. Each decodes with the model trained during the measurement.
    """
    place = choose_device(device)
    if place.type == "cpu":
        torch.set_num_threads(1)
    measured = [MeasuredRow.read(config, train, place, overrides) for config in rows.values()]
    training = in_turns([one.training for one in measured], ROUNDS)
    for one in measured:
        one.model.eval()
    decoding = in_turns([one.decoding for one in measured], ROUNDS)
    return [
        {
            "row": row,
            "device": device,
            "training": _figures(one.words, training[0], training[index]),
            "decoding": _figures(one.words, decoding[0], decoding[index]),
        }
        for index, (row, one) in enumerate(zip(rows, measured, strict=True))
    ]


def _figures(words: int, first: Sequence[float], taken: Sequence[float]) -> dict[str, float]:
    return {"words_per_second": words / statistics.median(taken), "share": median_ratio(first, taken)}


@dataclass
class MeasuredRow:
    """A model of a row and the batches that it is measured on."""

    model: Model
    trainer: Trainer
    batches: list[list[Sentence]]

    @classmethod
    def read(cls, name: str, train: Path, place: torch.device, overrides: Sequence[str]) -> MeasuredRow:
        """A new model for the first sentences of a corpus."""
        config = Config.read(name, [*overrides, f"data.train={train}", "data.dev=", "training.start="])
        sentences = [one for one in read_sentences(str(train), config) if len(one)][:SENTENCES]
        config = fitted(config, CorpusFacts.of(sentences)).config
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
