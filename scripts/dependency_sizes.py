"""Prints licence and installed size of every dependency of pyproject.toml, from the metadata of this environment.

python scripts/dependency_sizes.py
"""

from __future__ import annotations

import platform
import tomllib
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def groups() -> dict[str, list[Requirement]]:
    """The requirements of a plain installation, and those of each extra, without extras within extras."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    listed = {"plain": project["dependencies"], **project["optional-dependencies"]}
    return {
        name: [found for found in map(Requirement, some) if found.name != project["name"]]
        for name, some in listed.items()
    }


def megabytes(package: Distribution) -> float:
    """The size of a package's files on disk."""
    files = [package.locate_file(file) for file in package.files or []]
    return sum(Path(str(file)).stat().st_size for file in files if Path(str(file)).is_file()) / 1e6


def licence(package: Distribution) -> str:
    """The licence in the metadata: the expression, else the classifiers, else the first line of the free text."""
    metadata = package.metadata
    if metadata["License-Expression"]:
        return metadata["License-Expression"]
    classifiers = [text for text in metadata.get_all("Classifier", []) if text.startswith("License ::")]
    names = [text.rpartition(" :: ")[2] for text in classifiers if text != "License :: OSI Approved"]
    return ", ".join(names) or (metadata["License"] or "not named").strip().splitlines()[0]


def closure(requirements: Iterable[Requirement]) -> set[str]:
    """The installed packages that the requirements need, and those that these need."""
    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    waiting = [(requirement, "") for requirement in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = canonicalize_name(requirement.name)
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        found.add(name)
        for wanted in {"", *requirement.extras} - {extra for known, extra in seen if known == name}:
            seen.add((name, wanted))
            waiting += [(Requirement(text), wanted) for text in package.requires or []]
    return found


def main() -> None:
    wanted = groups()
    plain = closure(wanted["plain"])
    print(f"{platform.python_implementation()} {platform.python_version()}, {platform.platform(terse=True)}\n")
    print("| group | package | version | licence | MB | packages with what it needs | MB with them |")
    print("|---|---|---|---|--:|--:|--:|")
    for group, requirements in wanted.items():
        known = set() if group == "plain" else plain
        for requirement in requirements:
            package = distribution(requirement.name)
            needed = closure([requirement]) - known
            total = sum(megabytes(distribution(name)) for name in needed)
            row = [group, requirement.name, package.version, licence(package), f"{megabytes(package):.1f}"]
            print("|", " | ".join([*row, str(len(needed)), f"{total:.0f}"]), "|")
        added = closure(requirements) - known
        total = sum(megabytes(distribution(name)) for name in added)
        print(f"| {group} | all | | | | {len(added)} | {total:.0f} |")


if __name__ == "__main__":
    main()
