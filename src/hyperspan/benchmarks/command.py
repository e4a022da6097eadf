"""A benchmark as a command: ``run`` takes its options and returns figures, ``report`` makes lines of them."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from functools import wraps
from types import ModuleType
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]


def run_command(module: ModuleType, arguments: list[str] | None = None, name: str | None = None) -> None:
    """Runs a module with ``run`` and ``report`` as a command; without arguments, those of the process."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(help=module.__doc__)(_printing(module.run, module.report))
    app(arguments, prog_name=name, standalone_mode=arguments is None)


def _printing(run: Callable[..., Any], report: Callable[[Any], Iterator[str]]) -> Callable[..., None]:
    """Prints the report or, with --json, the figures."""

    @wraps(run)
    def command(as_json: bool = False, **options: Any) -> None:
        figures = run(**options)
        print(json.dumps(figures, indent=2) if as_json else "\n".join(report(figures)))

    parameters = [*inspect.signature(run, eval_str=True).parameters.values()]
    option = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json)
    command.__signature__ = inspect.Signature([*parameters, option])  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in (*parameters, option)}
    return command
