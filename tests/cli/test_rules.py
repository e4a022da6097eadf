"""Rules that hold for all commands: one spelling and one meaning of each option, data positional, models named."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import typer

import hyperspan
from hyperspan.cli import COMMANDS, guesses, make_app
from tests.frozen.interfaces import listed_in
from tests.test_documentation import unknown_in

LISTED = dict(listed_in("hyperspan", typer.main.get_command(make_app())))
OPTIONS = [(name, one) for name, command in LISTED.items() for one in command.params if one.param_type_name == "option"]
ARGUMENTS = [
    (name, one) for name, command in LISTED.items() for one in command.params if one.param_type_name == "argument"
]
PRINTING = {"annotate", "curve", "evaluate", "compare", "view", "info", "model calibrate", "model weights"}
"""The commands that print results."""
OWN_DEFAULTS = ("--output", "--seed", "--model", "--count", "--device", "--format", "--labels", "--dev")
"""Options whose defaults differ with what a command does."""


def spellings(option: Any) -> tuple[str, ...]:
    return tuple(sorted([*option.opts, *option.secondary_opts], key=len, reverse=True))


def test_commands_are_shown_with_their_first_sentence() -> None:
    """The list of commands imports none of them."""
    for made in (make_app(), make_app([])):
        commands = typer.main.get_group(made).commands
        assert {name: (one.help or "").split("\n\n")[0] for name, one in commands.items()} == {
            name: sentence for name, (_, sentence) in COMMANDS.items()
        }
    assert len(COMMANDS) == 15 and len({panel for panel, _ in COMMANDS.values()}) == 6


def test_options_have_one_spelling() -> None:
    by_long, by_short = defaultdict(set), defaultdict(set)
    for _, option in OPTIONS:
        names = spellings(option)
        by_long[names[0]].add(names)
        for short in names:
            if re.fullmatch("-[a-z]", short):
                by_short[short].add(names[0])
    assert {name: found for name, found in by_long.items() if len(found) > 1} == {}
    assert {name: found for name, found in by_short.items() if len(found) > 1} == {}


def test_options_take_the_same_values_everywhere() -> None:
    kinds, defaults = defaultdict(set), defaultdict(set)
    for command, option in OPTIONS:
        name = spellings(option)[0]
        if (command, name) != ("hyperspan serve", "--model") and name not in (
            "--output",
            "--dev",
            "--by",
            "--from",
            "--format",
        ):
            kinds[name].add((type(option.type).__name__, option.multiple, option.is_flag))
        if name not in OWN_DEFAULTS and name not in ("--by", "--samples", "--port"):
            defaults[name].add(repr(option.default))
    assert {name: found for name, found in kinds.items() if len(found) > 1} == {}
    assert {name: found for name, found in defaults.items() if len(found) > 1} == {}


def test_models_are_named_and_data_are_positional() -> None:
    having = {name for name, option in OPTIONS if "--model" in option.opts}
    assert all("-m" in option.opts for _, option in OPTIONS if "--model" in option.opts)
    annotating = {f"hyperspan {name}" for name in "annotate bulk serve suggest label evaluate".split()}
    assert having == annotating | {f"hyperspan model {name}" for name in "calibrate compact profile weights".split()}
    for command, argument in ARGUMENTS:
        shown = argument.metavar or argument.name
        assert shown == shown.upper(), f"{command} {shown}"
        assert "MODEL" not in shown or command == "hyperspan info"


def test_what_prints_results_prints_json() -> None:
    assert {name.removeprefix("hyperspan ") for name, option in OPTIONS if "--json" in option.opts} == PRINTING


def test_options_say_what_they_do() -> None:
    for command, one in (*OPTIONS, *ARGUMENTS):
        assert one.help and one.help.endswith((".", "…")), f"{command} {one.name}: {one.help}"


def test_guesses_lead_to_what_is_there() -> None:
    known = {name for _, option in OPTIONS for name in option.opts} | {"--help"}
    for right in guesses.COMMANDS:
        assert right.startswith("--") or unknown_in(f"`hyperspan {right}`", typer.main.get_group(make_app())) == []
    assert {right.split()[0] for right in guesses.OPTIONS if right} <= known
    assert not {word for word in guesses.RENAMED if word in COMMANDS}


def test_version_and_help_import_only_what_they_need() -> None:
    code = """import sys
from hyperspan.cli import main
for option in ("--version", "--help"):
    sys.argv = ["hyperspan", option]
    try:
        main()
    except SystemExit:
        print({"hyperspan.corpora", "numpy"} & sys.modules.keys())"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.count("set()\n") == 2


PACKAGE = Path(hyperspan.__file__).parent


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.md")), ids=lambda path: path.parent.name)
def test_model_cards_name_commands_that_are_there(path: Path) -> None:
    assert unknown_in(path.read_text(encoding="utf-8"), typer.main.get_group(make_app())) == []


def test_messages_name_commands_that_are_there() -> None:
    """Every text of the package that says `hyperspan COMMAND`, after a word that asks for it, or in full."""
    group = typer.main.get_group(make_app())
    asked = re.compile(r"(?:with|[Uu]se|write|run|for|see|by|:|`|Example:) hyperspan ([a-z]+)")
    texts = [
        (path.name, node.value)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    named = {(name, word) for name, text in texts for word in asked.findall(text)}
    assert {word for _, word in named} >= {"annotate", "convert", "model", "info"}
    assert {one for one in named if one[1] not in {*group.commands, *PROSE}} == set()


PROSE = {"as"}
"""What hyperspan does in sentences."""
