"""Format options: the keyword arguments of readers and writers, checked against their declared types."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hyperspan.errors import InputError


def check_options(function: Callable[..., Any], format_name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check the options of a reader or writer; "1,2" becomes integers if these are declared.

    >>> def read(source, problems, *, columns: Sequence[int] = (), repair: bool = False): ...
    >>> check_options(read, "zoo", {"columns": "1,2", "repair": True})
    {'columns': (1, 2), 'repair': True}
    >>> check_options(read, "zoo", {"colums": 1})
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: the format zoo has no option 'colums'; it has columns, repair
    """
    function = inspect.unwrap(function)
    parameters = inspect.signature(function).parameters.values()
    known = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    if unknown := next((name for name in given if name not in known), None):
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise InputError(f"the format {format_name} has no option {unknown!r}; {has}")
    hints = get_type_hints(function)
    return {name: _converted(value, hints[name], name) for name, value in given.items()}


def _converted(value: Any, hint: Any, name: str) -> Any:
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    for member in sorted(members, key=lambda member: member is str):  # a string only if nothing else fits
        kind, arguments = get_origin(member) or member, get_args(member)
        if kind is Literal:
            if value in arguments:
                return value
        elif kind is Sequence:
            parts = (
                value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else [value]
            )
            try:
                return tuple(map(arguments[0], parts))
            except (TypeError, ValueError):
                continue
        elif type(value) is kind or (kind is str and not isinstance(value, bool | None)):
            return kind(value) if kind is str else value
    wanted = str(hint).replace("typing.", "").replace("collections.abc.", "")
    if isinstance(hint, type):
        wanted = hint.__name__
    elif choices := [choice for member in members if get_origin(member) is Literal for choice in get_args(member)]:
        wanted = f"one of {', '.join(choices)}"
    raise InputError(f"the option {name} is {value!r}, but must be {wanted}")
