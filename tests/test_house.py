"""How the code is built: the order of the rooms, what the signs count, and that CONTRIBUTING leads where it says."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

import hyperspan
from scripts.signs import count

ROOT = Path(__file__).parents[1]
SOURCE = Path(hyperspan.__file__).parent
ROOMS = {
    "values": "types errors config toml files plugins progress",
    "kernels": "kernels",
    "text": "text",
    "corpora": "corpora",
    "structures": "structures",
    "runtime": "runtime",
    "nn": "nn",
    "evaluation": "evaluation",
    "training": "training",
    "baselines": "baselines",
    "render": "render",
    "labelling": "labelling",
    "bulk": "bulk",
    "serve": "serve",
    "integrations": "integrations",
    "cli": "cli __init__ __main__",
}
"""What each room has at the top of the package. A file imports its own room and those before it, nothing after it."""


def names_in(path: Path) -> set[str]:
    """The functions and classes of a module, methods as Class.method."""
    found: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            inner = node.body if isinstance(node, ast.ClassDef) else []
            found.update(
                f"{node.name}.{each.name}" for each in inner if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
            )
    return found


def test_the_picture_of_the_house_has_every_room() -> None:
    picture = (ROOT / "docs/images/house.svg").read_text(encoding="utf-8")
    assert set(re.findall(r'font-size="16"[^>]* font-weight="bold">(\w+)<', picture)) >= ROOMS.keys()


def test_contributing_names_functions_that_exist() -> None:
    hops = re.findall(r"`([\w/]+\.py):([\w.]+)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(hops) > 30
    wrong = [f"{path}:{name}" for path, name in hops if name not in names_in(SOURCE / path)]
    assert not wrong


def test_contributing_names_files_that_exist() -> None:
    named = re.findall(r"`((?:\w+/)+\w+\.py)\b", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(named) > 50
    assert not [path for path in named if not ((SOURCE / path).is_file() or (ROOT / path).is_file())]


def test_rooms_do_not_import_each_other_and_class_names_are_unique() -> None:
    _, signs = count()
    assert not signs.found["pairs of rooms that import each other"]
    assert not signs.found["class names used twice"]


# -- the order of the rooms --------------------------------------------------------------------------------------------


def imported_modules(tree: ast.AST, package: tuple[str, ...]) -> Iterator[str]:
    """The modules of hyperspan that a file of this package imports, also inside functions and for its types."""
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(filter(None, (base, node.module)))
            names = [f"{module}.{name}" for name in names] if module == "hyperspan" else [module]
        for name in names:
            if name.startswith("hyperspan."):
                public = name.removeprefix("hyperspan.")
                yield hyperspan._HOME.get(public, name)


def upwards(path: str, text: str) -> set[tuple[str, str]]:
    """The imports of a file that the order of the rooms forbids."""
    rank = {name: number for number, names in enumerate(ROOMS.values()) for name in names.split()}
    parts = ("hyperspan", *path.removesuffix(".py").split("/"))
    found = {module.split(".")[1] for module in imported_modules(ast.parse(text), parts[:-1])} - {"__version__"}
    return {(parts[1], name) for name in found if rank[name] > rank[parts[1]]}


def test_rooms_import_only_those_before_them() -> None:
    files = {path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    found = {pair: path for path, text in files.items() for pair in upwards(path, text)}
    assert found == {}


@pytest.mark.parametrize(
    ("room", "allowed"), [("kernels", "kernels errors"), ("structures", "structures kernels plugins")]
)
def test_kernels_and_structures_import_no_other_room(room: str, allowed: str) -> None:
    for path in (SOURCE / room).rglob("*.py"):
        package = ("hyperspan", *path.relative_to(SOURCE).parts[:-1])
        modules = imported_modules(ast.parse(path.read_text(encoding="utf-8")), package)
        assert {module.split(".")[1] for module in modules} <= {*allowed.split()}, path


def test_rooms_have_every_module_once() -> None:
    named = [name for names in ROOMS.values() for name in names.split()]
    assert len(named) == len(set(named))
    assert {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in SOURCE.rglob("*.py")} <= set(named)


@pytest.mark.parametrize(
    "text",
    [
        "import hyperspan.cli.draw",
        "from hyperspan.cli import draw",
        "from hyperspan import cli",
        "from hyperspan import render_html",
        "from ..cli import draw",
        "from .. import cli",
        "def late():\n    from hyperspan.cli import draw",
        "if TYPE_CHECKING:\n    from hyperspan.cli import draw",
    ],
)
def test_rooms_are_checked_whatever_an_import_looks_like(text: str) -> None:
    assert upwards("evaluation/scores.py", text)
    assert not upwards("evaluation/scores.py", text.replace("cli", "structures").replace("render_html", "Mention"))


# -- what baselines use ------------------------------------------------------------------------------------------------

NOT_PUBLIC = {
    "kernels.numbers": "in_float64",
    "kernels.transfer": "is_asynchronous",
    "structures.constraints": "constraint_masks",
    "structures.kbest": "Alternatives cheapest_combinations",
}
"""What baselines import of kernels, structures and nn beside their public names. The list only shrinks: a baseline is
written as a plug-in is, and what it lacks becomes public or goes."""


def test_baselines_import_public_names_and_those_listed() -> None:
    found: dict[str, set[str]] = {}
    for path in (SOURCE / "baselines").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            room = (getattr(node, "module", None) or "").removeprefix("hyperspan.")
            if isinstance(node, ast.ImportFrom) and room.startswith(("kernels", "structures", "nn")):
                public = getattr(import_module(f"hyperspan.{room}"), "__all__", ())
                found.setdefault(room, set()).update(name.name for name in node.names if name.name not in public)
    assert {room: " ".join(sorted(names)) for room, names in found.items() if names} == NOT_PUBLIC
