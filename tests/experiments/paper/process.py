"""`python -m experiments.paper` as a user drives it where no results are recorded: the tests do not depend on those of
the repository."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import CompletedProcess

from experiments import result as results
from experiments.paper.__main__ import make_command
from hyperspan.cli import run_app
from tests.support.process import called


def reproduce(*arguments: str) -> CompletedProcess[str]:
    """What the command answers, in a process of its own."""
    return called(_reproduce, arguments)


def _reproduce(arguments: tuple[str, ...]) -> None:
    results.RECORDED = Path("nowhere")
    sys.argv = ["experiments.paper", *arguments]
    run_app(make_command, "python -m experiments.paper")
