"""Settings of encoder pretraining."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hyperspan.errors import InputError

WARMUP = 0.06
"""The share of a run in which the learning rate warms up."""


@dataclass(frozen=True)
class PretrainingSettings:
    """Settings of encoder pretraining."""

    epochs: float = math.inf
    seconds: float = math.inf
    """The time limit; the learning rate follows whichever limit comes first."""
    learning_rate: float = 6e-4
    batch: int = 1024
    """The number of windows per batch."""
    length: int = 128
    """The number of subwords per window."""
    masked: float = 0.15
    """The share of words that are masked."""
    dropout: float | None = None
    """The dropout; None for that of the encoder."""
    weight_decay: float = 0.01
    tokenizer: str = "words"
    seed: int = 1

    def rate(self, share: float) -> float:
        """The learning rate after a share of the run.

        >>> [round(PretrainingSettings(learning_rate=1.0).rate(share), 3) for share in (0.03, 0.06, 0.53, 1.0)]
        [0.5, 1.0, 0.5, 0.0]
        """
        return self.learning_rate * max(min(share / WARMUP, (1 - share) / (1 - WARMUP)), 0.0)

    def check(self) -> None:
        """Raise an error for invalid values."""
        if math.isinf(self.epochs) and math.isinf(self.seconds):
            raise InputError("neither --epochs nor --seconds is given; say when to stop, for example --epochs 10")
        for option, value, least in (
            ("epochs", self.epochs, 0),
            ("seconds", self.seconds, 0),
            ("learning-rate", self.learning_rate, 0),
            ("masked", self.masked, 0),
        ):
            if not value > least:
                raise InputError(f"--{option} is {value:g}; give a number above {least}")
        if self.masked >= 1:
            raise InputError(f"--masked is {self.masked:g}; give a share below 1, such as 0.15")
