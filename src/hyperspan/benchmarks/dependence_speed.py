"""How fast the rows of ``hyperspan benchmark dependence`` train and decode, as shares of the segmental model's
speed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hyperspan.benchmarks.discontinuous_speed import speeds as speeds_of

ROWS = {"segmental": [], "together, parameters": ["joint.together=parameters"], "together": [], "both": []}
"""The rows, and what is set beside their configurations."""


def speeds(train: Path, device: str, overrides: Sequence[str]) -> list[dict[str, Any]]:
    """Words a second of each row, in turns on the same sentences, with one thread on a CPU."""
    configs = {row: f"dependence/{row.partition(',')[0]}" for row in ROWS}
    return speeds_of(configs, train, device, overrides, ROWS)
