"""Train a model for so many seconds, or so many steps; a student learns from targets that teachers have written down.

The learning rate follows the share of the time, or of the steps, that has passed. A run by time says how many steps it
took. `--steps` takes as many, with learning rates and scores on dev at other steps than a run by time, whose speed
varies. The best model on dev is kept.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import torch
import typer

from experiments.cli import Output, run_command
from experiments.distil.targets import SHARD, UNLIMITED, Pool, Store, StoredTeachers, labels_of
from hyperspan import Sentence
from hyperspan.cli.options import TrainingDevice
from hyperspan.config import Config
from hyperspan.errors import InputError
from hyperspan.nn import Recognizer
from hyperspan.runtime.batches import shuffled_batches
from hyperspan.training.data import TrainingData, read_dev
from hyperspan.training.loop import Run, Trainer
from hyperspan.training.optimiser import Optimiser, mixed_seed
from hyperspan.training.run import as_config, choose_device, prepare

WARMUP = 0.03
"""The share of a run in which the learning rate warms up."""
SCORED = (0.3, 0.6, 0.8, 0.9, 1.0)
"""After which shares of a run dev is scored."""
LONGEST_READ = 75
"""Longer training sentences are left out: they are few, and take most of the memory."""
LOWER, UPPER = 0.08, 0.04
"""The shares of unlabelled sentences that are read in lower case and in capitals, with the targets of the original."""


class Clock:
    """The share of a run that has passed, by time or by steps."""

    def __init__(self, seconds: float, steps: int):
        self.seconds, self.steps, self.began = seconds, steps, time.monotonic()

    def share(self, step: int) -> float:
        by_time = (time.monotonic() - self.began) / self.seconds if self.seconds else 0.0
        return max(by_time, step / self.steps if self.steps else 0.0)


class TimedOptimiser(Optimiser):
    """An optimiser whose cosine schedule follows a clock."""

    clock: Clock

    def learning_rate(self, highest: float | None = None) -> float:
        share = min(self.clock.share(self.step), 1.0)
        highest = self.config.learning_rate if highest is None else highest
        return highest * min(share / WARMUP, 0.5 * (1 + math.cos(math.pi * share)))


class TimedTrainer(Trainer):
    """A trainer that stops when its time is over."""

    def __init__(self, run: Run, folder: Path, clock: Clock, epochs: Iterator[Sequence[Sentence]]):
        super().__init__(run, folder)
        self.optimiser = TimedOptimiser(run.loss, 1, run.learnt)
        self.optimiser.clock = self.clock = clock
        self.epochs = epochs

    def run(self) -> float | None:
        waiting, losses = list(SCORED), []
        for epoch, examples in enumerate(self.epochs):
            self.examples, self.lengths = examples, [len(sentence) for sentence in examples]
            self.model.train()
            size, seed = self.config.batch_size, mixed_seed(self.config.seed, epoch)
            for sentences, parts in self.prepared(list(shuffled_batches(self.lengths, size, seed))):
                losses.append(self.optimiser.take_step(parts, len(sentences)) / len(sentences))
                share = self.clock.share(self.step)
                if len(losses) == 100:
                    loss = float(torch.stack(losses)[:, 0].mean())
                    losses.clear()
                    print(f"{share:.3f} step {self.step} epoch {epoch} loss {loss:.3f}", flush=True)
                    if not math.isfinite(loss):
                        raise InputError(f"the loss is {loss}; lower training.learning_rate")
                if share >= waiting[0]:
                    waiting = [one for one in waiting if one > share]
                    scores, best = self._evaluate()
                    shown = {name: round(value, 4) for name, value in (scores or {}).items()}
                    print(f"{share:.3f} step {self.step} dev {shown} best {best}", flush=True)
                    if self.model.device.type == "cuda":
                        torch.cuda.empty_cache()
                    self.model.train()
                if share >= 1.0:
                    return self.best_f1
        return self.best_f1


def in_other_case(sentence: Sentence, chance: random.Random) -> Sentence | None:
    """A copy in lower case or in capitals, now and then."""
    drawn = chance.random()
    if drawn >= LOWER + UPPER:
        return None
    change = str.lower if drawn < LOWER else str.upper
    return Sentence([change(token) for token in sentence.tokens])


def epochs_of(
    train: Sequence[Sentence], teachers: StoredTeachers | None, unlabelled: Sequence[Sentence], portion: int, seed: int
) -> Iterator[Sequence[Sentence]]:
    """The sentences of each epoch: those that are labelled, and the next ones of those that have targets by now."""
    chance, at = random.Random(seed), 0
    while True:
        known = [one for one in unlabelled if has_target(one, teachers)] if teachers else list[Sentence]()
        some = [known[(at + place) % len(known)] for place in range(min(portion, len(known)))]
        at += len(some)
        read = []
        for sentence in some:
            copy = in_other_case(sentence, chance)
            if copy is not None and teachers is not None:
                teachers.numbers[id(copy)] = teachers.numbers[id(sentence)]
            read.append(copy or sentence)
        labelled = [one for one in train if teachers is None or has_target(one, teachers)]
        if not (labelled or read):  # the first targets are still to come
            time.sleep(1)
        yield [*labelled, *read]


def has_target(sentence: Sentence, teachers: StoredTeachers) -> bool:
    number = teachers.numbers[id(sentence)]
    return number // SHARD in teachers.opened or teachers.store.has(number // SHARD)


def fit(
    config: Annotated[str, typer.Argument(help="A configuration.")],
    output: Output,
    seconds: Annotated[float, typer.Option(help="How long to train.")] = 0,
    steps: Annotated[int, typer.Option(help="How many steps to take.")] = 0,
    targets: Annotated[Path | None, typer.Option(help="A folder of experiments.distil.targets.")] = None,
    text: Annotated[Path | None, typer.Option(help="The file of text that it was written for.")] = None,
    most: Annotated[int, typer.Option(help="At most so many sentences of it.")] = UNLIMITED,
    portion: Annotated[int, typer.Option(help="Unlabelled sentences of an epoch.")] = 60_000,
    overrides: Annotated[list[str] | None, typer.Option("--set", help="Change values of the configuration.")] = None,
    device: TrainingDevice = "auto",
) -> None:
    """Train a model for so many seconds, or so many steps.

    Example: python -m experiments.distil.fit experiments/configs/gum/english.toml -o runs/english --seconds 900
    --targets data/english-targets --text data/english.txt.xz
    """
    if not (seconds or steps):
        raise InputError("neither --seconds nor --steps is given; say when to stop, for example --seconds 600")
    given = as_config(config).override(overrides or ()).completed()
    torch.set_float32_matmul_precision("high")
    output.mkdir(parents=True, exist_ok=True)
    place = choose_device(device)
    teaching, given = given.distillation, replace_teacher(given)
    context = given.transformer.context if given.transformer.name else 0
    pool = Pool.read(given, text if targets else None, most, context)
    data = TrainingData([one for one in pool.training(given) if len(one) <= LONGEST_READ], read_dev(given))
    run = prepare(given, data, place)
    teachers = None
    if targets is not None:
        labels = labels_of(pool)
        assert isinstance(run.model, Recognizer), "teachers have no others as students"
        assert list(run.model.labels) == labels, "students and targets have the labels of the training corpora"
        numbers = {id(sentence): number for number, sentence in enumerate(pool.sentences)}
        starts = [first for first, _ in pool.shards()]
        teachers = StoredTeachers(run.model, Store(targets, given, labels), numbers, starts)
        run.loss.teachers = teachers
        run.loss.config = replace(run.loss.config, distillation=teaching)
    seed = given.training.seed
    epochs = epochs_of(run.train, teachers, pool.unlabelled, portion, seed)
    trainer = TimedTrainer(run, output, Clock(seconds, steps), epochs)
    print(
        f"{len(run.train)} labelled, {len(pool.unlabelled)} unlabelled, {len(run.model.vocabulary.words)} words",
        flush=True,
    )
    best = trainer.run()
    print(f"best {best} after {trainer.step} steps", flush=True)
    (output / "done").write_text(f"{trainer.step}\n")


def replace_teacher(config: Config) -> Config:
    """The configuration without teachers, which are not read again."""
    return replace(
        config, distillation=replace(config.distillation, teacher="", text="", sentences=0, copy_embeddings=False)
    )


if __name__ == "__main__":
    run_command(fit, "experiments.distil.fit")
