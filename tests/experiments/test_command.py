"""Experiments as commands: their help, their refusals, and what they say on standard error."""

from __future__ import annotations

import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from types import ModuleType

import pytest

from experiments import result as results
from experiments.cli import make_command
from hyperspan.errors import HyperspanError
from tests.experiments.support import paper, study
from tests.support.process import call


def test_a_benchmark_says_what_it_measures_and_that_it_takes_time(capsys: pytest.CaptureFixture[str]) -> None:
    module = ModuleType("sums", "How fast numbers are added: `python -m experiments.speed sums`.\n\nMore.")
    module.run = lambda: {"sum": 3}  # type: ignore[attr-defined]
    make_command(module)([], standalone_mode=False)
    printed = capsys.readouterr()
    assert printed.out == "sum: 3\n"
    assert printed.err == "hyperspan: How fast numbers are added; this may take minutes\n"


ROOT = Path(__file__).parents[2]


def answer(*arguments: str, prelude: str = "") -> CompletedProcess[str]:
    """What `python -m` with these arguments answers in the repository, in a process of its own."""
    code = f"import runpy, sys; {prelude}\nsys.argv = {[*arguments]!r}; runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)


def answer_here(*arguments: str) -> CompletedProcess[str]:
    """The same in this process, which has imported what experiments import."""
    return call(*arguments, main=_run_module)


def _run_module(arguments: tuple[str, ...]) -> None:
    sys.argv = [*arguments]
    imported = sys.modules.get(arguments[0])
    run = arguments[0] if imported is None or not hasattr(imported, "__path__") else f"{arguments[0]}.__main__"
    before = sys.modules.pop(run, None)  # or runpy warns that it was imported already
    try:
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    finally:
        if before is not None:
            sys.modules[run] = before


def test_experiments_have_help_of_their_own() -> None:
    for given, said in (
        (["experiments.speed", "latency"], "--rounds"),
        (["experiments.study", "partial"], "--no-train"),
        (["experiments.paper"], "--no-train"),
        (["experiments.domain"], "--part"),
        (["experiments.languages"], "--manuals"),
    ):
        shown = answer_here(*given, "-h")
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
        failed = answer_here(*given)
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


MISTAKES = [
    (paper, "", "no table is named; choose main"),
    (paper, "main --rows sh-n-cahr", "there is no row 'sh-n-cahr'; did you mean sh-n-char"),
    (paper, "main --data ace", "there is no corpus 'ace'; choose one of genia, litbank"),
    (paper, "main --seeds one", "--seeds 'one' is not a list of whole numbers"),
    (paper, "main --rows crf --configs nowhere", "the row crf has no configuration for genia: nowhere/genia/crf.toml"),
    (paper, "main --against best-of-all", "there is no row 'best-of-all'"),
    (paper, "overlap --output nowhere", "no row is finished in nowhere/genia; train some with"),
    (paper, "main --configs nowhere", "nowhere/genia holds no configuration of these rows; leave --configs out"),
    (paper, "ablation --configs nowhere", "nowhere/genia holds no configuration of these rows"),
    (paper, "main --data-dir nowhere", "nowhere/genia/train.data is not there, which rows are trained on; put it"),
    (paper, "main --no-train --output nowhere", "no row is finished in nowhere/genia; train some with"),
    (paper, "ablation --no-train --output nowhere", "no row is finished in nowhere/genia; train some with"),
    (paper, "ablation --rows crf", "none of these rows is an ablation"),
    (paper, "paper --data litbank", "the paper's own settings are there for genia alone, not for litbank"),
    (paper, "statistics --data-dir nowhere", "nowhere/genia/train.data is not there"),
    (study, "partial --rows luck", "there is no row 'luck'; choose from full, absent-50"),
    (study, "partial --data craft", "craft is no corpus of the study; choose from genia, litbank"),
    (study, "joint --no-train --output nowhere", "no row is finished in nowhere/joint"),
    (study, "discontinuous --data genia-1 --data-dir nowhere", "of which folds are made; put it there"),
    (study, "discontinuous --against luck --no-train", "there is no row 'luck'"),
]


@pytest.mark.parametrize(("command", "given", "message"), MISTAKES)
def test_mistakes_get_one_sentence(
    command: Callable[..., CompletedProcess[str]],
    given: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(results, "RECORDED", tmp_path)
    failed = command(*given.split())
    assert failed.returncode == 2 and failed.stdout == ""
    assert message in failed.stderr and len(failed.stderr.splitlines()) == 1
