"""The command line: one thin file a command over a plain function."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from hyperspan import __version__
from hyperspan.cli.draw import draw
from hyperspan.errors import HyperspanError

app = typer.Typer(
    help="Recognise overlapping mentions in text: nested, crossing, of the same type, of any length.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(draw)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"hyperspan {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Options that come before the command."""


def main() -> None:
    """Runs the command line; a user's mistake is one sentence on standard error and exit status 2."""
    try:
        app()
    except HyperspanError as error:
        print(f"hyperspan: {error}", file=sys.stderr)
        sys.exit(2)
