"""``hyperspan info``: print versions, kernels, bundled models and extras."""

from __future__ import annotations

from typing import Annotated

import typer

from hyperspan.cli.output import print_json
from hyperspan.info import info as collect
from hyperspan.info import lines


def info(json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Print the version, the kernels in use (and why others are not), bundled models and installed extras.

    Set HYPERSPAN_KERNELS=reference to compute everything in plain PyTorch.
    """
    found = collect()
    print_json(found) if json_ else print("\n".join(lines(found)))
