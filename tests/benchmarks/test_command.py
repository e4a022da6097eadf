"""A benchmark as a command says on standard error what it measures."""

from __future__ import annotations

from types import ModuleType

import pytest

from hyperspan.benchmarks.command import run_command


def test_a_benchmark_says_what_it_measures_and_that_it_takes_time(capsys: pytest.CaptureFixture[str]) -> None:
    module = ModuleType("sums", "How fast numbers are added: `hyperspan benchmark sums`.\n\nMore.")
    module.run = lambda: {"sum": 3}  # type: ignore[attr-defined]
    run_command(module, [])
    printed = capsys.readouterr()
    assert printed.out == "sum: 3\n"
    assert printed.err == "hyperspan: How fast numbers are added; this may take minutes\n"
