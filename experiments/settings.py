"""The configuration of a row with the user's file paths, and whether a finished row used the same."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePath
from typing import Any

from experiments import CONFIGS
from experiments.result import RESULT, Result
from experiments.rows import CORPORA, Row
from hyperspan.config import SECTIONS, Config, keys
from hyperspan.errors import InputError, OutputExistsError
from hyperspan.plugins import OPTIONS
from hyperspan.toml import values_of

DATA = "data/"
"""The prefix of paths in configurations: the data folder."""


def config_of(
    row: Row, data: str, configs: str | Path = CONFIGS, data_dir: str | Path = "data", overrides: Iterable[str] = ()
) -> Config:
    """The configuration of a row for a corpus, with its files in a data folder."""
    file, own = source_of(row, data, configs)
    if not file.is_file():
        raise InputError(
            f"the row {row.name} has no configuration for {data}: {file} is not there; write it, or leave the row out"
        )
    return _moved(Config.read(file, own), Path(data_dir)).override(overrides)


def source_of(row: Row, data: str, configs: str | Path = CONFIGS) -> tuple[Path, tuple[str, ...]]:
    """The file of a row's configuration for a corpus, which may be missing, and the overrides of that file.

    >>> wide = Row("wide", "SH", config="genia/sh-n", overrides=("model.max_width=n",))
    >>> file, overrides = source_of(Row("narrow", "SH (c=6)", config=wide, overrides=("model.max_width=6",)), "genia")
    >>> file.name, overrides[2:]
    ('sh-n.toml', ('model.max_width=n', 'model.max_width=6'))
    """
    file = Path(configs) / data / f"{row.name}.toml"
    config, overrides = row.on.get(data, (row.config, row.overrides))
    if file.is_file() or not config:
        return file, ()
    if isinstance(config, Row):
        found, before = source_of(config, data, configs)
    else:
        found, before = Path(configs) / f"{config}.toml", CORPORA[data].all_overrides
    return (found, (*before, *overrides)) if found.is_file() else (file, ())


def _moved(config: Config, data_dir: Path) -> Config:
    """Replace the prefix "data/" of all paths in a configuration by another folder."""
    return config.with_paths(lambda _, path: str(data_dir / path.removeprefix(DATA)) if path.startswith(DATA) else path)


def finished_result(folder: Path, config: Config) -> Result | None:
    """The result of a row and seed, None if not finished; raise an error if it had a different configuration."""
    if not (folder / RESULT).is_file():
        return None
    result = Result.read(folder / RESULT)
    if (key := changed_key(result, config)) is not None:
        raise OutputExistsError(
            f"{folder} was finished with another {key}; choose another --output, train it anew with --force, "
            "or tabulate it as it is with --no-train"
        )
    return result


def _defaults(section: str) -> dict[str, Any]:
    """The values of a section that sets nothing."""
    return Config().tables()[section] if section in SECTIONS else values_of(OPTIONS[section]())


_ENCODER = ("transformer", "name")
"""The key that may be the name of an encoder on the hub, of which the organisation is a part."""


def changed_key(result: Result, config: Config) -> str | None:
    """The first key in which a finished run had a different configuration, or None; file locations do not matter.

    Keys that an older hyperspan lacked count as today's default. "auto" values have not changed, as the corpus is the
    same.
    """
    free = {"training.seed", *keys("tuned", config.tables())}
    """Given by the folder of a run, or chosen by training."""
    for section, values in config.tables().items():
        if section == "data":
            continue
        for key, value in values.items():
            if config.is_auto(f"{section}.{key}"):
                continue
            before = result.config.get(section, {}).get(key, _defaults(section).get(key))
            if f"{section}.{key}" not in free and not _is_same(before, value, (section, key)):
                return f"{section}.{key}"
    return None


def differences(config: Config) -> dict[str, dict[str, Any]]:
    """The values of a configuration that differ from the defaults, by section and key; files by their names, and
    without the corpora."""
    tables = {
        section: {
            key: value if (section, key) == _ENCODER and _is_on_hub(value) else _name(value)
            for key, value in values.items()
            if value != _defaults(section).get(key)
        }
        for section, values in config.tables().items()
        if section != "data"
    }
    return {section: values for section, values in tables.items() if values}


def _is_same(before: object, value: object, place: tuple[str, str]) -> bool:
    """Whether a setting is the same but for the folder of a file. Encoders on the hub are told apart by organisation,
    where the result has it."""
    if place == _ENCODER and _is_on_hub(value) and isinstance(before, str) and "/" in before:
        return before == value
    return _name(before) == _name(value)


def _is_on_hub(name: object) -> bool:
    """Whether an encoder is named as ``organisation/name``, and no folder is."""
    is_short = isinstance(name, str) and name.count("/") == 1 and not name.startswith((".", "/", "~"))
    return is_short and not Path(str(name)).is_dir()


def _name(value: object) -> object:
    """The last part of a path."""
    if isinstance(value, list | tuple):  # a result that was read has lists
        return [_name(entry) for entry in value]
    return PurePath(value).name if isinstance(value, str) else value
