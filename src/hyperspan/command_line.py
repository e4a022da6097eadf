"""Functions as commands: annotated parameters are arguments and options. Needs the standard library alone, and starts in no time.

A parameter is ``Annotated[TYPE, Option("--name", "-n", help="…")]`` or ``Annotated[TYPE, Argument(help="…")]``. Its type is str,
int, float, bool (a flag), a path, a Literal of strings, one of these or None, or a list of them, which is repeated. It is required
unless it has a default.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, getdoc, signature
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hyperspan.errors import InputError

HELP = ("--help", "-h")
_KINDS = {int: "a whole number", float: "a number"}
_METAVARS = {str: "TEXT", int: "INTEGER", float: "FLOAT", Path: "PATH"}


class Option:
    """How a parameter is given by name, and what the help says of it."""

    def __init__(
        self,
        *names: str,
        help: str = "",  # noqa: A002
        metavar: str | None = None,
        min: float | None = None,  # noqa: A002
        max: float | None = None,  # noqa: A002
        envvar: str | None = None,
        hidden: bool = False,
        show_default: bool = True,
        callback: Callable[[], None] | None = None,
    ):
        """`callback` is called as soon as a flag is read, and ends the command."""
        self.names, self.help, self.metavar, self.min, self.max = names, help, metavar, min, max
        self.envvar, self.hidden, self.show_default, self.callback = envvar, hidden, show_default, callback


class Argument:
    """How a parameter is given by its place, and what the help says of it."""

    def __init__(
        self,
        *,
        help: str = "",  # noqa: A002
        metavar: str | None = None,
        hidden: bool = False,
        verbatim: bool = False,
        show_default: bool = True,
    ):
        """One that is `verbatim` takes all that follows, options too."""
        self.help, self.metavar, self.hidden, self.verbatim = help, metavar, hidden, verbatim
        self.show_default = show_default


@dataclass(frozen=True)
class CommandParameter:
    """A parameter of a command."""

    name: str
    declared: Option | Argument
    kind: Any
    """What its values become: str, int, float, bool, Path, or a tuple of strings to choose from."""
    repeated: bool
    default: Any
    """Parameter.empty where it is required."""

    @property
    def names(self) -> tuple[str, ...]:
        """Those of an option."""
        given = self.declared.names if isinstance(self.declared, Option) else ()
        return given or (f"--{self.name.rstrip('_').replace('_', '-')}",)

    @property
    def shown(self) -> str:
        """As messages and the help name it."""
        if isinstance(self.declared, Option):
            return " / ".join(f"'{name}'" for name in self.names)
        return f"'{self.declared.metavar or self.name}'"

    @property
    def metavar(self) -> str:
        if self.kind is bool:
            return ""
        choices = "|".join(self.kind) if isinstance(self.kind, tuple) else None
        return self.declared.metavar or choices or _METAVARS.get(self.kind, "TEXT")

    def converted(self, value: str) -> Any:
        """What a value on the command line means; InputError says why it means nothing."""
        if isinstance(self.kind, tuple):
            if value not in self.kind:
                raise InputError(
                    f"Invalid value for {self.shown}: {value!r} is not one of {', '.join(map(repr, self.kind))}"
                )
            return value
        try:
            result = self.kind(value)
        except ValueError:
            raise InputError(f"Invalid value for {self.shown}: {value!r} is not {_KINDS[self.kind]}") from None
        if isinstance(self.declared, Option):
            low, high = self.declared.min, self.declared.max
            if (low is not None and not result >= low) or (high is not None and not result <= high):
                limits = [f"at least {low:g}"] * (low is not None) + [f"at most {high or 0:g}"] * (high is not None)
                raise InputError(f"Invalid value for {self.shown}: {value} is not {' and '.join(limits)}")
        return result


class Command:
    """A function that is called with what a command line says.

    >>> from typing import Annotated
    >>> def add(numbers: Annotated[list[int], Argument()], times: Annotated[int, Option("--times", "-t")] = 1) -> None:
    ...     print(times * sum(numbers))
    >>> Command(add, "add")(["1", "2", "-t", "3"])
    9
    >>> Command(add, "add")(["one"])
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: Invalid value for 'numbers': 'one' is not a whole number; see add --help
    """

    def __init__(
        self, function: Callable[..., object], name: str, parameters: Mapping[str, Parameter] | None = None
    ) -> None:
        """`name` is that of the whole command, such as "hyperspan annotate"; `parameters` are those of the function unless given."""
        self.function, self.name, self.doc = function, name, getdoc(function) or ""
        given = parameters if parameters is not None else signature(function).parameters
        hints = get_type_hints(function, include_extras=True)
        self.parameters = [_described(one, hints.get(one.name, one.annotation)) for one in given.values()]
        self.options = {name: one for one in self.parameters if isinstance(one.declared, Option) for name in one.names}
        self.arguments = [one for one in self.parameters if isinstance(one.declared, Argument)]

    def __call__(self, words: Sequence[str]) -> None:
        try:
            values = self.parse(words)
        except InputError as error:
            raise InputError(f"{error}; see {self.name} --help") from None
        if values is not None:
            self.function(**values)

    def parse(self, words: Sequence[str]) -> dict[str, Any] | None:
        """The parameters by name; None where the help, or what a flag stands for, was printed instead."""
        found: dict[str, list[Any]] = {}
        places: list[str] = []
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if self._is_verbatim(len(places)):
                places.append(word)
            elif word == "--":
                places += rest
                break
            elif word in HELP:
                print("\n".join(self.help_lines()))
                return None
            elif len(word) > 1 and word.startswith("-"):
                option, value = self._option(word, rest)
                if isinstance(option.declared, Option) and option.declared.callback is not None:
                    option.declared.callback()
                    return None
                found.setdefault(option.name, []).append(value)
            else:
                places.append(word)
        self._place(places, found)
        return {one.name: self._value(one, found.get(one.name, [])) for one in self.parameters}

    def _is_verbatim(self, place: int) -> bool:
        """Whether what comes at this place is taken as it is."""
        argument = self.arguments[min(place, len(self.arguments) - 1)] if self.arguments else None
        return argument is not None and isinstance(argument.declared, Argument) and argument.declared.verbatim

    def _option(self, word: str, rest: list[str]) -> tuple[CommandParameter, Any]:
        """The option that a word names, and its value, which is taken from the rest unless the word has it."""
        name, equals, value = word.partition("=") if word.startswith("--") else (word[:2], word[2:], word[2:])
        option = self.options.get(name)
        if option is None:
            from difflib import get_close_matches

            close = get_close_matches(name, self.options, 1)
            raise InputError(f"No such option: {name}" + (f"; did you mean {close[0]}?" if close else ""))
        if option.kind is bool:
            if equals:
                raise InputError(f"Option {name!r} is a flag and takes no value")
            return option, True
        if not equals:
            if not rest:
                raise InputError(f"Option {name!r} needs a value")
            value = rest.pop(0)
        return option, option.converted(value)

    def _place(self, places: list[str], found: dict[str, list[Any]]) -> None:
        """Gives arguments their values, in order; one that is repeated takes all that are left."""
        left = list(places)
        for argument in self.arguments:
            taken = len(left) if argument.repeated else 1
            if left[:taken]:
                found[argument.name] = [argument.converted(word) for word in left[:taken]]
            left = left[taken:]
        if left:
            raise InputError(f"{left[0]!r} is one argument too many")

    def _value(self, one: CommandParameter, given: list[Any]) -> Any:
        variable = one.declared.envvar if isinstance(one.declared, Option) else None
        if not given and variable and variable in os.environ:
            given = [one.converted(os.environ[variable])]
        if given:
            return given if one.repeated else given[-1]
        if one.default is Parameter.empty:
            what = "option" if isinstance(one.declared, Option) else "argument"
            raise InputError(f"Missing {what} {one.shown}")
        return one.default

    # -- help ----------------------------------------------------------------------------------------------------------

    def help_lines(self) -> Iterator[str]:
        """What ``--help`` prints."""
        shown = [one for one in self.arguments if not one.declared.hidden]
        usage = [one.declared.metavar or f"{one.name.upper()}{'...' if one.repeated else ''}" for one in shown]
        yield " ".join(["Usage:", self.name, "[OPTIONS]", *usage])
        for paragraph in self.doc.split("\n\n"):
            yield ""
            yield from wrapped(" ".join(paragraph.split()))
        yield from _table("Arguments", [(usage[i], _about(one)) for i, one in enumerate(shown)])
        options = [one for one in dict.fromkeys(self.options.values()) if not one.declared.hidden]
        rows = [(f"{', '.join(one.names)} {one.metavar}".strip(), _about(one)) for one in options]
        yield from _table("Options", [*rows, (", ".join(HELP), "Print this and stop.")])


def _described(parameter: Parameter, hint: Any) -> CommandParameter:
    """A parameter by its annotation."""
    bare, declared = get_args(hint)[:2]
    members = get_args(bare) if get_origin(bare) in (Union, UnionType) else (bare,)
    (kind,) = (member for member in members if member is not NoneType)
    repeated = get_origin(kind) is list
    if repeated:
        (kind,) = get_args(kind)
    if get_origin(kind) is Literal:
        kind = get_args(kind)
    return CommandParameter(parameter.name, declared, kind, repeated, parameter.default)


def _about(one: CommandParameter) -> str:
    parts = [one.declared.help]
    if one.default is Parameter.empty:
        parts.append("[required]")
    elif one.declared.show_default and one.default not in (None, False):
        parts.append(f"[default: {one.default}]")
    return " ".join(filter(None, parts))


def wrapped(text: str, indent: int = 0) -> list[str]:
    """A text in lines that fit the terminal."""
    import shutil
    import textwrap

    width = max(min(shutil.get_terminal_size().columns, 120) - indent, 30)
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def _table(title: str, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Names with what they mean beside them, or below a long one."""
    if not rows:
        return
    column = min(max(len(name) for name, _ in rows), 28) + 4
    yield f"\n{title}:"
    for name, about in rows:
        lines = wrapped(about, column)
        if len(name) + 4 > column:
            yield f"  {name}"
        else:
            yield f"  {name:<{column - 2}}{lines.pop(0)}".rstrip()
        yield from (" " * column + line for line in lines if line)
