"""Public names, imports and docstrings of the package."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import hyperspan

SOURCE = Path(hyperspan.__file__).parent


@pytest.mark.parametrize(
    "module",
    ["hyperspan", "hyperspan.evaluation", "hyperspan.nn", "hyperspan.structures", "hyperspan.structures.graphs"],
)
def test_public_names_are_complete(module: str) -> None:
    room = importlib.import_module(module)
    assert all(getattr(room, name) is not None for name in room.__all__) and {*room.__all__} <= {*dir(room)}
    assert len(room.__all__) > 10 or module == "hyperspan.evaluation"
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = hyperspan.nonsense  # type: ignore[attr-defined]


WITHOUT_TORCH = "bulk cli corpora evaluation integrations render runtime serve text".split()
"""The packages that run where torch is not installed."""


def run(code: str, *arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """What a new process says that runs this code."""
    command = [sys.executable, "-c", f"import sys\n{code}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def test_front_ends_import_without_torch(tmp_path: Path) -> None:
    """What is asked often loads no NumPy either."""
    (tmp_path / "gold.jsonl").write_text('{"text": "Ada", "mentions": [{"start": 0, "end": 3, "label": "PER"}]}\n')
    code = f"""import pkgutil, importlib
sys.modules["torch"] = None
import hyperspan
assert not {{"numpy", "rich", "safetensors", "typer"}} & sys.modules.keys()
import hyperspan.corpora.genia_xml, hyperspan.training.events
assert not {{"numpy", "regex", "rich", "typer", "matplotlib"}} & sys.modules.keys()
from hyperspan.cli.info import installation
installation()
assert not {{"numpy", "regex", "safetensors"}} & sys.modules.keys()
for room in {WITHOUT_TORCH}:
    package = importlib.import_module("hyperspan." + room)
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if not module.name.endswith("_torch"):
            importlib.import_module(module.name)
import experiments.speed.bundled, hyperspan.structures.graphs
from hyperspan.cli.evaluate import evaluate
from hyperspan.cli.grouping import grouped
grouped(evaluate)(data=[sys.argv[1]], predictions=sys.argv[1])
hyperspan.Document("zoo")._repr_html_()
importlib.import_module("hyperspan.nn.vectors").read_vectors("bundled")
print(hyperspan.load("genia")("IL-2 binds.").mentions, hyperspan.draw_hypergraph(["IL-2"], [hyperspan.Mention(0, 1, 'X')])[:4])
try:
    hyperspan.train
except hyperspan.HyperspanError as error:
    print(error)
"""
    done = run(code, str(tmp_path / "gold.jsonl"))
    assert done.returncode == 0, done.stderr
    assert "text='IL-2'" in done.stdout and "<svg" in done.stdout
    assert 'train needs the extra `train`: pip install "hyperspan[train]"' in done.stdout


def test_all_names_are_imported_at_once_with_and_without_torch() -> None:
    here: dict[str, object] = {}
    exec("from hyperspan import *", here)
    assert not {*hyperspan.__all__} - {*here}
    code = f"""
sys.modules["torch"] = None
from hyperspan import *
print(sorted({{*{hyperspan.__all__}}} - {{*dir()}}))
"""
    done = run(code)
    assert done.stdout == "['EdgeScores', 'SegmentalHypergraph', 'train']\n", done.stderr


def test_a_stand_in_for_torch_is_as_no_torch() -> None:
    """Such as the empty module that tests of other packages put into sys.modules."""
    done = run(
        """import types
sys.modules["torch"] = types.ModuleType("torch")
from hyperspan import *
import hyperspan
from hyperspan.cli.info import installation
print("train" in dir(hyperspan), *(mention.text for mention in load("genia")("IL-2 binds.").mentions), installation()["extras"]["train"])
"""
    )
    assert done.stdout.startswith("False IL-2 {'installed': False"), done.stderr


def commands_without(missing: Iterable[str], commands: Iterable[str], folder: Path) -> list[tuple[int, str]]:
    """The status of each command where these modules are not installed, and what it says on standard error."""
    code = f"""import io
from contextlib import redirect_stderr
sys.modules.update(dict.fromkeys({[*missing]}))
from hyperspan.cli import main
for line in {[*commands]}:
    sys.argv = ["hyperspan", *line.split()]
    with redirect_stderr(io.StringIO()) as said:
        try:
            main()
        except SystemExit as ended:
            print(repr((ended.code or 0, said.getvalue())))
"""
    done = run(code, folder=folder)
    assert done.returncode == 0, done.stderr
    return [ast.literal_eval(line) for line in done.stdout.splitlines() if line.startswith("(")]


def test_commands_that_need_torch_say_so_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('[data]\ntrain = "train.data"\n')
    (tmp_path / "train.data").write_text("a\nA\n0,1 X\n\n")
    (tmp_path / "other.data").write_text("a b\nA A\n0,1 X\n\n" * 10)
    lines = ("train mine.toml", "model compact -m genia -o small", "annotate x --device cuda", "init other.data")
    profile = "model profile other.data -m genia -o profiled"
    *refused, (status, _), (profiled, _) = commands_without(["torch"], (*lines, profile), tmp_path)
    assert status == profiled == 0 and (tmp_path / "other.toml").is_file() and (tmp_path / "profiled").is_dir()
    for status, said in refused:
        assert status == 2 and len(said.splitlines()) == 1
        assert 'needs the extra `train`: pip install "hyperspan[train]"' in said


EXTRAS = (
    "matplotlib playwright prometheus_client pyarrow ray spacy starlette tensorboard torch transformers uvicorn".split()
)


def test_command_line_runs_without_extras(tmp_path: Path) -> None:
    lines = ("--version", "annotate --help", "annotate IL-2", "serve")
    *others, (status, said) = commands_without(EXTRAS, lines, tmp_path)
    assert [status for status, _ in others] == [0, 0, 0]
    assert status == 2 and 'pip install "hyperspan[serve]"' in said


def test_modules_have_docstrings() -> None:
    for file in SOURCE.rglob("*.py"):
        if file.name != "__main__.py":
            assert ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))), file
