"""The command line: one thin file a command over a plain function."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from hyperspan import __version__
from hyperspan.command_line import HELP, Command, wrapped
from hyperspan.errors import HyperspanError, InputError, KernelWarning, PluginWarning
from hyperspan.lazy import imported

COMMANDS = "annotate bulk serve train evaluate compare compact convert stats view draw explain reproduce info benchmark".split()
"""In the order of the help. A command is a function in the module of its name."""
OPENMP_SPINS = 10_000
"""How often a thread of torch's OpenMP looks for work before it sleeps: a third of a millisecond. By default it is 30 times that,
in which it keeps the kernels' threads, and other programs, from their CPU."""
_FORMAT = warnings.formatwarning


def make_commands(names: Iterable[str] = COMMANDS) -> dict[str, Command]:
    """These commands by name; their modules alone are imported."""
    return {name: Command(imported(f"hyperspan.cli.{name}:{name}"), f"hyperspan {name}") for name in names}


def run(words: Sequence[str]) -> int:
    """Does what a command line says, and returns the exit status."""
    called, rest = (words[0], words[1:]) if words else ("", ())
    commands = make_commands([called] if called in COMMANDS else COMMANDS)
    if called in commands:
        commands[called](rest)
        return 0
    if called == "--version":
        print(f"hyperspan {__version__}")
        return 0
    if not words or called in HELP:
        _print_help(commands)
        return 0 if words else 2
    from difflib import get_close_matches

    what = "option:" if called.startswith("-") else "command"
    close = get_close_matches(called, [*commands, "--version", *HELP], 1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise InputError(f"No such {what} {called!r}{hint}; see hyperspan --help")


def _print_help(commands: dict[str, Command]) -> None:
    print("Usage: hyperspan [OPTIONS] COMMAND [ARGS]...\n")
    print("Recognise overlapping mentions in text: nested, crossing, of the same type, of any length.\n")
    print("Options:\n  --version     Print the version and stop.\n  --help, -h    Print this and stop.\n\nCommands:")
    for name, command in commands.items():
        lines = wrapped(" ".join(command.doc.partition("\n\n")[0].split()), 14)
        print(f"  {name:<12}" + f"\n{'':14}".join(lines))


def main() -> None:
    """Runs the command line; a user's mistake is one sentence on standard error and exit status 2."""
    warnings.formatwarning = _format_warning
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", str(OPENMP_SPINS))  # OpenMP reads it when torch is imported
    try:
        sys.exit(run(sys.argv[1:]))
    except HyperspanError as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename or 'standard output'}: {error.strerror or error}; check the name and your rights to it")
    except UnicodeError:
        _fail("something given is not UTF-8 text; convert it, or set your terminal to UTF-8")
    except MemoryError:
        _fail("there is not enough memory for what was given; give less at once, in smaller files")
    except KeyboardInterrupt:
        sys.exit(130)


def _format_warning(message: Warning | str, category: type[Warning], *place: Any) -> str:
    if issubclass(category, PluginWarning | KernelWarning):
        return f"hyperspan: {message}\n"
    return _FORMAT(message, category, *place)


def _fail(sentence: str) -> NoReturn:
    print(f"hyperspan: {sentence}", file=sys.stderr)
    sys.exit(2)
