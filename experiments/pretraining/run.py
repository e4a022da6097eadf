"""Continue the masked-language-model pretraining of an encoder on unlabelled text."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor

from experiments.pretraining.interrupts import deferred_interrupt
from experiments.pretraining.masked_lm import MaskedLanguageModel
from experiments.pretraining.masking import MaskedBatches, SpecialSubwords
from experiments.pretraining.processes import useful_processes
from experiments.pretraining.settings import PretrainingSettings
from experiments.pretraining.stream import SubwordEncoder, SubwordStream, read_stream
from experiments.pretraining.texts import find_texts
from hyperspan.errors import InputError, OutputExistsError, TrainingError
from hyperspan.runtime.tensors import read_tensors, write_tensors
from hyperspan.text.tokens import Tokenizer
from hyperspan.training.loop import CHECKPOINT
from hyperspan.training.optimiser import optimizer_tensors, restore_optimizer
from hyperspan.training.run import choose_device, while_there_is_room

STREAM = "subwords.safetensors"
"""The subwords of the texts, so that a resumed run need not split them again."""
REPORT = "pretraining.json"
"""The report of a run, in the folder of the encoder."""
CHECKPOINT_SECONDS = 300.0
REPORT_SECONDS = 5.0
"""The interval between reading the loss, which synchronises with the device."""


@dataclass(frozen=True)
class PretrainingProgress:
    """The progress of a run."""

    step: int
    share: float
    """From 0 to 1."""
    loss: float
    """The mean loss of the last steps."""
    subwords_per_second: float

    def __str__(self) -> str:
        return (
            f"step {self.step:,} ({self.share:.0%}): loss {self.loss:.3f}, {self.subwords_per_second:,.0f} subwords/s"
        )


Listener = Callable[[PretrainingProgress], None]


class PretrainingRun:
    """A pretraining run in a folder: reads texts, trains, and writes the encoder."""

    def __init__(
        self,
        encoder: str,
        texts: Sequence[str],
        folder: Path,
        settings: PretrainingSettings,
        *,
        device: str = "auto",
        processes: int = 1,
        resume: bool = False,
        force: bool = False,
        compiled: bool = False,
    ):
        settings.check()
        self.folder, self.settings, self.device = folder, settings, choose_device(device)
        files = find_texts(texts, [folder])
        _prepare(folder, resume, force)
        torch.manual_seed(settings.seed)  # of a new head
        self.language_model = MaskedLanguageModel(encoder, self.device, settings.dropout)
        subwords = SubwordEncoder(
            encoder, self.language_model.description, settings.length, Tokenizer(settings.tokenizer)
        )
        folder.mkdir(exist_ok=True)
        self.fingerprint = _fingerprint(self.language_model.description, files, settings)
        stream = self._read(subwords, files, processes)
        self.batches = self._batches(stream, subwords)
        self.subwords = len(stream.ids)
        self.optimizer = self._optimizer()
        self.step, self.seconds = 0, 0.0
        self.saved_step = 0
        """The step that the run would resume from."""
        self.losses: list[tuple[int, float]] = []
        """Pairs of a step and the mean loss since the previous entry."""
        if (folder / CHECKPOINT).is_file():
            self._restore()
        if compiled:
            self.language_model.compile()

    def __str__(self) -> str:
        where = f", from step {self.step:,}" if self.step else ""
        return f"{self.subwords:,} subwords, {self.batches.steps_an_epoch:,} steps an epoch, on {self.device}{where}"

    @property
    def steps(self) -> float:
        """The number of steps; infinite if only time ends the run."""
        epochs = self.settings.epochs
        return max(round(epochs * self.batches.steps_an_epoch), 1) if math.isfinite(epochs) else epochs

    def train(
        self,
        listen: Listener = lambda progress: None,
        *,
        half: bool = False,
        report_seconds: float = REPORT_SECONDS,
        checkpoint_seconds: float = CHECKPOINT_SECONDS,
    ) -> None:
        """Take all remaining steps, and replace the files of the run by those of the encoder.

        Ctrl-C during the steps saves a checkpoint before KeyboardInterrupt is raised.
        """
        torch.set_float32_matmul_precision("high")
        began = time.monotonic() - self.seconds
        with deferred_interrupt() as interrupted:
            self._take_steps(listen, began, report_seconds, checkpoint_seconds, interrupted)
            if interrupted():
                self._save()
                raise KeyboardInterrupt
        self.seconds = time.monotonic() - began
        self._write(half)

    def _take_steps(
        self,
        listen: Listener,
        began: float,
        report_seconds: float,
        checkpoint_seconds: float,
        interrupted: Callable[[], bool],
    ) -> None:
        """Take steps until the run ends or is interrupted."""
        reported, saved, first = time.monotonic(), time.monotonic(), self.step
        recent: list[Tensor] = []
        while self.step < self.steps and self.seconds < self.settings.seconds and not interrupted():
            recent.append(self._train_step())
            now = time.monotonic()
            self.seconds = now - began
            if now - reported >= report_seconds:
                listen(self._report(recent, (self.step - first) / (now - reported)))
                reported, first, recent = time.monotonic(), self.step, []
            if now - saved >= checkpoint_seconds:
                self._save()
                saved = time.monotonic()
        if recent:
            listen(self._report(recent, (self.step - first) / max(time.monotonic() - reported, 1e-6)))

    def _train_step(self) -> Tensor:
        """Train on one batch; return its loss without synchronising."""
        share = max((self.step + 1) / (self.steps + 1), self.seconds / self.settings.seconds)
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.rate(share)
        batch = self.batches[self.step]
        self.batches.seed_dropout(self.step)
        loss = self.language_model.loss(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.language_model.parameters().values(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.step += 1
        return loss.detach()

    def _report(self, losses: list[Tensor], steps_per_second: float) -> PretrainingProgress:
        loss = torch.stack(losses).nanmean().item()
        if not math.isfinite(loss):
            raise TrainingError(
                f"the loss is {loss} at step {self.step}; begin again with a smaller --learning-rate and --force"
            )
        self.losses.append((self.step, loss))
        share = min(max(self.step / self.steps, self.seconds / self.settings.seconds), 1.0)
        speed = steps_per_second * self.settings.batch * self.settings.length
        return PretrainingProgress(self.step, share, loss, speed)

    def _batches(self, stream: SubwordStream, encoder: SubwordEncoder) -> MaskedBatches:
        settings, tokenizer = self.settings, self.language_model.tokenizer
        special = SpecialSubwords(
            encoder.subwords.prefix, encoder.subwords.suffix, tokenizer.mask_token_id, len(tokenizer)
        )
        return MaskedBatches(
            stream,
            special,
            length=settings.length,
            batch=settings.batch,
            masked=settings.masked,
            seed=settings.seed,
            device=self.device,
        )

    def _optimizer(self) -> torch.optim.Optimizer:
        groups: dict[bool, list[Tensor]] = {True: [], False: []}
        for parameter in self.language_model.parameters().values():
            groups[parameter.dim() > 1].append(parameter)  # biases and norms do not decay
        decay = self.settings.weight_decay
        return torch.optim.AdamW(
            [{"params": groups[decays], "weight_decay": decay * decays} for decays in (True, False)],
            lr=self.settings.learning_rate,
            betas=(0.9, 0.98),
            eps=1e-6,
            fused=self.device.type == "cuda",
        )

    def _names(self) -> list[str]:
        """The names of the parameters, in the optimizer's order."""
        named = self.language_model.parameters()
        return sorted(named, key=lambda name: named[name].dim() <= 1)

    # -- files ---------------------------------------------------------------------------------------------------------

    def _read(self, encoder: SubwordEncoder, files: list[Path], processes: int) -> SubwordStream:
        """The subwords of the texts, cached next to the checkpoint."""
        kept = self.folder / STREAM
        if kept.is_file():
            tensors, state = read_tensors(kept)
            self._compare(state)
            return SubwordStream(tensors["ids"].numpy(), tensors["begins"].numpy())
        stream = read_stream(encoder, files, useful_processes(files, processes))
        tensors = {"ids": torch.from_numpy(stream.ids), "begins": torch.from_numpy(stream.begins)}
        with while_there_is_room(self.folder):
            write_tensors(tensors, kept, {"fingerprint": self.fingerprint})
        return stream

    def _compare(self, state: dict[str, Any]) -> None:
        if state.get("fingerprint") != self.fingerprint:
            raise InputError(
                f"{self.folder} has a run with other texts, another encoder or other settings; give the same to go on, "
                "or begin anew with --force"
            )

    def _save(self) -> None:
        names, named = self._names(), self.language_model.parameters()
        tensors = {f"model/{name}": named[name] for name in names} | optimizer_tensors(self.optimizer, names)
        state = {"step": self.step, "seconds": self.seconds, "losses": self.losses, "fingerprint": self.fingerprint}
        with while_there_is_room(self.folder):
            write_tensors(tensors, self.folder / CHECKPOINT, state)
        self.saved_step = self.step

    def _restore(self) -> None:
        tensors, state = read_tensors(self.folder / CHECKPOINT)
        self._compare(state)
        with torch.no_grad():
            for name, parameter in self.language_model.parameters().items():
                parameter.copy_(tensors[f"model/{name}"])
        restore_optimizer(self.optimizer, self._names(), tensors)
        self.step, self.seconds = state["step"], state["seconds"]
        self.saved_step = self.step
        self.losses = [(step, loss) for step, loss in state["losses"]]

    def _write(self, half: bool) -> None:
        report = {
            "settings": {key: value for key, value in asdict(self.settings).items() if value not in (None, math.inf)},
            "steps": self.step,
            "seconds": round(self.seconds, 1),
            "subwords": self.subwords,
            "losses": [[step, round(loss, 4)] for step, loss in self.losses],
        }
        with while_there_is_room(self.folder), TemporaryDirectory(prefix=".new-", dir=self.folder) as temporary:
            made = Path(temporary)
            self.language_model.write(made, half)
            (made / REPORT).write_text(json.dumps(report) + "\n", encoding="utf-8")
            # The configuration comes last: without it the folder is not an encoder.
            for file in sorted(made.iterdir(), key=lambda file: file.name == "config.json"):
                file.replace(self.folder / file.name)
        for name in (CHECKPOINT, STREAM):
            (self.folder / name).unlink(missing_ok=True)


def _prepare(folder: Path, resume: bool, force: bool) -> None:
    """Check that a run may use a folder."""
    if not folder.absolute().parent.is_dir():
        raise InputError(f"{folder.parent} is not a folder; create it first to write {folder.name} there")
    if folder.exists() and not folder.is_dir():
        raise OutputExistsError(f"{folder} is a file; name a folder")
    begun = any((folder / name).is_file() for name in (CHECKPOINT, STREAM))
    if resume and not begun:
        raise InputError(f"{folder} has no run to go on with; leave out --resume")
    if force and not resume:
        for name in (CHECKPOINT, STREAM):
            (folder / name).unlink(missing_ok=True)
    elif begun and not resume:
        raise OutputExistsError(f"{folder} has a run already; go on with --resume, or begin anew with --force")
    elif not resume and folder.is_dir() and any(folder.iterdir()):
        raise OutputExistsError(f"{folder} exists and is not empty; choose another name or overwrite with --force")


def _fingerprint(description: dict[str, Any], files: list[Path], settings: PretrainingSettings) -> str:
    """A fingerprint of encoder, texts and settings; the stopping criteria may change."""
    kept = {key: value for key, value in asdict(settings).items() if key not in ("epochs", "seconds", "learning_rate")}
    sizes = [(file.name, file.stat().st_size) for file in files]
    return hashlib.sha256(json.dumps([description, sizes, kept]).encode()).hexdigest()
