"""Run a benchmark as a command: print the figures that ``run`` returns, as text or JSON."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterator
from functools import wraps
from types import ModuleType
from typing import Annotated, Any

import typer

Json = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]


def run_command(module: ModuleType, arguments: list[str] | None = None, name: str | None = None) -> None:
    """Run the ``run`` of a module as a command; `arguments` default to those of the process.

    As text, figures are printed by the ``table`` of the module, or as :func:`lines`.
    """

    @wraps(module.run)
    def command(as_json: bool = False, **options: Any) -> None:
        about = (module.__doc__ or "").partition("\n")[0].partition(": `")[0].removesuffix(".")
        print(f"hyperspan: {about}; this may take minutes", file=sys.stderr)
        figures = module.run(**options)
        shown = vars(module).get("table", lines)
        print(json.dumps(figures, indent=2) if as_json else "\n".join(shown(figures)))

    parameters = [*inspect.signature(module.run, eval_str=True).parameters.values()]
    parameters.append(inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json))
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.command(help=module.__doc__)(command)
    app(arguments, prog_name=name, standalone_mode=arguments is None)


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
