"""Experiments as commands: each is a module whose ``run`` takes the options and returns figures, which are printed as
text or JSON."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import wraps
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal

import typer

from experiments import CONFIGS
from experiments.request import Request
from hyperspan.cli import run_app, unwrapped
from hyperspan.cli.options import Overrides, Threads, TrainingDevice, split_names
from hyperspan.errors import HyperspanError, InputError, require_torch

# -- options: what a name means is the same in all commands ------------------------------------------------------------

DATA_DIR = Path("data")
DataDir = Annotated[
    Path,
    typer.Option(
        "--data-dir",
        envvar="HYPERSPAN_DATA",
        help="The folder of corpora and vectors; replaces data/ in configurations.",
    ),
]
Sentences = Annotated[
    Path | None,
    typer.Option(
        "--data", help="Annotated sentences to measure with. Default: invented ones, as long as those of GENIA."
    ),
]
Rows = Annotated[
    list[str] | None, typer.Option("--rows", help="Only these rows, repeated or separated by commas. Default: all.")
]
Seeds = Annotated[
    str | None,
    typer.Option(
        help="Random seeds, separated by commas. Default: the seeds of each row, mostly 1,2,3.", show_default=False
    ),
]
Output = Annotated[Path, typer.Option("--output", "-o", help="The file or folder to write.")]
Configs = Annotated[
    Path, typer.Option(help="A folder of configurations. Default: experiments/configs.", show_default=False)
]
Against = Annotated[str, typer.Option(metavar="ROW", help="The row that all others are tested against.")]
NoTrain = Annotated[
    bool, typer.Option("--no-train", help="Do not train; tabulate finished rows, whatever their configuration.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Resume a stopped run.")]
Force = Annotated[bool, typer.Option("--force", help="Make again, and overwrite, what is there.")]
Jobs = Annotated[int, typer.Option(min=1, help="Rows to train at once, each in its own process.")]
Record = Annotated[bool, typer.Option("--record", help="Add finished rows to experiments/results.")]
Listed = Annotated[bool, typer.Option("--list", help="Print the progress of each row and exit.")]
MeasuredThreads = Annotated[int, typer.Option("--threads", min=1, help="Number of CPU threads.")]
OneDevice = Annotated[Literal["cpu", "cuda"], typer.Option("--device", help="The CPU, or an NVIDIA GPU.")]
Rounds = Annotated[int, typer.Option(min=1, help="How often each thing is measured.")]
SpacyPython = Annotated[
    str | None, typer.Option("--spancat", metavar="PYTHON", help="An interpreter that has spaCy, for its spancat.")
]
TokenizerName = Annotated[
    Literal["split", "words", "fine"],
    typer.Option(help="The word tokenizer; use the value of model.tokenizer that you will train with."),
]
Format = Annotated[
    Literal["table", "json", "markdown"],
    typer.Option("--format", help="How to print the results; tables show percentages, json fractions."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]


def seeds_of(given: str | None) -> tuple[int, ...]:
    """The seeds of an option, such as 1,2,3; none if it is not given."""
    if given is None:
        return ()
    parts = split_names([given])
    if not parts or not all(part.isdecimal() and len(part) < 10 for part in parts):
        raise InputError(f"--seeds {given!r} is not a list of whole numbers; write for example --seeds 1,2,3")
    return tuple(dict.fromkeys(map(int, parts)))


def request_of(
    data_dir: DataDir = DATA_DIR,
    rows: Rows = None,
    seeds: Seeds = None,
    output: Output = Path("runs"),
    configs: Configs = CONFIGS,
    overrides: Overrides = None,
    against: Against = "",
    no_train: NoTrain = False,
    force: Force = False,
    jobs: Jobs = 1,
    record: Record = False,
    spancat: SpacyPython = None,
    device: TrainingDevice = "auto",
    threads: Threads = None,
) -> Request:
    """What these options ask of a command that trains rows."""
    return Request(
        data="",
        data_dir=data_dir,
        rows=tuple(split_names(rows)),
        seeds=seeds_of(seeds),
        output=output,
        configs=configs,
        overrides=tuple(overrides or ()),
        against=against,
        train=not no_train,
        force=force,
        device=device,
        threads=threads,
        jobs=jobs,
        record=record,
        python=spancat or sys.executable,
    )


def trains_rows(command: Callable[..., None], **defaults: Any) -> Callable[..., None]:
    """Make a command with the options of :func:`request_of`, some with other defaults, of one that takes a request."""
    own = [one for one in inspect.signature(command, eval_str=True).parameters.values() if one.name != "request"]
    shared = [
        one.replace(default=defaults.get(one.name, one.default))
        for one in inspect.signature(request_of, eval_str=True).parameters.values()
    ]

    @wraps(command)
    def with_options(**given: Any) -> None:
        request = request_of(**{one.name: given.pop(one.name) for one in shared})
        command(request, **given)

    return _with_parameters(with_options, [*own, *shared])


def _with_parameters(command: Callable[..., None], parameters: Sequence[inspect.Parameter]) -> Callable[..., None]:
    """Say which parameters a command has: its options are made of them."""
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


# -- commands ----------------------------------------------------------------------------------------------------------


def run_command(command: Callable[..., None], name: str) -> None:
    """Run a function as a command: ``python -m NAME``."""
    run_app(lambda: make_single(command), f"python -m {name}")


def run_group(package: ModuleType) -> None:
    """Run the command that is named after ``python -m PACKAGE``: one of the package's ``COMMANDS``."""
    called = [name for name in sys.argv[1:2] if name in package.COMMANDS]
    run_app(lambda: make_group(package, called), f"python -m {package.__name__}")


def run_module(module: ModuleType, name: str) -> None:
    """Run one module as a command of its own: ``python -m NAME``."""
    run_app(lambda: make_command(module), f"python -m {name}")


def make_command(module: ModuleType) -> typer.Typer:
    """Build a command of one module."""
    return make_single(command_of(module), module.__doc__)


def make_single(command: Callable[..., None], about: str | None = None) -> typer.Typer:
    """Build a command line of one command; it is explained by its docstring."""
    app = new_app()
    app.command(help=unwrapped(about or command.__doc__ or ""))(command)
    return app


def make_group(package: ModuleType, called: Collection[str]) -> typer.Typer:
    """Build the commands of a package; only the modules of those that are called are imported."""
    app = new_app(help=package.__doc__, no_args_is_help=True)
    for name, about in package.COMMANDS.items():
        if name in called:
            if name not in package.WITHOUT_TORCH:
                require_torch(f"the experiment {name}")
            module = import_module(f"{package.__name__}.{name.replace('-', '_')}")
            app.command(name, help=unwrapped(module.__doc__ or ""))(command_of(module))
        else:
            app.command(name, help=about)(_not_called)
    app.callback()(_no_options)
    return app


def new_app(**settings: Any) -> typer.Typer:
    """A command line without commands."""
    return typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        **settings,
    )


def _not_called() -> None:
    """Stand for a command whose module is not imported."""


def _no_options() -> None:
    """Stand for options before the command, so that a name is needed even where there is one command."""


def command_of(module: ModuleType) -> Callable[..., None]:
    """Make a command of the ``run`` of a module.

    As text, figures are printed by the ``table`` of the module, or as :func:`lines`. A module's ``failure`` may say, of
    its figures, why the command fails.
    """

    @wraps(module.run)
    def command(as_json: bool = False, **options: Any) -> None:
        about = (module.__doc__ or "").partition("\n")[0].partition(": `")[0].removesuffix(".")
        print(f"hyperspan: {about}; this may take minutes", file=sys.stderr)
        figures = module.run(**options)
        shown = vars(module).get("table", lines)
        print(json.dumps(figures, indent=2) if as_json else "\n".join(shown(figures)))
        failure = vars(module).get("failure", lambda figures: "")(figures)
        if failure:
            raise HyperspanError(failure)

    parameters = [*inspect.signature(module.run, eval_str=True).parameters.values()]
    parameters.append(inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json))
    return _with_parameters(command, parameters)


def lines(figures: Any, indent: str = "") -> Iterator[str]:
    """Format figures as text: one line each, with nested figures indented.

    >>> print(*lines({"machine": "a CPU", "widths": [{"c": "n", "words_per_second": 12345.6}]}), sep="\\n")
    machine: a CPU
    widths:
    <BLANKLINE>
      c: n
      words per second: 12,346
    """
    for name, value in figures.items() if isinstance(figures, dict) else [("", each) for each in figures]:
        label = str(name).replace("_", " ")
        if isinstance(value, dict | list):
            inner = indent + "  " * bool(label)
            yield f"{indent}{label}:" if label else ""
            yield from lines(value, inner)
        else:
            yield f"{indent}{label}: {_number(value)}"


def _number(value: Any) -> str:
    if isinstance(value, int | float):
        return f"{value:,.0f}" if isinstance(value, int) or abs(value) >= 1000 else f"{value:.3g}"
    return "-" if value is None else str(value)
