"""Convert untrusted TOML to dataclasses and back: every key and value is checked, and errors are one sentence."""

from __future__ import annotations

import datetime
import difflib
import json
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from hyperspan.errors import InputError

AUTO = "auto"
"""The value of a key that the corpus decides."""
LARGEST_FILE = 64 * 1024
"""The maximal bytes of a configuration; typical ones have one or two thousand."""
DEEPEST = 100
"""The maximal number of dots in a key; the time of tomllib is quadratic in it."""
DEEPEST_VALUE = 50
"""The maximal nesting of tables and lists in a free table."""
_SCALARS = (str, float, datetime.date, datetime.time)
_DEEP_KEY = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{DEEPEST}}}")
_QUOTED = re.compile(
    r'''"""(?:[^"\\]++|\\.|"(?!""))*+(?:"{3,5}|\Z)'''  # multi-line strings
    r"|'''(?:[^']++|'(?!''))*+(?:'{3,5}|\Z)"
    r"""|"(?:[^"\\\n]++|\\[^\n])*+"?|'[^'\n]*+'?|#[^\n]*+""",  # single-line strings, comments
    re.DOTALL,
)


def read_toml(text: str, name: str = "the configuration", remedy: str = "hyperspan init writes one") -> dict[str, Any]:
    """Parse untrusted TOML; raise an InputError that names `name` if it is invalid.

    >>> read_toml("seed = " + "[" * 2000)
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: the configuration is not TOML: it is nested too deeply; hyperspan init writes one
    """
    try:
        if _DEEP_KEY.search(_QUOTED.sub("x", text)):
            raise RecursionError
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason = str(error)[:200]
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError:  # Python refuses to convert a huge number
        reason = "it holds a number of thousands of digits"
    raise InputError(f"{name} is not TOML: {reason}; {remedy}")


def read_text(path: Path) -> str:
    """Read a small untrusted text file, such as a configuration."""
    with path.open("rb") as file:
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise InputError(
            f"{path} has more than {LARGEST_FILE:,} bytes, too many for settings in TOML; name another file"
        )
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeError as error:
        raise InputError(f"{path} is not TOML: {error}; write it as UTF-8 text") from None


_LONG = re.compile(r"[\w+/= ]{500,}", re.ASCII)
"""Texts of data, written in single quotes: those are read ten times faster, as they have no escapes."""


def to_toml(value: Any) -> str:
    """Return a value as TOML; strings are as in JSON except for one control character, and for long data.

    >>> to_toml({"size": 3, "odd key": [1.5, {"on": datetime.date(2026, 1, 2)}]})
    '{size = 3, "odd key" = [1.5, {on = 2026-01-02}]}'
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{to_key(key)} = {to_toml(inner)}" for key, inner in value.items()) + "}"
    if is_dataclass(value):
        return to_toml(values_of(value))
    if isinstance(value, str) and _LONG.fullmatch(value):
        return f"'{value}'"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(to_toml, value)) + "]"
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def to_key(name: str) -> str:
    """Return a key as TOML, quoted if necessary."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else to_toml(name)


def values_of(section: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name."""
    return {entry.name: getattr(section, entry.name) for entry in fields(section)}


def parse_value(value: str) -> Any:
    """Parse the value of an override: as TOML if it is valid, otherwise as a string."""
    try:
        return read_toml(f"value = {value}")["value"]
    except InputError:
        return value


def check_key(cls: type, key: str, prefix: str = "") -> None:
    """Raise an InputError for an unknown key of a dataclass."""
    known = [entry.name for entry in fields(cls)]
    if key not in known:
        close = difflib.get_close_matches(key[:100], known, 1)
        hint = f"did you mean {prefix}{close[0]}?" if close else f"it has {', '.join(prefix + name for name in known)}"
        raise InputError(f"the configuration has no key {prefix}{key[:100]}; {hint}")


def build(cls: Any, given: Any, prefix: str = "") -> Any:
    """Build a (nested) dataclass from a mapping and check each value."""
    given = _table(given, prefix.removesuffix("."))
    hints = get_type_hints(cls)
    values: dict[str, Any] = {}
    for key, value in given.items():
        check_key(cls, key, prefix)
        if hasattr(hints[key], "__dataclass_fields__"):
            values[key] = build(hints[key], value, f"{prefix}{key}.")
            continue
        metadata = next(entry.metadata for entry in fields(cls) if entry.name == key)
        if value == AUTO and may_be_auto(metadata):
            continue
        if get_origin(hints[key]) is Mapping:
            kind, table = get_args(hints[key])[1], _table(value, prefix + key)
            values[key] = {
                name: _checked(kind, inner, metadata, f"{prefix}{key}.{name}") for name, inner in table.items()
            }
        else:
            values[key] = _checked(hints[key], value, metadata, prefix + key)
    return cls(**values)


WRITABLE = "int, float, bool, str, Literal of texts, tuple[X, ...], Mapping[str, X] or a union of these"
"""The types of keys in a section of a kind of model or encoder, for messages."""


def check_section(cls: type) -> None:
    """Raise a TypeError if the keys of a dataclass or their defaults do not fit into a section of a configuration.

    >>> from dataclasses import make_dataclass
    >>> check_section(make_dataclass("Options", [("folder", str)]))
    Traceback (most recent call last):
    ...
    TypeError: folder has no default
    """
    if "__dataclass_fields__" not in vars(cls):
        raise TypeError(f"{cls.__name__} is no dataclass; write @dataclass(frozen=True) above it")
    hints = get_type_hints(cls)
    for entry in fields(cls):
        hint = hints[entry.name]
        if not _is_writable(hint):
            name = hint.__name__ if type(hint) is type else str(hint)
            raise TypeError(f"the type of {entry.name} is {name}, but must be {WRITABLE}")
        if entry.default is MISSING and entry.default_factory is MISSING:
            raise TypeError(f"{entry.name} has no default")
    try:
        free_table(values_of(build(cls, values_of(cls()))), cls.__name__)
    except InputError as error:
        raise TypeError(f"the default {error}") from None


def _is_writable(hint: Any, *, inside: bool = False) -> bool:
    """Whether keys may have this type; inside another type, it cannot be a table."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Mapping:
        return not inside and inner[0] is str and _is_writable(inner[1], inside=True)
    if origin is tuple:
        return inner[1:] == (...,) and _is_writable(inner[0], inside=True)
    if origin in (Union, UnionType):
        return all(_is_writable(kind, inside=True) for kind in inner)
    if origin is Literal:
        return all(isinstance(choice, str) for choice in inner)
    return hint in (int, float, bool, str)


def _listed(kind: Any, given: list[Any] | tuple[Any, ...], name: str) -> tuple[Any, ...]:
    """Check the entries of a list; if they are tables, a string stands for a table with only the first key."""
    found: list[Any] = []
    for index, entry in enumerate(given):
        place = f"{name}[{index}]"
        if not is_dataclass(kind):
            entry = _checked(kind, entry, {}, place)
        elif not isinstance(entry, cast(type, kind)):
            table = {fields(kind)[0].name: entry} if isinstance(entry, str) else entry
            entry = build(kind, table, f"{place}.")
        found.append(entry)
    return tuple(found)


def _table(given: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError(f"{name[:100]} is {shown(given)}, but must be a table with keys of its own")
    return given


def free_table(given: Any, name: str) -> dict[str, Any]:
    """Copy a table with arbitrary keys; values must be TOML values other than NaN, which equals nothing."""

    def copied(value: Any, depth: int) -> Any:
        if depth > DEEPEST_VALUE:
            raise InputError(f"{name[:100]} is nested too deeply; it may have {DEEPEST_VALUE} levels")
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            return {key: copied(inner, depth + 1) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [copied(inner, depth + 1) for inner in value]
        fits = abs(value) < 2**63 if isinstance(value, int) else isinstance(value, _SCALARS) and value == value
        if not fits:
            raise InputError(f"{name[:100]} holds {shown(value)}, but must hold what TOML can, and not nan")
        return value

    return copied(_table(given, name), 0)


def _checked(hint: Any, value: Any, metadata: Mapping[str, Any], name: str) -> Any:
    """Return the value if it has this type and range; raise an InputError otherwise."""
    low, high = metadata.get("low"), metadata.get("high")
    for kind in get_args(hint) if get_origin(hint) in (Union, UnionType) else [hint]:
        if get_origin(kind) is Literal:
            if value in get_args(kind) and isinstance(value, str):
                return value
        elif get_origin(kind) is tuple:
            if isinstance(value, list | tuple):
                return _listed(get_args(kind)[0], value, name)
        elif kind is float and type(value) in (int, float):
            if abs(value) <= sys.float_info.max and _is_within(value, low, high):
                return float(value)
        elif type(value) is kind and (kind is not int or _is_within(value, low, high)):
            return value
    auto = ' or "auto"' if may_be_auto(metadata) else ""
    raise InputError(f"{name} is {shown(value)}, but must be {_wanted(hint, low, high)}{auto}")


def may_be_auto(metadata: Mapping[str, Any]) -> bool:
    """Whether a key with this metadata may have the value "auto", which leaves it at its default."""
    return AUTO in metadata.get("roles", ())


def shown(value: Any) -> str:
    """Return a short repr of a value, for messages."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print a number of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 100 else f"{text[:97]}..."


def _is_within(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


def _wanted(hint: Any, low: float | None, high: float | None) -> str:
    """Describe the expected values, for messages."""
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(_wanted(kind, low, high) for kind in get_args(hint))
    if get_origin(hint) is Literal:
        return " or ".join(json.dumps(choice) for choice in get_args(hint))
    if get_origin(hint) is tuple:
        return f"a list of {_wanted_entries(get_args(hint)[0])}"
    name = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[hint]
    if hint in (int, float) and low is not None:
        name += f" from {low:g} to {high:g}" if high is not None else f" of at least {low:g}"
    return name


def _wanted_entries(hint: Any) -> str:
    """Describe the expected entries of a list, for messages."""
    if get_origin(hint) is tuple:
        return f"lists of {_wanted_entries(get_args(hint)[0])}"
    if is_dataclass(hint):
        return "texts and tables"
    plain = {int: "whole numbers", float: "numbers", bool: "true and false", str: "texts"}
    return plain.get(hint) or _wanted(hint, None, None)
