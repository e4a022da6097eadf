"""`hyperspan reproduce` as a user drives it where no results are recorded: the tests do not depend on those of the
repository."""

from __future__ import annotations

import sys
from pathlib import Path
from subprocess import CompletedProcess

from hyperspan.cli import main
from hyperspan.reproduce import results
from tests.cli.process import called


def reproduce(*arguments: str) -> CompletedProcess[str]:
    """What the command answers, in a process of its own."""
    return called(_reproduce, arguments)


def _reproduce(arguments: tuple[str, ...]) -> None:
    results.CHECKOUT = Path("nowhere")
    sys.argv = ["hyperspan", "reproduce", *arguments]
    main()
