"""What is asked of a command that trains rows, and how it speaks."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Request:
    """The options that commands share."""

    data: str
    data_dir: Path
    rows: tuple[str, ...]
    """The requested rows; empty for all."""
    seeds: tuple[int, ...]
    """The requested seeds; empty for the usual ones of each row."""
    output: Path
    configs: Path
    overrides: tuple[str, ...]
    against: str
    train: bool
    force: bool
    device: str
    threads: int | None
    jobs: int = 1
    """How many rows are trained at once."""
    python: str = sys.executable
    """An interpreter that has spaCy, for rows of spancat."""
    record: bool = False
    """Whether the finished rows are added to those that the repository holds."""
    recorded: Path | None = None
    """The file of results that the repository holds, to be tabulated with those in the output folder."""

    @property
    def folder(self) -> Path:
        """The folder of the tables."""
        return self.output / self.data


def say(text: str) -> None:
    """Print a line to standard error."""
    print(f"hyperspan: {text}", file=sys.stderr, flush=True)
