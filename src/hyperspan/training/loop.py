"""The training loop: epochs, dev scores, checkpoints, early stopping.

All randomness depends on the seed and the step number. So a resumed run takes the same steps as an uninterrupted one,
and on a CPU ends with the same bits. A large batch is computed in micro-batches: gradients are sums over sentences.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
import torch
from torch import Tensor

from hyperspan.config import Config, first_difference, keys
from hyperspan.errors import InputError, TrainingError
from hyperspan.evaluation.counts import Counts, Score, counts_of
from hyperspan.kernels.transfer import is_asynchronous
from hyperspan.nn.folders import save_model
from hyperspan.nn.model import Model
from hyperspan.runtime.batches import batches_by_length, shuffled_batches, split_evenly
from hyperspan.runtime.tensors import read_tensors, write_tensors
from hyperspan.structures.mentions import fragments_of
from hyperspan.training.data import NO_TEXT, Unlabelled, fingerprint
from hyperspan.training.events import EpochFinished, Listener, RunEnded, RunStarted, StepsTaken, TrainingEvent
from hyperspan.training.loss import MicroBatch, TrainingLoss, add_tensors
from hyperspan.training.optimiser import NOTHING_LEARNT, LearntParameters, Optimiser, mixed_seed
from hyperspan.types import Sentence, trusted_mention

CHECKPOINT = "checkpoint.safetensors"
"""The file in the folder of a run with all that training needs to resume as if it had never stopped. It is renamed into
place, so a kill or a full disk leaves either the previous one or the new one."""
CHECKPOINT_SECONDS = 600.0
"""Seconds between checkpoints within an epoch. Each epoch ends with a checkpoint, too."""


@dataclass(frozen=True)
class Run:
    """What is trained, on what: :func:`hyperspan.training.run.prepare` makes it from a configuration."""

    loss: TrainingLoss
    train: Sequence[Sentence]
    dev: Sequence[Sentence] = ()
    unlabelled: Unlabelled = NO_TEXT
    learnt: LearntParameters = NOTHING_LEARNT
    """The parameters that come from a trained model."""
    set_aside: Sequence[Sequence[Sentence]] = ()
    """The documents of dev that choose nothing of the model."""

    @property
    def model(self) -> Model:
        """The model, whose parameters the loss trains."""
        return self.loss.model


class Trainer:
    """Trains a model and keeps its best version, by F1 on dev, in a folder."""

    def __init__(self, run: Run, folder: Path, listeners: Sequence[Listener] = ()):
        self.given, self.model, self.folder, self.listeners = run, run.model, folder, listeners
        self.config = self.model.config.training
        self.examples = [*run.train, *run.unlabelled.of_epoch(0)]
        """The sentences of the epoch: first the training sentences, then the unlabelled ones."""
        self.lengths = [len(sentence) for sentence in self.examples]
        self.data = fingerprint([*run.train, *run.dev]) + run.unlabelled.digest + run.loss.fingerprint()
        steps = math.ceil(len(self.examples) / self.config.batch_size)
        self.optimiser = Optimiser(run.loss, steps, run.learnt)
        self.built = fingerprint_of_built(self.model)
        self.best_f1: float | None = None
        self.best_epoch, self.epoch = 0, 0
        self.stale_scores = 0
        """The dev scores in a row without a better F1, since the schedule `plateau` last lowered the learning rate."""
        self.loss_sum = 0.0
        """The sum of losses over the sentences of the epoch so far."""
        self.unrepresentable = 0
        self.saved = time.monotonic()

    @property
    def step(self) -> int:
        """The number of steps taken."""
        return self.optimiser.step

    # -- the run --------------------------------------------------------------------------------------------------

    def run(self) -> float | None:
        """Train to the end, starting where `resume` left off; return the best dev F1, None without dev."""
        began = time.monotonic()
        self._emit(self._started())
        if self.step == 0:
            self.save_checkpoint()
        while self.epoch < self.config.epochs and not self._ending:
            self._run_epoch()
        self._emit(
            RunEnded(
                epoch=self.epoch,
                best_epoch=self.best_epoch,
                best_f1=self.best_f1,
                seconds=time.monotonic() - began,
                stopped=self._ending or "epochs",
            )
        )
        return self.best_f1

    @property
    def reductions(self) -> int:
        """How often the schedule `plateau` has lowered the learning rate."""
        return self.optimiser.reductions

    @reductions.setter
    def reductions(self, times: int) -> None:
        self.optimiser.reductions = times

    @property
    def _ending(self) -> Literal["", "patience", "plateau"]:
        """Why training ends before its last epoch, if it does: F1 has not improved for too long.

        Patience starts only once something is found. A run never ends at an unscored epoch, which may be better.
        """
        if self.reductions > self.config.plateau_reductions:
            return "plateau"
        patience = self.config.patience
        waited = patience and self.best_f1 and self.epoch - self.best_epoch >= patience
        return "patience" if waited and self._is_scored(self.epoch) else ""

    def _is_scored(self, epoch: int) -> bool:
        return epoch % self.config.eval_epochs == 0 or epoch >= self.config.epochs

    def _run_epoch(self) -> None:
        began, words = time.monotonic(), 0
        self.examples = [*self.given.train, *self.given.unlabelled.of_epoch(self.epoch)]
        self.lengths = [len(sentence) for sentence in self.examples]
        self.model.train()
        batches = list(shuffled_batches(self.lengths, self.config.batch_size, mixed_seed(self.config.seed, self.epoch)))
        losses: list[Tensor] = []
        done = self.step - self.epoch * self.optimiser.steps_per_epoch
        for index, (sentences, parts) in enumerate(self.prepared(batches[done:]), done):
            losses.append(self.optimiser.take_step(parts, len(sentences)))
            words += sum(map(len, sentences))
            if len(losses) == 20:  # reading a loss makes a GPU wait
                self._add_losses(losses)
                seen = sum(map(len, batches[: index + 1]))
                speed = words / (time.monotonic() - began)
                self._emit(
                    StepsTaken(
                        epoch=self.epoch + 1,
                        step=self.step,
                        loss=self.loss_sum / seen,
                        words_per_second=speed,
                        learning_rate=self.optimiser.learning_rate(),
                    )
                )
            if time.monotonic() - self.saved > CHECKPOINT_SECONDS:
                self._add_losses(losses)
                self.save_checkpoint()
        self._add_losses(losses)
        seconds = time.monotonic() - began
        self.epoch += 1
        self._finish_epoch(words / max(seconds, 1e-9), began)

    def prepared(self, batches: Sequence[Sequence[int]]) -> Iterator[tuple[list[Sentence], list[MicroBatch]]]:
        """The sentences of each batch, and its micro-batches; for a GPU the next ones are prepared during a step."""
        if not is_asynchronous(self.model.device):
            yield from (self._prepare(batch) for batch in batches)
            return
        with ThreadPoolExecutor(1) as worker:
            waiting: deque[Future[tuple[list[Sentence], list[MicroBatch]]]] = deque()
            for batch in batches:
                waiting.append(worker.submit(copy_context().run, self._prepare, batch))
                if len(waiting) > 1:
                    yield waiting.popleft().result()
            for future in waiting:
                yield future.result()

    def _prepare(self, batch: Sequence[int]) -> tuple[list[Sentence], list[MicroBatch]]:
        sentences = [self.examples[index] for index in batch]
        return sentences, self.micro_batches(sentences, [index < len(self.given.train) for index in batch])

    def micro_batches(self, sentences: Sequence[Sentence], labelled: Sequence[bool]) -> list[MicroBatch]:
        """A batch in micro-batches that fit in memory."""
        places = list(range(len(sentences)))
        return [
            self.given.loss.collate([sentences[i] for i in part], [labelled[i] for i in part])
            for part in split_evenly(places, self.config.micro_batch_size or len(places))
        ]

    def take_step(self, sentences: Sequence[Sentence]) -> Tensor:
        """One update on these training sentences."""
        return self.optimiser.take_step(self.micro_batches(sentences, [True] * len(sentences)), len(sentences))

    def _finish_epoch(self, speed: float, began: float) -> None:
        scores = None
        best = False
        learning_rate = self.optimiser.learning_rate()
        if self._is_scored(self.epoch):
            scores, best = self._evaluate()
        loss, self.loss_sum = self.loss_sum / len(self.examples), 0.0
        unrepresentable, self.unrepresentable = self.unrepresentable, 0
        self._emit(
            EpochFinished(
                epoch=self.epoch,
                step=self.step,
                loss=loss,
                dev=scores,
                best=best,
                learning_rate=learning_rate,
                seconds=time.monotonic() - began,
                words_per_second=speed,
                too_wide=unrepresentable,
            )
        )
        self.save_checkpoint()  # after logging: a resumed run removes repeated steps from the log

    def _evaluate(self) -> tuple[dict[str, float] | None, bool]:
        """The dev scores, if any, and whether this is the best model so far; the best is saved."""
        with self.optimiser.averaged():
            scores = dev_scores(self.model, self.given.dev) if self.given.dev else None
            best = scores is None or self.best_f1 is None or scores["f1"] > self.best_f1
            if best:
                self.best_epoch, self.best_f1 = self.epoch, scores["f1"] if scores else None
                save_model(self.model, self.folder)
        if self.config.schedule == "plateau":
            self._wait_for_better(best)
        return scores, best

    def _wait_for_better(self, best: bool) -> None:
        """Lower the learning rate after too many dev scores in a row that are no better, once something is found and
        the warm-up is over."""
        if not self.best_f1 or self.epoch <= self.config.warmup_epochs:
            return
        self.stale_scores = 0 if best else self.stale_scores + 1
        if self.stale_scores > self.config.plateau_patience:
            self.reductions, self.stale_scores = self.reductions + 1, 0

    def _add_losses(self, losses: list[Tensor]) -> None:
        """Sum the results of some steps; a non-finite loss ends training."""
        if not losses:
            return
        total, unrepresentable = torch.stack(losses).double().sum(0).tolist()
        losses.clear()
        if not math.isfinite(total):
            self._give_up(f"the loss is {total}")
        self.loss_sum += total
        self.unrepresentable += int(unrepresentable)

    def _give_up(self, what: str) -> NoReturn:
        raise TrainingError(
            f"{what} near step {self.step} (epoch {self.epoch + 1}); what was learnt before is in {self.folder}: "
            f"lower training.learning_rate (now {self.config.learning_rate:g}) or training.max_grad_norm, and go on with --resume"
        )

    # -- checkpoints ----------------------------------------------------------------------------------------------

    def save_checkpoint(self) -> None:
        """Write all state, so that `resume` continues from here."""
        if not self.optimiser.is_finite():
            self._give_up("a parameter is no longer a number")
        state = self._progress() | {"config": self.model.config.to_toml(), "data": self.data, "built": self.built}
        state |= {"start": self.given.learnt.fingerprint} if self.given.learnt.fingerprint else {}
        write_tensors(self.optimiser.tensors(), self.folder / CHECKPOINT, state)
        self.saved = time.monotonic()

    def _progress(self) -> dict[str, Any]:
        names = ("step", "epoch", "best_f1", "best_epoch", "loss_sum", "unrepresentable", "stale_scores", "reductions")
        return {name: getattr(self, name) for name in names}

    def _check_state(self, state: dict[str, Any]) -> None:
        """Raise an error unless a state is one that :meth:`save_checkpoint` writes: a file may say anything."""
        progress = self._progress() | {"best_f1": 0.0}
        wanted = {name: {type(value)} for name, value in progress.items()} | {"config": {str}, "data": {str}}
        wanted["best_f1"] |= {type(None)}
        given = {name: type(value) for name, value in state.items() if name not in ("built", "start")}
        if given.keys() != wanted.keys() or any(kind not in wanted[name] for name, kind in given.items()):
            raise InputError(
                f"{self.folder / CHECKPOINT} is not a checkpoint of this version of hyperspan; begin anew with --force, or name "
                "another folder"
            )

    def resume(self) -> None:
        """Restore the state of the checkpoint in the folder."""
        tensors, state = read_tensors(self.folder / CHECKPOINT)
        self._check_state(state)
        config = Config.stored(state.pop("config"), str(self.folder / CHECKPOINT))
        if state.pop("data") != self.data:
            raise InputError(
                f"{self.folder} was trained on other sentences; resume it with the data it was begun with, or use another folder"
            )
        if state.pop("start", "") != self.given.learnt.fingerprint:
            raise InputError(
                f"{self.folder} was begun from another model than training.start names, or that has changed meanwhile; resume it with "
                "the model it was begun from, or use another folder"
            )
        if (changed := difference(config, self.model.config)) is not None:
            raise InputError(
                f"{self.folder} was trained with another {changed}; resume it with the configuration it was begun with, or use another folder"
            )
        if state.pop("built", self.built) != self.built or not self.optimiser.fits(tensors):
            raise InputError(
                f"{self.folder / CHECKPOINT} holds other parameters than the model has, as when the content of words.vectors, "
                "handcrafted.clusters or transformer.name has changed meanwhile; resume it with the files it was begun with, or use another folder"
            )
        self.optimiser.restore(tensors, state.pop("step"))
        for name, value in state.items():
            setattr(self, name, value)

    # -- reports --------------------------------------------------------------------------------------------------

    def _started(self) -> RunStarted:
        return RunStarted(
            epochs=self.config.epochs,
            steps=self.config.epochs * self.optimiser.steps_per_epoch,
            parameters=sum(p.numel() for p in self.model.parameters()),
            model=self.model.config.model.kind,
            sentences=len(self.examples),
            words=sum(self.lengths),
            device=str(self.model.device),
            epoch=self.epoch,
            step=self.step,
            settings=self.model.config.values(keys("auto")),
        )

    def _emit(self, event: TrainingEvent) -> None:
        for listener in self.listeners:
            listener(event)


def difference(begun: Config, now: Config) -> str | None:
    """The first key in which a run may not go on with another configuration than it was begun with, or None.

    Of files the content is compared instead (:func:`fingerprint_of_built`), and of corpora the sentences.
    """
    return first_difference(begun, now, but=("live", "file", "tuned"))


def fingerprint_of_built(model: Model) -> str:
    """A fingerprint of the vocabulary and of the frozen tensors, which are not in a checkpoint."""
    known = {entry.name: getattr(model.vocabulary, entry.name) for entry in fields(model.vocabulary)}
    known["words"] = list(model.vocabulary.words)
    # An encoder's architecture shows in its parameters; its description varies with the version of transformers.
    known["transformer"] = known["transformer"].get("tokenizer")
    digest = hashlib.sha256(json.dumps(known).encode())
    learning = {name for name, parameter in model.named_parameters() if parameter.requires_grad}
    add_tensors(digest, {name: tensor for name, tensor in model.state_dict().items() if name not in learning})
    return digest.hexdigest()


@torch.inference_mode()
def mention_counts(model: Model, sentences: Sequence[Sentence]) -> Counts:
    """(sentences, 3): correct, predicted and gold mentions, for the most probable sets.

    Only mentions whose presence is annotated are counted.
    """
    counts = np.zeros((len(sentences), 3), dtype=np.int64)
    for indices in batches_by_length([len(sentence) for sentence in sentences], model.max_width, model.batch_entries):
        found = model.distribution([sentences[index] for index in indices]).argmax()
        gold = [sentences[index] for index in indices]
        labelled = [
            {trusted_mention(one[0], one[1], model.labels[one[2]], fragments=fragments_of(one)) for one in mentions}
            for mentions in found
        ]
        known = [set(filter(one.knows, mentions)) for one, mentions in zip(gold, labelled, strict=True)]
        counts[indices] = counts_of((one.mentions for one in gold), known)
    return counts


def dev_scores(model: Model, sentences: Sequence[Sentence]) -> dict[str, float]:
    """Precision, recall and F1 of the most probable sets, over distinct mentions."""
    return Score.total(mention_counts(model, sentences)).by_measure
