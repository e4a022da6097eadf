"""Groups of options: what a command shows of them, and what it is given."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from hyperspan.cli.grouping import grouped
from hyperspan.cli.options import SelectionGroup, TrainingGroup, split_names
from hyperspan.corpora.examples import example_path
from tests.support.process import call


@dataclass(frozen=True)
class PlaceGroup:
    title = "Place"
    city: Annotated[str, typer.Option("--city", help="Where.")] = "Oz"
    rooms: Annotated[list[int] | None, typer.Option("--room", help="Which.")] = None


@dataclass(frozen=True)
class StayGroup(PlaceGroup):
    title = "Stay"
    nights: Annotated[int, typer.Option("--nights", "-n", min=1, help="How long.")] = 1


def book(
    guest: Annotated[str, typer.Argument(help="Who.")],
    paid: Annotated[bool, typer.Option("--paid", help="Whether.")] = False,
    *,
    city: StayGroup,
) -> None:
    """Book a room."""
    print(guest, paid, city)


@pytest.fixture(scope="module")
def app() -> typer.Typer:
    made = typer.Typer(add_completion=False)
    made.command()(grouped(book))
    return made


def test_grouped_command_is_given_its_groups(app: typer.Typer) -> None:
    said = CliRunner().invoke(app, ["Ada", "--room", "3", "--room", "4", "-n", "2"]).output
    assert said == "Ada False StayGroup(city='Oz', rooms=[3, 4], nights=2)\n"
    assert "is not in the range" in CliRunner().invoke(app, ["Ada", "--nights", "0"]).output


def test_grouped_command_lists_its_own_options_before_those_it_inherits(app: typer.Typer) -> None:
    command = typer.main.get_command(app)
    assert [one.name for one in command.params] == ["guest", "paid", "nights", "city", "rooms"]
    shown = CliRunner().invoke(app, ["--help"]).output
    assert shown.index("--paid") < shown.index("Stay") < shown.index("--nights") < shown.index("--city")


def test_labels_are_repeated_or_separated_by_commas() -> None:
    assert split_names(["DNA, RNA", "protein", ","]) == ["DNA", "RNA", "protein"]
    assert SelectionGroup(labels=["DNA,RNA"]).types == ["DNA", "RNA"] and SelectionGroup().types is None


def test_training_options_override_the_configuration(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('training.start = "genia"\ntraining.seed = 1\n')
    path = str(tmp_path / "mine.toml")
    config = TrainingGroup(overrides=["training.epochs=3"], start="none", seed=7).config(path).training
    assert (config.start, config.epochs, config.seed) == ("", 3, 7)
    assert TrainingGroup().config(path).training.start == "genia"


def test_an_option_without_a_value_names_itself(tmp_path: Path) -> None:
    corpus = str(example_path("harbour"))
    for option in ("--option", "--write-option"):
        said = call("convert", corpus, "b.jsonl", option, "layers", cwd=tmp_path).stderr
        assert f"{option} 'layers' is not NAME=VALUE" in said
