"""The same as ``hyperspan benchmark train``, which says what it takes: ``python benchmarks/train.py [--json] [--data FILE]``."""

from __future__ import annotations

import sys

import typer

from hyperspan.cli.benchmark import benchmark

if __name__ == "__main__":
    sys.argv.insert(1, "train")
    typer.run(benchmark)
