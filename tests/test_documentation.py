"""The Python snippets of README and docs run and print the output shown, and what the pages name is there."""

from __future__ import annotations

import importlib.util
import pkgutil
import re
from pathlib import Path
from typing import Any

import click
import pytest
import typer

from experiments import (
    bundled_vectors,
    configuration,
    domain,
    errors,
    guarantees,
    gum,
    speed,
    splitters,
    student_texts,
    word_vectors,
)
from experiments.cli import make_command, make_group, make_single
from experiments.distil import fit, make, targets, text, vectors
from experiments.english import corpora, free_genres, name_bias, plain, report
from experiments.figures.__main__ import draw
from experiments.golden.__main__ import app as golden
from experiments.paper.__main__ import paper
from experiments.pretraining.__main__ import pretrain
from experiments.study.__main__ import make_app as make_study
from hyperspan.cli import make_app
from hyperspan.config import Config
from hyperspan.plugins import OPTIONS
from hyperspan.toml import values_of
from scripts.snippets import PAGES, ROOT, replayed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_documentation_snippets_run_and_print_what_is_shown(page: Path) -> None:
    """`make snippets` records what they print now."""
    text = page.read_text(encoding="utf-8")
    assert replayed(text, str(page)) == text


BUDGETS = {"how-to": 1500, "concepts": 1900}
"""The most words of a page in these folders, as `wc -w` counts them."""
ALLOWED = {"train.md": 1650}
"""Pages that may have more: the guide to training has the table of defaults."""
WORDS = 40_100
"""The most words of all pages together. Logs of measurements are in `experiments/results`."""


def test_documentation_keeps_to_its_budget_of_words() -> None:
    words = {page: len(page.read_text(encoding="utf-8").split()) for page in (ROOT / "docs").rglob("*.md")}
    most = {page: ALLOWED.get(page.name, BUDGETS.get(page.parent.name, WORDS)) for page in words}
    assert {page.name: count for page, count in words.items() if count > most[page]} == {}
    assert sum(words.values()) <= WORDS


GROUPS = {"hyperspan.formats", "hyperspan.encoders", "hyperspan.structures", "hyperspan.models", "hyperspan.options"}
CONSOLE = re.compile(r"(?:^\$ (?:[^\n#]*? )?|`)hyperspan ([a-z]+)((?:\\\n|[^\n#`|])*)", re.MULTILINE)
EXPERIMENTS = re.compile(r"(?:^\$ (?:[^\n#]*? )?|`)python -m experiments\.([a-z_.]+)((?:\\\n|[^\n#`|])*)", re.MULTILINE)
SPAN = re.compile(r"(?<!`)`[^`]+`(?!`)")
"""Code inside a line of text, which may go on in the next line."""


def is_there(name: str) -> bool:
    """Whether a dotted name is a module, or leads to something inside one."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


USED = [page for page in PAGES if ROOT / "experiments" not in page.parents]
"""Those of experiments name what is gone, too."""


@pytest.mark.parametrize("page", USED, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_documentation_names_what_is_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    names = set(re.findall(r"(?<![\w./-])hyperspan(?:\.[A-Za-z_]\w*)+(?![\w/-])", text)) - GROUPS
    assert {name for name in names if not is_there(name)} == set()
    tables = Config().tables() | {name: values_of(OPTIONS[name]()) for name in OPTIONS.built_in}
    keys = re.findall(rf"(?<![\w./-])({'|'.join(tables)})\.([a-z]\w*)(?=[`= ])", text)
    assert {key for key in keys if key[1] not in {*tables[key[0]], "py", "toml", "txt", "safetensors"}} == set()


@pytest.mark.parametrize(
    "page", sorted((ROOT / "experiments").rglob("*.md")), ids=lambda page: page.relative_to(ROOT).as_posix()
)
def test_documentation_of_experiments_links_to_what_is_there(page: Path) -> None:
    """The site checks its own pages."""
    for address in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = address.partition("#")
        if "://" not in path:
            target = page.parent / path if path else page
            assert target.exists(), address
            if anchor:
                assert anchor in anchors_of(target), address


def anchors_of(page: Path) -> set[str]:
    """Of the headings of a page, as GitHub names them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_documentation_commands_have_the_options_shown() -> None:
    group = typer.main.get_group(make_app())
    former = ROOT / "experiments/results/README.md"  # has commands of an older commit
    pages = [page for page in PAGES if page != former]
    wrong = [f"{page.name}: {said}" for page in pages for said in unknown_in(page.read_text(encoding="utf-8"), group)]
    assert wrong == []


REPORTS = {"domain": domain, "gum": gum, "splitters": splitters}
EXPERIMENT = {
    "paper": paper,
    "pretraining": pretrain,
    "word_vectors": word_vectors.train,
    "configuration": configuration.print_configuration,
    "bundled_vectors": bundled_vectors.make,
    "errors": errors.report,
    "figures": draw,
    "distil.fit": fit.fit,
    "distil.make": make.make,
    "distil.targets": targets.write_targets,
    "distil.text": text.split,
    "distil.vectors": vectors.write_vectors,
    "english.corpora": corpora.make,
    "english.free_genres": free_genres.keep_free,
    "english.name_bias": name_bias.bias_names,
    "english.plain": plain.write,
    "english.report": report.report,
}


def experiments() -> click.Group:
    """What can be run as `python -m experiments.NAME`."""
    found = {
        "study": typer.main.get_group(make_study()),
        "speed": typer.main.get_group(make_group(speed, speed.COMMANDS)),
        "guarantees": typer.main.get_group(make_group(guarantees, guarantees.COMMANDS)),
        "golden": typer.main.get_group(golden),
        "student_texts": typer.main.get_group(student_texts.make_app()),
        **{name: typer.main.get_command(make_command(one)) for name, one in REPORTS.items()},
        **{name: typer.main.get_command(make_single(one)) for name, one in EXPERIMENT.items()},
    }
    return click.Group(commands=found)  # type: ignore[arg-type]


def test_documentation_experiments_have_the_options_shown() -> None:
    group = experiments()
    wrong = [
        f"{page.name}: {said}"
        for page in PAGES
        for said in unknown_in(page.read_text(encoding="utf-8"), group, EXPERIMENTS)
        if " " in said or importlib.util.find_spec(f"experiments.{said}") is None
    ]
    assert wrong == []
    text = "`python -m experiments.paper\nmain --tarin` `python -m experiments.speed decode --rounds 1`\n"
    text += "$ python -m experiments.study nothing\n$ python -m experiments.nothing -x"
    assert unknown_in(text, group, EXPERIMENTS) == ["paper --tarin", "study nothing", "nothing"]


def unknown_in(text: str, group: Any, pattern: re.Pattern[str] = CONSOLE) -> list[str]:
    """The commands and options in a text that a group of commands does not have."""
    wrong: list[str] = []
    for name, rest in pattern.findall(SPAN.sub(lambda span: " ".join(span[0].split()), text)):
        command = group.commands.get(name)
        words = rest.split()
        while hasattr(command, "commands") and words and not words[0].startswith("-") and words[0] != "NAME":
            name, command = f"{name} {words[0]}", command.commands.get(words.pop(0))
        if command is None:
            wrong.append(name)
            continue
        known = {option for one in command.params for option in one.opts} | {"--help"}
        options = re.findall(r"(?<=\s)--?[a-zA-Z][\w-]*", f" {' '.join(words)}")
        wrong += [f"{name} {option}" for option in options if option not in known]
    return wrong


def test_documentation_options_are_those_of_the_command_inside_a_group() -> None:
    inner = click.Command("calibrate", params=[click.Option(["--output", "-o"])])
    group = click.Group(commands={"model": click.Group("model", commands={"calibrate": inner})})
    text = "$ hyperspan model calibrate mine -o new --outptu x\n`hyperspan model shrink --words` `hyperspan nothing`"
    assert unknown_in(text, group) == ["model calibrate --outptu", "model shrink", "nothing"]
