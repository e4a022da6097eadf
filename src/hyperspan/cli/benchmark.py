"""``hyperspan benchmark NAME``: measure how fast hyperspan is on this machine."""

from __future__ import annotations

import difflib
from importlib import import_module
from typing import Annotated

import typer

from hyperspan.benchmarks import BENCHMARKS, WITHOUT_TORCH
from hyperspan.errors import InputError, require_torch


def benchmark(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(help="The benchmark to run; hyperspan benchmark NAME --help lists its options.")
    ],
) -> None:
    if name not in BENCHMARKS:
        close = difflib.get_close_matches(name, BENCHMARKS, 1)
        hint = f"did you mean {close[0]}?" if close else f"choose one of {', '.join(BENCHMARKS)}"
        raise InputError(f"there is no benchmark {name!r}; {hint}")
    if name not in WITHOUT_TORCH:
        require_torch(f"the benchmark {name}")
    from hyperspan.benchmarks.command import run_command

    module = import_module(f"hyperspan.benchmarks.{name.replace('-', '_')}")
    run_command(module, context.args, f"hyperspan benchmark {name}")


benchmark.__doc__ = "Measure how fast hyperspan is on this machine.\n\n" + "\n\n".join(
    f"{name}: {about}" for name, about in BENCHMARKS.items()
)
