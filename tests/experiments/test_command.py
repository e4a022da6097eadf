"""Experiments as commands: their help, their refusals, and what they say on standard error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from experiments.cli import make_command
from hyperspan.errors import HyperspanError


def test_a_benchmark_says_what_it_measures_and_that_it_takes_time(capsys: pytest.CaptureFixture[str]) -> None:
    module = ModuleType("sums", "How fast numbers are added: `python -m experiments.speed sums`.\n\nMore.")
    module.run = lambda: {"sum": 3}  # type: ignore[attr-defined]
    make_command(module)([], standalone_mode=False)
    printed = capsys.readouterr()
    assert printed.out == "sum: 3\n"
    assert printed.err == "hyperspan: How fast numbers are added; this may take minutes\n"


ROOT = Path(__file__).parents[2]


def answer(*arguments: str, prelude: str = "") -> subprocess.CompletedProcess[str]:
    """What `python -m` with these arguments answers in the repository."""
    code = f"import runpy, sys; {prelude}\nsys.argv = {[*arguments]!r}; runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)


def test_experiments_have_help_of_their_own() -> None:
    for given, said in (
        (["experiments.speed", "latency"], "--rounds"),
        (["experiments.study", "partial"], "--no-train"),
        (["experiments.paper"], "--no-train"),
        (["experiments.domain"], "--part"),
    ):
        shown = answer(*given, "-h")
        assert shown.returncode == 0 and said in shown.stdout and not shown.stderr


@pytest.mark.parametrize("name", ["speed", "study"])
def test_a_group_lists_its_experiments_without_importing_them(name: str) -> None:
    shown = answer(f"experiments.{name}", "-h", prelude="sys.modules['torch'] = None")
    assert (shown.returncode == 0 and "discontinuous" in shown.stdout) or "structures" in shown.stdout, shown.stderr


def test_wrong_commands_are_refused_in_one_sentence() -> None:
    for given, said in (
        (["experiments.speed", "latency", "--round"], "see python -m experiments.speed latency --help\n"),
        (["experiments.speed", "structure"], "Did you mean 'structures'?; see python -m experiments.speed --help\n"),
        (["experiments.paper"], "or give --list\n"),
    ):
        failed = answer(*given)
        assert failed.returncode == 2 and failed.stderr.endswith(said) and len(failed.stderr.splitlines()) == 1


def test_experiments_that_need_torch_say_so_in_one_sentence() -> None:
    failed = answer("experiments.speed", "decode", prelude="sys.modules['torch'] = None")
    assert failed.returncode == 2 and len(failed.stderr.splitlines()) == 1
    assert 'needs the extra `train`: pip install "hyperspan[train]"' in failed.stderr


def test_a_failure_is_said_after_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    module = ModuleType("sums", "How fast numbers are added.")
    vars(module).update(run=lambda: {"sum": 3}, failure=lambda figures: f"{figures['sum']} is too little")
    with pytest.raises(HyperspanError, match="3 is too little"):
        make_command(module)([], standalone_mode=False)
    assert capsys.readouterr().out == "sum: 3\n"
