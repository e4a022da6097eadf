"""The training and decoding speed of the rows of ``hyperspan benchmark dependence``, relative to the segmental
model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hyperspan.benchmarks.discontinuous_speed import speeds as speeds_of

ROWS = {"segmental": [], "together, parameters": ["joint.together=parameters"], "together": [], "both": []}
"""The rows, and their overrides."""


def speeds(train: Path, device: str, overrides: Sequence[str]) -> list[dict[str, Any]]:
    """Words per second of each row, in turns on the same sentences, with one thread on a CPU."""
    configs = {row: f"dependence/{row.partition(',')[0]}" for row in ROWS}
    return speeds_of(configs, train, device, overrides, ROWS)
