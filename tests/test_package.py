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
    ["hyperspan", "hyperspan.evaluation", "hyperspan.nn", "hyperspan.structures", "hyperspan.structures.graphs"],
)
def test_public_names_are_complete_and_sorted(module: str) -> None:
    names = importlib.import_module(module).__all__
    assert names == sorted(names, key=lambda name: (not name.isupper(), name))  # as ruff sorts: constants first
    assert all(getattr(importlib.import_module(module), name) is not None for name in names)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = hyperspan.nonsense  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "module", ["hyperspan", "hyperspan.runtime.annotator", "hyperspan.cli", "hyperspan.evaluation", "hyperspan.types"]
)
def test_import_does_not_load_torch(module: str) -> None:
    code = f"import sys, {module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


WITHOUT_TORCH = "bulk cli corpora evaluation integrations render runtime serve text".split()
"""The packages that run where torch is not installed."""


def test_front_ends_import_without_torch() -> None:
    code = f"""import sys, pkgutil, importlib
sys.modules["torch"] = sys.modules["safetensors"] = None
import hyperspan
assert not {{"numpy", "rich", "typer"}} & sys.modules.keys()
for room in {WITHOUT_TORCH}:
    package = importlib.import_module("hyperspan." + room)
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("_torch"):
            importlib.import_module(module.name)
import experiments.speed.bundled, hyperspan.structures.graphs
print(hyperspan.load("genia")("IL-2 binds.").mentions, hyperspan.draw_hypergraph(["IL-2"], [hyperspan.Mention(0, 1, 'X')])[:4])
try:
    hyperspan.train
except hyperspan.HyperspanError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "text='IL-2'" in done.stdout and "<svg" in done.stdout
    assert 'train needs the extra `train`: pip install "hyperspan[train]"' in done.stdout


def test_all_names_are_imported_at_once_with_and_without_torch() -> None:
    code = """import sys
if sys.argv[1:]:
    sys.modules["torch"] = sys.modules["safetensors"] = None
from hyperspan import *
print(sorted(set(hyperspan_names) - set(dir())))
"""
    code = code.replace("hyperspan_names", repr(hyperspan.__all__))
    for arguments, missing in ([], []), (["without"], ["EdgeScores", "SegmentalHypergraph", "train"]):
        done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
        assert done.stdout == f"{missing}\n", done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "mine.toml"],
        ["compact", "genia", "small"],
        ["annotate", "x", "--device", "cuda"],
    ],
)
def test_commands_that_need_torch_say_so_in_one_sentence(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[data]\ntrain = "train.data"\n')
    (tmp_path / "train.data").write_text("a\nA\n0,1 X\n\n")
    code = f"""import sys
sys.modules["torch"] = None
sys.argv = ["hyperspan", *{arguments}]
from hyperspan.cli import main
main()"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
    assert 'needs the extra `train`: pip install "hyperspan[train]"' in done.stderr


def test_init_needs_no_torch(tmp_path: Path) -> None:
    (tmp_path / "mine.data").write_text("a b\nA A\n0,1 X\n\n" * 10)
    code = """import sys
sys.modules["torch"] = None
sys.argv = ["hyperspan", "init", "mine.data"]
from hyperspan.cli import main
main()"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "mine.toml").is_file(), done.stderr


EXTRAS = (
    "matplotlib",
    "playwright",
    "pyarrow",
    "ray",
    "safetensors",
    "spacy",
    "starlette",
    "tensorboard",
    "torch",
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
    [("kernels", ("kernels", "errors")), ("structures", ("structures", "kernels", "plugins"))],
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
