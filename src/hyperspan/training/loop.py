"""The training loop: one class that holds what changes, and goes on exactly where it was stopped.

All chance comes from the seed and the number of the step, so a run that was interrupted and resumed takes the same steps as
one that was not, and on a CPU ends with the same bits. Several processes share every batch (:mod:`hyperspan.training.parallel`),
and each computes its share in parts if it is large: the gradients are sums over sentences, whoever adds them up.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from hyperspan import __version__
from hyperspan.batch import Batch, batches_by_length, shuffled_batches, split_evenly
from hyperspan.config import Config, DataConfig
from hyperspan.encoders.language_model import LanguageModelLoss
from hyperspan.errors import InputError, TrainingError
from hyperspan.models.base import Model
from hyperspan.models.storage import save_model
from hyperspan.models.tensors import read_tensors, write_tensors
from hyperspan.training.checkpoint import (
    CHECKPOINT,
    difference,
    fingerprint,
    fingerprint_of_built,
    optimizer_tensors,
    restore_optimizer,
)
from hyperspan.training.parallel import ALONE, Processes
from hyperspan.training.parameters import parameter_groups
from hyperspan.types import Sentence

ITERATIONS = 10
"""Of L-BFGS, an epoch; and how far back it remembers."""
Listener = Callable[[dict[str, Any]], None]
Part = tuple[list[Sentence], Batch]
"""Sentences that are computed at once, and they as ids."""


class Trainer:
    """Trains a model and keeps its best version, by F1 on dev, in a folder."""

    def __init__(
        self,
        model: Model,
        train: Sequence[Sentence],
        dev: Sequence[Sentence],
        folder: Path,
        listeners: Sequence[Listener] = (),
        processes: Processes = ALONE,
    ):
        self.model, self.train_sentences, self.dev_sentences = model, train, dev
        self.folder, self.listeners, self.processes = folder, listeners, processes
        self.config = model.config.training
        self.lengths = [len(sentence) for sentence in train]
        self.full_batch = self.config.optimizer == "lbfgs"
        """Whether a step sees all sentences, not a batch."""
        self.whole: list[Part] = []
        """All training sentences of this process, kept where each step needs them all."""
        self.steps_an_epoch = 1 if self.full_batch else math.ceil(len(train) / self.config.batch_size)
        self.lm_loss = (
            LanguageModelLoss(model.config, model.vocabulary).to(model.device) if self.config.lm_loss_weight else None
        )
        whole = nn.ModuleDict({"model": model} | ({"lm_loss": self.lm_loss} if self.lm_loss else {}))
        self.groups = parameter_groups(whole, model)
        self.names = [name for group in self.groups for name in group.names]
        self.parameters = [parameter for group in self.groups for parameter in group.parameters]
        self.data = fingerprint([*train, *dev])
        self._agree(whole)
        self.built = fingerprint_of_built(model, model.vocabulary)
        self.optimizer = self._new_optimizer()
        self.average = [p.detach().clone() for p in self.parameters] if self.config.ema_decay else None
        self.step = 0
        self.best_f1: float | None = None
        self.best_epoch, self.epoch = 0, 0
        self.loss_sum = 0.0
        """Over the sentences of the epoch so far."""
        self.unrepresentable = 0
        self.saved = time.monotonic()

    def _agree(self, whole: nn.Module) -> None:
        """Makes sure that all processes train the same, and begin with the same numbers."""
        config = replace(self.model.config, data=DataConfig())  # where the data lie does not matter
        parameters = [(name, tuple(p.shape)) for name, p in zip(self.names, self.parameters, strict=True)]
        here = {"hyperspan": __version__, "configuration": config.to_toml(), "corpus": self.data}
        self.processes.check_same(here | {"kind of device": self.model.device.type, "model": repr(parameters)})
        self.processes.spread(whole.state_dict().values())

    def _new_optimizer(self) -> torch.optim.Optimizer:
        if self.full_batch:
            some = {"max_iter": ITERATIONS, "max_eval": 3 * ITERATIONS, "history_size": ITERATIONS}
            return torch.optim.LBFGS(self.parameters, line_search_fn="strong_wolfe", **some)
        groups = [
            {"params": g.parameters, "weight_decay": g.options.weight_decay, "highest": g.options.learning_rate}
            for g in self.groups
        ]
        kind = torch.optim.AdamW if self.config.optimizer == "adamw" else torch.optim.Adam
        return kind(groups, lr=self.config.learning_rate, fused=self.model.device.type == "cuda")

    # -- the run --------------------------------------------------------------------------------------------------

    def run(self) -> float | None:
        """Trains to the end, from where `resume` left off; returns the best F1 on dev, None if there is no dev."""
        began = time.monotonic()
        self._tell("start", **self._about())
        if self.step == 0:
            self.save_checkpoint()
        while self.epoch < self.config.epochs and not self._has_stalled:
            self._run_epoch()
        self._tell(
            "end",
            epoch=self.epoch,
            best_epoch=self.best_epoch,
            best_f1=self.best_f1,
            seconds=time.monotonic() - began,
            stopped="patience" if self._has_stalled else "epochs",
        )
        return self.best_f1

    @property
    def _has_stalled(self) -> bool:
        """Whether F1 has not risen for too long; at first, when nothing is found yet, there is nothing to wait for."""
        patience = self.config.patience
        return bool(patience and self.best_f1 and self.epoch - self.best_epoch >= patience)

    def _run_epoch(self) -> None:
        began, words = time.monotonic(), 0
        self.model.train()
        batches = list(shuffled_batches(self.lengths, self.config.batch_size, _mixed(self.config.seed, self.epoch)))
        losses: list[Tensor] = []
        if self.full_batch:
            batches, losses, words = [], [self._take_whole_step()], sum(self.lengths)
        done = self.step - self.epoch * self.steps_an_epoch
        for index, (sentences, parts) in enumerate(self.made_ready(batches[done:]), done):
            losses.append(self._take_step(sentences, parts))
            words += sum(map(len, sentences))
            if len(losses) == 20:  # reading a loss makes a GPU wait
                self._add_losses(losses)
                seen = sum(map(len, batches[: index + 1]))
                speed = words / (time.monotonic() - began)
                self._tell(
                    "step",
                    epoch=self.epoch + 1,
                    step=self.step,
                    loss=self.loss_sum / seen,
                    words_per_second=speed,
                    rate=self._rate(),
                )
            if time.monotonic() - self.saved > self.config.checkpoint_minutes * 60:
                self._add_losses(losses)
                self.save_checkpoint()
        self._add_losses(losses)
        seconds = time.monotonic() - began
        self.epoch += 1
        self._finish_epoch(words / max(seconds, 1e-9), began)

    def made_ready(self, batches: Sequence[Sequence[int]]) -> Iterator[tuple[list[Sentence], list[Part]]]:
        """The sentences of each batch, and the parts of this process; for a GPU the next are made ready while a step is taken."""
        chosen = ([self.train_sentences[i] for i in batch] for batch in batches)
        if self.model.device.type == "cpu":
            yield from ((sentences, self._parts(sentences)) for sentences in chosen)
            return
        with ThreadPoolExecutor(1) as worker:
            waiting: deque[tuple[list[Sentence], Future[list[Part]]]] = deque()
            for sentences in chosen:
                waiting.append((sentences, worker.submit(self._parts, sentences)))
                if len(waiting) > 1:
                    given, parts = waiting.popleft()
                    yield given, parts.result()
            for given, parts in waiting:
                yield given, parts.result()

    def _parts(self, sentences: Sequence[Sentence]) -> list[Part]:
        """What this process computes of a batch: its share, in parts that fit."""
        widths = self.model.max_width or math.inf
        work = [len(s) * (min(len(s), widths) if self.model.over_spans else 1) for s in sentences]
        own = [sentences[i] for i in self.processes.share(work)]
        return [
            (part, self.model.collate(part)) for part in split_evenly(own, self.config.micro_batch_size or len(own))
        ]

    def _finish_epoch(self, speed: float, began: float) -> None:
        scores = None
        best = True
        with self._averaged():
            if self.dev_sentences:
                scores = dev_scores(self.model, self.dev_sentences, self.processes)
                best = self.best_f1 is None or scores["f1"] > self.best_f1
            if best:
                self.best_epoch, self.best_f1 = self.epoch, scores["f1"] if scores else None
                if self.processes.is_first:
                    save_model(self.model, self.folder)
        loss, self.loss_sum = self.loss_sum / len(self.train_sentences), 0.0
        unrepresentable, self.unrepresentable = self.unrepresentable, 0
        self._tell(
            "epoch",
            epoch=self.epoch,
            step=self.step,
            loss=loss,
            dev=scores,
            best=best,
            rate=self._rate(),
            seconds=time.monotonic() - began,
            words_per_second=speed,
            too_wide=unrepresentable,
        )
        self.save_checkpoint()  # after it is logged: what is repeated when a run resumes is taken out of the log, too

    def _add_losses(self, losses: list[Tensor]) -> None:
        """Adds up what some steps returned; a loss that is no number ends the training."""
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

    # -- one step -------------------------------------------------------------------------------------------------

    def _take_step(self, sentences: Sequence[Sentence], parts: Sequence[Part] | None = None) -> Tensor:
        """One update on a batch, of which this process has some parts; returns (2,), still on the device: the sum of the
        sentences' losses, and how many mentions teach nothing."""
        torch.manual_seed(_mixed(self.config.seed, self.step, self.processes.rank))
        self.step += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate(group["highest"])
        self.optimizer.zero_grad(set_to_none=True)
        sums = self._add_gradients(self._parts(sentences) if parts is None else parts, len(sentences))
        if self.config.max_grad_norm:
            torch.nn.utils.clip_grad_norm_(self.parameters, self.config.max_grad_norm)
        self.optimizer.step()
        if self.average is not None:
            # Early on the average follows quickly, so that the random start is soon forgotten.
            decay = min(self.config.ema_decay, (1 + self.step) / (10 + self.step))
            get_ema_multi_avg_fn(decay)(self.average, [p.detach() for p in self.parameters], self.step)
        return sums

    def _add_gradients(self, parts: Sequence[Part], sentences: int) -> Tensor:
        """The gradients of the mean loss of so many sentences, of which this process has some parts; returns sums as a step does."""
        half = self.config.precision == "bfloat16" and self.model.device.type == "cuda"
        sums = torch.zeros(2, device=self.model.device)
        for given, batch in parts:
            with torch.autocast("cuda", torch.bfloat16, enabled=half):
                loss = self.model.loss(given, self.lm_loss, batch)
            total = loss.values.sum()
            (total / sentences).backward()
            sums += torch.stack([total.detach(), total.new_full((), sum(loss.unrepresentable))])
        return self.processes.sum_gradients(self.parameters, sums)

    def _take_whole_step(self) -> Tensor:
        """Some iterations of L-BFGS on all sentences; returns what it minimises, the sum of their losses and L2, before it."""
        self.step += 1
        if not self.whole:
            chosen = shuffled_batches(self.lengths, self.config.batch_size, self.config.seed)
            self.whole = [part for _, parts in self.made_ready(list(chosen)) for part in parts]
        unrepresentable = 0.0

        def objective() -> float:
            nonlocal unrepresentable
            self.optimizer.zero_grad(set_to_none=True)
            # One function, whatever is left to chance.
            torch.manual_seed(_mixed(self.config.seed, 0, self.processes.rank))
            total, unrepresentable = self._add_gradients(self.whole, len(self.lengths)).tolist()
            total /= len(self.lengths)
            for parameter in self.parameters:
                if parameter.grad is not None:
                    parameter.grad.add_(parameter.detach(), alpha=self.config.weight_decay)
                    total += 0.5 * self.config.weight_decay * float(parameter.detach().square().sum())
            return total

        before = self.optimizer.step(objective)
        return torch.tensor([float(before) * len(self.lengths), unrepresentable])

    def _rate(self, highest: float | None = None) -> float:
        """The learning rate of the current step; of parameters with another highest rate if that is given."""
        config, epoch = self.config, self.step / self.steps_an_epoch
        highest = config.learning_rate if highest is None else highest
        if epoch < config.warmup_epochs:
            return highest * epoch / config.warmup_epochs
        if config.schedule == "cosine":
            progress = (epoch - config.warmup_epochs) / max(config.epochs - config.warmup_epochs, 1e-9)
            return highest * 0.5 * (1 + math.cos(math.pi * min(progress, 1.0)))
        return highest / (1 + config.learning_rate_decay * int(epoch)) if config.schedule == "decay" else highest

    @contextmanager
    def _averaged(self) -> Iterator[None]:
        """The model with the average of its parameters, ready for use, for a while."""
        self.model.eval()
        if self.average is None:
            yield
            return
        own = [parameter.detach().clone() for parameter in self.parameters]
        self._set_parameters(self.average)
        try:
            yield
        finally:
            self._set_parameters(own)

    @torch.no_grad()
    def _set_parameters(self, values: Sequence[Tensor]) -> None:
        for parameter, value in zip(self.parameters, values, strict=True):
            parameter.copy_(value)

    # -- checkpoints ----------------------------------------------------------------------------------------------

    def save_checkpoint(self) -> None:
        """Writes all that changes, so that `resume` goes on from here."""
        if not all(bool(parameter.isfinite().all()) for parameter in self.parameters):
            self._give_up("a parameter is no longer a number")
        if self.processes.is_first:
            tensors = dict(zip(self.names, self.parameters, strict=True))
            tensors |= optimizer_tensors(self.optimizer, self.names)
            if self.average is not None:
                tensors |= {f"average/{name}": tensor for name, tensor in zip(self.names, self.average, strict=True)}
            state = self._progress() | {"config": self.model.config.to_toml(), "data": self.data, "built": self.built}
            write_tensors(tensors, self.folder / CHECKPOINT, state)
        self.saved = time.monotonic()

    def _progress(self) -> dict[str, Any]:
        names = ("step", "epoch", "best_f1", "best_epoch", "loss_sum", "unrepresentable")
        return {name: getattr(self, name) for name in names}

    def resume(self) -> None:
        """Goes back to where the checkpoint in the folder was written."""
        tensors, state = read_tensors(self.folder / CHECKPOINT) if self.processes.is_first else ({}, {})
        tensors, state = self.processes.told_tensors(tensors), self.processes.told(state)
        config = Config.from_toml(state.pop("config"))
        if state.pop("data") != self.data:
            raise InputError(
                f"{self.folder} was trained on other sentences; resume it with the data it was begun with, or use another folder"
            )
        if (changed := difference(config, self.model.config)) is not None:
            raise InputError(
                f"{self.folder} was trained with another {changed}; resume it with the configuration it was begun with, or use another folder"
            )
        if state.pop("built", self.built) != self.built or any(
            name not in tensors or tensors[name].shape != p.shape
            for name, p in zip(self.names, self.parameters, strict=True)
        ):
            raise InputError(
                f"{self.folder / CHECKPOINT} holds other parameters than the model has, as when the content of words.vectors, "
                "words.clusters or transformer.name has changed meanwhile; resume it with the files it was begun with, or use another folder"
            )
        self._set_parameters([tensors[name] for name in self.names])
        restore_optimizer(self.optimizer, self.names, tensors)
        if self.average is not None:
            for name, average in zip(self.names, self.average, strict=True):
                average.copy_(tensors[f"average/{name}"])
        for name, value in state.items():
            setattr(self, name, value)

    # -- reports --------------------------------------------------------------------------------------------------

    def _about(self) -> dict[str, Any]:
        device = self.model.device
        return {
            "epochs": self.config.epochs,
            "steps": self.config.epochs * self.steps_an_epoch,
            "parameters": sum(p.numel() for p in self.model.parameters()),
            "model": self.model.config.model.kind,
            "sentences": len(self.train_sentences),
            "words": sum(self.lengths),
            "device": f"{self.processes.count} × {device.type}" if self.processes.count > 1 else str(device),
            "epoch": self.epoch,
            "step": self.step,
        }

    def _tell(self, event: str, **values: Any) -> None:
        for listener in self.listeners:
            listener({"event": event, **values})


def _mixed(seed: int, number: int, rank: int = 0) -> int:
    """A seed for the epoch or step of this number, in the process of this rank."""
    return (seed * 1_000_003 + number * 7_919 + rank * 10_000_000_019 + 12_345) % (2**63)


@torch.inference_mode()
def dev_scores(model: Model, sentences: Sequence[Sentence], processes: Processes = ALONE) -> dict[str, float]:
    """Precision, recall and F1 of the most probable sets, over distinct mentions; processes share the batches."""
    expected = sum(len(sentence.mentions) for sentence in sentences)
    found = right = 0
    batches = list(batches_by_length([len(sentence) for sentence in sentences], model.max_width, model.batch_entries))
    for indices in batches[processes.rank :: processes.count]:
        batch = [sentences[index] for index in indices]
        for sentence, mentions in zip(batch, model.distribution(batch).argmax(), strict=True):
            gold = {
                (mention.start, mention.end, mention.label) for mention in sentence.mentions if not mention.fragments
            }
            found += len(mentions)
            right += sum((start, end, model.labels[kind]) in gold for start, end, kind in mentions)
    found, right = processes.total(torch.tensor([found, right])).tolist()
    return {
        "precision": right / max(found, 1),
        "recall": right / max(expected, 1),
        "f1": 2 * right / max(found + expected, 1),
    }
