"""The configurations that hyperspan ships, one TOML file for each row of docs/results/index.md. Imports only errors."""

from __future__ import annotations

import difflib
from pathlib import Path

from hyperspan.errors import InputError

FOLDER = Path(__file__).parent


def config_names() -> list[str]:
    """The names of the shipped configurations.

    >>> "genia/sh-n-char" in config_names()
    True
    """
    return sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.glob("*/*.toml"))


def find_config(name: str | Path) -> Path:
    """The file of a configuration: a path, or else the name of a shipped one.

    >>> find_config("genia/sh-n-char").name
    'sh-n-char.toml'
    >>> find_config("genia/sh-n-cahr")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    hyperspan.errors.InputError: genia/sh-n-cahr is neither a file nor ...; did you mean genia/sh-n-char or ...?
    """
    path = Path(name)
    if path.exists() and not path.is_dir():  # a file, or a pipe
        return path
    names = config_names()
    wanted = path.as_posix().removesuffix(".toml").removeprefix("configs/")
    if wanted in names:
        return FOLDER / f"{wanted}.toml"
    close = difflib.get_close_matches(wanted[:100], names, 2)
    hint = (
        f"did you mean {' or '.join(close)}?"
        if close
        else "name a TOML file, or one of those that hyperspan train --list shows"
    )
    raise InputError(f"{name} is neither a file nor a configuration that hyperspan ships; {hint}")
