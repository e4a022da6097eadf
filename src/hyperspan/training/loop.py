"""The training loop: one class that holds what changes, and goes on exactly where it was stopped.

All chance comes from the seed and the number of the step, so a run that was interrupted and resumed takes the same steps as
one that was not, and on a CPU ends with the same bits.
"""

from __future__ import annotations

import hashlib
import math
import time
import tomllib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from hyperspan.batching import AT_ONCE, Batch, batches_of, by_length
from hyperspan.config import Config
from hyperspan.encoders.words import NeighbourWords
from hyperspan.errors import InputError, TrainingError
from hyperspan.models.base import Model
from hyperspan.models.storage import save_model
from hyperspan.training.checkpoint import (
    optimizer_tensors,
    read_tensors,
    restore_optimizer,
    write_tensors,
)
from hyperspan.types import Sentence

CHECKPOINT = "checkpoint.safetensors"
WORD_VECTORS = "model.words.words."
ITERATIONS = 10
"""Of L-BFGS, an epoch; and how far back it remembers."""
Listener = Callable[[dict[str, Any]], None]


class Trainer:
    """Trains a model and keeps its best version, by F1 on dev, in a folder."""

    def __init__(
        self,
        model: Model,
        train: Sequence[Sentence],
        dev: Sequence[Sentence],
        folder: Path,
        listeners: Sequence[Listener] = (),
    ):
        self.model, self.train_sentences, self.dev_sentences = model, train, dev
        self.folder, self.listeners = folder, listeners
        self.config = model.config.training
        self.lengths = [len(sentence) for sentence in train]
        self.at_once = self.config.optimizer == "lbfgs"
        """Whether a step sees all sentences, not a batch."""
        self.whole: list[tuple[list[Sentence], Batch]] = []
        """All training sentences in batches, kept where each step needs them all."""
        self.steps_an_epoch = 1 if self.at_once else math.ceil(len(train) / self.config.batch_size)
        # The word vectors come last: weight decay is not for them, and words that are rare would forget what they mean.
        self.neighbours = (
            NeighbourWords(model.config, model.vocabulary).to(model.device) if self.config.neighbours else None
        )
        whole = nn.ModuleDict({"model": model} | ({"neighbours": self.neighbours} if self.neighbours else {}))
        named = sorted(whole.named_parameters(), key=lambda pair: pair[0].startswith(WORD_VECTORS))
        self.names = [name for name, _ in named]
        self.parameters = [parameter for _, parameter in named]
        self.optimizer = self._new_optimizer()
        self.average = [p.detach().clone() for p in self.parameters] if self.config.average else None
        self.data = _fingerprint([*train, *dev])
        self.step = 0
        self.best_f1: float | None = None
        self.best_epoch, self.epoch = 0, 0
        self.loss_sum = 0.0
        """Over the sentences of the epoch so far."""
        self.too_wide = 0
        self.saved = time.monotonic()

    def _new_optimizer(self) -> torch.optim.Optimizer:
        if self.at_once:
            some = {"max_iter": ITERATIONS, "max_eval": 3 * ITERATIONS, "history_size": ITERATIONS}
            return torch.optim.LBFGS(self.parameters, line_search_fn="strong_wolfe", **some)
        split = sum(not name.startswith(WORD_VECTORS) for name in self.names)
        groups = [
            {"params": self.parameters[:split], "weight_decay": self.config.l2},
            {"params": self.parameters[split:], "weight_decay": 0.0},
        ]
        kind = torch.optim.AdamW if self.config.optimizer == "adamw" else torch.optim.Adam
        return kind(groups, lr=self.config.rate, fused=self.model.device.type == "cuda")

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
        batches = list(batches_of(self.lengths, self.config.batch_size, _mixed(self.config.seed, self.epoch)))
        losses: list[Tensor] = []
        if self.at_once:
            batches, losses, words = [], [self._take_whole_step()], sum(self.lengths)
        done = self.step - self.epoch * self.steps_an_epoch
        for index, (sentences, batch) in enumerate(self.made_ready(batches[done:]), done):
            losses.append(self._take_step(sentences, batch))
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
            if time.monotonic() - self.saved > self.config.save_minutes * 60:
                self._add_losses(losses)
                self.save_checkpoint()
        self._add_losses(losses)
        seconds = time.monotonic() - began
        self.epoch += 1
        self._finish_epoch(words / max(seconds, 1e-9), began)

    def made_ready(self, batches: Sequence[Sequence[int]]) -> Iterator[tuple[list[Sentence], Batch]]:
        """The sentences of each batch, and they as ids; for a GPU the next batch is made ready while a step is taken."""
        chosen = ([self.train_sentences[i] for i in batch] for batch in batches)
        if self.model.device.type == "cpu":
            yield from ((sentences, self.model.collate(sentences)) for sentences in chosen)
            return
        with ThreadPoolExecutor(1) as worker:
            waiting: deque[tuple[list[Sentence], Future[Batch]]] = deque()
            for sentences in chosen:
                waiting.append((sentences, worker.submit(self.model.collate, sentences)))
                if len(waiting) > 1:
                    given, batch = waiting.popleft()
                    yield given, batch.result()
            for given, batch in waiting:
                yield given, batch.result()

    def _finish_epoch(self, speed: float, began: float) -> None:
        scores = None
        best = True
        with self._averaged():
            if self.dev_sentences:
                scores = dev_scores(self.model, self.dev_sentences)
                best = self.best_f1 is None or scores["f1"] > self.best_f1
            if best:
                self.best_epoch, self.best_f1 = self.epoch, scores["f1"] if scores else None
                save_model(self.model, self.folder)
        loss, self.loss_sum = self.loss_sum / len(self.train_sentences), 0.0
        too_wide, self.too_wide = self.too_wide, 0
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
            too_wide=too_wide,
        )
        self.save_checkpoint()  # after it is logged: what is repeated when a run resumes is taken out of the log, too

    def _add_losses(self, losses: list[Tensor]) -> None:
        """Adds up the losses of some steps; one that is no number ends the training."""
        if not losses:
            return
        total = float(torch.stack(losses).double().sum())
        losses.clear()
        if not math.isfinite(total):
            self._give_up(f"the loss is {total}")
        self.loss_sum += total

    def _give_up(self, what: str) -> NoReturn:
        raise TrainingError(
            f"{what} near step {self.step} (epoch {self.epoch + 1}); what was learnt before is in {self.folder}: "
            f"lower training.rate (now {self.config.rate:g}) or training.clip, and go on with --resume"
        )

    # -- one step -------------------------------------------------------------------------------------------------

    def _take_step(self, sentences: Sequence[Sentence], batch: Batch | None = None) -> Tensor:
        """One update; returns the sum of the sentences' losses, still on the device. `batch` are they as ids, if known."""
        torch.manual_seed(_mixed(self.config.seed, self.step))
        self.step += 1
        rate = self._rate()
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        half = self.config.precision == "bfloat16" and self.model.device.type == "cuda"
        with torch.autocast("cuda", torch.bfloat16, enabled=half):
            loss = self.model.loss(sentences, self.neighbours, batch)
        self.too_wide += sum(loss.too_wide)
        total = loss.values.sum()
        self.optimizer.zero_grad(set_to_none=True)
        (total / len(sentences)).backward()
        if self.config.clip:
            torch.nn.utils.clip_grad_norm_(self.parameters, self.config.clip)
        self.optimizer.step()
        if self.average is not None:
            # Early on the average follows quickly, so that the random start is soon forgotten.
            decay = min(self.config.average, (1 + self.step) / (10 + self.step))
            get_ema_multi_avg_fn(decay)(self.average, [p.detach() for p in self.parameters], self.step)
        return total.detach()

    def _take_whole_step(self) -> Tensor:
        """Some iterations of L-BFGS on all sentences; returns what it minimises, the sum of their losses and L2, before it."""
        self.step += 1
        if not self.whole:
            chosen = batches_of(self.lengths, self.config.batch_size, self.config.seed)
            given = [[self.train_sentences[i] for i in indices] for indices in chosen]
            self.whole = [(sentences, self.model.collate(sentences)) for sentences in given]

        def objective() -> float:
            self.optimizer.zero_grad(set_to_none=True)
            total = torch.zeros((), device=self.model.device)
            self.too_wide = 0
            for index, (sentences, batch) in enumerate(self.whole):
                torch.manual_seed(_mixed(self.config.seed, index))  # one function, whatever is left to chance
                loss = self.model.loss(sentences, self.neighbours, batch)
                self.too_wide += sum(loss.too_wide)
                share = loss.values.sum() / len(self.lengths)
                share.backward()
                total += share.detach()
            for parameter in self.parameters:
                if parameter.grad is not None:
                    parameter.grad.add_(parameter.detach(), alpha=self.config.l2)
                    total += 0.5 * self.config.l2 * parameter.detach().square().sum()
            return float(total)

        return torch.tensor(self.optimizer.step(objective)) * len(self.lengths)

    def _rate(self) -> float:
        """The learning rate of the current step."""
        config, epoch = self.config, self.step / self.steps_an_epoch
        if epoch < config.warmup:
            return config.rate * epoch / config.warmup
        if config.schedule == "cosine":
            progress = (epoch - config.warmup) / max(config.epochs - config.warmup, 1e-9)
            return config.rate * 0.5 * (1 + math.cos(math.pi * min(progress, 1.0)))
        return config.rate / (1 + config.decay * int(epoch)) if config.schedule == "decay" else config.rate

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
        tensors = dict(zip(self.names, self.parameters, strict=True)) | optimizer_tensors(self.optimizer, self.names)
        if self.average is not None:
            tensors |= {f"average/{name}": tensor for name, tensor in zip(self.names, self.average, strict=True)}
        write_tensors(
            tensors,
            self.folder / CHECKPOINT,
            self._progress() | {"config": self.model.config.to_toml(), "data": self.data},
        )
        self.saved = time.monotonic()

    def _progress(self) -> dict[str, Any]:
        names = ("step", "epoch", "best_f1", "best_epoch", "loss_sum", "too_wide")
        return {name: getattr(self, name) for name in names}

    def resume(self) -> None:
        """Goes back to where the checkpoint in the folder was written."""
        tensors, state = read_tensors(self.folder / CHECKPOINT)
        config = Config.from_mapping(tomllib.loads(state.pop("config")))
        if state.pop("data") != self.data:
            raise InputError(
                f"{self.folder} was trained on other sentences; resume it with the data it was begun with, or use another folder"
            )
        if (changed := _difference(config, self.model.config)) is not None:
            raise InputError(
                f"{self.folder} was trained with another {changed}; resume it with the configuration it was begun with, or use another folder"
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
        return {
            "epochs": self.config.epochs,
            "steps": self.config.epochs * self.steps_an_epoch,
            "parameters": sum(p.numel() for p in self.model.parameters()),
            "model": self.model.config.model.kind,
            "sentences": len(self.train_sentences),
            "words": sum(self.lengths),
            "device": str(self.model.device),
            "epoch": self.epoch,
            "step": self.step,
        }

    def _tell(self, event: str, **values: Any) -> None:
        for listener in self.listeners:
            listener({"event": event, **values})


MAY_CHANGE = {"rate", "clip", "epochs", "patience", "save_minutes", "temperature"}
"""What a run may be resumed with other values of."""


def _difference(one: Config, other: Config) -> str | None:
    """The first key in which two configurations differ that may not, or None. Where the data lie does not matter."""
    for section in (entry.name for entry in fields(Config) if entry.name != "data"):
        for key, value in vars(getattr(one, section)).items():
            if key not in MAY_CHANGE and getattr(getattr(other, section), key) != value:
                return f"{section}.{key}"
    return None


def _fingerprint(sentences: Sequence[Sentence]) -> str:
    """The same for the same words and mentions in the same order."""
    digest = hashlib.sha256()
    for sentence in sentences:
        mentions = sorted((mention.start, mention.end, mention.label) for mention in sentence.mentions)
        digest.update(repr((sentence.tokens, sentence.tags, mentions)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


def _mixed(seed: int, number: int) -> int:
    """A seed for the epoch or step of this number."""
    return (seed * 1_000_003 + number * 7_919 + 12_345) % (2**63)


@torch.inference_mode()
def dev_scores(model: Model, sentences: Sequence[Sentence]) -> dict[str, float]:
    """Precision, recall and F1 of the most probable sets, over distinct mentions."""
    expected = sum(len(sentence.mentions) for sentence in sentences)
    found = right = 0
    limit = AT_ONCE if model.device.type == "cpu" else 50 * AT_ONCE  # few launches there
    for indices in by_length([len(sentence) for sentence in sentences], model.max_width, limit):
        batch = [sentences[index] for index in indices]
        for sentence, mentions in zip(batch, model.distribution(batch).argmax(), strict=True):
            gold = {
                (mention.start, mention.end, mention.label) for mention in sentence.mentions if not mention.fragments
            }
            found += len(mentions)
            right += sum((start, end, model.labels[kind]) in gold for start, end, kind in mentions)
    return {
        "precision": right / max(found, 1),
        "recall": right / max(expected, 1),
        "f1": 2 * right / max(found + expected, 1),
    }
