"""The command line: one thin file per command, each over a plain function."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Annotated, Any, NoReturn

import typer

from hyperspan import __version__
from hyperspan.cli.grouping import grouped
from hyperspan.errors import CardWarning, HyperspanError, KernelWarning, PluginWarning
from hyperspan.plugins import imported

COMMANDS = {
    "annotate": ("Annotate", "Find the mentions in a text, in files, or in a corpus."),
    "bulk": ("Annotate", "Annotate many files into a folder of shards, or resume the job in that folder."),
    "serve": ("Annotate", "Serve models over HTTP: a REST API, and a page at / to try them."),
    "suggest": ("Label", "Rank sentences or documents by the model's uncertainty, without near duplicates."),
    "label": ("Label", "Correct a model's mentions in the browser, sentence by sentence, and write a corpus."),
    "init": (
        "Train",
        "Check a corpus, split it into train, dev and test, and write a short training configuration.",
    ),
    "train": ("Train", "Train a model and keep the checkpoint with the best dev F1."),
    "curve": (
        "Train",
        "Train on growing samples of the corpus, plot dev F1, and estimate F1 with twice the data.",
    ),
    "evaluate": (
        "Measure",
        "Score a model or predictions against a gold corpus, by exact match of span and type.",
    ),
    "compare": (
        "Measure",
        "Compare two systems on a gold corpus with paired tests, or two annotators of the same texts.",
    ),
    "convert": ("Corpora", "Convert a corpus from one format to another, or split it into train, dev and test."),
    "view": ("Corpora", "Show annotated sentences in the terminal, or count what corpora contain."),
    "info": ("Models", "Print what is installed, which kernels run and the bundled models; or the cards of models."),
    "model": ("Models", "Calibrate a trained model, make it smaller, add a profile of its text, or list its weights."),
    "draw": ("Models", "Draw the hypergraph of a sentence and the hyperpath that encodes its mentions."),
}
"""The commands in the order of the help: the panel of each, and its sentence, which is the first of its function.

Each is a function in the module of the same name; of a group each command is."""
GROUPS = {"model": ("calibrate", "compact", "profile", "weights")}
"""Commands that are groups of commands."""
OPENMP_SPINS = 10_000
"""How often a thread of torch's OpenMP polls for work before it sleeps: about a quarter of a millisecond.

The default is 30 times longer; meanwhile the thread takes CPU time from the kernels' threads and other programs."""
_FORMAT = warnings.formatwarning


def make_app(names: Iterable[str] = COMMANDS) -> typer.Typer:
    """Build the command line; the modules of these commands are imported, the others have their sentence alone."""
    app = _new_app("Find overlapping mentions in text: nested, crossing, discontinuous, of any length.")
    for name, (panel, sentence) in COMMANDS.items():
        if name not in names:
            app.command(name, help=sentence, rich_help_panel=panel)(_not_called)
        elif name in GROUPS:
            group = _new_app(sentence)
            for inner in GROUPS[name]:
                _add(group, name, inner)
            app.add_typer(group, name=name, rich_help_panel=panel)
        else:
            _add(app, name, name, rich_help_panel=panel)
    app.callback()(common)
    return app


def _new_app(about: str) -> typer.Typer:
    return typer.Typer(
        help=about,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )


def _add(app: typer.Typer, module: str, name: str, **settings: Any) -> None:
    """Add the command that is the function of this name."""
    command = imported(f"hyperspan.cli.{module}:{name}")
    app.command(name, help=unwrapped(command.__doc__), **settings)(grouped(command))


def _not_called() -> None:
    """Stand for a command whose module is not imported."""


def unwrapped(docstring: str) -> str:
    """Join the lines of each paragraph, because typer keeps their breaks.

    >>> unwrapped("One.\\n\\n    Two\\n    three.\\n    ")
    'One.\\n\\nTwo three.'
    """
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in docstring.strip().split("\n\n"))


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"hyperspan {__version__}")
        raise typer.Exit


def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Options that come before the command."""


def main() -> None:
    """Run the command line."""
    run_app(lambda: make_app(sys.argv[1:2]), "hyperspan")


def run_app(make: Callable[[], typer.Typer], name: str) -> NoReturn:
    """Make a command line and run it; a user error prints one sentence on standard error and exits with status 2."""
    warnings.formatwarning = _format_warning
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", str(OPENMP_SPINS))  # OpenMP reads it when torch is imported
    try:
        sys.exit(make()(prog_name=name, standalone_mode=False))
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
    except Exception as error:
        # typer raises usage errors of its vendored click, whose classes cannot be imported from click.
        explain = getattr(error, "format_message", None)
        if explain is None:
            raise
        if not explain():  # no command was given, and the help is printed already
            sys.exit(2)
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else name
        if (line := _meant(error, context)) is not None:
            _fail(f"{re.split(r'[.] Did you mean| [(]', explain())[0].strip().removesuffix('.')}; write: {line}")
        _fail(f"{in_words(explain())}; see {command} --help")


_KINDS = {"int": "a whole number", "float": "a number"}


def in_words(said: str) -> str:
    """What typer says of a wrong value, as hyperspan says it: what is given, and what is expected.

    >>> in_words("Invalid value for '--top-k' / '-k': 'x' is not a valid int range.")
    "--top-k is 'x', but must be a whole number"
    >>> in_words("Invalid value for '--port': 70000 is not in the range 0<=x<=65535.")
    '--port is 70000, but must be from 0 to 65535'
    """
    said = " ".join(said.split()).removesuffix(".")
    found = re.fullmatch(r"Invalid value for '([^']+)'(?: / '[^']+')*: (.+?) is not (.+)", said)
    if found is None:
        return said
    name, given, rest = found.groups()
    kind = re.match(r"a valid (int|float)", rest)
    bounds = re.fullmatch(r"in the range (?:(.+)<=)?x(?:<=|>=)?(.*)", rest)
    if kind:
        wanted = _KINDS[kind[1]]
    elif bounds:
        wanted = f"from {bounds[1]} to {bounds[2]}" if bounds[1] else f"at least {bounds[2]}"
    else:
        wanted = rest.replace("'", "")
    return f"{name} is {given}, but must be {wanted}"


def _meant(error: Exception, context: Any) -> str | None:
    """The line that was meant, if what is wrong is a command or an option of another tool."""
    option, command = getattr(error, "option_name", None), re.match(r"No such command '(.+?)'", str(error))
    wrong = option or (command and command[1])
    if not wrong or context is None or not context.command_path.startswith("hyperspan"):
        return None
    from hyperspan.cli.guesses import right_line

    known = [name for one in context.command.params for name in one.opts] if option else []
    return right_line(sys.argv[1:], known, wrong)


def _format_warning(message: Warning | str, category: type[Warning], *place: Any) -> str:
    if issubclass(category, CardWarning | PluginWarning | KernelWarning):
        return f"hyperspan: {message}\n"
    return _FORMAT(message, category, *place)


def _fail(sentence: str) -> NoReturn:
    print(f"hyperspan: {sentence}", file=sys.stderr)
    sys.exit(2)
