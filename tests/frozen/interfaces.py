"""What is frozen, as JSON with one configuration or command a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import typer

import hyperspan
from experiments import CONFIGS
from experiments.paper.rows import ROWS
from experiments.rows import CORPORA
from experiments.settings import source_of
from experiments.study.studies import STUDIES
from hyperspan.cli import make_app
from hyperspan.config import Config, keys
from hyperspan.plugins import OPTIONS
from hyperspan.toml import values_of

FOLDER = Path(__file__).parent
PACKAGE = Path(hyperspan.__file__).parent
RENEW = "python -m tests.frozen --write"
Frozen = Mapping[str, Mapping[str, Any]]
"""Values by key, for each configuration or command."""


def resolved() -> dict[str, Config]:
    """The configurations in `experiments/configs`, and those of rows that override one of them, by CORPUS/NAME."""
    found = {
        path.relative_to(CONFIGS).with_suffix("").as_posix(): Config.read(path) for path in CONFIGS.glob("*/*.toml")
    }
    for row in (*ROWS.values(), *(row for study in STUDIES.values() for row in study.rows)):
        for corpus in CORPORA:
            file, overrides = source_of(row, corpus)
            if overrides and file.is_file() and corpus in row.data:
                found[f"{corpus}/{row.name}"] = Config.read(file, overrides)
    return found


def configurations() -> Frozen:
    """The defaults of each section, and what each configuration has instead, by ``section.key``."""
    defaults = Config().tables() | {name: values_of(OPTIONS[name]()) for name in OPTIONS.built_in}
    found: dict[str, dict[str, Any]] = {f"[{section}]": dict(values) for section, values in defaults.items()}
    found["[auto]"] = Config().values(keys("auto"))
    for name, config in resolved().items():
        tables = config.tables()
        found[name] = {
            f"{section}.{key}": value
            for section, values in tables.items()
            for key, value in values.items()
            if value != defaults[section].get(key)
        }
    return _as_json(found)


def commands() -> Frozen:
    """The options and arguments of each command with their defaults; of an option all names, its longest first."""
    listed = listed_in("hyperspan", typer.main.get_command(make_app()))
    return _as_json({name: {_names(one): _default(one) for one in command.params} for name, command in listed})


def listed_in(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """A command and those inside it, with their full names."""
    yield name, command
    for inner, one in getattr(command, "commands", {}).items():
        yield from listed_in(f"{name} {inner}", one)


def _names(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return (parameter.metavar or parameter.name or "").upper()
    return " ".join(sorted((*parameter.opts, *parameter.secondary_opts), key=lambda name: (-len(name), name)))


def _default(parameter: Any) -> Any:
    return "required" if parameter.required else parameter.default


def _as_json(found: Mapping[str, Any]) -> Frozen:
    """The values as they are read back."""

    def in_json(value: Any) -> Any:
        """A table, a path without what differs from machine to machine, or another value as Python shows it."""
        if is_dataclass(value) and not isinstance(value, type):
            return asdict(value)
        if not isinstance(value, Path):
            return repr(value)
        return value.relative_to(PACKAGE).as_posix() if value.is_relative_to(PACKAGE) else value.as_posix()

    return json.loads(json.dumps(found, default=in_json))


INTERFACES: Mapping[str, Callable[[], Frozen]] = {"configurations.json": configurations, "commands.json": commands}


def lines_of(frozen: Frozen) -> str:
    """JSON with an entry a line, everything sorted."""
    entries = (
        f"{json.dumps(name)}: {json.dumps(frozen[name], sort_keys=True, ensure_ascii=False)}" for name in sorted(frozen)
    )
    return "{\n" + ",\n".join(entries) + "\n}\n"


def differences(before: Frozen, now: Frozen) -> list[str]:
    """What was added, removed or changed, a line each.

    >>> differences({"a": {"x": 1, "y": 2}, "b": {}}, {"a": {"x": 3, "z": 4}})
    ['a: x was 1 and is 3', 'a: y was 2 and is gone', 'a: z is new: 4', 'b is gone']
    """
    found: list[str] = []
    for name in sorted({*before, *now}):
        if name not in now or name not in before:
            found.append(f"{name} is {'gone' if name in before else f'new: {json.dumps(now[name])}'}")
            continue
        old, new = before[name], now[name]
        for key in sorted({*old, *new}):
            if key not in new:
                found.append(f"{name}: {key} was {json.dumps(old[key])} and is gone")
            elif key not in old:
                found.append(f"{name}: {key} is new: {json.dumps(new[key])}")
            elif old[key] != new[key]:
                found.append(f"{name}: {key} was {json.dumps(old[key])} and is {json.dumps(new[key])}")
    return found
