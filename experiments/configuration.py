"""Configurations by the names that the docs use: CORPUS/NAME is a file in `experiments/configs`, or a row."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from experiments import CONFIGS
from experiments.cli import run_command
from experiments.paper.rows import ROWS
from experiments.rows import CORPORA, Row
from experiments.settings import config_of
from experiments.study.studies import STUDIES
from hyperspan.config import Config
from hyperspan.errors import InputError


def rows_on(corpus: str) -> dict[str, Row]:
    """The rows of the paper and of the studies on a corpus, by name."""
    studies = (row for study in STUDIES.values() for row in study.rows)
    return {row.name: row for row in (*studies, *ROWS.values()) if corpus in row.data}


def named(name: str) -> Config:
    """The configuration with this name.

    >>> named("litbank/transition").model.kind, named("craft/hull").model.discontinuous, named("joint").model.kind
    ('transition', 'hull', 'joint')
    """
    if (file := CONFIGS / f"{name}.toml").is_file():
        return Config.read(file)
    corpus, _, row = name.partition("/")
    if corpus not in CORPORA or row not in rows_on(corpus):
        raise InputError(f"there is no configuration {name!r}; it is CORPUS/NAME, for example genia/sh-n")
    return config_of(rows_on(corpus)[row], corpus)


def print_configuration(name: Annotated[str, typer.Argument(help="CORPUS/NAME, as the docs name it.")]) -> None:
    """Print a configuration as TOML, for hyperspan train.

    Example: python -m experiments.configuration genia/vectors > vectors.toml
    """
    sys.stdout.write(named(name).to_toml())


if __name__ == "__main__":
    run_command(print_configuration, "experiments.configuration")
