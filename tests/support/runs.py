"""A run that trains in a moment, and whether two of them ended alike."""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

import torch

from hyperspan.runtime.tensors import read_tensors
from hyperspan.training import run
from hyperspan.training.loop import CHECKPOINT
from tests.support.models import HARBOUR
from tests.support.process import call

train = functools.partial(run.train, small=False)
"""Training that leaves what more epochs need."""

CONFIG = f"""
[data]
train = "{HARBOUR}"
dev = "{HARBOUR}"

[words]
dimension = 10

[characters]
encoder = "cnn"
hidden = 5

[encoder]
hidden = 12
span_hidden = 12
input_dropout = 0.2

[training]
lm_loss_weight = 0.05
epochs = 4
batch_size = 4
learning_rate = 0.01
ema_decay = 0.9
schedule = "cosine"
warmup_epochs = 0.5
weight_decay = 0.001
"""


def train_command(*arguments: object) -> subprocess.CompletedProcess[str]:
    """The command, in this process."""
    return call("train", *arguments, "--device", "cpu")


def same_result(one: Path, other: Path) -> bool:
    """Whether two runs ended with the same bits: the model and, where both are kept, averages and the optimiser."""
    if (one / "model.safetensors").read_bytes() != (other / "model.safetensors").read_bytes():
        return False
    if not all((folder / CHECKPOINT).is_file() for folder in (one, other)):
        return True
    (first, state), (second, other_state) = (read_tensors(folder / CHECKPOINT) for folder in (one, other))
    equal = first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)
    return equal and state == other_state
