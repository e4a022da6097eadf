"""What a release consists of agrees: versions, dependencies, workflows, the recipe for conda, README and docs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import hyperspan
from scripts.lowest import TOOLS, lowest, pins

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RECIPE: dict[str, Any] = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
COLUMNS = 120


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


# -- versions ----------------------------------------------------------------------------------------------------------


def test_version_is_the_same_everywhere() -> None:
    citation = yaml.safe_load(text("CITATION.cff"))
    released, date = re.findall(r"^## \[(\d[^\]]*)\] - (\S+)$", text("CHANGELOG.md"), re.MULTILINE)[0]
    assert hyperspan.__version__ == released == str(citation["version"]) == RECIPE["context"]["version"]
    assert str(citation["date-released"]) == date


def test_citation_file_and_page_name_the_release_and_the_paper() -> None:
    citation = text("CITATION.cff")
    page = text("docs/citing.md")
    keys = dict(re.findall(r'^\s*(version|repository-code|doi|start|end): "?(.+?)"?$', citation, re.MULTILINE))
    titles = re.findall(r'^\s*title: "?(.+?)"?$', citation, re.MULTILINE)
    release = hyperspan.__version__.partition(".dev")[0]
    assert keys["version"] == release and f"version = {{{release}}}" in page
    assert len(titles) == 2 and all(value in page for value in (*titles, keys["repository-code"], keys["doi"]))
    assert f"{{{keys['start']}--{keys['end']}}}" in page


# -- dependencies ------------------------------------------------------------------------------------------------------


def test_lowest_reads_every_requirement() -> None:
    assert lowest("ray[data]>=2.40") == "ray==2.40" and lowest("typer>=0.19,<0.29") == "typer==0.19"
    with pytest.raises(ValueError, match="has no lower bound"):
        lowest("numpy<3")
    assert "numpy==1.26" in pins() and "torch==2.4" in pins() and not any(pin.startswith("pytest") for pin in pins())


def test_constraints_pin_every_direct_dependency_within_its_bounds() -> None:
    pinned = [Requirement(line) for line in text("constraints.txt").splitlines() if not line.startswith("#")]
    versions = {canonicalize_name(pin.name): next(iter(pin.specifier)).version for pin in pinned}
    for wanted in map(Requirement, [*PROJECT["project"]["dependencies"], *chain(*EXTRAS.values())]):
        if wanted.name != "hyperspan":
            assert wanted.specifier.contains(versions[canonicalize_name(wanted.name)]), wanted


@pytest.mark.parametrize("extra", [extra for extra in EXTRAS if extra not in TOOLS])
def test_extra_is_described_with_its_lowest_versions(extra: str) -> None:
    [rows] = re.findall(rf"^\| `{extra}` \|.*$(?:\n^\| \|.*$)*", text("docs/install.md"), re.MULTILINE)
    for requirement in EXTRAS[extra]:
        name, _, bound = requirement.partition(">=")
        assert f"| {name} | {bound} |" in rows, requirement


def test_plain_dependencies_and_tools_are_described() -> None:
    page = text("docs/install.md")
    for requirement in PROJECT["project"]["dependencies"]:
        name, _, bounds = requirement.partition(">=")
        assert f"| {name} | {bounds.replace(',<', ', below ')} |" in page, requirement
    tools, page = [Requirement(tool).name for tool in EXTRAS["dev"]], text("CONTRIBUTING.md")
    assert [tool for tool in tools if not re.search(rf"^\|.*\b{tool}\b", page, re.MULTILINE)] == []


# -- what is built -----------------------------------------------------------------------------------------------------


def test_sdist_names_only_what_exists() -> None:
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["only-include"]
    assert all((ROOT / name).exists() for name in included)
    assert (ROOT / "src/hyperspan/py.typed").exists()


def test_recipe_runs_with_the_dependencies_of_the_package() -> None:
    wanted = [f"python {PROJECT['project']['requires-python']}"]
    wanted += [requirement.replace(">=", " >=") for requirement in PROJECT["project"]["dependencies"]]
    assert RECIPE["requirements"]["run"] == wanted
    for requirement in PROJECT["build-system"]["requires"]:
        assert requirement.replace(">=", " >=") in RECIPE["requirements"]["host"]
    assert RECIPE["about"]["summary"] == PROJECT["project"]["description"]
    assert all((ROOT / name).exists() for test in RECIPE["tests"] for name in test.get("files", {}).get("source", []))


# -- workflows ---------------------------------------------------------------------------------------------------------


def steps(workflow: Path) -> Iterator[dict[str, Any]]:
    for job in yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"].values():
        yield from job["steps"]


def targets_of_matrices(content: str) -> list[str]:
    return [
        name for names in re.findall(r"\btarget: \[?([a-z, -]+)", content) for name in names.replace(",", " ").split()
    ]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_names_only_what_exists(workflow: Path) -> None:
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", text("Makefile"), re.MULTILINE))
    content = workflow.read_text(encoding="utf-8")
    commands = "\n".join(step.get("run", "") for step in steps(workflow))
    named = [target for line in re.findall(r"\bmake ([a-z -]+)", commands) for target in line.split()]
    named += targets_of_matrices(content)
    assert set(named) <= targets, set(named) - targets
    paths = re.findall(r"\b(?:scripts|tests)/[\w./]+|\b[\w-]+\.txt\b", commands)
    assert [path for path in paths if not (ROOT / path).exists() and path != "lowest.txt"] == []
    wanted = [extra for found in re.findall(r'[".]\[([a-z,]+)\]"', commands) for extra in found.split(",")]
    assert set(wanted) <= EXTRAS.keys()


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_workflow_asks_for_few_rights(workflow: Path) -> None:
    found = yaml.safe_load(workflow.read_text(encoding="utf-8"))
    assert found["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job for job in found["jobs"].values())
    for step in steps(workflow):
        if "uses" in step:
            assert re.search(r"@(v\d+|release/v\d+|[0-9a-f]{40})$", step["uses"]), step
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


def test_each_sort_of_tests_runs_in_a_workflow() -> None:
    """All but those of corpora, which cannot be handed on."""
    sorts = {
        "coverage",
        *re.findall(r"^([a-z-]+):.*\n(?:\t.*\n)*?\t.*(?:bin/|BIN\)/)pytest", text("Makefile"), re.MULTILINE),
    }
    sorts |= set(re.findall(r"^([a-z-]+):.*\n\t.* -m tests\.", text("Makefile"), re.MULTILINE))
    assert {"suite", "test-slow", "test-corpora", "fuzz", "kills"} <= sorts
    run = {name for workflow in WORKFLOWS for name in targets_of_matrices(workflow.read_text(encoding="utf-8"))}
    assert sorts - run == {"test-corpora"}


def test_workflows_test_the_pythons_of_the_classifiers() -> None:
    classifiers = PROJECT["project"]["classifiers"]
    pythons = sorted(name.rpartition(" :: ")[2] for name in classifiers if re.search(r":: 3\.\d+$", name))
    jobs = yaml.safe_load(text(".github/workflows/ci.yml"))["jobs"]
    matrix = jobs["test"]["strategy"]["matrix"]
    assert sorted([*matrix["python"], *(one["python"] for one in matrix["include"])]) == pythons
    assert jobs["smoke"]["strategy"]["matrix"]["python"] == pythons


# -- docs ---------------------------------------------------------------------------------------------------


def test_markdown_fits_a_screen() -> None:
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    lines = [(file.relative_to(ROOT), line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    assert [f"{file}: {line[:60]}" for file, line in lines if len(line) > COLUMNS] == []
