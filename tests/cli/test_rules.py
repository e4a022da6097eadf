"""Rules that hold for all commands."""

from __future__ import annotations

import typer

from hyperspan.cli import COMMANDS, make_app


def test_commands_are_shown_with_their_first_sentence() -> None:
    """The list of commands imports none of them."""
    for made in (make_app(), make_app([])):
        commands = typer.main.get_group(made).commands
        assert {name: (one.help or "").split("\n\n")[0] for name, one in commands.items()} == {
            name: sentence for name, (_, sentence) in COMMANDS.items()
        }
