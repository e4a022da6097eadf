"""Groups of options: a dataclass whose fields are options, with their help under its `title`.

A command has groups as parameters and uses what they do, such as reading a corpus.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, get_args, get_type_hints


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of its groups: typer reads them from its signature, and the call builds the groups."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: kind for name, kind in hints.items() if is_dataclass(kind) and isinstance(kind, type)}
    shown: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if parameter.name in groups:
            shown += _options_of(groups[parameter.name])
        else:
            shown.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[parameter.name]))

    @functools.wraps(command)
    def called(**given: Any) -> None:
        built = {
            name: kind(**{one.name: given.pop(one.name) for one in fields(kind) if one.name in given})
            for name, kind in groups.items()
        }
        command(**given, **built)

    called.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    return called


def _options_of(group: type) -> Iterator[inspect.Parameter]:
    """The fields of a group as parameters, its own before those that it inherits."""
    hints = get_type_hints(group, include_extras=True)
    for field in sorted(fields(group), key=lambda field: field.name not in group.__annotations__):
        kind, option = get_args(hints[field.name])
        option = copy(option)
        option.rich_help_panel = group.title
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        yield inspect.Parameter(
            field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option]
        )
