"""One update of the parameters after another: gradients, optimizer, learning-rate schedule, moving average."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.swa_utils import get_ema_multi_avg_fn

from hyperspan.nn.encoder import ParameterOptions
from hyperspan.training.loss import MicroBatch, TrainingLoss

NUMBER = "#"
"""The name suffix of entries of a checkpoint that were numbers, not tensors."""


def mixed_seed(seed: int, number: int) -> int:
    """A seed for the epoch or step of this number."""
    return (seed * 1_000_003 + number * 7_919 + 12_345) % (2**63)


@dataclass(frozen=True)
class LearntParameters:
    """The parameters that a model takes from a trained one; they have a separate learning rate."""

    parameters: frozenset[nn.Parameter] = frozenset()
    fingerprint: str = ""
    """The fingerprint of the trained model."""


NOTHING_LEARNT = LearntParameters()


class Optimiser:
    """The trainable parameters of a loss, and everything that updates them."""

    def __init__(self, loss: TrainingLoss, steps_per_epoch: int, learnt: LearntParameters = NOTHING_LEARNT):
        self.model, self.loss = loss.model, loss
        self.steps_per_epoch = steps_per_epoch
        self.config = loss.config.training
        self.groups = self._grouped(learnt.parameters)
        self.names = [name for group in self.groups.values() for name in group]
        self.parameters = [parameter for group in self.groups.values() for parameter in group.values()]
        self.optimizer = self._new_optimizer()
        self.average = [p.detach().clone() for p in self.parameters] if self.config.ema_decay else None
        self.step = 0
        self.reductions = 0
        """How often the schedule `plateau` has lowered the learning rate."""

    def _grouped(self, learnt: Collection[nn.Parameter]) -> dict[ParameterOptions, dict[str, nn.Parameter]]:
        """The trainable parameters by options and name; the encoder states which have special options."""
        new = self.config
        old = replace(new, learning_rate=new.start_learning_rate)
        own = {config: self.model.encoder.parameter_options(config) for config in (new, old)}
        groups: dict[ParameterOptions, dict[str, nn.Parameter]] = {}
        for name, parameter in self.loss.named_parameters():
            if parameter.requires_grad:
                config = old if parameter in learnt else new
                usual = ParameterOptions(config.learning_rate, config.weight_decay)
                groups.setdefault(own[config].get(parameter, usual), {})[name] = parameter
        return groups

    def _new_optimizer(self) -> torch.optim.Optimizer:
        groups = [
            {"params": list(group.values()), "weight_decay": options.weight_decay, "highest": options.learning_rate}
            for options, group in self.groups.items()
        ]
        kind = torch.optim.AdamW if self.config.optimizer == "adamw" else torch.optim.Adam
        return kind(groups, lr=self.config.learning_rate, fused=self.model.device.type == "cuda")

    def take_step(self, parts: Sequence[MicroBatch], sentences: int) -> Tensor:
        """One update on a batch of this many sentences; `parts` are its micro-batches.

        Return (2,), still on the device: the sum of the sentences' losses, and the number of gold mentions that cannot
        be represented.
        """
        torch.manual_seed(mixed_seed(self.config.seed, self.step))
        self.step += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.learning_rate(group["highest"])
        self.optimizer.zero_grad(set_to_none=True)
        sums = self._add_gradients(parts, sentences)
        if self.config.max_grad_norm:
            torch.nn.utils.clip_grad_norm_(self.parameters, self.config.max_grad_norm)
        self.optimizer.step()
        if self.average is not None:
            # Early on the average follows quickly, to forget the random initialisation.
            decay = min(self.config.ema_decay, (1 + self.step) / (10 + self.step))
            get_ema_multi_avg_fn(decay)(self.average, [p.detach() for p in self.parameters], self.step)
        return sums

    def _add_gradients(self, parts: Sequence[MicroBatch], sentences: int) -> Tensor:
        """Compute the gradients of the mean loss over the sentences; return sums as `take_step` does."""
        sums = torch.zeros(2, device=self.model.device)
        for part in parts:
            values, unrepresentable = self.loss(part)
            total = values.sum()
            (total / sentences).backward()
            sums += torch.stack([total.detach(), total.new_full((), sum(unrepresentable))])
        return sums

    def learning_rate(self, highest: float | None = None) -> float:
        """The learning rate of the current step; for parameters with another peak rate if `highest` is given."""
        config, epoch = self.config, self.step / self.steps_per_epoch
        highest = config.learning_rate if highest is None else highest
        if epoch < config.warmup_epochs:
            return highest * epoch / config.warmup_epochs
        if config.schedule == "cosine":
            progress = (epoch - config.warmup_epochs) / max(config.epochs - config.warmup_epochs, 1e-9)
            return highest * 0.5 * (1 + math.cos(math.pi * min(progress, 1.0)))
        if config.schedule == "plateau":
            return highest * config.plateau_factor**self.reductions
        return highest

    @contextmanager
    def averaged(self) -> Iterator[None]:
        """The model in evaluation mode, with the moving average of its parameters if there is one."""
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

    def is_finite(self) -> bool:
        """Whether all parameters are finite."""
        return all(bool(parameter.isfinite().all()) for parameter in self.parameters)

    def tensors(self) -> dict[str, Tensor]:
        """All state by name, for `restore`."""
        tensors: dict[str, Tensor] = dict(zip(self.names, self.parameters, strict=True))
        tensors |= optimizer_tensors(self.optimizer, self.names)
        if self.average is not None:
            tensors |= {f"average/{name}": tensor for name, tensor in zip(self.names, self.average, strict=True)}
        return tensors

    def fits(self, tensors: Mapping[str, Tensor]) -> bool:
        """Whether the tensors contain all parameters, with matching shapes."""
        parameters = zip(self.names, self.parameters, strict=True)
        return all(name in tensors and tensors[name].shape == parameter.shape for name, parameter in parameters)

    def restore(self, tensors: dict[str, Tensor], step: int) -> None:
        """Restore the state of a step from its tensors."""
        self.step = step
        self._set_parameters([tensors[name] for name in self.names])
        restore_optimizer(self.optimizer, self.names, tensors)
        if self.average is not None:
            for name, average in zip(self.names, self.average, strict=True):
                average.copy_(tensors[f"average/{name}"])


def optimizer_tensors(optimizer: torch.optim.Optimizer, names: list[str]) -> dict[str, Tensor]:
    """The optimizer's state by parameter name; numbers are marked as such."""
    tensors: dict[str, Tensor] = {}
    for index, state in optimizer.state_dict()["state"].items():
        for key, value in state.items():
            if isinstance(value, (int, float)):
                tensors[f"optimizer/{names[index]}/{key}{NUMBER}"] = torch.tensor(value, dtype=torch.float64)
            elif isinstance(value, Tensor):
                tensors[f"optimizer/{names[index]}/{key}"] = value
    return tensors


def restore_optimizer(optimizer: torch.optim.Optimizer, names: list[str], tensors: dict[str, Tensor]) -> None:
    """Restore the state that :func:`optimizer_tensors` saved."""
    states: dict[int, dict[str, Any]] = {}
    for name, tensor in tensors.items():
        if name.startswith("optimizer/"):
            parameter, key = name.removeprefix("optimizer/").rsplit("/", 1)
            index = names.index(parameter)
            if key.endswith(NUMBER):  # not cast to the type of the parameter, as tensors are
                states.setdefault(index, {})[key.removesuffix(NUMBER)] = tensor.item()
            else:
                states.setdefault(index, {})[key] = tensor.clone()
    optimizer.load_state_dict({**optimizer.state_dict(), "state": states})
