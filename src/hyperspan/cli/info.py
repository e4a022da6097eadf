"""``hyperspan info``: versions, kernels, bundled models and extras."""

from __future__ import annotations

from typing import Annotated

import typer

from hyperspan.cli.output import print_json
from hyperspan.info import info as collect
from hyperspan.info import lines


def info(json_: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False) -> None:
    """Say which version this is, which kernels run and why not others, and what is installed.

    HYPERSPAN_KERNELS=reference computes everything in plain PyTorch.
    """
    found = collect()
    print_json(found) if json_ else print("\n".join(lines(found)))
