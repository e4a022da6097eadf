"""How the code is built: what the signs count, and that CONTRIBUTING leads where it says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import hyperspan
from scripts.signs import count

ROOT = Path(__file__).parents[1]
SOURCE = Path(hyperspan.__file__).parent


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
