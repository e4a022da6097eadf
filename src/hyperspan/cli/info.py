"""``hyperspan info``: versions, kernels, bundled models and extras."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from hyperspan.info import info as collect
from hyperspan.info import lines


def info(json_: Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")] = False) -> None:
    """Say which version this is, which kernels run and why not others, and what is installed.

    HYPERSPAN_KERNELS=reference computes everything in plain PyTorch.
    """
    found = collect()
    print(json.dumps(found, indent=2, ensure_ascii=False) if json_ else "\n".join(lines(found)))
