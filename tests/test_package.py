"""Public names, imports and docstrings of the package."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import hyperspan

SOURCE = Path(hyperspan.__file__).parent


@pytest.mark.parametrize(
    "module",
    ["hyperspan", "hyperspan.evaluation", "hyperspan.models", "hyperspan.structures", "hyperspan.structures.graphs"],
)
def test_public_names_are_complete_and_sorted(module: str) -> None:
    names = importlib.import_module(module).__all__
    assert names == sorted(names)
    assert all(getattr(importlib.import_module(module), name) is not None for name in names)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = hyperspan.nonsense  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "module", ["hyperspan", "hyperspan.inference.annotator", "hyperspan.cli", "hyperspan.evaluation", "hyperspan.types"]
)
def test_import_does_not_load_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


EXTRAS = (
    "matplotlib",
    "playwright",
    "pyarrow",
    "ray",
    "spacy",
    "starlette",
    "tensorboard",
    "transformers",
    "uvicorn",
)


@pytest.mark.parametrize("arguments", [["--version"], ["annotate", "--help"], ["serve"], ["annotate", "IL-2 binds."]])
def test_command_line_runs_without_extras(arguments: list[str]) -> None:
    code = f"""import sys
for name in {EXTRAS}:
    sys.modules[name] = None
sys.argv = ["hyperspan", *{arguments}]
from hyperspan.cli import main
main()"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    if arguments == ["serve"]:
        assert done.returncode == 2 and 'pip install "hyperspan[serve]"' in done.stderr
    else:
        assert done.returncode == 0


@pytest.mark.parametrize(
    ("room", "allowed"),
    [("kernels", ("kernels", "errors")), ("structures", ("structures", "kernels", "lazy"))],
)
def test_kernels_and_structures_import_no_other_room(room: str, allowed: tuple[str, ...]) -> None:
    ours = tuple(f"hyperspan.{name}" for name in allowed)
    for file in (SOURCE / room).rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert all(not name.startswith("hyperspan") or name.startswith(ours) for name in names), file


def test_modules_have_docstrings() -> None:
    for file in SOURCE.rglob("*.py"):
        if file.name != "__main__.py":
            assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))), file
